// What both arithmetics' rotation keys need on the host.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/runtime/gpu.h"
#include "backend/ops.h"

namespace whorl::backend::cuda {

/// Runs of LWE coefficients with equal gadgets.
inline std::vector<GadgetRange> gadget_ranges(const RotationShape& shape) {
  std::vector<GadgetRange> ranges;
  std::uint64_t rows = 0;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& g = shape.gadgets[i];
    if (ranges.empty() || ranges.back().digits != g.digits() ||
        ranges.back().log_base != g.log_base()) {
      GadgetRange range{i, i, g.digits(), g.log_base(), g.dropped(), g.offset(), rows, 0, 0};
      if (g.digits() == 1) {
        const auto bits = static_cast<unsigned>(std::bit_width(shape.Q >> g.dropped()));
        range.factor_shift = 31 - bits;
        range.factor = static_cast<std::int32_t>(
            g.dropped() >= range.factor_shift ? shape.Q >> (g.dropped() - range.factor_shift)
                                              : shape.Q << (range.factor_shift - g.dropped()));
      }
      ranges.push_back(range);
    }
    ranges.back().end = i + 1;
    rows += std::uint64_t{2} * shape.keys * g.digits();
  }
  return ranges;
}

/// Kernels of one GPU cannot read another's memory.
inline void check_gpu(const Gpu& gpu, int of_key) {
  if (of_key != gpu.ordinal)
    throw DeviceError("a blind-rotation key of cuda:" + std::to_string(of_key) + " was given to " +
                      gpu.name());
}

/// Rows before each LWE coefficient's, and in all.
inline std::vector<std::size_t> first_rows(const RotationShape& shape) {
  std::vector<std::size_t> first(shape.n + 1, 0);
  for (std::uint32_t i = 0; i < shape.n; ++i)
    first[i + 1] = first[i] + std::size_t{2} * shape.keys * shape.gadgets[i].digits();
  return first;
}

inline unsigned most_digits(const RotationShape& shape) {
  unsigned most = 1;
  for (const ring::Gadget& gadget : shape.gadgets) most = std::max(most, gadget.digits());
  return most;
}

}  // namespace whorl::backend::cuda
