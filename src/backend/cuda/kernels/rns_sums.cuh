// Sums over RNS bases in one pass: of products of arrays, and of arrays times residues. Rows as in
// rns.cuh. The terms of a launch and the places of their rows travel in its parameters (4 KB).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/rns.cuh"

namespace whorl::backend::cuda {

/// Terms of one launch; a longer sum is made by several.
inline constexpr unsigned sum_terms_a_launch = 32;
/// Weights of one launch: it has fewer rows where it has many terms.
template <class Word>
inline constexpr unsigned sum_weights_a_launch = 2560 / sizeof(Word);

/// rns_width values of a row from `in_row` on, of x or of x(X^g).
template <class Word, bool permuted>
__device__ __forceinline__ RnsVector<Word> load_turned(const Word* row, std::size_t in_row,
                                                       std::uint32_t log_N, std::uint32_t g) {
  using Vector = RnsVector<Word>;
  if constexpr (permuted) {
    if (g != 1) {
      const std::size_t in_polynomial = in_row & ((std::size_t{1} << log_N) - 1);
      const Gathered<Word> gathered(static_cast<std::uint32_t>(in_polynomial), log_N, g);
      return gathered(
          *reinterpret_cast<const Vector*>(row + in_row - in_polynomial + gathered.block));
    }
  }
  return *reinterpret_cast<const Vector*>(row + in_row);
}

template <class Word>
struct ProductSumArguments {
  struct Term {
    const Word* x;  ///< the first part, (rows, batch, N); the others `part` words on
    const Word* m;  ///< (rows of `over`, batch or 1, N)
    PrimeSet over;
    std::uint32_t g, m_batch;
  };
  Word* out;
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::size_t part;                ///< words
  std::uint32_t count, log_N, batch, onto;
  std::uint8_t prime[ring::Basis::most];  ///< of each row
  Term terms[sum_terms_a_launch];
};

/// A corrected sum is below q·R, and ProductSum::safe_terms products are not above q·R together (2
/// of q < 2^31, R = 2^32; 8 of q < 2^61, R = 2^64): a sum stays below 2q·R, a double word, and the
/// correction, one subtraction, brings it below q·R again.
///
/// Both parts of rns_width values: m is read once for them. Grid: (pieces of N × batch, the latter
/// first, so that blocks with the same m run together; rows). Bound by memory: parts + 1/batch
/// words a value and term where there is one m.
template <class Word, unsigned parts, bool permuted>
__global__ void __launch_bounds__(rns_threads)
    sum_products(const __grid_constant__ ProductSumArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::uint32_t piece = blockIdx.x / a.batch, b = blockIdx.x - piece * a.batch;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * width;
  if (j >> a.log_N != 0) return;
  const std::uint32_t prime = a.prime[blockIdx.y];
  const RnsModulus<Word> modulus = a.moduli[prime];
  const std::size_t polynomial = (static_cast<std::size_t>(blockIdx.y) * a.batch + b) << a.log_N;
  ProductSum<Word> sum[parts][width];
#pragma unroll 2
  for (std::uint32_t i = 0; i < a.count; ++i) {
    const typename ProductSumArguments<Word>::Term& term = a.terms[i];
    const std::size_t m_polynomial =
        static_cast<std::size_t>(term.over.rank(prime)) * term.m_batch +
        (term.m_batch == 1 ? 0 : b);
    const Vector m = *reinterpret_cast<const Vector*>(term.m + (m_polynomial << a.log_N) + j);
    Vector x[parts];
#pragma unroll
    for (unsigned p = 0; p < parts; ++p)
      x[p] = load_turned<Word, permuted>(term.x + p * a.part + polynomial, j, a.log_N, term.g);
#pragma unroll
    for (unsigned p = 0; p < parts; ++p)
#pragma unroll
      for (unsigned k = 0; k < width; ++k) sum[p][k].add(x[p].word[k], m.word[k]);
    if (i % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1)
#pragma unroll
      for (unsigned p = 0; p < parts; ++p)
#pragma unroll
        for (unsigned k = 0; k < width; ++k) sum[p][k].correct(modulus.q);
  }
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
    Word* const to = a.out + p * a.part + polynomial + j;
    Vector before = {}, result;
    if (a.onto) before = *reinterpret_cast<const Vector*>(to);
#pragma unroll
    for (unsigned k = 0; k < width; ++k)
      result.word[k] =
          add_mod<Word>(before.word[k], finish_product<Word>(sum[p][k], modulus), modulus.q);
    store_vector<Word>(to, result);
  }
}

template <class Word>
struct CombinationArguments {
  struct Term {
    const Word* x;  ///< (parts, rows of `over`, row)
    PrimeSet over;
    std::uint32_t rows, g;
  };
  Word* out;                       ///< the launch's first row; parts are `part` words apart
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::size_t row, part;           ///< words
  std::uint32_t count, log_N, onto;
  std::uint8_t prime[ring::Basis::most];  ///< of each row of the launch
  Term terms[sum_terms_a_launch];
  Word weights[sum_weights_a_launch<Word>];  ///< `count` for each row, in Montgomery form
};

/// Sums are corrected as in sum_products. Grid: pieces of a row, rows, parts. Bound by memory: a
/// word a value and term. `mixed`: some terms are permuted, or lack some rows.
template <class Word, bool mixed>
__global__ void __launch_bounds__(rns_threads)
    combine_rows(const __grid_constant__ CombinationArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::size_t in_row =
      (static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x) * width;
  if (in_row >= a.row) return;
  const std::uint32_t prime = a.prime[blockIdx.y];
  const RnsModulus<Word> modulus = a.moduli[prime];
  const Word* const weights = a.weights + blockIdx.y * a.count;
  Word* const to = a.out + blockIdx.z * a.part + blockIdx.y * a.row + in_row;
  Vector before = {}, result;
  if (a.onto) before = *reinterpret_cast<const Vector*>(to);
  ProductSum<Word> sum[width];
#pragma unroll(mixed ? 1 : 4)
  for (std::uint32_t i = 0; i < a.count; ++i) {
    const typename CombinationArguments<Word>::Term& term = a.terms[i];
    if constexpr (mixed)
      if (!term.over.contains(prime)) continue;
    const std::size_t from =
        static_cast<std::size_t>(blockIdx.z) * term.rows + term.over.rank(prime);
    const Vector x = load_turned<Word, mixed>(term.x + from * a.row, in_row, a.log_N, term.g);
    const Word weight = weights[i];
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      sum[k].add(x.word[k], weight);
      // A term that lacks the row is not counted: one correction each.
      if (mixed || i % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1)
        sum[k].correct(modulus.q);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < width; ++k) {
    if constexpr (!mixed) sum[k].correct(modulus.q);
    result.word[k] =
        add_mod<Word>(before.word[k], sum[k].reduce(modulus.q, modulus.inverse), modulus.q);
  }
  store_vector<Word>(to, result);
}

}  // namespace whorl::backend::cuda
