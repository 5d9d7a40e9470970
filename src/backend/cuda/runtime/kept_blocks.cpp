#include "backend/cuda/runtime/kept_blocks.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace whorl::backend::cuda {

namespace {

/// Does what CurrentGpu does, without throwing.
class QuietGpu {
 public:
  explicit QuietGpu(int ordinal) {
    cudaGetDevice(&before_);
    cudaSetDevice(ordinal);
  }
  ~QuietGpu() { cudaSetDevice(before_); }
  QuietGpu(const QuietGpu&) = delete;
  QuietGpu& operator=(const QuietGpu&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

std::size_t KeptBlocks::rounded(std::size_t bytes) {
  if (bytes > largest_block) return bytes;
  // Eight sizes to an octave.
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, 512);
  return (bytes + step - 1) / step * step;
}

void* KeptBlocks::take(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = blocks_.find(bytes);
  if (found == blocks_.end() || found->second.empty()) return nullptr;
  void* const memory = found->second.back().memory;
  found->second.pop_back();
  kept_ -= bytes;
  return memory;
}

void KeptBlocks::keep(void* block, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const bool keeps = bytes <= largest_block && stream_ != nullptr;
  try {
    if (keeps) {
      blocks_[bytes].push_back({block, ++clock_});
      kept_ += bytes;
    } else {
      late_.push_back(block);
    }
  } catch (const std::bad_alloc&) {
    // While memory is held the block is lost: it may be in use.
    const QuietGpu current(ordinal_);
    if (!held_) cudaFreeAsync(block, stream_);
  }
  if (held_ || (late_.empty() && kept_ <= most_kept)) return;
  const QuietGpu current(ordinal_);
  free_late();
}

void KeptBlocks::hold() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(held_, true)) return;
  held_since_ = clock_;
}

void KeptBlocks::release() {
  const std::scoped_lock lock(mutex_);
  held_ = false;
  if (late_.empty() && kept_ <= most_kept) return;
  const QuietGpu current(ordinal_);
  free_late();
}

void KeptBlocks::free_late() {
  for (void* const block : late_) cudaFreeAsync(block, stream_);
  late_.clear();
  while (kept_ > most_kept) free_oldest();
}

void KeptBlocks::free_oldest() {
  auto oldest = blocks_.end();
  for (auto each = blocks_.begin(); each != blocks_.end(); ++each)
    if (!each->second.empty() &&
        (oldest == blocks_.end() || each->second[0].dropped < oldest->second[0].dropped))
      oldest = each;
  cudaFreeAsync(oldest->second[0].memory, stream_);
  oldest->second.erase(oldest->second.begin());
  kept_ -= oldest->first;
}

void KeptBlocks::free_all() {
  const QuietGpu current(ordinal_);
  for (auto& [bytes, blocks] : blocks_)
    kept_ -= bytes * std::erase_if(blocks, [&](const Block& block) {
               const bool free = !held_ || block.dropped <= held_since_;
               if (free) cudaFreeAsync(block.memory, stream_);
               return free;
             });
  if (!held_) free_late();
}

void KeptBlocks::give_back() {
  const std::scoped_lock lock(mutex_);
  if (stream_ == nullptr) return;
  free_all();
  cudaStreamSynchronize(stream_);
}

void KeptBlocks::close() {
  const std::scoped_lock lock(mutex_);
  held_ = false;
  free_all();
  stream_ = nullptr;
}

std::size_t KeptBlocks::bytes() const {
  const std::scoped_lock lock(mutex_);
  return kept_;
}

}  // namespace whorl::backend::cuda
