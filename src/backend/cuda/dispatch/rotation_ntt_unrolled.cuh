// Launches for unrolled keys of one word size. The file of each kind includes this.
#pragma once

#include "backend/cuda/dispatch/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation_ntt_launch.h"
#include "backend/cuda/kernels/rotate_ntt_unrolled.cuh"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

template <class Word>
UnrolledNttKeyView<Word> unrolled_view_of(const NttKeyArrays<Word>& key) {
  return {key.values.data(),    {key.roots.data(), key.inverse_roots.data(), key.Q},
          key.monomials.data(), key.ranges.data(),
          key.range_count,      key.slots,
          key.montgomery,       nullptr};
}

template <int m, class Word>
void launch_rotate_ntt_unrolled(const Stream& stream, const NttKeyArrays<Word>& key,
                                const RotationBatch<Word>& batch) {
  with_ntt_shape<Word>(key.N, [&]<class Shape, class ClusterShape>() {
    constexpr int lanes = UnrolledNttTuning<Shape, m>::lanes;
    using Memory = UnrolledNttMemory<Shape, lanes>;
    const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes;
    if (bytes <= stream.gpu().shared_per_block)
      return launch_rotation(stream, rotate_ntt_unrolled<Shape, m, lanes, 1, false>,
                             unrolled_view_of(key), batch, lanes, 2 * lanes * Shape::threads,
                             bytes);
    using Single = UnrolledNttMemory<Shape, 1>;
    launch_spilling_rotation(stream, rotate_ntt_unrolled<Shape, m, 1, 1, true>,
                             unrolled_view_of(key), batch, 2 * Shape::threads, Single::other_bytes,
                             Single::slot_bytes(key.slots), Shape::N);
  });
}

}  // namespace whorl::backend::cuda
