// Freed device memory that a stream hands out again itself.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace whorl::backend::cuda {

/// Keeps freed memory: without this, two calls of the driver for each buffer took as long as the
/// kernels of small rings. Blocks that are released stay here, up to `most_kept` bytes; the blocks
/// unused for longest go to the pool first. All of this is in stream order: a block may be given
/// out again while work that was queued on it still runs. Any thread may call these methods.
class KeptBlocks {
 public:
  static constexpr std::size_t largest_block = std::size_t{64} << 20;
  static constexpr std::size_t most_kept = std::size_t{256} << 20;

  /// Keeps blocks of a stream, which outlives close().
  KeptBlocks(int ordinal, cudaStream_t stream) : ordinal_(ordinal), stream_(stream) {}

  /// The size to allocate for so many bytes. Similar sizes get the same result, so that they can
  /// share blocks.
  static std::size_t rounded(std::size_t bytes);
  /// A kept block of exactly so many bytes, or nullptr.
  void* take(std::size_t bytes);
  /// Keeps the block, or frees it. Throws nothing: deleters call it.
  void keep(void* block, std::size_t bytes);
  /// A block that is released between hold() and release() goes to the pool only after release(),
  /// because kernels that are not launched yet may use it. A second hold() has no effect.
  void hold();
  void release();
  /// Gives all kept blocks to the pool, except those released since hold(), and waits until it has
  /// them.
  void give_back();
  /// The same for good, without the wait.
  void close();
  std::size_t bytes() const;

 private:
  struct Block {
    void* memory;
    std::uint64_t dropped;  ///< a clock
  };
  void free_all();
  void free_oldest();
  void free_late();

  int ordinal_;
  cudaStream_t stream_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<Block>> blocks_;  ///< by size, the longest unused first
  std::size_t kept_ = 0;
  std::uint64_t clock_ = 0;
  bool held_ = false;
  std::uint64_t held_since_ = 0;  ///< the clock then
  std::vector<void*> late_;       ///< blocks to be freed on release
};

}  // namespace whorl::backend::cuda
