// The bundles of an unrolled key for some ciphertexts, ahead of their rotations: for few
// ciphertexts all multiprocessors make them, and the loop over the steps, which runs on few, is the
// same for any size of groups. Formulas as in rotate_fft_unrolled.cuh.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include "backend/cuda/kernels/bundle_progress.cuh"
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

/// A row of the key: what the values of one polynomial of a bundle are made of, or of two, where a
/// narrow key's rows of a digit lie beside each other. Blocks copy rows into shared memory a few
/// rows ahead.
template <BundleForm form, int m, FftWords words, KeyPlaces places>
struct BundleKeyRow {
  static constexpr bool tensor = places == KeyPlaces::tensor;
  static constexpr unsigned parts = is_wide<words> || tensor ? 1 : 2;  ///< of a digit
  static constexpr unsigned of_digit = 4 / parts;
  /// How many of 16 bytes a node has.
  static constexpr unsigned pieces = tensor ? tensor_keys(form, m) / 2 : bundle_keys(form, m);
  static constexpr unsigned size = pieces * bundle_nodes;
  static constexpr unsigned stages =
      std::clamp<unsigned>(BundleTuning::staged_bytes / (16 * size), 2, 4);
  static constexpr std::size_t bytes = std::size_t{16} * stages * size;

  /// The component, and the part if a row has one, of row `row` of a digit.
  __device__ static __forceinline__ unsigned component(unsigned row) { return row / (2 / parts); }
  __device__ static __forceinline__ unsigned part(unsigned row) { return row % (2 / parts); }

  /// Where the pieces of a row begin, and how far apart those of a node are. `digit_row` counts all
  /// digits' rows.
  template <class KeyShape>
  __device__ static __forceinline__ const int4* from(const FftBundleView<words>& key,
                                                     const BundleStep& step, unsigned digit_row,
                                                     unsigned f, unsigned node) {
    constexpr unsigned nodes = KeyShape::M / KeyShape::F, bits = KeyShape::log_m - KeyShape::rest;
    const unsigned digit = digit_row / of_digit, row = digit_row % of_digit;
    if constexpr (tensor) {
      const std::size_t at =
          tensor_fft_place<KeyShape>(digit, part(row), component(row), 0, tensor_keys(form, m),
                                     __brev(node) >> (32 - bits), f);
      return reinterpret_cast<const int4*>(reinterpret_cast<const int2*>(key.values) + step.key +
                                           at);
    } else {
      const unsigned unit = (digit * KeyShape::F + f) * of_digit + row;
      return reinterpret_cast<const int4*>(key.values) + step.key / parts +
             std::size_t{unit} * pieces * nodes + node;
    }
  }
  template <class KeyShape>
  static constexpr unsigned apart = tensor ? 1 : KeyShape::M / KeyShape::F;

  /// Key `set` of the node of this lane, part p of a row.
  __device__ static __forceinline__ Complex value(const int4* staged, unsigned lane, int set,
                                                  int p) {
    if constexpr (tensor) {
      // keys t and t + 4 of eight, or t and t + 1 of four
      constexpr bool eight = tensor_keys(form, m) == 8;
      const int4 v = staged[(eight ? set % 4 : set / 2) * bundle_nodes + lane];
      const bool second = eight ? set >= 4 : set % 2 == 1;
      return {static_cast<double>(second ? v.z : v.x), static_cast<double>(second ? v.w : v.y)};
    } else if constexpr (is_wide<words>) {
      const double2 v = reinterpret_cast<const double2*>(staged)[set * bundle_nodes + lane];
      return {v.x, v.y};
    } else {
      // read for each part anew, since registers do not hold all keys of both
      const int2 v = reinterpret_cast<const int2*>(staged)[(set * bundle_nodes + lane) * 2 + p];
      return {static_cast<double>(v.x), static_cast<double>(v.y)};
    }
  }
};

/// What a block makes at a time: the values of one step and one frequency of bundle_nodes nodes,
/// for as many ciphertexts as the block has. Those of all ciphertexts come one after another, so
/// that the key comes from the device's memory once.
struct BundleItem {
  unsigned ciphertexts, first_node, f, step;  ///< ciphertexts: their number among the groups

  template <class KeyShape>
  __device__ static __forceinline__ BundleItem at(unsigned number, unsigned groups) {
    constexpr unsigned blocks = KeyShape::M / KeyShape::F / bundle_nodes;
    const unsigned rest = number / groups;
    return {number % groups, rest % blocks * bundle_nodes, rest / blocks % KeyShape::F,
            rest / (blocks * KeyShape::F)};
  }
};

/// A warp takes C = BundleTuning::a_warp ciphertexts, a block those of its blockDim.y warps: they
/// share the rows of the key. Blocks take items in turn, so that the steps are made in their order.
template <class KeyShape, class Shape, BundleForm form, int m, FftWords words, KeyPlaces places>
__global__ void __launch_bounds__(bundle_nodes* BundleTuning::most_warps)
    make_fft_bundles(const FftBundleView<words> key, const std::uint32_t* lwe, std::uint32_t n,
                     std::uint32_t count, double2* out, const BundleProgress progress) {
  using Row = BundleKeyRow<form, m, words, places>;
  constexpr int N = 2 * KeyShape::M, F = KeyShape::F, C = BundleTuning::a_warp;
  constexpr int bits = KeyShape::log_m - KeyShape::rest, stages = Row::stages;
  extern __shared__ int4 staged_rows[];
  let_loop_start();
  const unsigned lane = threadIdx.x, warps = blockDim.y, threads = bundle_nodes * warps,
                 thread = threadIdx.y * bundle_nodes + lane;
  const unsigned groups = bundle_groups(count, warps), items = progress.steps * progress.of_step;

  // The row that is copied next.
  unsigned next_item = blockIdx.x, next_row = 0;
  const auto copy_next = [&](int stage) {
    if (next_item < items) {
      const BundleItem item = BundleItem::at<KeyShape>(next_item, groups);
      const BundleStep step = key.steps[item.step];
      int4* const to = staged_rows + stage * Row::size;
      for (unsigned i = thread; i < Row::size; i += threads) {
        const unsigned piece = Row::tensor ? i % Row::pieces : i / bundle_nodes,
                       node = Row::tensor ? i / Row::pieces : i % bundle_nodes;
        __pipeline_memcpy_async(
            to + piece * bundle_nodes + node,
            Row::template from<KeyShape>(key, step, next_row, item.f, item.first_node + node) +
                piece * Row::template apart<KeyShape>,
            16);
      }
      if (++next_row == step.digits * Row::of_digit) {
        next_row = 0;
        next_item += gridDim.x;
      }
    }
    __pipeline_commit();
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) copy_next(stage);

  int stage = 0;
  for (unsigned number = blockIdx.x; number < items; number += gridDim.x) {
    const BundleItem item = BundleItem::at<KeyShape>(number, groups);
    const BundleStep step = key.steps[item.step];
    const unsigned node = item.first_node + lane;
    const std::uint32_t exponent = 4 * (__brev(node) >> (32 - bits)) + 1;
    const std::uint32_t turns = rotate_fft_detail::turns_of<F>(item.f);
    const std::uint32_t ciphertext = (item.ciphertexts * warps + threadIdx.y) * C;
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
    const double scale = __ldg(key.inverse_scale + step.first);
#pragma unroll 1
    for (unsigned row = 0; row < step.digits * Row::of_digit; ++row) {
      __pipeline_wait_prior(stages - 2);
      __syncthreads();  // the row is there, and all have read the one before it
      copy_next(stage == 0 ? stages - 1 : stage - 1);
      const int4* const staged = staged_rows + stage * Row::size;
      stage = stage + 1 == stages ? 0 : stage + 1;
      if (ciphertext >= count) continue;
#pragma unroll 1
      for (int p = 0; p < static_cast<int>(Row::parts); ++p) {
        Complex value[C] = {};
        fft_bundles_detail::bundle<form, m>(
            [&](int set) { return Row::value(staged, lane, set, p); }, u, value);
        const unsigned digit = row / Row::of_digit, of_digit = row % Row::of_digit;
        const std::size_t at =
            step.bundle + bundle_place<Shape>(digit, Row::part(of_digit) + p,
                                              Row::component(of_digit), node * F + item.f);
#pragma unroll
        for (int c = 0; c < C; ++c)
          if (ciphertext + c < count)
            out[(ciphertext + c) * key.size + at] = {value[c].re * scale, value[c].im * scale};
      }
    }
    if (progress.made != nullptr) progress.add(item.step);
  }
}

}  // namespace whorl::backend::cuda
