// Numbers of the kernels for unrolled keys: docs/performance/blind-rotation-gpu.md.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// `keys`: those of a step. `a_thread`: ciphertexts that a thread multiplies; `lanes`: threads side
/// by side that take the same frequencies of as many more; `blocks`: a multiprocessor, that
/// registers are limited for.
template <class Shape, int keys, bool wide, bool coarse>
struct UnrolledFftTuning {
  static constexpr int a_thread = 1, lanes = Shape::threads >= 256 ? 1 : 2;
  static constexpr int blocks = Shape::threads >= 64 ? 1 : 2;
};
// N = 1024, narrow
template <int keys>
struct UnrolledFftTuning<GroupFft<9, 4>, keys, false, false> {
  static constexpr int a_thread = 2, lanes = 1, blocks = keys <= 4 ? 4 : 3;
};
// N = 2048, coarse
template <int keys>
struct UnrolledFftTuning<GroupFft<10, 4>, keys, true, true> {
  static constexpr int a_thread = 1, lanes = 2, blocks = 2;
};

/// For rotations with bundles ahead of the loop: the blocks of most ciphertexts that run over four
/// and over two blocks each. A cluster lies within one group of multiprocessors, so that not all of
/// them can be taken.
struct LinkedTuning {
  static constexpr unsigned most_of_four = 96, most_of_two = 116;
};

template <class Shape>
struct UnrolledNttTuning {
  static constexpr int lanes = Shape::threads >= 64 ? 1 : 2;
};

}  // namespace whorl::backend::cuda
