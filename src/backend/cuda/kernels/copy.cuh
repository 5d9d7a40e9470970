// Copies and constants among other kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "backend/cuda/kernels/chain.cuh"

namespace whorl::backend::cuda {

inline constexpr unsigned copy_threads = 256;

/// Each thread copies several pieces, one stride apart.
template <class Vector>
__global__ void __launch_bounds__(copy_threads)
    copy_vectors(std::size_t count, const Vector* in, Vector* out) {
  join_chain();
  for (std::size_t i = std::size_t{blockIdx.x} * copy_threads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * copy_threads)
    out[i] = in[i];
}

/// The same, of one value.
template <class Word>
__global__ void __launch_bounds__(copy_threads)
    fill_words(std::size_t count, Word value, Word* out) {
  join_chain();
  for (std::size_t i = std::size_t{blockIdx.x} * copy_threads + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * copy_threads)
    out[i] = value;
}

}  // namespace whorl::backend::cuda
