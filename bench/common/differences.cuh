// Arrays on a GPU, compared there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::bench {

inline constexpr unsigned grid_blocks = 1024, block_threads = 256;

template <class T>
__device__ bool differ(T a, T b, double) {
  return a != b;
}
/// Also where one is not a number.
__device__ inline bool differ(double a, double b, double tolerance) {
  return !(fabs(a - b) <= tolerance);
}
template <class T>
__global__ void count_differences_kernel(const T* a, const T* b, std::size_t size, double tolerance,
                                         unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x)
    mine += differ(a[i], b[i], tolerance);
  if (mine != 0) atomicAdd(count, mine);
}

/// What kernels of `work` add to a counter. Waits.
template <class Work>
std::uint64_t count_on_gpu(const backend::cuda::Stream& stream, const Work& work) {
  const auto counter = stream.allocate<unsigned long long>(1);
  stream.fill(counter.data(), 0, sizeof(unsigned long long));
  work(counter.data());
  unsigned long long out = 0;
  stream.copy_out(counter.data(), &out, sizeof(out));
  return out;
}
/// Positions in which arrays differ; doubles by more than the tolerance. Waits.
template <class T>
std::uint64_t count_differences(const backend::cuda::Stream& stream, const T* a, const T* b,
                                std::size_t size, double tolerance = 0) {
  return count_on_gpu(stream, [&](unsigned long long* count) {
    count_differences_kernel<T>
        <<<grid_blocks, block_threads, 0, stream.handle()>>>(a, b, size, tolerance, count);
    backend::cuda::check_launch("count_differences", grid_blocks, block_threads, 0);
  });
}

}  // namespace whorl::bench
