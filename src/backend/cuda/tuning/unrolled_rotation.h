// Numbers of the kernels for unrolled keys: docs/performance/blind-rotation-gpu.md.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// For groups of m. `a_thread`: ciphertexts that a thread multiplies; `lanes`: threads side by side
/// that take the same frequencies of as many more; `blocks`: a multiprocessor, that registers are
/// limited for.
template <class Shape, BundleForm form, int m, bool wide, bool coarse>
struct UnrolledFftTuning {
  static constexpr int a_thread = 1, lanes = Shape::threads >= 256 ? 1 : 2;
  static constexpr int blocks = Shape::threads >= 64 ? 1 : 2;
};
// N = 1024, narrow
template <BundleForm form, int m>
struct UnrolledFftTuning<GroupFft<9, 4>, form, m, false, false> {
  static constexpr int a_thread = 2, lanes = 1, blocks = m == 2 ? 4 : 3;
};
// N = 2048, coarse
template <BundleForm form, int m>
struct UnrolledFftTuning<GroupFft<10, 4>, form, m, true, true> {
  static constexpr bool two = form == BundleForm::all && m == 3;
  static constexpr int a_thread = two ? 2 : 1, lanes = two ? 1 : 2, blocks = two ? 1 : 2;
};

/// For rotations with bundles from tensor cores: ciphertexts a multiprocessor up to which blocks
/// carry two and four, in place of eight. Products of matrices have eight at any rate.
struct TensorTuning {
  static constexpr unsigned most_of_two = 2, most_of_four = 4;
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
