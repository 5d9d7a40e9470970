// Kernels that are launched before those in front of them in the stream have ended.
#pragma once

namespace whorl::backend::cuda {

/// Every thread of a kernel that launch_chained launches must call this first. It lets the next
/// kernel of the stream start on multiprocessors that become free, and waits until all work before
/// this kernel is done. The results of that work must be read by ordinary loads. Loads of constant
/// data, which the compiler makes for __restrict__ and __ldg, are not allowed. (Programmatic
/// dependent launch; from sm_90 on.)
__device__ __forceinline__ void join_chain() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace whorl::backend::cuda
