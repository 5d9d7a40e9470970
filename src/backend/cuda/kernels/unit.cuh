// A unit of threads (KernelShape) at run time: which part of which transform it has, its shared
// memory, and how its threads wait for each other.
#pragma once

#include <cooperative_groups.h>

#include "backend/cuda/kernels/split.cuh"

namespace whorl::backend::cuda {

template <KernelShape shape, class T>
struct Unit {
  static constexpr std::uint32_t local = 1u << shape.log_local();
  static_assert(shape.units == 1 || shape.log_threads <= 5, "units of a block wait by warps");

  T* shared;                ///< this unit's
  std::uint32_t transform;  ///< number in the batch
  std::uint32_t part;       ///< of the transform
  std::uint32_t t;          ///< thread of the unit
  std::uint32_t thread;     ///< thread of the transform

  __device__ __forceinline__ explicit Unit(unsigned char* memory) {
    const std::uint32_t in_block = threadIdx.x >> shape.log_threads;
    const std::uint32_t number = blockIdx.x * shape.units + in_block;
    shared = reinterpret_cast<T*>(memory) + in_block * shape.unit_elements();
    transform = number >> shape.log_parts();
    part = number & ((1u << shape.log_parts()) - 1);
    t = threadIdx.x & ((1u << shape.log_threads) - 1);
    thread = (part << shape.log_threads) | t;
  }

  __device__ __forceinline__ void wait() const {
    if constexpr (shape.log_threads > 5)
      __syncthreads();
    else
      __syncwarp();
  }
  /// From what pass p holds to what pass `next` does.
  template <int p, int next>
  __device__ __forceinline__ void exchange(T (&x)[1 << shape.split.log_e]) const {
    store_pass<shape, p, shape.padding>(x, shared, thread);
    wait();
    load_pass<shape, next, shape.padding>(x, shared, thread);
  }
  /// The last pass's values to memory, contiguously; `data`: of the transform.
  __device__ __forceinline__ void store_linear(const T (&x)[1 << shape.split.log_e], T* data,
                                               bool active) const {
    store_pass<shape, shape.split.passes - 1, shape.padding>(x, shared, thread);
    wait();
    if (active)
      copy_unit<shape, T>(t, Place<shape.padding, const T>{shared},
                          Place<dense, T>{data + part * local});
  }
  /// The reverse of store_linear.
  __device__ __forceinline__ void load_linear(T (&x)[1 << shape.split.log_e], const T* data,
                                              bool active) const {
    if (active)
      copy_unit<shape, T>(t, Place<dense, const T>{data + part * local},
                          Place<shape.padding, T>{shared});
    wait();
    load_pass<shape, shape.split.passes - 1, shape.padding>(x, shared, thread);
  }
};

// Thread-block clusters: sm_90 on. Elsewhere these compile to nothing, and no kernel runs them.

/// The shared memory of a cluster's blocks.
template <class T>
struct ClusterMemory {
  T* own;
  __device__ __forceinline__ T* operator()([[maybe_unused]] unsigned rank) const {
#if __CUDA_ARCH__ >= 900
    return cooperative_groups::this_cluster().map_shared_rank(own, rank);
#else
    return own;
#endif
  }
};
/// Between them, the blocks of a cluster have all arrived.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

}  // namespace whorl::backend::cuda
