// What the preparation of unrolled keys does beside that of others.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/key_spectra.cuh"
#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/rotate_fft_unrolled.cuh"

namespace whorl::backend::cuda {

/// The rows of a step among those that are prepared together.
struct UnrolledStepRows {
  std::size_t first;  ///< word
  std::size_t words;  ///< of a key
  unsigned keys;      ///< 2^k - 1
};

/// K_S <- the sum of the K_T for T that contain S, word by word; key S - 1 is K_S. A row of blocks
/// a step.
template <class Word>
__global__ void sum_over_supersets(Word* rows, const UnrolledStepRows* steps, Word q) {
  const UnrolledStepRows step = steps[blockIdx.y];
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= step.words) return;
  Word* const at = rows + step.first + i;
  for (unsigned bit = 1; bit <= step.keys; bit *= 2)
    for (unsigned set = 1; set <= step.keys; ++set)
      if ((set & bit) == 0) {
        Word& sum = at[(set - 1) * step.words];
        sum = add_mod<Word>(sum, at[((set | bit) - 1) * step.words], q);
      }
}

/// place_spectra for unrolled keys.
template <class Shape, FftWords words>
__global__ void place_unrolled_spectra(const double2* in, const std::size_t* to,
                                       const double* scale, unsigned keys,
                                       FftKeyValue<words>* out) {
  const double2* from = in + std::size_t{blockIdx.x} * Shape::M;
  auto* target = out + to[blockIdx.x];
  for (int s = threadIdx.x; s < Shape::M; s += blockDim.x) {
    const unsigned node = s / Shape::F, f = s % Shape::F;
    place_spectrum_value(from[s], scale[blockIdx.x],
                         target[unrolled_fft_place<Shape, words>(0, 0, 0, 0, keys, node, f)]);
  }
}

/// The same for keys whose bundles tensor cores make.
template <class Shape>
__global__ void place_tensor_spectra(const double2* in, const std::size_t* to, const double* scale,
                                     unsigned keys, int2* out) {
  constexpr int bits = Shape::log_m - Shape::rest;
  const double2* from = in + std::size_t{blockIdx.x} * Shape::M;
  int2* target = out + to[blockIdx.x];
  const double by = scale[blockIdx.x];
  for (int s = threadIdx.x; s < Shape::M; s += blockDim.x) {
    const unsigned turn = __brev(s / Shape::F) >> (32 - bits), f = s % Shape::F;
    target[tensor_fft_place<Shape>(0, 0, 0, 0, keys, turn, f)] = {__double2int_rn(from[s].x * by),
                                                                  __double2int_rn(from[s].y * by)};
  }
}

}  // namespace whorl::backend::cuda
