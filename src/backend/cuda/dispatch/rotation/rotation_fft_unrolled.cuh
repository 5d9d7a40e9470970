// Launches for one form and kind of unrolled key. Its file includes this.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/rotate_fft_unrolled.cuh"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

template <bool wide>
UnrolledFftKeyView<wide> unrolled_view_of(const FftKeyArrays& key) {
  return {reinterpret_cast<const std::conditional_t<wide, double2, int4>*>(key.values.data()),
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
template <class Shape, BundleForm form, int m, int R, int L, bool wide, bool coarse, int blocks,
          class Word>
bool launch_unrolled(const Stream& stream, const FftKeyArrays& key,
                     const RotationBatch<Word>& batch) {
  using Memory = UnrolledFftMemory<Shape, R, L, wide, coarse>;
  const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots);
  if (bytes > stream.gpu().shared_per_block) return false;
  launch_rotation(stream, rotate_fft_unrolled<Shape, form, m, R, L, wide, coarse, blocks, false>,
                  unrolled_view_of<wide>(key), batch, R * L, 2 * R * L * Shape::threads, bytes);
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

template <BundleForm form, int m, bool wide, bool coarse, class Word>
void launch_unrolled_of(const Stream& stream, const FftKeyArrays& key,
                        const RotationBatch<Word>& batch) {
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    using Tuning = UnrolledFftTuning<Shape, form, m, wide, coarse>;
    if (launch_unrolled<Shape, form, m, Tuning::a_thread, Tuning::lanes, wide, coarse,
                        Tuning::blocks>(stream, key, batch))
      return;
    using Memory = UnrolledFftMemory<Shape, 1, 1, wide, coarse>;
    launch_spilling_rotation(
        stream, rotate_fft_unrolled<Shape, form, m, 1, 1, wide, coarse, 1, true>,
        unrolled_view_of<wide>(key), batch, 2 * Shape::threads, Memory::other_bytes(key.slots),
        Memory::slot_bytes(key.slots), 2 * Shape::M);
  });
}

template <BundleForm form, bool wide, bool coarse, class Word>
void launch_rotate_fft_unrolled(const Stream& stream, const FftKeyArrays& key,
                                const RotationBatch<Word>& batch) {
  with_group_in_loop<form>(key, [&]<int m>(std::integral_constant<int, m>) {
    launch_unrolled_of<form, m, wide, coarse>(stream, key, batch);
  });
}

template <BundleForm form, bool wide, bool coarse>
std::uint32_t unrolled_at_once(const Stream& stream, const FftKeyArrays& key) {
  int blocks = 0, ciphertexts = 0;
  with_group_in_loop<form>(key, [&]<int m>(std::integral_constant<int, m>) {
    with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
      using Tuning = UnrolledFftTuning<Shape, form, m, wide, coarse>;
      constexpr int R = Tuning::a_thread, L = Tuning::lanes;
      using Memory = UnrolledFftMemory<Shape, R, L, wide, coarse>;
      const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots);
      if (bytes > stream.gpu().shared_per_block) return;
      const auto kernel =
          rotate_fft_unrolled<Shape, form, m, R, L, wide, coarse, Tuning::blocks, false>;
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
