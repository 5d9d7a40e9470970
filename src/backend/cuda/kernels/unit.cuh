// A unit of threads (KernelShape) at run time: which part of which transform it has, its shared
// memory, and how its threads wait for each other.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/cuda/kernels/cluster.cuh"
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
  /// Exchanges what pass p holds for what pass `next` does. While the threads wait for each other,
  /// their registers are free for what `meanwhile` loads.
  template <int p, int next, class Meanwhile>
  __device__ __forceinline__ void exchange(T (&x)[1 << shape.split.log_e],
                                           const Meanwhile& meanwhile) const {
    store_pass<shape, p, shape.padding>(x, shared, thread);
    meanwhile();
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

/// One exchange of all values of a transform between the blocks of a cluster. A block's memory
/// takes what the others send and counts the bytes, so that no block waits for another's writes to
/// be seen everywhere, and none has to stay for others to read.
template <KernelShape shape, class T>
class ClusterExchange {
 public:
  /// `arrivals`: a word of the block's own shared memory. Before the first send, the cluster's
  /// blocks have all made this and then arrived.
  __device__ __forceinline__ ClusterExchange(T* own, std::uint64_t* arrivals)
      : own_(shared_address(own)), arrivals_(shared_address(arrivals)) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x != 0) return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrivals_) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile(
        "{ .reg .b64 state;\n"
        "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 state, [%0], %1; }" ::"r"(arrivals_),
        "r"(static_cast<std::uint32_t>(sizeof(T) << shape.log_local()))
        : "memory");
#endif
  }
  /// What pass p holds, to the places and blocks of Home. A thread's offsets must decide the block.
  template <int p, class Home>
  __device__ __forceinline__ void send(const T (&x)[1 << shape.split.log_e],
                                       std::uint32_t thread) const {
#if __CUDA_ARCH__ >= 900
    using P = Pass<shape.split, p>;
    static_assert(P::levels >= shape.log_cluster);
    constexpr int count = 1 << (P::run < widest_run<T> ? P::run : widest_run<T>);
    const std::uint32_t base = own_ + Home::place(P::base(thread)) * sizeof(T);
#pragma unroll
    for (std::uint32_t r = 0; r < 1u << shape.log_cluster; ++r) {
      const std::uint32_t to = address_in(r, base), arrivals = address_in(r, arrivals_);
#pragma unroll
      for (int i = 0; i < P::values; i += count)
        if (Home::block(P::offset(i)) == r)
          send_run<count>(x + i, to + Home::place(P::offset(i)) * sizeof(T), arrivals);
    }
#endif
  }
  /// Waits until the block has got all its values.
  __device__ __forceinline__ void receive() const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{ .reg .pred done;\n"
        "again_%=: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
        "@!done bra again_%=; }" ::"r"(arrivals_)
        : "memory");
#endif
  }

 private:
  static __device__ __forceinline__ std::uint32_t shared_address(const void* generic) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(generic));
  }
#if __CUDA_ARCH__ >= 900
  static __device__ __forceinline__ std::uint32_t address_in(std::uint32_t block,
                                                             std::uint32_t own) {
    std::uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(block));
    return there;
  }
  template <int count>
  static __device__ __forceinline__ void send_run(const T* x, std::uint32_t to,
                                                  std::uint32_t arrivals) {
    constexpr int words = count * sizeof(T) / 4;
    std::uint32_t word[words];
    memcpy(word, x, sizeof(word));
    if constexpr (words == 1)
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
              to),
          "r"(word[0]), "r"(arrivals)
          : "memory");
    else if constexpr (words == 2)
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, "
          "[%3];" ::"r"(to),
          "r"(word[0]), "r"(word[1]), "r"(arrivals)
          : "memory");
    else
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, "
          "%4}, [%5];" ::"r"(to),
          "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]), "r"(arrivals)
          : "memory");
  }
#endif

  std::uint32_t own_, arrivals_;
};

}  // namespace whorl::backend::cuda
