// Sums of few rows of LWE ciphertexts each: memory sets the pace.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/contract/lwe.h"
#include "backend/cuda/kernels/lwe.cuh"

namespace whorl::backend::cuda {

/// A row of an input, and what it is multiplied by.
template <class Word>
struct SumTerm {
  std::uint32_t input, row;
  Word factor;        ///< below q
  Word factor_shoup;  ///< floor(factor·2^w/q), w bits of a word
};

template <class Word>
struct SumArguments {
  const Word* in[LweSumsShape::most_inputs];
  const SumTerm<Word>* terms;
  const std::uint32_t* begin;  ///< of the first sum's terms, and one more than there are sums
  const Word* constants;
  std::uint64_t q;        ///< at most 2^32, or below 2^61 for 64-bit words
  std::uint64_t barrett;  ///< floor((2^64 - 1)/q)
  std::size_t row, count;
};

/// A block takes some columns of a sum: those of blockIdx.x. Of 32-bit words 2^31 terms fit.
template <class Word>
__global__ void __launch_bounds__(lwe_threads)
    sum_rows(const __grid_constant__ SumArguments<Word> p, Word* __restrict__ out) {
  const std::size_t column = std::size_t{blockIdx.x} * lwe_threads + threadIdx.x;
  if (column >= p.row) return;
  for (std::size_t r = blockIdx.y; r < p.count; r += gridDim.y) {
    std::uint64_t sum = column + 1 == p.row ? p.constants[r] : 0;
    const std::uint32_t end = p.begin[r + 1];
    for (std::uint32_t k = p.begin[r]; k < end; ++k) {
      const SumTerm<Word> term = p.terms[k];
      const Word x = p.in[term.input][term.row * p.row + column];
      sum = add_linear_term<Word>(sum, x, term.factor, term.factor_shoup, p.q);
    }
    out[r * p.row + column] = static_cast<Word>(linear_reduce(sum, p.q, p.barrett));
  }
}

}  // namespace whorl::backend::cuda
