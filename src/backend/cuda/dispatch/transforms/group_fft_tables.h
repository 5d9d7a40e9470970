// Tables of the FFT by groups of threads, for keys of blind rotations.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/runtime/stream.h"
#include "ring/fft_plan.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cuda {

/// GroupFft's tables, with ring::FftPlan's roots.
template <class Shape>
std::vector<double2> group_fft_tables(const ring::FftPlan& plan) {
  constexpr int M = Shape::M;
  const std::uint32_t two_n = 2 * plan.N();
  const auto root = [&](std::uint64_t e) {
    const std::complex<double> w = plan.roots()[e % two_n];
    return double2{w.real(), w.imag()};
  };
  // Node i of the level with 2^level nodes: E = 1 + 4·brv(i); w = zeta^(E·len/2).
  const auto node_twiddle = [&](int level, std::uint32_t i) {
    const std::uint64_t exponent = 1 + 4 * std::uint64_t{ring::bit_reverse(i, level)};
    return root(exponent * (M >> (level + 1)));
  };
  std::vector<double2> out(Shape::table_size);
  for (int p = 1; p < Shape::passes; ++p) {
    const std::uint32_t nodes = 1u << (Shape::log_e * p);
    for (std::uint32_t node = 0; node < nodes; ++node)
      for (int q = 0; q < Shape::log_e; ++q)
        for (std::uint32_t c = 0; c < (1u << q); c += 2)
          out[Shape::forward_at(p) + twiddle_index(q, static_cast<int>(c / 2)) * nodes + node] =
              node_twiddle(Shape::log_e * p + q, (node << q) + c);
  }
  for (int level = 0; level < Shape::rest; ++level)
    for (std::uint32_t node = 0; node < M / Shape::F; ++node)
      out[Shape::rest_at + level * (M / Shape::F) + node] =
          node_twiddle(Shape::log_m - Shape::rest + level, node << level);
  for (int p = 0; p < Shape::passes; ++p) {
    const std::uint32_t s = Shape::stride(p);
    for (std::uint32_t r = 0; r < s; ++r)
      for (int q = 0; q < Shape::log_e; ++q)
        for (int c = 0; c < std::max(1, (1 << q) / 2); ++c) {
          // exp(-2·pi·i·j/len), len = 2·half
          const std::uint64_t half = std::uint64_t{s} << q, j = r + std::uint64_t{s} * c;
          out[Shape::inverse_at(p) + twiddle_index(q, c) * s + r] =
              root(two_n - j * (two_n / (2 * half)) % two_n);
        }
  }
  for (std::uint32_t j = 0; j < M; ++j) out[Shape::roots_at + j] = root(j);
  return out;
}

/// The tables of a key's N, and its roots of unity.
inline void upload_fft_tables(const Stream& stream, const ring::FftPlan& plan, FftKeyArrays& key) {
  with_fft_shape(plan.N(), [&]<class Shape, class ClusterShape>() {
    const std::vector<double2> tables = group_fft_tables<Shape>(plan);
    key.tables = stream.upload(tables.data(), tables.size());
    const std::vector<double2> cluster_tables = group_fft_tables<ClusterShape>(plan);
    key.cluster_tables = stream.upload(cluster_tables.data(), cluster_tables.size());
    const std::vector<double2> linked_tables = group_fft_tables<LinkedShape<Shape>>(plan);
    key.linked_tables = stream.upload(linked_tables.data(), linked_tables.size());
  });
  std::vector<double2> roots;
  for (const auto& w : plan.roots()) roots.push_back({w.real(), w.imag()});
  key.roots = stream.upload(roots.data(), roots.size());
}

}  // namespace whorl::backend::cuda
