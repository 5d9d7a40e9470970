// Launches for one form and kind of unrolled key. Its file includes this.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/rotate_fft_unrolled.cuh"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

template <FftWords words>
UnrolledFftKeyView<words> unrolled_view_of(const FftKeyArrays& key) {
  return {reinterpret_cast<const FftKeyPair<words>*>(key.values.data()),
          key.inverse_scale.data(),
          key.tables.data(),
          key.roots.data(),
          key.ranges.data(),
          key.range_count,
          key.slots,
          key.Q,
          key.large,
          nullptr};
}

/// One launch for the batch. False where a block's ciphertexts do not fit.
template <class Shape, BundleForm form, int m, int R, int L, FftWords words, int blocks, class Word>
bool launch_unrolled(const Stream& stream, const FftKeyArrays& key,
                     const RotationBatch<Word>& batch) {
  using Memory = UnrolledFftMemory<Shape, R, L, words>;
  const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots);
  if (bytes > stream.gpu().shared_per_block) return false;
  launch_rotation(stream, rotate_fft_unrolled<Shape, form, m, R, L, words, blocks, Slots::shared>,
                  unrolled_view_of<words>(key), batch, R * L, 2 * R * L * Shape::threads, bytes);
  return true;
}

/// Calls body with the group of the key, as a constant.
template <BundleForm form, class Body>
auto with_group_in_loop(const FftKeyArrays& key, const Body& body) {
  constexpr BundleSizes sizes = bundle_sizes(form);
  static_assert(sizes.most_in_loop == sizes.least_in_loop + 1);
  if (key.group == sizes.least_in_loop)
    return body(std::integral_constant<int, sizes.least_in_loop>{});
  return body(std::integral_constant<int, sizes.most_in_loop>{});
}

template <BundleForm form, int m, FftWords words, class Word>
void launch_unrolled_of(const Stream& stream, const FftKeyArrays& key,
                        const RotationBatch<Word>& batch) {
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    using Tuning = UnrolledFftTuning<Shape, form, m, words>;
    if (launch_unrolled<Shape, form, m, Tuning::a_thread, Tuning::lanes, words, Tuning::blocks>(
            stream, key, batch))
      return;
    using Memory = UnrolledFftMemory<Shape, 1, 1, words>;
    launch_spilling_rotation(
        stream, rotate_fft_unrolled<Shape, form, m, 1, 1, words, 1, Slots::device>,
        unrolled_view_of<words>(key), batch, 2 * Shape::threads, Memory::other_bytes(key.slots),
        Memory::slot_bytes(key.slots), 2 * Shape::M);
  });
}

template <BundleForm form, FftWords words, class Word>
void launch_rotate_fft_unrolled(const Stream& stream, const FftKeyArrays& key,
                                const RotationBatch<Word>& batch) {
  with_group_in_loop<form>(key, [&]<int m>(std::integral_constant<int, m>) {
    launch_unrolled_of<form, m, words>(stream, key, batch);
  });
}

template <BundleForm form, FftWords words>
std::uint32_t unrolled_at_once(const Stream& stream, const FftKeyArrays& key) {
  int blocks = 0, ciphertexts = 0;
  with_group_in_loop<form>(key, [&]<int m>(std::integral_constant<int, m>) {
    with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
      using Tuning = UnrolledFftTuning<Shape, form, m, words>;
      constexpr int R = Tuning::a_thread, L = Tuning::lanes;
      using Memory = UnrolledFftMemory<Shape, R, L, words>;
      const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots);
      if (bytes > stream.gpu().shared_per_block) return;
      const auto kernel =
          rotate_fft_unrolled<Shape, form, m, R, L, words, Tuning::blocks, Slots::shared>;
      allow_shared(stream, kernel, bytes);
      ciphertexts = R * L;
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel,
                                                          2 * R * L * Shape::threads, bytes),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    });
  });
  if (ciphertexts == 0) return spilling_at_once(stream);
  return std::max(1, blocks * ciphertexts) * stream.gpu().multiprocessors;
}

}  // namespace whorl::backend::cuda
