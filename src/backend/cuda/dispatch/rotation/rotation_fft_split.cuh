// Launches over quarters of the frequencies. The file of each number of keys and kind includes
// this.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_split.h"
#include "backend/cuda/kernels/rotate_fft_split.cuh"
#include "backend/cuda/tuning/split_rotation.h"

namespace whorl::backend::cuda {

/// Clusters of a kernel that run at once: fewer than multiprocessors over blocks, since a cluster
/// lies within one group of multiprocessors.
template <class Kernel>
std::uint32_t clusters_at_once(Kernel kernel, unsigned blocks, unsigned threads,
                               std::size_t bytes) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int at_once = 0;
  check(cudaOccupancyMaxActiveClusters(&at_once, kernel, &config),
        "cudaOccupancyMaxActiveClusters");
  return static_cast<std::uint32_t>(at_once);
}

template <int keys, FftWords words, class Word>
bool launch_rotate_fft_split(const Stream& stream, const FftKeyArrays& key,
                             const SplitTables& tables, BlindRotation spread,
                             const RotationBatch<Word>& batch) {
  const bool automatic = spread == BlindRotation::automatic;
  if (!(automatic || spread == BlindRotation::cluster) || !stream.gpu().has_clusters() ||
      key.most_digits > split_most_digits<words>)
    return false;
  bool launched = false;
  with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
    using Shapes = SplitShapes<KeyShape::log_m>;
    if constexpr (Shapes::exist) {
      using Block = SplitFftBlock<Shapes, words>;
      const auto kernel = rotate_fft_split<Shapes, KeyShape, keys, words>;
      const unsigned digits = key.most_digits, threads = Block::threads(digits);
      const std::size_t bytes =
          Block::bytes(digits) + SplitKeyMemory<KeyShape, keys, words>::bytes(digits);
      if (bytes > stream.gpu().shared_per_block) return;
      allow_shared(stream, kernel, bytes);
      const std::uint32_t wave = clusters_at_once(kernel, split_blocks, threads, bytes);
      if (wave == 0 || (automatic && batch.count > SplitTuning<words>::most_waves(digits) * wave))
        return;
      FftKeyView<words> view = view_of<words>(key);
      view.tables = tables.forward.data();
      stream.launch("blind rotation over quarters", kernel,
                    {dim3(batch.count * split_blocks), dim3(threads), bytes, split_blocks}, view,
                    tables.back.data(), batch, digits);
      launched = true;
    }
  });
  return launched;
}

}  // namespace whorl::backend::cuda
