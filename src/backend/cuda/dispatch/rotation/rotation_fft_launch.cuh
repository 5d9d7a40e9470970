// Launches for one kind of key. The file of each kind includes this.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/rotate_fft.cuh"
#include "backend/cuda/kernels/rotate_fft_cluster.cuh"
#include "backend/cuda/tuning/rotation.h"

namespace whorl::backend::cuda {

template <FftWords words>
FftKeyView<words> view_of(const FftKeyArrays& key) {
  return {reinterpret_cast<const FftKeyValue<words>*>(key.values.data()),
          key.inverse_scale.data(),
          key.tables.data(),
          key.roots.data(),
          key.ranges.data(),
          key.range_count,
          key.slots,
          key.Q,
          key.large,
          nullptr,
          false};
}

/// One ciphertext over `blocks` blocks. False where it does not fit, or the GPU has no clusters and
/// cannot run all blocks at once.
template <class Shape, class KeyShape, int keys, FftWords words, int blocks, class Meeting,
          class Word>
bool launch_cluster(const Stream& stream, const FftKeyArrays& key, const RotationBatch<Word>& batch,
                    unsigned waves) {
  constexpr bool clustered = std::is_same_v<Meeting, ClusterMeeting>;
  const unsigned digits = key.most_digits;
  const FftClusterMemory<Shape, words> memory{(digits + blocks / 2 - 1) / (blocks / 2), 2 * digits,
                                              keys};
  const std::size_t bytes = memory.own_bytes(blocks) + (clustered ? memory.shown_bytes() : 0);
  if (bytes > stream.gpu().shared_per_block) return false;
  FftKeyView<words> view = view_of<words>(key);
  view.tables = key.cluster_tables.data();
  return launch_meeting_rotation(
      stream, rotate_fft_cluster<Shape, KeyShape, keys, words, blocks, Meeting>, view, batch,
      memory, blocks, clustered, waves, Shape::threads, bytes, key.N);
}

/// The number of blocks for one ciphertext: that of blocks_for, or four if they exchange data in
/// device memory.
template <class Shape, class KeyShape, int keys, FftWords words, class Word>
bool launch_any_cluster(const Stream& stream, const FftKeyArrays& key,
                        const RotationBatch<Word>& batch, bool clustered, unsigned waves) {
  if (!clustered)
    return launch_cluster<Shape, KeyShape, keys, words, 4, GridMeeting>(stream, key, batch, waves);
  if (blocks_for(key.most_digits) == 8)
    return launch_cluster<Shape, KeyShape, keys, words, 8, ClusterMeeting>(stream, key, batch,
                                                                           waves);
  return launch_cluster<Shape, KeyShape, keys, words, 4, ClusterMeeting>(stream, key, batch, waves);
}

template <class Shape, class ClusterShape, int keys, FftWords words, class Word>
void choose_rotate_fft(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                       const RotationBatch<Word>& batch) {
  using Tuning = FftRotationTuning<Shape, keys, words>;
  using Loop = GinxShape<Shape>;
  using Memory = FftPolynomialMemory<Loop, words>;
  FftKeyView<words> view = view_of<words>(key);
  view.fetches = batch.count < stream.gpu().multiprocessors;
  const auto bytes = [&](unsigned ciphertexts) {
    return 2 * ciphertexts * (Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots));
  };
  const std::size_t most = stream.gpu().shared_per_block;
  // Over several blocks while that takes less time than one block each: each fills a
  // multiprocessor's memory, and a wide ciphertext gains a factor of 1.4, a narrow one 1.5 to 3.7.
  const unsigned waves = is_wide<words> ? 1 : 2;
  const bool few =
      batch.count * blocks_for(key.most_digits) <= waves * stream.gpu().multiprocessors;
  if (spread == BlindRotation::grid || spread == BlindRotation::cluster ||
      (spread == BlindRotation::automatic && few)) {
    const bool clusters = stream.gpu().has_clusters() && spread != BlindRotation::grid;
    if (launch_any_cluster<ClusterShape, Shape, keys, words>(
            stream, key, batch, clusters, spread == BlindRotation::automatic ? waves : any_waves))
      return;
  }
  constexpr unsigned threads = 2 * Shape::threads;
  const bool fills = batch.count >= Tuning::shared * stream.gpu().multiprocessors;
  if ((spread == BlindRotation::shared || (spread == BlindRotation::automatic && fills)) &&
      bytes(Tuning::shared) <= most)
    return launch_rotation(
        stream, rotate_fft<Loop, keys, Tuning::shared, words, Tuning::shared_blocks, Slots::shared>,
        view, batch, Tuning::shared, Tuning::shared * threads, bytes(Tuning::shared));
  if (bytes(1) <= most)
    return launch_rotation(stream,
                           rotate_fft<Loop, keys, 1, words, Tuning::single_blocks, Slots::shared>,
                           view, batch, 1, threads, bytes(1));
  launch_spilling_rotation(stream, rotate_fft<Loop, keys, 1, words, 1, Slots::device>, view, batch,
                           threads, 2 * Memory::other_bytes(key.slots),
                           2 * Memory::slot_bytes(key.slots), 2 * Shape::M);
}

template <int keys, FftWords words, class Word>
void launch_rotate_fft(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                       const RotationBatch<Word>& batch) {
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    choose_rotate_fft<Shape, ClusterShape, keys, words>(stream, key, spread, batch);
  });
}

}  // namespace whorl::backend::cuda
