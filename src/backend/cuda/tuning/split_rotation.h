// Up to how many ciphertexts the kernel that splits frequencies over a cluster is faster than a
// block for each: docs/performance/blind-rotation-gpu.md.
#pragma once

#include "backend/cuda/kernels/fft_words.h"

namespace whorl::backend::cuda {

/// A wave is the ciphertexts whose clusters run at once. In one block each digit more takes a
/// transform more; in a cluster digits are transformed side by side.
template <FftWords words>
struct SplitTuning {
  static constexpr unsigned most_waves(unsigned digits) {
    if (words == FftWords::one_digit) return 2;
    return words == FftWords::narrow ? 3 : 2 * digits;
  }
};

}  // namespace whorl::backend::cuda
