// Numbers of the kernels for unrolled keys: docs/performance/blind-rotation-gpu.md.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/kernels/fft_words.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// A thread multiplies `a_thread` ciphertexts; `lanes` threads side by side take the same
/// frequencies of as many more. Registers are limited for `blocks` blocks a multiprocessor. A group
/// has m coefficients.
template <class Shape, BundleForm form, int m, FftWords words>
struct UnrolledFftTuning {
  static constexpr int a_thread = 1, lanes = Shape::threads >= 256 ? 1 : 2;
  static constexpr int blocks = Shape::threads >= 64 ? 1 : 2;
};
// N = 1024, narrow
template <BundleForm form, int m>
struct UnrolledFftTuning<GroupFft<9, 4>, form, m, FftWords::narrow> {
  static constexpr int a_thread = 2, lanes = 1, blocks = m == 2 ? 4 : 3;
};
// N = 2048, one digit a step
template <BundleForm form, int m>
struct UnrolledFftTuning<GroupFft<10, 4>, form, m, FftWords::one_digit> {
  static constexpr bool two = form == BundleForm::all && m == 3;
  static constexpr int a_thread = two ? 2 : 1, lanes = two ? 1 : 2, blocks = two ? 1 : 2;
};

/// Ciphertexts that share what a thread reads of the key, where bundles are made ahead of the loop:
/// for so few at most, and for more.
struct BundleTuning {
  static constexpr int of_few = 2, of_many = 4;
};

/// The most blocks with which rotations with bundles ahead of the loop run over four and over two
/// blocks a ciphertext. A cluster lies within one group of multiprocessors, so that not all of
/// them can be taken.
struct LinkedTuning {
  static constexpr unsigned most_of_four = 96, most_of_two = 116;
};

template <class Shape>
struct UnrolledNttTuning {
  static constexpr int lanes = Shape::threads >= 64 ? 1 : 2;
};

}  // namespace whorl::backend::cuda
