// Launches for one kind of key. The file of each kind includes this.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/rotate_fft.cuh"
#include "backend/cuda/kernels/rotate_fft_cluster.cuh"
#include "backend/cuda/tuning/rotation.h"

namespace whorl::backend::cuda {

template <bool wide>
FftKeyView<wide> view_of(const FftKeyArrays& key) {
  return {reinterpret_cast<const std::conditional_t<wide, double2, int2>*>(key.values.data()),
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
template <class Shape, class KeyShape, int keys, bool wide, bool coarse, int blocks, bool clustered,
          class Word>
bool launch_cluster(const Stream& stream, const FftKeyArrays& key, const RotationBatch<Word>& batch,
                    unsigned waves) {
  const unsigned digits = key.most_digits;
  const FftClusterMemory<Shape, wide, coarse> memory{(digits + blocks / 2 - 1) / (blocks / 2),
                                                     2 * digits, keys};
  const std::size_t bytes = memory.own_bytes(blocks) + (clustered ? memory.shown_bytes() : 0);
  if (bytes > stream.gpu().shared_per_block) return false;
  FftKeyView<wide> view = view_of<wide>(key);
  view.tables = key.cluster_tables.data();
  return launch_meeting_rotation(
      stream, rotate_fft_cluster<Shape, KeyShape, keys, wide, coarse, blocks, clustered>, view,
      batch, memory, blocks, clustered, waves, Shape::threads, bytes);
}

/// The number of blocks for one ciphertext: that of blocks_for, or four if they exchange data in
/// device memory.
template <class Shape, class KeyShape, int keys, bool wide, bool coarse, class Word>
bool launch_any_cluster(const Stream& stream, const FftKeyArrays& key,
                        const RotationBatch<Word>& batch, bool clustered, unsigned waves) {
  if (!clustered)
    return launch_cluster<Shape, KeyShape, keys, wide, coarse, 4, false>(stream, key, batch, waves);
  if (blocks_for(key.most_digits) == 8)
    return launch_cluster<Shape, KeyShape, keys, wide, coarse, 8, true>(stream, key, batch, waves);
  return launch_cluster<Shape, KeyShape, keys, wide, coarse, 4, true>(stream, key, batch, waves);
}

template <class Shape, class ClusterShape, int keys, bool wide, bool coarse, class Word>
void choose_rotate_fft(const Stream& stream, const FftKeyArrays& key, BlindRotation way,
                       const RotationBatch<Word>& batch) {
  using Tuning = FftRotationTuning<Shape, keys, wide, coarse>;
  using Loop = GinxShape<Shape>;
  using Memory = FftPolynomialMemory<Loop, wide, coarse>;
  FftKeyView<wide> view = view_of<wide>(key);
  view.fetches = batch.count < stream.gpu().multiprocessors;
  const auto bytes = [&](unsigned ciphertexts) {
    return 2 * ciphertexts * (Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots));
  };
  const std::size_t most = stream.gpu().shared_per_block;
  // Over several blocks while that takes less time than one block each: each fills a
  // multiprocessor's memory, and a wide ciphertext gains a factor of 1.4, a narrow one 1.5 to 3.7.
  const unsigned waves = wide ? 1 : 2;
  const bool few =
      batch.count * blocks_for(key.most_digits) <= waves * stream.gpu().multiprocessors;
  if (way == BlindRotation::grid || way == BlindRotation::cluster ||
      (way == BlindRotation::automatic && few)) {
    const bool clusters = stream.gpu().has_clusters() && way != BlindRotation::grid;
    if (launch_any_cluster<ClusterShape, Shape, keys, wide, coarse>(
            stream, key, batch, clusters, way == BlindRotation::automatic ? waves : any_waves))
      return;
  }
  constexpr unsigned threads = 2 * Shape::threads;
  const bool fills = batch.count >= Tuning::shared * stream.gpu().multiprocessors;
  if ((way == BlindRotation::shared || (way == BlindRotation::automatic && fills)) &&
      bytes(Tuning::shared) <= most)
    return launch_rotation(
        stream, rotate_fft<Loop, keys, Tuning::shared, wide, coarse, Tuning::shared_blocks, false>,
        view, batch, Tuning::shared, Tuning::shared * threads, bytes(Tuning::shared));
  if (bytes(1) <= most)
    return launch_rotation(stream,
                           rotate_fft<Loop, keys, 1, wide, coarse, Tuning::single_blocks, false>,
                           view, batch, 1, threads, bytes(1));
  launch_spilling_rotation(stream, rotate_fft<Loop, keys, 1, wide, coarse, 1, true>, view, batch,
                           threads, 2 * Memory::other_bytes(key.slots),
                           2 * Memory::slot_bytes(key.slots), 2 * Shape::M);
}

template <int keys, bool wide, bool coarse, class Word>
void launch_rotate_fft(const Stream& stream, const FftKeyArrays& key, BlindRotation way,
                       const RotationBatch<Word>& batch) {
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    choose_rotate_fft<Shape, ClusterShape, keys, wide, coarse>(stream, key, way, batch);
  });
}

}  // namespace whorl::backend::cuda
