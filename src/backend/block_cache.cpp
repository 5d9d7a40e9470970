#include "backend/block_cache.h"

#include <algorithm>
#include <bit>
#include <new>
#include <string>
#include <utility>

#include "backend/key_memory.h"
#include "hwy/aligned_allocator.h"
#include "whorl/error.h"

namespace whorl::backend {

namespace {

/// What is smaller is as well served by the allocator.
constexpr std::size_t least_pages = std::size_t{1} << 15;

/// Sizes of blocks: eight to an octave, so that similar requests share them.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::max(std::bit_floor(bytes) / 8, least_pages / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<void> BlockCache::take(std::size_t bytes, const char* what) {
  if (bytes < least_pages) {
    auto memory = hwy::AllocateAligned<unsigned char>(std::max<std::size_t>(bytes, 1));
    if (!memory)
      throw OutOfMemoryError(std::string(what) + ": " + std::to_string(bytes) +
                             " bytes could not be allocated");
    return {std::move(memory)};
  }
  Block block{rounded(bytes), nullptr};
  {
    const std::scoped_lock lock(mutex_);
    // The smallest that serves; of those, the last one given back is the likeliest to be in a
    // cache. What is more than twice as large is left for what needs it.
    auto found = free_.rend();
    for (auto b = free_.rbegin(); b != free_.rend(); ++b)
      if (b->bytes >= block.bytes && b->bytes <= 2 * block.bytes &&
          (found == free_.rend() || b->bytes < found->bytes))
        found = b;
    if (found != free_.rend()) {
      block = std::move(*found);
      kept_ -= block.bytes;
      free_.erase(std::next(found).base());
    }
  }
  if (!block.pages) block.pages = detail::allocate_pages(block.bytes, what);
  void* const memory = block.pages.get();
  return {memory, [cache = shared_from_this(), block = std::move(block)](void*) mutable {
            cache->keep(std::move(block));
          }};
}

void BlockCache::keep(Block block) {
  if (mutex_.abandoned()) return;  // the block goes back to the system
  const std::scoped_lock lock(mutex_);
  try {
    free_.push_back(std::move(block));
  } catch (const std::bad_alloc&) {
    return;  // likewise: a deleter must not throw
  }
  kept_ += free_.back().bytes;
  while (kept_ > most_kept) {
    kept_ -= free_.front().bytes;
    free_.pop_front();
  }
}

}  // namespace whorl::backend
