// Numbers of the kernels for steps in each ciphertext's own order, and of those with a raised
// modulus by NTT: docs/performance/blind-rotation-gpu.md.
#pragma once

#include "backend/cuda/kernels/fft_words.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// Registers are limited for `blocks` blocks a multiprocessor: to 128 a thread, or 168 for keys of
/// 64-bit words.
template <class Shape, FftWords words>
struct FftWalkTuning {
  static constexpr int threads = 2 * Shape::threads, resident = is_wide<words> ? 384 : 512;
  static constexpr int blocks = resident / threads > 1 ? resident / threads : 1;
};

/// The same: 64 registers a thread with 32-bit words, 128 with 64-bit ones; half as many more where
/// a thread carries 16 coefficients of two limbs.
template <class Shape, int limbs>
struct NttWalkTuning {
  static constexpr bool narrow = sizeof(typename Shape::Word) == 4;
  static constexpr bool many = limbs == 2 && Shape::E == 16;
  static constexpr int threads = 2 * Shape::threads,
                       resident = narrow ? (many ? 640 : 1024) : (many ? 384 : 512);
  static constexpr int blocks = resident / threads > 1 ? resident / threads : 1;
};

}  // namespace whorl::backend::cuda
