// Launches for one form of unrolled keys of one word size. Its file includes this.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_ntt_launch.h"
#include "backend/cuda/kernels/rotate_ntt_unrolled.cuh"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

template <class Word>
UnrolledNttKeyView<Word> unrolled_view_of(const NttKeyArrays<Word>& key) {
  return {key.values.data(),
          {key.roots.data(), key.inverse_roots.data(), key.Q},
          key.monomials.data(),
          key.ranges.data(),
          key.range_count,
          key.slots,
          key.montgomery,
          nullptr,
          static_cast<int>(key.group),
          static_cast<int>(key.keys)};
}

/// False where the slots do not fit.
template <class Shape, BundleForm form, int m, class Word>
bool launch_unrolled_ntt(const Stream& stream, const NttKeyArrays<Word>& key,
                         const RotationBatch<Word>& batch) {
  constexpr int lanes = UnrolledNttTuning<Shape>::lanes;
  using Memory = UnrolledNttMemory<Shape, lanes>;
  const std::size_t bytes = Memory::slot_bytes(key.slots) + Memory::other_bytes;
  if (bytes > stream.gpu().shared_per_block) return false;
  launch_rotation(stream, rotate_ntt_unrolled<Shape, form, m, lanes, 1, Slots::shared>,
                  unrolled_view_of(key), batch, lanes, 2 * lanes * Shape::threads, bytes);
  return true;
}

template <BundleForm form, class Word>
void launch_rotate_ntt_unrolled(const Stream& stream, const NttKeyArrays<Word>& key,
                                const RotationBatch<Word>& batch) {
  constexpr BundleSizes sizes = bundle_sizes(form);
  constexpr int some = sizes.least_in_loop, more = sizes.most_in_loop, any = sizes.most;
  with_ntt_shape<Word>(key.N, [&]<class Shape, class ClusterShape>() {
    const bool done = key.group == some ? launch_unrolled_ntt<Shape, form, some>(stream, key, batch)
                      : key.group == more
                          ? launch_unrolled_ntt<Shape, form, more>(stream, key, batch)
                          : launch_unrolled_ntt<Shape, form, any>(stream, key, batch);
    if (done) return;
    using Single = UnrolledNttMemory<Shape, 1>;
    launch_spilling_rotation(stream, rotate_ntt_unrolled<Shape, form, any, 1, 1, Slots::device>,
                             unrolled_view_of(key), batch, 2 * Shape::threads, Single::other_bytes,
                             Single::slot_bytes(key.slots), Shape::N);
  });
}

}  // namespace whorl::backend::cuda
