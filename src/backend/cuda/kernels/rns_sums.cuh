// Sums over RNS bases in one pass: of products of arrays, and of arrays times residues. Rows as in
// rns.cuh. The terms of a launch and the places of their rows travel in its parameters (4 KB).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/contract/rns.h"
#include "backend/cuda/kernels/rns.cuh"

namespace whorl::backend::cuda {

/// Whether the terms of a sum are all of the simplest kind.
enum class Terms { alike, mixed };

/// Sums of products that share what they read of x: one, or up to four.
inline constexpr unsigned sums_together = 4;
/// Terms of one launch; a longer sum is made by several.
inline constexpr unsigned sum_terms_a_launch = 32;
template <unsigned sums>
inline constexpr unsigned product_terms_a_launch = sums == 1 ? 32 : 20;
/// Weights of one launch: it has fewer rows where it has many terms.
template <class Word>
inline constexpr unsigned sum_weights_a_launch = 2560 / sizeof(Word);

/// rns_width values of a row from `in_row` on, of x, or of x(X^g).
template <class Word, Turn turn>
__device__ __forceinline__ RnsVector<Word> load_turned(const Word* row, std::size_t in_row,
                                                       std::uint32_t log_N, std::uint32_t g) {
  using Vector = RnsVector<Word>;
  if constexpr (turn == Turn::by_g) {
    if (g != 1) {
      const std::size_t in_polynomial = in_row & ((std::size_t{1} << log_N) - 1);
      const Gathered<Word> gathered(static_cast<std::uint32_t>(in_polynomial), log_N, g);
      return gathered(
          *reinterpret_cast<const Vector*>(row + in_row - in_polynomial + gathered.block));
    }
  }
  return *reinterpret_cast<const Vector*>(row + in_row);
}

/// How factors are stored: whole, or some by their period.
enum class Storage { whole, periodic };

/// rns_width values of a factor from value `at` on.
template <class Word, Storage storage>
__device__ __forceinline__ RnsVector<Word> load_factor(const Word* m, std::size_t at,
                                                       std::uint32_t log_repeats) {
  if constexpr (storage == Storage::periodic)
    if (log_repeats != 0) return in_all_places(m[at >> log_repeats]);  // at least four are equal
  return *reinterpret_cast<const RnsVector<Word>*>(m + at);
}

/// What a term is multiplied by in a sum.
template <class Word>
struct SumFactor {
  /// (rows of `over`, batch or 1, N >> log_repeats); null: the sum has no such term.
  const Word* m;
  PrimeSet over;
  std::uint32_t batch, log_repeats;
};
/// Where a sum lies.
template <class Word>
struct SumPlace {
  Word* first;            ///< the first row of the first part
  std::size_t row, part;  ///< words from one to the next
};

/// Returns the place of a sum from part number `part` on.
template <class Word>
SumPlace<Word> place_of(const SumLayout& layout, std::size_t sum, std::size_t part,
                        std::size_t rows, std::size_t batch, std::size_t N, Word* out) {
  const auto at = [&](std::size_t of_part, std::size_t row) {
    return layout.at(sum, of_part, row, rows, batch) * N;
  };
  return {out + at(part, 0), at(0, 1) - at(0, 0), at(1, 0) - at(0, 0)};
}

template <class Word, unsigned sums>
struct ProductSumArguments {
  using Factor = SumFactor<Word>;
  struct Term {
    /// The first part, (rows, batch, N), the others `part` words on; of one x, (parts, rows, N).
    const Word* x;
    std::uint32_t g, one_x;
    Factor factor[sums];
  };
  using Place = SumPlace<Word>;
  Place to[sums];
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::size_t part;                ///< words of a part of x
  std::uint32_t count, sum_count, log_N, batch, onto;
  std::uint8_t prime[ring::Basis::most];  ///< of each row
  Term terms[product_terms_a_launch<sums>];
};

/// A corrected sum is below q·R, and ProductSum::safe_terms products are not above q·R together (2
/// of q < 2^31, R = 2^32; 8 of q < 2^61, R = 2^64): a sum stays below 2q·R, a double word, and the
/// correction, one subtraction, brings it below q·R again.
///
/// All parts of rns_width values of all sums: x is read once for the sums, m once for the parts.
/// Grid: (pieces of N × batch, the latter first, so that blocks with the same m run together;
/// rows). Bound by memory: parts + sums/batch words a value and term where there is one m for all.
/// Mixed terms may be turned, if there is one sum, and may have one x for all of the batch, or an m
/// that is stored by its period.
template <class Word, unsigned parts, unsigned sums, Terms terms>
__global__ void __launch_bounds__(rns_threads)
    sum_products(const __grid_constant__ ProductSumArguments<Word, sums> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::uint32_t piece = blockIdx.x / a.batch, b = blockIdx.x - piece * a.batch;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * width;
  if (j >> a.log_N != 0) return;
  const std::uint32_t prime = a.prime[blockIdx.y];
  const RnsModulus<Word> modulus = a.moduli[prime];
  const std::size_t polynomial = (static_cast<std::size_t>(blockIdx.y) * a.batch + b) << a.log_N;
  constexpr bool mixed = terms == Terms::mixed;
  ProductSum<Word> sum[sums][parts][width];
#pragma unroll(sums == 1 ? 2 : 1)
  for (std::uint32_t i = 0; i < a.count; ++i) {
    const auto& term = a.terms[i];
    Vector x[parts], m[sums];
    std::size_t of_part = a.part, in_part = polynomial;
    if (mixed && term.one_x) {
      of_part = static_cast<std::size_t>(gridDim.y) << a.log_N;
      in_part = static_cast<std::size_t>(blockIdx.y) << a.log_N;
    }
#pragma unroll
    for (unsigned p = 0; p < parts; ++p)
      x[p] = load_turned < Word,
      mixed && sums == 1 ? Turn::by_g
                         : Turn::none > (term.x + p * of_part + in_part, j, a.log_N, term.g);
#pragma unroll
    for (unsigned s = 0; s < sums; ++s) {
      const auto& factor = term.factor[s];
      const std::size_t at = static_cast<std::size_t>(factor.over.rank(prime)) * factor.batch +
                             (factor.batch == 1 ? 0 : b);
      m[s] = Vector{};
      if (sums == 1 || factor.m != nullptr)
        m[s] = load_factor < Word,
        mixed ? Storage::periodic
              : Storage::whole > (factor.m, (at << a.log_N) + j, factor.log_repeats);
    }
#pragma unroll
    for (unsigned s = 0; s < sums; ++s)
#pragma unroll
      for (unsigned p = 0; p < parts; ++p)
#pragma unroll
        for (unsigned k = 0; k < width; ++k) sum[s][p][k].add(x[p].word[k], m[s].word[k]);
    if (i % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1)
#pragma unroll
      for (unsigned s = 0; s < sums; ++s)
#pragma unroll
        for (unsigned p = 0; p < parts; ++p)
#pragma unroll
          for (unsigned k = 0; k < width; ++k) sum[s][p][k].correct(modulus.q);
  }
#pragma unroll
  for (unsigned s = 0; s < sums; ++s) {
    if (s >= a.sum_count) break;
    const auto& place = a.to[s];
#pragma unroll
    for (unsigned p = 0; p < parts; ++p) {
      Word* const to = place.first + p * place.part + blockIdx.y * place.row +
                       (static_cast<std::size_t>(b) << a.log_N) + j;
      Vector before = {}, result;
      if (a.onto) before = *reinterpret_cast<const Vector*>(to);
#pragma unroll
      for (unsigned k = 0; k < width; ++k)
        result.word[k] =
            add_mod<Word>(before.word[k], finish_product<Word>(sum[s][p][k], modulus), modulus.q);
      store_vector<Word>(to, result);
    }
  }
}

template <class Word>
struct CombinationArguments {
  struct Term {
    const Word* x;  ///< (parts, rows of `over`, row), or a polynomial for each row
    PrimeSet over;
    std::uint32_t rows, g;
    std::uint32_t one;  ///< a polynomial for each row, the same for all of the batch
  };
  Word* out;                       ///< the launch's first row; parts are `part` words apart
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::size_t row, part;           ///< words
  std::uint32_t count, log_N, onto;
  std::uint32_t with_constant;            ///< 1 or 0
  std::uint8_t prime[ring::Basis::most];  ///< of each row of the launch
  Term terms[sum_terms_a_launch];
  /// `count` for each row, in Montgomery form, and the constant of part 0, as it is.
  Word weights[sum_weights_a_launch<Word>];
};

/// Sums are corrected as in sum_products. Grid: pieces of a row, rows, parts. Bound by memory: a
/// word a value and term. Mixed terms may be turned, lack some rows, or be one polynomial for all
/// of the batch.
template <class Word, Terms terms>
__global__ void __launch_bounds__(rns_threads)
    combine_rows(const __grid_constant__ CombinationArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  constexpr bool mixed = terms == Terms::mixed;
  using Vector = RnsVector<Word>;
  const std::size_t in_row =
      (static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x) * width;
  if (in_row >= a.row) return;
  const std::uint32_t prime = a.prime[blockIdx.y];
  const RnsModulus<Word> modulus = a.moduli[prime];
  const Word* const weights = a.weights + blockIdx.y * (a.count + a.with_constant);
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
    std::size_t row = a.row, place = in_row;
    if constexpr (mixed) {
      if (term.one != 0) {
        row = std::size_t{1} << a.log_N;
        place = in_row & (row - 1);
      }
    }
    const Vector x = load_turned < Word,
                 mixed ? Turn::by_g : Turn::none > (term.x + from * row, place, a.log_N, term.g);
    const Word weight = weights[i];
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      sum[k].add(x.word[k], weight);
      // A term that lacks the row is not counted: one correction each.
      if (mixed || i % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1)
        sum[k].correct(modulus.q);
    }
  }
  const Word constant = a.with_constant != 0 && blockIdx.z == 0 ? weights[a.count] : 0;
#pragma unroll
  for (unsigned k = 0; k < width; ++k) {
    if constexpr (!mixed) sum[k].correct(modulus.q);
    const Word all = add_mod<Word>(sum[k].reduce(modulus.q, modulus.inverse), constant, modulus.q);
    result.word[k] = add_mod<Word>(before.word[k], all, modulus.q);
  }
  store_vector<Word>(to, result);
}

}  // namespace whorl::backend::cuda
