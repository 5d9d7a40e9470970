// Linear maps' sums of a ciphertext's images, each times a plaintext: the images stay in registers.
// Rows as in rns.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/rns.cuh"
#include "backend/cuda/kernels/rns_sums.cuh"

namespace whorl::backend::cuda {

/// Words of a thread: 16 bytes of one ciphertext, 8 of each of several.
template <class Word, unsigned group>
inline constexpr unsigned turned_width = (group == 1 ? 16 : 8) / sizeof(Word);

template <class Word>
struct TurnedSumArguments {
  struct Term {
    const Word* key;  ///< null: nothing is switched, and g = 1
    std::uint32_t g;
    SumFactor<Word> factor[sums_together];
  };
  const Word* digits;  ///< (count, rows, batch, N)
  const Word* x;       ///< (2, rows of `over`, batch, N)
  PrimeSet over;
  std::uint32_t x_rows;
  SumPlace<Word> to[sums_together];
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::uint32_t count, row_count, key_limbs, log_N, batch, batch_groups, onto, term_count;
  std::uint32_t sum_count;
  std::uint8_t limb[ring::Basis::most], key_row[ring::Basis::most], digit[ring::Basis::most];
  Word weights[ring::Basis::most];  ///< of x in each row, in Montgomery form
  Term terms[tuning::turned_terms_a_launch];
};
static_assert(sizeof(TurnedSumArguments<std::uint64_t>) <= 4000);

/// Both parts of a term at X^g of `group` ciphertexts, fully reduced.
template <class Word, unsigned group, unsigned width>
__device__ __forceinline__ void turn(const TurnedSumArguments<Word>& a,
                                     const typename TurnedSumArguments<Word>::Term& term,
                                     std::uint32_t j, std::uint32_t prime,
                                     const RnsModulus<Word>& m,
                                     const std::uint32_t (&offset)[group], std::size_t in_row,
                                     Word (&y)[group][2][width]) {
  using Vector = WordVector<Word, width>;
  const std::uint32_t row = blockIdx.y;
  const Gathered<Word, width> gathered(j, a.log_N, term.g);
  const std::size_t row_words = static_cast<std::size_t>(a.batch) << a.log_N,
                    from = in_row + gathered.block;
  ProductSum<Word> sum[group][2][width];
  if (term.key != nullptr) {
    const std::size_t key_words = static_cast<std::size_t>(a.key_limbs) << a.log_N;
    const Word* const of_key = term.key + (static_cast<std::size_t>(a.key_row[row]) << a.log_N) + j;
    const Word* x = a.digits + row * row_words + from;
#pragma unroll 2
    for (std::uint32_t d = 0; d < a.count; ++d) {
      const Word* const key = of_key + a.digit[d] * 2 * key_words;
      const Vector key_a = *reinterpret_cast<const Vector*>(key);
      const Vector key_b = *reinterpret_cast<const Vector*>(key + key_words);
      Vector v[group];
#pragma unroll
      for (unsigned i = 0; i < group; ++i) v[i] = *reinterpret_cast<const Vector*>(x + offset[i]);
      const bool corrects =
          d % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1 || d + 1 == a.count;
#pragma unroll
      for (unsigned i = 0; i < group; ++i) {
        v[i] = gathered(v[i]);
#pragma unroll
        for (unsigned k = 0; k < width; ++k) {
          sum[i][0][k].add(v[i].word[k], key_b.word[k]);
          sum[i][1][k].add(v[i].word[k], key_a.word[k]);
          if (corrects) {
            sum[i][0][k].correct(m.q);
            sum[i][1][k].correct(m.q);
          }
        }
      }
      x += a.row_count * row_words;
    }
  }
  if (a.over.contains(prime)) {
    const Word weight = a.weights[row];
    const Word* const x = a.x + a.over.rank(prime) * row_words + from;
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      if (c == 1 && term.key != nullptr) break;
#pragma unroll
      for (unsigned i = 0; i < group; ++i) {
        const Vector v =
            gathered(*reinterpret_cast<const Vector*>(x + c * a.x_rows * row_words + offset[i]));
#pragma unroll
        for (unsigned k = 0; k < width; ++k) {
          sum[i][c][k].add(v.word[k], weight);
          sum[i][c][k].correct(m.q);
        }
      }
    }
  }
#pragma unroll
  for (unsigned i = 0; i < group; ++i)
#pragma unroll
    for (unsigned c = 0; c < 2; ++c)
#pragma unroll
      for (unsigned k = 0; k < width; ++k) y[i][c][k] = sum[i][c][k].reduce(m.q, m.inverse);
}

/// turned_width values of `group` ciphertexts in up to `sums` sums. Values of a key, and those of a
/// plaintext that all share, are read once for the group. Grid: (pieces of N × groups of the batch,
/// the latter first; rows): all digits of a row stay in the second-level cache, which serves them
/// for every term. Bound by that cache: per value and term count·(1 + 2/group) + 1 words, and
/// sums/group of plaintexts; memory serves keys, digits and sums once.
template <class Word, unsigned group, unsigned sums>
__global__ void __launch_bounds__(rns_threads)
    sum_turned_products(const __grid_constant__ TurnedSumArguments<Word> a) {
  join_chain();
  constexpr unsigned width = turned_width<Word, group>;
  using Vector = WordVector<Word, width>;
  const std::uint32_t piece = blockIdx.x / a.batch_groups, row = blockIdx.y;
  const std::uint32_t first = (blockIdx.x - piece * a.batch_groups) * group;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * width;
  if (j >> a.log_N != 0) return;
  const std::uint32_t prime = a.limb[row];
  const RnsModulus<Word> m = a.moduli[prime];
  const std::size_t in_row = static_cast<std::size_t>(first) << a.log_N;
  // Places that are missing from the last group repeat its last ciphertext.
  std::uint32_t offset[group];
#pragma unroll
  for (unsigned i = 0; i < group; ++i) offset[i] = (min(first + i, a.batch - 1) - first) << a.log_N;
  ProductSum<Word> sum[sums][group][2][width];
#pragma unroll 1
  for (std::uint32_t t = 0; t < a.term_count; ++t) {
    const auto& term = a.terms[t];
    Word y[group][2][width];
    turn<Word, group, width>(a, term, j, prime, m, offset, in_row, y);
    const bool corrects = t % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1;
#pragma unroll
    for (unsigned s = 0; s < sums; ++s) {
      const auto& factor = term.factor[s];
      if (factor.m != nullptr) {
        const std::size_t at = static_cast<std::size_t>(factor.over.rank(prime)) * factor.batch;
        const Word* const of_m = factor.m + (at << a.log_N) + j;
        const bool one = factor.batch == 1;
        Vector v = *reinterpret_cast<const Vector*>(of_m + (one ? 0 : in_row));
#pragma unroll
        for (unsigned i = 0; i < group; ++i) {
          if (i > 0 && !one) v = *reinterpret_cast<const Vector*>(of_m + in_row + offset[i]);
#pragma unroll
          for (unsigned c = 0; c < 2; ++c)
#pragma unroll
            for (unsigned k = 0; k < width; ++k) sum[s][i][c][k].add(y[i][c][k], v.word[k]);
        }
      }
      if (corrects)
#pragma unroll
        for (unsigned i = 0; i < group; ++i)
#pragma unroll
          for (unsigned c = 0; c < 2; ++c)
#pragma unroll
            for (unsigned k = 0; k < width; ++k) sum[s][i][c][k].correct(m.q);
    }
  }
#pragma unroll
  for (unsigned s = 0; s < sums; ++s) {
    if (s >= a.sum_count) break;
    const auto& place = a.to[s];
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if (first + i >= a.batch) break;
#pragma unroll
      for (unsigned c = 0; c < 2; ++c) {
        Word* const to = place.first + c * place.part + row * place.row + in_row + offset[i] + j;
        Vector before = {}, result;
        if (a.onto != 0) before = *reinterpret_cast<const Vector*>(to);
#pragma unroll
        for (unsigned k = 0; k < width; ++k)
          result.word[k] =
              add_mod<Word>(before.word[k], finish_product<Word>(sum[s][i][c][k], m), m.q);
        *reinterpret_cast<Vector*>(to) = result;
      }
    }
  }
}

}  // namespace whorl::backend::cuda
