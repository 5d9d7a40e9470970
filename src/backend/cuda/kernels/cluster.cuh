// Blocks of a cluster: sm_90 on. Elsewhere these compile to nothing, and no kernel runs them.
#pragma once

#include <cstdint>

namespace whorl::backend::cuda {

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

/// Between arriving and the end of waiting, the blocks of a cluster have all arrived.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
/// The same by blocks that have neither read nor written shared memory: others need not see
/// anything. It waits for no write.
__device__ __forceinline__ void cluster_arrive_unused() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}

}  // namespace whorl::backend::cuda
