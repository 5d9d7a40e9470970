// How the blocks that work on one ciphertext wait for each other, and read each other's data.
//
// The blocks of a cluster read each other's shared memory. Without clusters (before sm_90) the data
// lies in device memory, and blocks count arrivals at a barrier. For this all blocks must run at
// once, so the launch is cooperative.
#pragma once

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/cluster.cuh"

namespace whorl::backend::cuda {

/// Blocks of a cluster, through distributed shared memory.
struct ClusterMeeting {
  char* shown;

  __device__ unsigned rank() const { return cluster_rank(); }
  __device__ char* of(unsigned rank) const {
#if __CUDA_ARCH__ >= 900
    return static_cast<char*>(__cluster_map_shared_rank(shown, rank));
#else
    return shown;
#endif
  }
  __device__ void operator()() { cluster_barrier(); }
};

/// Blocks of a cooperative launch, K to a ciphertext, through device memory.
struct GridMeeting {
  char* base;  ///< of this ciphertext: K times shown_bytes
  std::size_t shown_bytes;
  unsigned* arrivals;  ///< of this ciphertext, 0 at launch
  unsigned blocks;
  unsigned due = 0;  ///< how many arrivals the last meeting waited for

  __device__ unsigned rank() const { return blockIdx.x % blocks; }
  __device__ char* of(unsigned rank) const { return base + rank * shown_bytes; }
  __device__ void operator()() {
    __syncthreads();
    due += blocks;
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrivals, 1u);
      while (*static_cast<volatile unsigned*>(arrivals) < due) {
      }
      __threadfence();
    }
    __syncthreads();
  }
};

/// The meeting of a block's ciphertext. `shared` is the block's memory; `memory` and `arrivals` are
/// those of a cooperative launch, for all ciphertexts.
template <class Meeting>
__device__ __forceinline__ Meeting meeting_of(char* shared, char* memory, std::size_t shown_bytes,
                                              unsigned* arrivals, std::uint32_t ciphertext,
                                              unsigned blocks) {
  if constexpr (std::is_same_v<Meeting, ClusterMeeting>)
    return {shared};
  else
    return {memory + std::size_t{ciphertext} * blocks * shown_bytes, shown_bytes,
            arrivals + ciphertext, blocks};
}

}  // namespace whorl::backend::cuda
