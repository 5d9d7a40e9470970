// Functions on the host for rotation keys of both arithmetics (NTT and FFT).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/rotation.h"
#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

/// Runs of LWE coefficients with equal gadgets.
inline std::vector<GadgetRange> gadget_ranges(const RotationShape& shape) {
  std::vector<GadgetRange> ranges;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& g = shape.gadgets[i];
    if (ranges.empty() || ranges.back().digits != g.digits() ||
        ranges.back().log_base != g.log_base()) {
      GadgetRange range{i, i, g.digits(), g.log_base(), g.dropped(), g.offset(), shape.first_row[i],
                        0, 0};
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
  }
  return ranges;
}

/// Calls body(begin, end, words) for runs of LWE coefficients of some 4,096 rows, which bounds the
/// memory of preparation: `words` holds their rows, a then b, N each. Rows are made by
/// `workers`.
template <class Word, class Body>
void for_runs_of_rows(const RotationShape& shape, const std::vector<std::size_t>& first,
                      const RowSource<Word>& rows, const Workers& workers, const Body& body) {
  constexpr std::size_t rows_at_once = 4096;
  const std::size_t N = shape.N;
  std::vector<Word> words;
  for (std::uint32_t begin = 0, end = 0; begin < shape.n; begin = end) {
    end = begin + 1;
    while (end < shape.n && first[end + 1] - first[begin] <= rows_at_once) ++end;
    const std::size_t count = first[end] - first[begin];
    words.resize(count * 2 * N);
    parallel_for(count, workers, [&](std::size_t r) {
      Word* to = words.data() + r * 2 * N;
      rows(first[begin] + r, {to, N}, {to + N, N});
    });
    body(begin, end, words);
  }
}

/// Where the kernels read each polynomial of the rows of LWE coefficients begin … end - 1, `size`
/// values each: rows come as (key, component, digit), the kernels read (component, digit; key).
inline std::vector<std::size_t> places_of_rows(const RotationShape& shape,
                                               const std::vector<std::size_t>& first,
                                               std::uint32_t begin, std::uint32_t end,
                                               std::size_t size) {
  std::vector<std::size_t> places;
  for (std::uint32_t i = begin; i < end; ++i)
    for (std::size_t k = 0; k < shape.keys; ++k)
      for (std::size_t row = 0; row < std::size_t{2} * shape.gadgets[i].digits(); ++row)
        for (std::size_t component = 0; component < 2; ++component)
          places.push_back((first[i] * 2 + (row * shape.keys + k) * 2 + component) * size);
  return places;
}

// ---- unrolled keys: kernels read every step as if it had the same number of keys.

/// Rows that the kernels read: a last step of fewer keys is filled up.
inline std::size_t device_rows(const RotationShape& shape) {
  std::size_t rows = shape.first_row.back();
  if (bundle_form(shape.kind)) {
    const std::uint32_t last = (shape.n - 1) / shape.group * shape.group;
    rows += std::size_t{2} * shape.gadgets[last].digits() * (shape.keys - shape.step_keys[last]);
  }
  return rows;
}

/// The steps, for keys of 2·size values a row and bundles of as many.
inline std::vector<BundleStep> bundle_steps(const RotationShape& shape, std::size_t size) {
  std::vector<BundleStep> steps;
  std::size_t bundle = 0;
  for (std::uint32_t i = 0; i < shape.n; i += shape.group) {
    const unsigned digits = shape.gadgets[i].digits();
    steps.push_back({i, digits, shape.first_row[i] * 2 * size, bundle});
    bundle += 4 * digits * size;
  }
  return steps;
}

/// places_of_rows for unrolled keys: place(i, digit, part, component, key) is that of a polynomial
/// of the step that begins with coefficient i; part 0 is a's digits.
template <class Place>
std::vector<std::size_t> places_of_unrolled_rows(const RotationShape& shape, std::uint32_t begin,
                                                 std::uint32_t end, const Place& place) {
  std::vector<std::size_t> places;
  for (std::uint32_t i = begin; i < end; ++i) {
    for (unsigned key = 0; key < shape.step_keys[i]; ++key)
      for (unsigned part = 0; part < 2; ++part)
        for (unsigned digit = 0; digit < shape.gadgets[i].digits(); ++digit)
          for (unsigned component = 0; component < 2; ++component)
            places.push_back(place(i, digit, part, component, key));
  }
  return places;
}

}  // namespace whorl::backend::cuda
