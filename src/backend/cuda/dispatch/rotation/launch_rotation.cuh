// Launches that both arithmetics share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/launch_queue.h"
#include "backend/cuda/runtime/stream.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

/// Lets a kernel have so much shared memory. The limit is the process's: it is never lowered to
/// what one launch needs, since another thread's may wait in its queue.
template <class Kernel>
void allow_shared(const Stream& stream, Kernel kernel, std::size_t bytes) {
  constexpr std::size_t room_for_variables = 1024;
  bytes = std::max(bytes, stream.gpu().shared_per_block - room_for_variables);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "cudaFuncSetAttribute: " + std::to_string(bytes) + " bytes of shared memory a block");
}

/// Blocks of a kernel that run at once.
template <class Kernel>
std::uint32_t wave_of(const Stream& stream, Kernel kernel, unsigned threads, std::size_t bytes) {
  allow_shared(stream, kernel, bytes);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                      bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<std::uint32_t>(std::max(1, blocks)) * stream.gpu().multiprocessors;
}

/// One launch for the batch, `ciphertexts` a block.
template <class Kernel, class View, class Word>
void launch_rotation(const Stream& stream, Kernel kernel, const View& key,
                     const RotationBatch<Word>& batch, unsigned ciphertexts, unsigned threads,
                     std::size_t bytes) {
  allow_shared(stream, kernel, bytes);
  const dim3 grid((batch.count + ciphertexts - 1) / ciphertexts), block(threads);
  stream.launch("blind rotation", kernel, {grid, block, bytes}, key, batch);
}

/// Ciphertexts that a launch through device memory takes at once.
inline std::uint32_t spilling_at_once(const Stream& stream) {
  return 4 * stream.gpu().multiprocessors;
}

/// The same for gadgets and rings that are too large for shared memory: each ciphertext gets
/// `slot_bytes` of device memory. The batch is cut into pieces that fill the GPU.
template <class Kernel, class View, class Word>
void launch_spilling_rotation(const Stream& stream, Kernel kernel, View key,
                              RotationBatch<Word> batch, unsigned threads, std::size_t bytes,
                              std::size_t slot_bytes, std::uint32_t N) {
  if (bytes > stream.gpu().shared_per_block)
    throw ParameterError("blind rotation with N = " + std::to_string(N) + " needs " +
                         std::to_string(bytes) + " bytes of shared memory a block; " +
                         stream.gpu().name() + " (" + stream.gpu().model + ") has " +
                         std::to_string(stream.gpu().shared_per_block));
  allow_shared(stream, kernel, bytes);
  const std::uint32_t count = batch.count;
  const std::uint32_t at_once = std::min(count, spilling_at_once(stream));
  const auto spill = stream.allocate<std::uint8_t>(at_once * slot_bytes);
  key.spill = reinterpret_cast<decltype(key.spill)>(spill.data());
  for (std::uint32_t begin = 0; begin < count; begin += at_once) {
    batch.count = std::min(at_once, count - begin);
    stream.launch("blind rotation through device memory", kernel,
                  {dim3(batch.count), dim3(threads), bytes}, key, batch);
    batch.skip(batch.count, N);
  }
}

/// Blocks for one ciphertext over several: two a digit, at least four. Clusters of more than eight
/// are not portable.
inline unsigned blocks_for(unsigned most_digits) { return most_digits > 2 ? 8 : 4; }

/// The number of waves of clusters that the batch takes.
inline constexpr unsigned any_waves = ~0u;

/// Rotates with `blocks` blocks for each ciphertext, which exchange data in a cluster, or in device
/// memory: then all blocks of a launch must run at once, and a larger batch takes several launches.
/// False if not even those of one ciphertext can, or if the batch would take more than `waves`
/// waves of clusters, or than one of blocks that meet in device memory.
template <class Kernel, class View, class Word, class Memory>
bool launch_meeting_rotation(const Stream& stream, Kernel kernel, const View& key,
                             RotationBatch<Word> batch, const Memory& memory, unsigned blocks,
                             bool clustered, unsigned waves, unsigned threads, std::size_t bytes,
                             std::uint32_t N) {
  allow_shared(stream, kernel, bytes);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(batch.count * blocks);
  std::uint32_t a_launch = batch.count;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream.handle();
  cudaLaunchAttribute attribute = {};
  config.attrs = &attribute;
  config.numAttrs = 1;
  DeviceArray<char> shown;
  DeviceArray<unsigned> arrivals;
  if (clustered) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    if (waves != any_waves) {
      int at_once = 0;  // fewer than multiprocessors over blocks: a cluster lies within a GPC
      check(cudaOccupancyMaxActiveClusters(&at_once, kernel, &config),
            "cudaOccupancyMaxActiveClusters");
      if (batch.count > waves * static_cast<unsigned>(at_once)) return false;
    }
  } else {
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel,
                                                        static_cast<int>(threads), bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint32_t at_once = resident * stream.gpu().multiprocessors / blocks;
    if (at_once == 0 || (waves != any_waves && batch.count > at_once)) return false;
    a_launch = std::min(batch.count, at_once);
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    shown = stream.allocate<char>(std::size_t{a_launch} * blocks * memory.shown_bytes());
    arrivals = stream.allocate<unsigned>(batch.count);
    stream.fill(arrivals.data(), 0, batch.count * sizeof(unsigned));
  }
  unsigned* arrived = arrivals.data();
  for (std::uint32_t left = batch.count; left > 0;) {
    batch.count = std::min(a_launch, left);
    config.gridDim = dim3(batch.count * blocks);
    check(cudaLaunchKernelEx(&config, kernel, key, batch, memory, shown.data(), arrived),
          "launch of a blind rotation over " + std::to_string(blocks) + " blocks of " +
              std::to_string(threads) + " threads, " + std::to_string(bytes) +
              " bytes of shared memory each");
    count_launch();
    left -= batch.count;
    if (!clustered) arrived += batch.count;
    batch.skip(batch.count, N);
  }
  return true;
}

}  // namespace whorl::backend::cuda
