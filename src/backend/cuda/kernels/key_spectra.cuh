// From rows of a key to what the blind rotations read.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/rotate_fft.cuh"

namespace whorl::backend::cuda {

/// Residues modulo Q as centred doubles.
template <class Word>
__global__ void centred_doubles(const Word* in, std::uint64_t Q, std::size_t count, double* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const auto x = static_cast<std::int64_t>(in[i]);
  out[i] = static_cast<double>(in[i] > Q / 2 ? x - static_cast<std::int64_t>(Q) : x);
}

/// Largest absolute value of each of gridDim.x stretches of `count` doubles.
static __global__ void largest_magnitude(const double* in, const std::size_t* first,
                                         double* largest) {
  __shared__ double of_warp[32];
  double most = 0;
  for (std::size_t i = first[blockIdx.x] + threadIdx.x; i < first[blockIdx.x + 1]; i += blockDim.x)
    most = max(most, fabs(in[i]));
  for (int offset = 16; offset > 0; offset /= 2)
    most = max(most, __shfl_down_sync(~0u, most, offset));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < blockDim.x / 32; ++w) most = max(most, of_warp[w]);
    largest[blockIdx.x] = most;
  }
}

/// A value of a spectrum as kernels read it: wide as it is, narrow times `by`.
__device__ __forceinline__ void place_spectrum_value(double2 x, double by, double2& place) {
  place = x;
}
__device__ __forceinline__ void place_spectrum_value(double2 x, double by, int2& place) {
  place = {__double2int_rn(x.x * by), __double2int_rn(x.y * by)};
}

/// One block a polynomial of the key: spectra (row, component) of M values in the plan's order to
/// their places. `to` gives a polynomial's first value, `scale` is its LWE coefficient's.
template <class Shape, FftWords words>
__global__ void place_spectra(const double2* in, const std::size_t* to, const double* scale,
                              FftKeyValue<words>* out) {
  const double2* from = in + std::size_t{blockIdx.x} * Shape::M;
  auto* target = out + to[blockIdx.x];
  for (int s = threadIdx.x; s < Shape::M; s += blockDim.x)
    place_spectrum_value(from[s], scale[blockIdx.x],
                         target[fft_key_place<Shape, words>(s / Shape::F, s % Shape::F)]);
}

}  // namespace whorl::backend::cuda
