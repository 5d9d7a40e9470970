// Launches for one kind of unrolled key. The file of each kind includes this.
#pragma once

#include "backend/cuda/dispatch/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation_fft_launch.h"
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
template <class Shape, int m, int R, int L, bool wide, bool coarse, int blocks, class Word>
bool launch_unrolled(const Stream& stream, const FftKeyArrays& key,
                     const RotationBatch<Word>& batch) {
  using Memory = UnrolledFftMemory<Shape, R, L, wide, coarse>;
  const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots);
  if (bytes > stream.gpu().shared_per_block) return false;
  launch_rotation(stream, rotate_fft_unrolled<Shape, m, R, L, wide, coarse, blocks, false>,
                  unrolled_view_of<wide>(key), batch, R * L, 2 * R * L * Shape::threads, bytes);
  return true;
}

template <int m, bool wide, bool coarse, class Word>
void launch_rotate_fft_unrolled(const Stream& stream, const FftKeyArrays& key,
                                const RotationBatch<Word>& batch) {
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    using Tuning = UnrolledFftTuning<Shape, m, wide, coarse>;
    if (launch_unrolled<Shape, m, Tuning::a_thread, Tuning::lanes, wide, coarse, Tuning::blocks>(
            stream, key, batch))
      return;
    using Memory = UnrolledFftMemory<Shape, 1, 1, wide, coarse>;
    launch_spilling_rotation(stream, rotate_fft_unrolled<Shape, m, 1, 1, wide, coarse, 1, true>,
                             unrolled_view_of<wide>(key), batch, 2 * Shape::threads,
                             Memory::other_bytes(key.slots), Memory::slot_bytes(key.slots),
                             2 * Shape::M);
  });
}

}  // namespace whorl::backend::cuda
