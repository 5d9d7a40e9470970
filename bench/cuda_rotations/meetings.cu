// What it costs the blocks of a cluster to exchange values once a step, in several ways.
#include <cstdio>

#include "backend/cuda/kernels/counted_stores.cuh"
#include "backend/cuda/runtime/error.h"
#include "common/cuda_timer.h"
#include "cuda_rotations/bench.h"

namespace whorl::bench {
namespace {

using backend::cuda::address_in;
using backend::cuda::ByteCounter;
using backend::cuda::cluster_barrier;
using backend::cuda::cluster_rank;
using backend::cuda::shared_address;

enum class Way : int { barrier, store_barrier, load_barrier, store_count, bulk_count };

/// Each step every block sends `bytes` (a multiple of 16 times the threads) to each of the others,
/// and uses what it gets.
template <Way way, int blocks>
__global__ void exchange(int steps, std::uint32_t bytes, uint4* out) {
  extern __shared__ uint4 memory[];
  __shared__ std::uint64_t barriers[2];
  const std::uint32_t threads = blockDim.x, t = threadIdx.x, per = bytes / 16 / threads;
  const std::uint32_t rank = cluster_rank();
  const auto counter = [&](int parity) { return ByteCounter{shared_address(barriers + parity)}; };
  // [parity][sender][bytes], then what a bulk copy sends.
  const auto buffer = [&](int parity, std::uint32_t from) {
    return memory + (parity * blocks + from) * (bytes / 16);
  };
  uint4* const outgoing = buffer(2, 0);
  if (t < 2) counter(t).start();
  for (std::uint32_t i = t; i < (2 * blocks + 1) * (bytes / 16); i += threads) memory[i] = {};
  __syncthreads();
  if (t < 2) counter(t).expect((blocks - 1) * bytes);
  cluster_barrier();
  uint4 value = {t, rank, 1, 2};
  for (int step = 0; step < steps; ++step) {
    const int parity = step % 2;
    if constexpr (way == Way::barrier) {
      cluster_barrier();
      value.x += step;
      continue;
    }
    if constexpr (way == Way::load_barrier) {
      for (std::uint32_t k = 0; k < per; ++k) buffer(parity, rank)[t + k * threads] = value;
      cluster_barrier();
    } else if constexpr (way == Way::bulk_count) {
      for (std::uint32_t k = 0; k < per; ++k) outgoing[t + k * threads] = value;
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      if (t < blocks && t != rank)
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
            "%2, [%3];" ::"r"(address_in(t, shared_address(buffer(parity, rank)))),
            "r"(shared_address(outgoing)), "r"(bytes),
            "r"(address_in(t, shared_address(barriers + parity)))
            : "memory");
    } else {
      for (std::uint32_t other = 1; other < blocks; ++other) {
        const std::uint32_t to = (rank + other) % blocks;
        const std::uint32_t at = address_in(to, shared_address(buffer(parity, rank) + t));
        const std::uint32_t barrier = address_in(to, shared_address(barriers + parity));
        for (std::uint32_t k = 0; k < per; ++k) {
          if constexpr (way == Way::store_count)
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, "
                "%3, %4}, [%5];" ::"r"(at + k * threads * 16),
                "r"(value.x + k), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
                : "memory");
          else
            asm volatile(
                "st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at + k * threads * 16),
                "r"(value.x + k), "r"(value.y), "r"(value.z), "r"(value.w)
                : "memory");
        }
      }
      if constexpr (way == Way::store_barrier) cluster_barrier();
    }
    if constexpr (way == Way::store_count || way == Way::bulk_count) {
      counter(parity).wait(step / 2 & 1);
      if (t == 0) counter(parity).expect((blocks - 1) * bytes);
    }
    for (std::uint32_t other = 1; other < blocks; ++other) {
      const std::uint32_t from = (rank + other) % blocks;
      for (std::uint32_t k = 0; k < per; ++k) {
        uint4 got;
        if constexpr (way == Way::load_barrier)
          asm volatile(
              "ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
              : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
              : "r"(address_in(from, shared_address(buffer(parity, from) + t + k * threads))));
        else
          got = buffer(parity, from)[t + k * threads];
        value.x ^= got.x;
        value.y += got.y;
        value.z += got.z;
        value.w ^= got.w;
      }
    }
    __syncthreads();  // all have read before any sends again
  }
  cluster_barrier();
  out[blockIdx.x * threads + t] = value;
}

template <Way way, int blocks>
void time_exchange(const Stream& stream, const char* name, unsigned threads, std::uint32_t bytes) {
  constexpr int steps = 2000;
  const auto out = stream.allocate<uint4>(std::size_t{blocks} * threads);
  const std::size_t shared = (2 * blocks + 1) * std::size_t{bytes};
  if (shared > stream.gpu().shared_per_block - 1024) return;
  const auto kernel = exchange<way, blocks>;
  backend::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared)),
                       "cudaFuncSetAttribute");
  backend::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
      "cudaFuncSetAttribute");
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream.handle();
  config.attrs = &attribute;
  config.numAttrs = 1;
  const Times times = CudaTimer(stream).measure(1, 3, [&] {
    backend::cuda::check(cudaLaunchKernelEx(&config, kernel, steps, bytes, out.data()), "launch");
  });
  std::printf("%-24s %2d blocks of %3u threads, %6u bytes to each: %8.3f us a step\n", name, blocks,
              threads, bytes, times.median() * 1e6 / steps);
}

template <int blocks>
void time_blocks(const Stream& stream) {
  for (const unsigned threads : {128u, 256u, 512u}) {
    time_exchange<Way::barrier, blocks>(stream, "cluster barrier", threads, 16 * threads);
    for (const std::uint32_t bytes : {2048u, 4096u, 8192u, 16384u}) {
      if (bytes < 16 * threads) continue;
      time_exchange<Way::store_barrier, blocks>(stream, "stores, barrier", threads, bytes);
      time_exchange<Way::load_barrier, blocks>(stream, "barrier, loads", threads, bytes);
      time_exchange<Way::store_count, blocks>(stream, "counted stores", threads, bytes);
      time_exchange<Way::bulk_count, blocks>(stream, "counted bulk copies", threads, bytes);
    }
  }
}

}  // namespace

void time_meetings(const Stream& stream) {
  time_blocks<2>(stream);
  time_blocks<4>(stream);
  time_blocks<8>(stream);
}

}  // namespace whorl::bench
