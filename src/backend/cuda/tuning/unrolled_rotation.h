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

/// Bundles that are made ahead of the loop or beside it.
struct BundleTuning {
  /// Ciphertexts of a warp, which share what it reads of shared memory, and warps of a block, which
  /// share what is copied there.
  static constexpr int a_warp = 4, most_warps = 4;
  /// Bytes of the key that a block holds, if two rows do not take more.
  static constexpr unsigned staged_bytes = 24 << 10;
  /// Warps of a multiprocessor beside the loop, in at most so many blocks, and ahead of it.
  static constexpr unsigned warps_beside = 4, blocks_beside = 2, warps_ahead = 8;
  /// From so many ciphertexts on tensor cores make them, in blocks of so many warps, of which so
  /// many run on a multiprocessor ahead of the loop, and one beside it. Registers of a thread: what
  /// the loop leaves of a multiprocessor's, which takes 256 threads of 152 at N = 2048.
  static constexpr unsigned least_of_matrices = 16, matrix_warps = 4, matrix_blocks_ahead = 2,
                            matrix_registers = 208;
  /// Percent of the first-level cache that is shared memory where both kernels run, so that 228 KB
  /// of the H200 hold blocks of both. A multiprocessor changes it only when it is idle, so that
  /// both kernels ask for the same.
  static constexpr int shared_percent = 100;
  /// Steps of which the loop learns together that they are made.
  static constexpr unsigned steps_of_chunk = 8;
};

/// The most blocks with which rotations by linked workers run over four and over two blocks a
/// ciphertext. A cluster lies within one group of multiprocessors, so that not all of them can be
/// taken. Then the most waves of one block a ciphertext that take less time than a wave of the
/// kernels for batches.
struct LinkedTuning {
  static constexpr unsigned most_of_four = 96, most_of_two = 116, most_waves = 2;
};

template <class Shape>
struct UnrolledNttTuning {
  static constexpr int lanes = Shape::threads >= 64 ? 1 : 2;
};

}  // namespace whorl::backend::cuda
