// Memory of a GPU that Whorl's devices share: freed pieces are kept for the next batch, without
// touching the pool that others in the process use.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/runtime/gpu.h"
#include "backend/cuda/runtime/kept_blocks.h"

namespace whorl::backend::cuda {

class MemoryPool {
 public:
  /// The pool of the GPU, which its users share. It is destroyed with the last of them.
  static std::shared_ptr<const MemoryPool> of(const Gpu& gpu);
  explicit MemoryPool(const Gpu& gpu);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  cudaMemPool_t handle() const { return handle_; }
  /// A stream that keeps blocks of this pool.
  void add(const std::shared_ptr<KeptBlocks>& blocks) const;
  /// Takes back the blocks that streams keep, except those that kernels which are not launched yet
  /// may use. Waits for the streams' work.
  void take_back() const;
  /// Bytes kept for later, by the pool and by streams.
  std::size_t kept() const;
  /// Gives what the pool itself keeps back to the driver.
  void trim() const;

 private:
  std::vector<std::shared_ptr<KeptBlocks>> streams() const;

  cudaMemPool_t handle_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::vector<std::weak_ptr<KeptBlocks>> streams_;
};

}  // namespace whorl::backend::cuda
