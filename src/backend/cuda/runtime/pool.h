// Memory of a GPU that Whorl's devices share: freed pieces are kept for the next batch, without
// touching the pool that others in the process use.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "backend/cuda/runtime/gpu.h"

namespace whorl::backend::cuda {

class MemoryPool {
 public:
  /// The pool of those who use the GPU now; it goes with the last of them.
  static std::shared_ptr<const MemoryPool> of(const Gpu& gpu);
  explicit MemoryPool(const Gpu& gpu);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  cudaMemPool_t handle() const { return handle_; }
  /// Bytes kept for later.
  std::size_t kept() const;
  /// Gives them back to the driver.
  void trim() const;

 private:
  cudaMemPool_t handle_ = nullptr;
};

}  // namespace whorl::backend::cuda
