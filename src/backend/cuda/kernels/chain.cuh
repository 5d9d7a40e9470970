// Kernels that are launched before those in front of them in the stream have ended.
#pragma once

namespace whorl::backend::cuda {

/// First of all in a kernel that launch_chained launches, by every thread: lets the next kernel of
/// the stream take the places that become free, and waits until all work before this kernel is done
/// and its memory can be read: by ordinary loads, not by those of data that stays the same while
/// the kernel runs, which __restrict__ or __ldg make. (Programmatic dependent launch; from sm_90
/// on.)
__device__ __forceinline__ void join_chain() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace whorl::backend::cuda
