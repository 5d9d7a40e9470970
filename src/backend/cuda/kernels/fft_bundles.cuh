// The bundles of an unrolled key for some ciphertexts, ahead of their rotations: for few
// ciphertexts all multiprocessors make them, and the loop over the steps, which runs on few, is the
// same for any size of groups. Formulas as in rotate_fft_unrolled.cuh.
#pragma once

#include <algorithm>

#include "backend/cuda/kernels/rotate_fft_unrolled.cuh"

namespace whorl::backend::cuda {

template <FftWords words>
struct FftBundleView {
  const FftKeyPair<words>* values;
  const double* inverse_scale;  ///< of each LWE coefficient that begins a step
  const double2* roots;         ///< zeta^e, e < 2N
  const BundleStep* steps;
  std::size_t size;  ///< complex values of a ciphertext's bundles
};

/// Where a value of a bundle lies among those of its step, for a loop with this shape (NodesOfLoop
/// in rotate_fft_linked.cuh): its threads read side by side.
template <class Shape>
__host__ __device__ constexpr std::size_t bundle_place(unsigned digit, unsigned part,
                                                       unsigned component, unsigned frequency) {
  constexpr unsigned F = Shape::F, E = Shape::E, of_thread = E / F, G = Shape::threads;
  const unsigned node = frequency / F, f = frequency % F;
  const unsigned thread = node / E * F + node % E / of_thread;
  return ((std::size_t{2} * digit + part) * 2 + component) * Shape::M +
         (f * of_thread + node % of_thread) * G + thread;
}

namespace fft_bundles_detail {

/// with_sets of rotate_fft_unrolled.cuh for C ciphertexts, with keys that are read when they are
/// needed.
template <int first, int m, int level, int C, class Key>
__device__ __forceinline__ void with_sets(const Key& key, const Complex (&u)[C][m], int base,
                                          Complex (&out)[C]) {
  if constexpr (level == m) {
    const Complex k = key(base - first);
#pragma unroll
    for (int c = 0; c < C; ++c) out[c] = k;
  } else {
    with_sets<first, m, level + 1>(key, u, base, out);
    Complex rest[C];
    with_sets<first, m, level + 1>(key, u, base | 1 << level, rest);
#pragma unroll
    for (int c = 0; c < C; ++c) rotate_fft_detail::multiply_add(out[c], u[c][level], rest[c]);
  }
}
/// `out` is 0 on entry.
template <BundleForm form, int m, int level = 0, int C, class Key>
__device__ __forceinline__ void bundle(const Key& key, const Complex (&u)[C][m],
                                       Complex (&out)[C]) {
  if constexpr (form == BundleForm::all) {
    with_sets<0, m, 0>(key, u, 0, out);
  } else if constexpr (level < m) {
    Complex rest[C];
    if constexpr (form == BundleForm::block)
      with_sets<0, m, m>(key, u, level, rest);
    else
      with_sets<1, m, level + 1>(key, u, 1 << level, rest);
#pragma unroll
    for (int c = 0; c < C; ++c) rotate_fft_detail::multiply_add(out[c], u[c][level], rest[c]);
    bundle<form, m, level + 1>(key, u, out);
  }
}

}  // namespace fft_bundles_detail

/// How an unrolled key lies: as unrolled_fft_place or as tensor_fft_place has it.
enum class KeyPlaces { unrolled, tensor };

/// Threads of a block: each takes a node of KeyShape for C ciphertexts. With more of them it takes
/// more registers, and smaller blocks fill a multiprocessor.
template <class KeyShape, int C>
inline constexpr int bundle_threads = std::min(KeyShape::M / KeyShape::F, C > 2 ? 128 : 256);

/// Blocks (C ciphertexts, unit and nodes, step): those that read the same rows of the key run side
/// by side, so that it comes from the device's memory once. A unit is a frequency of the nodes, a
/// component and a digit; wide, also one of the digit's two rows. The key lies as `places` says.
template <class KeyShape, class Shape, BundleForm form, int m, int C, FftWords words,
          KeyPlaces places>
__global__ void __launch_bounds__(bundle_threads<KeyShape, C>)
    make_fft_bundles(const FftBundleView<words> key, const std::uint32_t* lwe, std::uint32_t n,
                     std::uint32_t count, double2* out) {
  constexpr int M = KeyShape::M, N = 2 * M, F = KeyShape::F, nodes = M / F;
  constexpr int keys = static_cast<int>(bundle_keys(form, m)), parts = is_wide<words> ? 1 : 2;
  constexpr int bits = KeyShape::log_m - KeyShape::rest;
  const BundleStep step = key.steps[blockIdx.z];
  constexpr unsigned threads = bundle_threads<KeyShape, C>, blocks = nodes / threads;  // a unit
  const unsigned unit = blockIdx.y / blocks;
  if (unit >= step.digits * F * (is_wide<words> ? 4 : 2)) return;
  const unsigned part = is_wide<words> ? unit % 2 : 0,
                 component = unit / (is_wide<words> ? 2 : 1) % 2;
  const unsigned f = unit / (is_wide<words> ? 4 : 2) % F,
                 digit = unit / (is_wide<words> ? 4 : 2) / F;
  const int node = static_cast<int>(blockIdx.y % blocks * threads + threadIdx.x);
  const std::uint32_t exponent = 4 * (__brev(node) >> (32 - bits)) + 1;
  const std::uint32_t turns = rotate_fft_detail::turns_of<F>(f);
  const std::uint32_t ciphertext = blockIdx.x * C;
  Complex u[C][m];
#pragma unroll
  for (int c = 0; c < C; ++c)
#pragma unroll
    for (int i = 0; i < m; ++i) {
      const std::uint32_t row = min(ciphertext + c, count - 1), at = step.first + i;
      const std::uint32_t a = at < n ? __ldg(lwe + std::size_t{row} * (n + 1) + at) : 0;
      u[c][i] = rotate_fft_unrolled_detail::factor<form>(rotate_fft_detail::turned(
          load_root(key.roots + ((a * exponent) & (2 * N - 1))), 0u - turns * a));
    }
  const auto* const from = key.values + step.key / parts + std::size_t{unit} * keys * nodes + node;
  const double scale = __ldg(key.inverse_scale + step.first);
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    Complex value[C] = {};
    constexpr unsigned there = tensor_keys(form, m);
    constexpr bool tensor = places == KeyPlaces::tensor;
    int4 pairs[tensor ? there / 2 : 1];  // a thread's keys lie beside each other
    if constexpr (tensor) {
      const auto* const first =
          reinterpret_cast<const int2*>(key.values) + step.key +
          tensor_fft_place<KeyShape>(digit, p, component, 0, there, __brev(node) >> (32 - bits), f);
#pragma unroll
      for (unsigned k = 0; k < there / 2; ++k)
        pairs[k] = __ldg(reinterpret_cast<const int4*>(first) + k);
    }
    fft_bundles_detail::bundle<form, m>(
        [&](int set) -> Complex {
          if constexpr (tensor) {
            // keys t and t + 4 of eight, or t and t + 1 of four
            const int4& v = pairs[there == 8 ? set % 4 : set / 2];
            const bool second = there == 8 ? set >= 4 : set % 2 == 1;
            return {static_cast<double>(second ? v.z : v.x),
                    static_cast<double>(second ? v.w : v.y)};
          } else {
            const auto v = rotate_fft_detail::load_key(from + set * nodes);
            if constexpr (is_wide<words>)
              return {v.x, v.y};
            else
              return {static_cast<double>(p == 0 ? v.x : v.z),
                      static_cast<double>(p == 0 ? v.y : v.w)};
          }
        },
        u, value);
    const std::size_t at =
        step.bundle + bundle_place<Shape>(digit, part + p, component, node * F + f);
#pragma unroll
    for (int c = 0; c < C; ++c)
      if (ciphertext + c < count)
        out[(ciphertext + c) * key.size + at] = {value[c].re * scale, value[c].im * scale};
  }
}

}  // namespace whorl::backend::cuda
