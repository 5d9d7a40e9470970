// Launches for one word size. The file of each size includes this.
#pragma once

#include <utility>

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_ntt_launch.h"
#include "backend/cuda/kernels/rotate_ntt.cuh"
#include "backend/cuda/kernels/rotate_ntt_cluster.cuh"
#include "backend/cuda/tuning/rotation.h"

namespace whorl::backend::cuda {

template <class Word>
NttKeyView<Word> view_of(const NttKeyArrays<Word>& key) {
  return {key.values.data(),    {key.roots.data(), key.inverse_roots.data(), key.Q},
          key.monomials.data(), key.ranges.data(),
          key.range_count,      key.slots,
          key.montgomery,       nullptr};
}

/// One ciphertext over `blocks` blocks. False where it does not fit, or the GPU has no clusters and
/// cannot run all blocks at once.
template <class Shape, class KeyShape, int keys, int blocks, class Meeting, class Word>
bool launch_cluster(const Stream& stream, const NttKeyArrays<Word>& key,
                    const RotationBatch<Word>& batch, unsigned waves) {
  constexpr unsigned carriers = blocks / 2;
  constexpr bool clustered = std::is_same_v<Meeting, ClusterMeeting>;
  NttClusterMemory<Shape> memory{(key.slots + carriers - 1) / carriers, 2 * key.slots, keys, true,
                                 true};
  const auto bytes = [&] {
    return memory.own_bytes(blocks, clustered) + (clustered ? memory.shown_bytes() : 0);
  };
  // What does not fit is read where it lies, in device memory: the twiddles, then the key too. With
  // 227 KB a block, polynomials alone are too much only for N = 8192, 64-bit words and more than
  // four digits.
  constexpr std::pair<bool, bool> choices[] = {{true, true}, {true, false}, {false, false}};
  for (const auto& [holds_key, holds_twiddles] : choices) {
    memory.holds_key = holds_key;
    memory.holds_twiddles = holds_twiddles;
    if (bytes() <= stream.gpu().shared_per_block)
      return launch_meeting_rotation(
          stream, rotate_ntt_cluster<Shape, KeyShape, keys, blocks, Meeting>, view_of(key), batch,
          memory, blocks, clustered, waves, Shape::threads, bytes(), key.N);
  }
  return false;
}

/// The number of blocks for one ciphertext: that of blocks_for, or four if they exchange data in
/// device memory.
template <class Shape, class KeyShape, int keys, class Word>
bool launch_any_cluster(const Stream& stream, const NttKeyArrays<Word>& key,
                        const RotationBatch<Word>& batch, bool clustered, unsigned waves) {
  if (!clustered)
    return launch_cluster<Shape, KeyShape, keys, 4, GridMeeting>(stream, key, batch, waves);
  if (blocks_for(key.slots) == 8)
    return launch_cluster<Shape, KeyShape, keys, 8, ClusterMeeting>(stream, key, batch, waves);
  return launch_cluster<Shape, KeyShape, keys, 4, ClusterMeeting>(stream, key, batch, waves);
}

template <class Shape, class ClusterShape, int keys, class Word = typename Shape::Word>
void choose_rotate_ntt(const Stream& stream, const NttKeyArrays<Word>& key, BlindRotation spread,
                       const RotationBatch<Word>& batch) {
  using Tuning = NttRotationTuning<Shape>;
  using Memory = NttBlockMemory<Shape>;
  const NttKeyView<Word> view = view_of(key);
  const auto bytes = [&](unsigned ciphertexts) {
    return Memory::slot_bytes(ciphertexts, key.slots) + Memory::other_bytes(ciphertexts);
  };
  const std::size_t most = stream.gpu().shared_per_block;
  // Over several blocks while that takes less time than one block each: a factor of 1.8 is gained
  // with 64-bit words, of 2 to 5 with 32-bit ones.
  constexpr unsigned waves = sizeof(Word) == 4 ? 2 : 1;
  const bool few = batch.count * blocks_for(key.slots) <= waves * stream.gpu().multiprocessors;
  if (spread == BlindRotation::grid || spread == BlindRotation::cluster ||
      (spread == BlindRotation::automatic && few)) {
    const bool clusters = stream.gpu().has_clusters() && spread != BlindRotation::grid;
    if (launch_any_cluster<ClusterShape, Shape, keys>(
            stream, key, batch, clusters, spread == BlindRotation::automatic ? waves : any_waves))
      return;
  }
  constexpr unsigned threads = 2 * Shape::threads;
  const bool fills = batch.count >= Tuning::shared * stream.gpu().multiprocessors;
  if ((spread == BlindRotation::shared || (spread == BlindRotation::automatic && fills)) &&
      bytes(Tuning::shared) <= most)
    return launch_rotation(stream, rotate_ntt<Shape, keys, Tuning::shared, 1, Slots::shared>, view,
                           batch, Tuning::shared, Tuning::shared * threads, bytes(Tuning::shared));
  if (bytes(1) <= most)
    return launch_rotation(stream, rotate_ntt<Shape, keys, 1, 1, Slots::shared>, view, batch, 1,
                           threads, bytes(1));
  launch_spilling_rotation(stream, rotate_ntt<Shape, keys, 1, 1, Slots::device>, view, batch,
                           threads, Memory::other_bytes(1), Memory::slot_bytes(1, key.slots),
                           Shape::N);
}

template <int keys, class Word>
void launch_rotate_ntt(const Stream& stream, const NttKeyArrays<Word>& key, BlindRotation spread,
                       const RotationBatch<Word>& batch) {
  with_ntt_shape<Word>(key.N, [&]<class Shape, class ClusterShape>() {
    choose_rotate_ntt<Shape, ClusterShape, keys>(stream, key, spread, batch);
  });
}

}  // namespace whorl::backend::cuda
