// How far the bundles of some ciphertexts are, which one kernel makes while the loop that
// multiplies by them runs in another.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

/// Nodes of frequencies that a block of make_fft_bundles takes: a warp's lanes take one each.
inline constexpr unsigned bundle_nodes = 32;

/// Warps of its blocks for a batch, and groups of ciphertexts that blocks take.
__host__ __device__ inline unsigned bundle_warps(std::uint32_t count) {
  const unsigned needed = (count + BundleTuning::a_warp - 1) / BundleTuning::a_warp;
  return needed < BundleTuning::most_warps ? needed : BundleTuning::most_warps;
}
__host__ __device__ inline unsigned bundle_groups(std::uint32_t count, unsigned warps) {
  const unsigned group = BundleTuning::a_warp * warps;
  return (count + group - 1) / group;
}

/// Frequencies that a warp takes at a time where tensor cores make bundles of groups of m.
__host__ __device__ constexpr unsigned matrix_bundle_frequencies(unsigned m) {
  return m > 4 ? 2 : 4;
}

// The kernel that makes bundles is launched as usual, so that all work before it is done when it
// begins. The loop is launched to overlap it, starts when every block of it has called
// let_loop_start, and calls wait_for_bundles at its end. (Programmatic dependent launch, as in
// chain.cuh.)
__device__ __forceinline__ void let_loop_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_bundles() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// `made` counts the items of BundleTuning::steps_of_chunk steps each. It is null where the loop
/// begins when all are made.
struct BundleProgress {
  unsigned* made;
  unsigned steps;    ///< in all
  unsigned of_step;  ///< items of a step

  static constexpr unsigned chunk = BundleTuning::steps_of_chunk;
  static unsigned chunks(unsigned steps) { return (steps + chunk - 1) / chunk; }

  /// Waits for the steps of the chunk that begins with `step`. Each thread that reads them calls
  /// it.
  __device__ __forceinline__ void wait(unsigned step) const {
    const unsigned left = steps - step, due = of_step * (left < chunk ? left : chunk);
    unsigned so_far;
    do {
#if __CUDA_ARCH__ >= 700
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                   : "=r"(so_far)
                   : "l"(made + step / chunk)
                   : "memory");
#else
      so_far = due;
#endif
    } while (so_far < due);
  }
  /// All threads of a block call it when they have written an item of `step`.
  __device__ __forceinline__ void add(unsigned step) const {
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
      __threadfence();
      atomicAdd(made + step / chunk, 1u);
    }
  }
  /// The same for an item of a warp.
  __device__ __forceinline__ void add_of_warp(unsigned step) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      __threadfence();
      atomicAdd(made + step / chunk, 1u);
    }
  }
  /// A value of a bundle. The compiler leaves it behind the wait for it.
  __device__ static __forceinline__ double2 value(const double2* at) {
    double2 out;
    asm volatile("ld.global.cg.v2.f64 {%0, %1}, [%2];" : "=d"(out.x), "=d"(out.y) : "l"(at));
    return out;
  }
};

}  // namespace whorl::backend::cuda
