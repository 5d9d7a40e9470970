// Digits of polynomials modulo one prime, as backend::DigitFields has them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/vectors.cuh"
#include "math/modulus.h"

namespace whorl::backend::cuda {

inline constexpr unsigned digit_threads = 256;

/// A digit is a field of bits, less a number.
template <class Word>
struct DigitFieldOfBits {
  Word mask, less;
  std::uint32_t shift;
};
template <class Word>
struct DigitArguments {
  const Word* in;
  Word* out;
  Word q, above, raise;
  std::uint32_t digits;
  std::size_t parts, row;  ///< row: vectors
  /// A digit has a bit of the modulus, or more.
  DigitFieldOfBits<Word> field[math::word_bits<Word>];
};

/// in (parts, row), out (parts, digits, row), coefficients: a thread reads a vector once, for all
/// of its digits. Grid: pieces of a row, parts. Memory sets the pace.
template <class Word>
__global__ void __launch_bounds__(digit_threads)
    decompose_rows(const __grid_constant__ DigitArguments<Word> a) {
  join_chain();
  using Vector = RnsVector<Word>;
  constexpr unsigned width = rns_width<Word>;
  for (std::size_t part = blockIdx.y; part < a.parts; part += gridDim.y)
    for (std::size_t i = std::size_t{blockIdx.x} * digit_threads + threadIdx.x; i < a.row;
         i += std::size_t{gridDim.x} * digit_threads) {
      Vector y = reinterpret_cast<const Vector*>(a.in)[part * a.row + i];
#pragma unroll
      for (unsigned k = 0; k < width; ++k)
        y.word[k] = sub_mod<Word>(y.word[k], a.above, a.q) + a.raise;
      Vector* to = reinterpret_cast<Vector*>(a.out) + part * a.digits * a.row + i;
      for (std::uint32_t j = 0; j < a.digits; ++j, to += a.row) {
        const DigitFieldOfBits<Word>& field = a.field[j];
        Vector digit;
#pragma unroll
        for (unsigned k = 0; k < width; ++k)
          digit.word[k] = sub_mod<Word>((y.word[k] >> field.shift) & field.mask, field.less, a.q);
        *to = digit;
      }
    }
}

}  // namespace whorl::backend::cuda
