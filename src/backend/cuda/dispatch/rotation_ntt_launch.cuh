// Launches for one word size; included by the file of each.
#pragma once

#include "backend/cuda/dispatch/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation_ntt_launch.h"
#include "backend/cuda/kernels/rotate_ntt.cuh"
#include "backend/cuda/tuning/rotation.h"

namespace whorl::backend::cuda {

template <class Shape, int keys, class Word = typename Shape::Word>
void choose_rotate_ntt(const Stream& stream, const NttRotationKey<Word>& key, BlindRotation way,
                       const RotationBatch<Word>& batch) {
  using Tuning = NttRotationTuning<Shape>;
  using Memory = NttBlockMemory<Shape>;
  const NttKeyView<Word> view{
      key.values.data(),
      {key.roots.data(), key.inverse_roots.data(), static_cast<Word>(key.shape().Q)},
      key.monomials.data(),
      key.ranges.data(),
      key.range_count,
      key.slots,
      key.montgomery,
      nullptr};
  const auto bytes = [&](unsigned ciphertexts) {
    return Memory::slot_bytes(ciphertexts, key.slots) + Memory::other_bytes(ciphertexts);
  };
  const std::size_t most = stream.gpu().shared_per_block;
  constexpr unsigned threads = 2 * Shape::threads;
  const bool fills = batch.count >= Tuning::shared * stream.gpu().multiprocessors;
  if ((way == BlindRotation::shared || (way == BlindRotation::automatic && fills)) &&
      bytes(Tuning::shared) <= most)
    return launch_rotation(stream, rotate_ntt<Shape, keys, Tuning::shared, 1, false>, view, batch,
                           Tuning::shared, Tuning::shared * threads, bytes(Tuning::shared));
  if (bytes(1) <= most)
    return launch_rotation(stream, rotate_ntt<Shape, keys, 1, 1, false>, view, batch, 1, threads,
                           bytes(1));
  launch_spilling_rotation(stream, rotate_ntt<Shape, keys, 1, 1, true>, view, batch, threads,
                           Memory::other_bytes(1), Memory::slot_bytes(1, key.slots), Shape::N);
}

template <class Word>
void launch_rotate_ntt(const Stream& stream, const NttRotationKey<Word>& key, BlindRotation way,
                       const RotationBatch<Word>& batch) {
  with_ntt_shape<Word>(key.shape().N, [&]<class Shape>() {
    if (key.shape().keys == 1)
      choose_rotate_ntt<Shape, 1>(stream, key, way, batch);
    else
      choose_rotate_ntt<Shape, 2>(stream, key, way, batch);
  });
}

}  // namespace whorl::backend::cuda
