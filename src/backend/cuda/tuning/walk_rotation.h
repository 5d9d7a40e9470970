// Numbers of the kernels for steps in each ciphertext's own order, and of those with a raised
// modulus by NTT: docs/performance/blind-rotation-gpu.md.
#pragma once

#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// Blocks a multiprocessor that registers are limited for: 128 a thread, or 168 for wide keys.
template <class Shape, bool wide>
struct FftWalkTuning {
  static constexpr int threads = 2 * Shape::threads, resident = wide ? 384 : 512;
  static constexpr int blocks = resident / threads > 1 ? resident / threads : 1;
};

/// The same: 64 registers a thread with 32-bit words, 128 with 64-bit ones.
template <class Shape>
struct NttWalkTuning {
  static constexpr int threads = 2 * Shape::threads,
                       resident = sizeof(typename Shape::Word) == 4 ? 1024 : 512;
  static constexpr int blocks = resident / threads > 1 ? resident / threads : 1;
};

}  // namespace whorl::backend::cuda
