// Memory of results and intermediate results, kept for those that follow.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "math/process.h"

namespace whorl::backend {

/// The system zeroes fresh pages and maps them one fault at a time, which takes longer than most
/// operations on them. So blocks that are given back stay here, up to `most_kept` bytes. They
/// return to the system when the cache is destroyed, which is after its device and all its blocks
/// are gone.
class BlockCache : public std::enable_shared_from_this<BlockCache> {
 public:
  static constexpr std::size_t most_kept = std::size_t{2} << 30;

  /// Not zeroed; aligned for every SIMD width. Any thread may take and drop blocks.
  /// OutOfMemoryError names `what` and the bytes.
  std::shared_ptr<void> take(std::size_t bytes, const char* what);
  template <class T>
  std::shared_ptr<T[]> take_array(std::size_t count, const char* what) {
    auto block = take(count * sizeof(T), what);
    return {block, static_cast<T*>(block.get())};
  }

 private:
  struct Block {
    std::size_t bytes;
    std::shared_ptr<void> pages;
  };
  void keep(Block block);

  math::ProcessMutex mutex_;
  std::deque<Block> free_;  ///< the longest unused first
  std::size_t kept_ = 0;
};

}  // namespace whorl::backend
