// Numbers of the kernels for unrolled keys: docs/performance/blind-rotation-gpu.md.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// `a_thread`: ciphertexts that a thread multiplies; `lanes`: threads side by side that take the
/// same frequencies of as many more; `blocks`: a multiprocessor, that registers are limited for.
template <class Shape, int m, bool wide, bool coarse>
struct UnrolledFftTuning {
  static constexpr int a_thread = 1, lanes = Shape::threads >= 256 ? 1 : 2;
  static constexpr int blocks = Shape::threads >= 64 ? 1 : 2;
};
// N = 1024, narrow
template <>
struct UnrolledFftTuning<GroupFft<9, 4>, 2, false, false> {
  static constexpr int a_thread = 2, lanes = 1, blocks = 4;
};
template <>
struct UnrolledFftTuning<GroupFft<9, 4>, 3, false, false> {
  static constexpr int a_thread = 2, lanes = 1, blocks = 3;
};
// N = 2048, coarse
template <>
struct UnrolledFftTuning<GroupFft<10, 4>, 2, true, true> {
  static constexpr int a_thread = 1, lanes = 2, blocks = 2;
};
template <>
struct UnrolledFftTuning<GroupFft<10, 4>, 3, true, true> {
  static constexpr int a_thread = 1, lanes = 2, blocks = 2;
};

template <class Shape, int m>
struct UnrolledNttTuning {
  static constexpr int lanes = Shape::threads >= 64 ? 1 : 2;
};

}  // namespace whorl::backend::cuda
