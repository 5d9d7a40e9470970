// Values that blocks of a cluster send into each other's shared memory, and copies of device memory
// there. The memory's owner waits until all bytes are there: neither side meets the other at a
// barrier.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/cluster.cuh"

namespace whorl::backend::cuda {

/// An address in this block's shared memory, and the same place in that of block `rank`.
__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}
__device__ __forceinline__ std::uint32_t address_in(std::uint32_t rank, std::uint32_t own) {
  std::uint32_t there = own;
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
#endif
  return there;
}

/// Counts the bytes that arrive, phase by phase.
struct ByteCounter {
  std::uint32_t at;  ///< shared address of 8 bytes

  /// One thread calls it. A barrier of the cluster must follow before anything is sent.
  __device__ __forceinline__ void start() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  /// One thread calls it: the phase ends when so many bytes have come.
  __device__ __forceinline__ void expect(std::uint32_t bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{ .reg .b64 state;\n"
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 state, [%0], %1; }" ::"r"(at),
        "r"(bytes)
        : "memory");
#endif
  }
  /// Until the phase of this parity has ended. What is waited for lies in this block's own memory,
  /// so that the block's scope serves: the cluster's would throw the first-level cache away.
  __device__ __forceinline__ void wait(std::uint32_t parity) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{ .reg .pred done;\n"
        "again_%=: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again_%=; }" ::"r"(at),
        "r"(parity)
        : "memory");
#endif
  }
};

/// Sends 16 bytes to another block's shared memory, where `counter` counts them; both addresses are
/// of address_in.
__device__ __forceinline__ void send(std::uint32_t to, std::uint32_t counter, double x, double y) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::
          "r"(to),
      "l"(__double_as_longlong(x)), "l"(__double_as_longlong(y)), "r"(counter)
      : "memory");
#endif
}

/// Begins to copy bytes of device memory to this block's shared memory, where `counter` counts
/// them; all are multiples of 16. A barrier stands between what this block's threads read there
/// before and the copy.
__device__ __forceinline__ void copy_in_bulk(std::uint32_t to, const void* from,
                                             std::uint32_t bytes, ByteCounter counter) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(counter.at)
      : "memory");
#endif
}

}  // namespace whorl::backend::cuda
