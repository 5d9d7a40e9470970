// RNS on a GPU: inner products of digits with switching keys, and what is added to them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/rns.cuh"
#include "backend/cuda/tuning/rns.h"

namespace whorl::backend::cuda {

/// What an inner product adds to its first parts: at X^g too, times a weight for each of its rows.
template <class Word>
struct InnerAddend {
  const Word* x;  ///< (parts, rows of `over`, batch, N)
  PrimeSet over;
  std::uint32_t parts, rows;  ///< no parts: nothing is added
  std::uint32_t onto;         ///< all is added to what the output has
  Twiddle<Word> weights[ring::Basis::most];
};

template <class Word>
struct InnerArguments {
  const Word* digits;  ///< (count, rows, batch, N)
  const Word* key;     ///< (count, 2, key_limbs, N), a first, in Montgomery form
  Word* out;           ///< (2, rows, batch, N)
  const RnsModulus<Word>* moduli;
  std::uint32_t count, row_count, key_limbs, log_N, batch, batch_groups, g;
  RnsRows rows;
  InnerAddend<Word> added;
};

/// The same where rows and digits are some of the key's, in any order: a row's modulus and its row
/// in the key, and numbers of the key's digits. `key_limbs` is the number of the key's rows.
template <class Word>
struct IndexedInnerArguments : InnerArguments<Word> {
  std::uint8_t limb[ring::Basis::most], key_row[ring::Basis::most], digit[ring::Basis::most];
};
/// Which rows of a key and which of its digits are used: those of a chain, or any.
enum class KeyParts { chain, indexed };
template <class Word, KeyParts parts>
using InnerArgumentsOf = std::conditional_t<parts == KeyParts::indexed, IndexedInnerArguments<Word>,
                                            InnerArguments<Word>>;

/// Ciphertexts (a_0, a_1) and (b_0, b_1): an inner product adds w·(a_0·b_0, a_0·b_1 + a_1·b_0). The
/// weights w·R, of each row of the inner product, are those of its InnerAddend.
template <class Word>
struct InnerFactors {
  const Word *a, *b;  ///< (2, rows of `over`, batch, N); b may have a batch of 1
  PrimeSet over;
  std::uint32_t rows, one_b;
  Word constant[ring::Basis::most];  ///< times R; added to part 0

  __device__ __forceinline__ void add_to(ProductSum<Word> (&sum)[2][rns_width<Word>],
                                         const Twiddle<Word>* weights, std::uint32_t row,
                                         std::uint32_t limb, std::size_t batch, std::size_t item,
                                         std::uint32_t log_N, std::uint32_t j, Word q) const {
    using Vector = RnsVector<Word>;
    const auto at = [&](const Word* x, std::size_t of, std::size_t number) {
      return x + ((over.rank(limb) * of + number) << log_N) + j;
    };
    const std::size_t of_b = one_b != 0 ? 1 : batch;
    const Word* const x = at(a, batch, item);
    const Word* const y = at(b, of_b, one_b != 0 ? 0 : item);
    const Vector a0 = *reinterpret_cast<const Vector*>(x),
                 a1 = *reinterpret_cast<const Vector*>(x + ((rows * batch) << log_N)),
                 b0 = *reinterpret_cast<const Vector*>(y),
                 b1 = *reinterpret_cast<const Vector*>(y + ((rows * of_b) << log_N));
    const Twiddle<Word> weight = weights[row];
#pragma unroll
    for (unsigned k = 0; k < rns_width<Word>; ++k) {
      const Word x0 = mul_shoup<Word>(a0.word[k], weight.w, weight.shoup, q),
                 x1 = mul_shoup<Word>(a1.word[k], weight.w, weight.shoup, q);
      sum[0][k].add(x0, b0.word[k]);
      sum[0][k].sum += constant[row];
      sum[0][k].correct(q);
      sum[1][k].add(x0, b1.word[k]);
      sum[1][k].add(x1, b0.word[k]);
      sum[1][k].correct(q);
    }
  }
};
struct NoFactors {};
template <class Word>
struct FactorsInnerArguments : IndexedInnerArguments<Word> {
  InnerFactors<Word> factors;
};

/// Both components of rns_width values, from place j on, of `group` ciphertexts from number `first`
/// on, for which a key's values are read once.
template <class Word, unsigned group, Turn turn, KeyParts parts, class Factors = NoFactors>
__device__ __forceinline__ void sum_digits(const InnerArgumentsOf<Word, parts>& a,
                                           const Word* of_key, std::uint32_t g, std::uint32_t j,
                                           std::uint32_t first, Word* sums,
                                           const Factors& factors = {}) {
  constexpr unsigned width = rns_width<Word>;
  constexpr bool permuted = turn == Turn::by_g;
  using Vector = RnsVector<Word>;
  const std::uint32_t row = blockIdx.y;
  std::uint32_t limb, key_row;
  if constexpr (parts == KeyParts::indexed) {
    limb = a.limb[row];
    key_row = a.key_row[row];
  } else {
    limb = key_row = a.rows.limb(row);
  }
  const Gathered<Word> gathered(j, a.log_N, permuted ? g : 1);
  const std::size_t row_words = static_cast<std::size_t>(a.batch) << a.log_N;
  const std::size_t key_words = static_cast<std::size_t>(a.key_limbs) << a.log_N;
  const RnsModulus<Word> m = a.moduli[limb];
  const Word* key = of_key + (static_cast<std::size_t>(key_row) << a.log_N) + j;
  const Word* x = a.digits + row * row_words + (static_cast<std::size_t>(first) << a.log_N) +
                  (permuted ? gathered.block : j);
  // Places that are missing from the last group repeat its last ciphertext.
  std::uint32_t offset[group];
#pragma unroll
  for (unsigned i = 0; i < group; ++i) offset[i] = (min(first + i, a.batch - 1) - first) << a.log_N;
  ProductSum<Word> sum[group][2][width];
#pragma unroll 2
  for (std::uint32_t d = 0; d < a.count; ++d) {
    if constexpr (parts == KeyParts::indexed)
      key =
          of_key + (static_cast<std::size_t>(key_row) << a.log_N) + j + a.digit[d] * 2 * key_words;
    const Vector key_a = *reinterpret_cast<const Vector*>(key);
    const Vector key_b = *reinterpret_cast<const Vector*>(key + key_words);
    Vector v[group];
#pragma unroll
    for (unsigned i = 0; i < group; ++i) v[i] = *reinterpret_cast<const Vector*>(x + offset[i]);
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if constexpr (permuted) v[i] = gathered(v[i]);
#pragma unroll
      for (unsigned k = 0; k < width; ++k) {
        sum[i][0][k].add(v[i].word[k], key_b.word[k]);
        sum[i][1][k].add(v[i].word[k], key_a.word[k]);
      }
    }
    if (d % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1 || d + 1 == a.count) {
#pragma unroll
      for (unsigned i = 0; i < group; ++i)
#pragma unroll
        for (unsigned c = 0; c < 2; ++c)
#pragma unroll
          for (unsigned k = 0; k < width; ++k) sum[i][c][k].correct(m.q);
    }
    if constexpr (parts == KeyParts::chain) key += 2 * key_words;
    x += a.row_count * row_words;
  }
  const bool adds = a.added.parts != 0 && a.added.over.contains(limb);
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    if (first + i >= a.batch) break;
    if constexpr (!std::is_same_v<Factors, NoFactors>)
      if (factors.over.contains(limb))
        factors.add_to(sum[i], a.added.weights, row, limb, a.batch, first + i, a.log_N, j, m.q);
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      Vector out;
#pragma unroll
      for (unsigned k = 0; k < width; ++k) out.word[k] = sum[i][c][k].reduce(m.q, m.inverse);
      if (adds && c < a.added.parts) {
        const std::size_t from =
            (static_cast<std::size_t>(c) * a.added.rows + a.added.over.rank(limb)) * a.batch +
            first + i;
        Vector y = *reinterpret_cast<const Vector*>(a.added.x + (from << a.log_N) +
                                                    (permuted ? gathered.block : j));
        if constexpr (permuted) y = gathered(y);
        const Twiddle<Word> weight = a.added.weights[row];
#pragma unroll
        for (unsigned k = 0; k < width; ++k)
          out.word[k] = add_mod<Word>(out.word[k],
                                      mul_shoup<Word>(y.word[k], weight.w, weight.shoup, m.q), m.q);
      }
      Word* const to = sums + (c * a.row_count + row) * row_words +
                       (static_cast<std::size_t>(first + i) << a.log_N) + j;
      if (a.added.onto != 0) {
        const Vector before = *reinterpret_cast<const Vector*>(to);
#pragma unroll
        for (unsigned k = 0; k < width; ++k)
          out.word[k] = add_mod<Word>(out.word[k], before.word[k], m.q);
      }
      store_vector<Word>(to, out);
    }
  }
}

/// The same of all of N and the batch. Grid: (pieces of N × groups of the batch, the latter first,
/// so that blocks with the same key values run together; rows). Bound by memory:
/// count·(1 + 2/group) + 2 words a value.
template <class Word, unsigned group, Turn turn, KeyParts parts = KeyParts::chain>
__global__ void __launch_bounds__(rns_threads)
    sum_digit_products(const __grid_constant__ InnerArgumentsOf<Word, parts> a) {
  join_chain();
  const std::uint32_t piece = blockIdx.x / a.batch_groups;
  const std::uint32_t first = (blockIdx.x - piece * a.batch_groups) * group;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * rns_width<Word>;
  if (j >> a.log_N != 0) return;
  sum_digits<Word, group, turn, parts>(a, a.key, a.g, j, first, a.out);
}

/// The same, with what the product of two ciphertexts adds.
template <class Word, unsigned group>
__global__ void __launch_bounds__(rns_threads)
    sum_digit_products_of_factors(const __grid_constant__ FactorsInnerArguments<Word> a) {
  join_chain();
  const std::uint32_t piece = blockIdx.x / a.batch_groups;
  const std::uint32_t first = (blockIdx.x - piece * a.batch_groups) * group;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * rns_width<Word>;
  if (j >> a.log_N != 0) return;
  sum_digits<Word, group, Turn::none, KeyParts::indexed>(a, a.key, 1, j, first, a.out, a.factors);
}

/// Inner products of the same digits with several keys; the members for one key are not used.
template <class Word>
struct ManyInnerArguments : IndexedInnerArguments<Word> {
  struct Term {
    const Word* key;
    std::uint32_t g, inverse;  ///< modulo 2N
  };
  std::uint32_t key_count;
  Term terms[tuning::keys_a_launch];
};

/// Writes the inner product with each key, (2, rows, batch, N), one after another. Grid: (pieces of
/// N × groups of the batch × keys, the last first; rows). Blocks that run together read the same
/// piece of the digits, which X -> X^g moves as a whole: one of them reads it from memory, the
/// others from the cache. So it is count·(1/keys + 2/group) + 2 words a value and key.
template <class Word, unsigned group>
__global__ void __launch_bounds__(rns_threads)
    sum_digit_products_by_keys(const __grid_constant__ ManyInnerArguments<Word> a) {
  join_chain();
  constexpr std::uint32_t words = rns_threads * rns_width<Word>;
  const std::uint32_t of_keys = blockIdx.x / a.key_count, number = blockIdx.x % a.key_count;
  const std::uint32_t piece = of_keys / a.batch_groups;
  const std::uint32_t first = (of_keys - piece * a.batch_groups) * group;
  const auto& term = a.terms[number];
  // Where the piece goes to: g^-1 says where from its values come back.
  const std::uint32_t to = automorphism_value(piece * words, a.log_N, term.inverse) & ~(words - 1);
  const std::uint32_t j = to + threadIdx.x * rns_width<Word>;
  if (j >> a.log_N != 0) return;
  const std::size_t product = (static_cast<std::size_t>(2) * a.row_count * a.batch) << a.log_N;
  sum_digits<Word, group, Turn::by_g, KeyParts::indexed>(a, term.key, term.g, j, first,
                                                         a.out + number * product);
}

/// Inner products of several arrays, each with a key and an automorphism of its own, to one sum.
template <class Word>
struct InnerSumArguments {
  struct Term {
    const Word* key;  ///< as in InnerArguments
    std::uint32_t g;
  };
  const Word* digits;  ///< of the first term, (count, rows, arrays, batch, N)
  const Word* added;   ///< of the first term, (rows, arrays, batch, N), or null
  Word* out;           ///< (2, rows, batch, N)
  const RnsModulus<Word>* moduli;
  std::uint32_t count, row_count, key_limbs, log_N, arrays, batch, batch_groups, onto, term_count;
  Term terms[tuning::keys_a_launch];
  std::uint8_t limb[ring::Basis::most], key_row[ring::Basis::most], digit[ring::Basis::most];
};

/// Both components of rns_width values of `group` ciphertexts, for which a key's values are read
/// once; products of all terms are summed before they are reduced. Grid: (pieces of N × groups of
/// the batch, the latter first; rows). Bound by memory: count·(1 + 2/group) words a value and term,
/// and one more of what is added.
template <class Word, unsigned group>
__global__ void __launch_bounds__(rns_threads)
    sum_digit_products_of_terms(const __grid_constant__ InnerSumArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::uint32_t piece = blockIdx.x / a.batch_groups, row = blockIdx.y;
  const std::uint32_t first = (blockIdx.x - piece * a.batch_groups) * group;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * width;
  if (j >> a.log_N != 0) return;
  const RnsModulus<Word> m = a.moduli[a.limb[row]];
  const std::size_t array_words = static_cast<std::size_t>(a.batch) << a.log_N;
  const std::size_t row_words = a.arrays * array_words, digit_words = a.row_count * row_words;
  const std::size_t key_words = static_cast<std::size_t>(a.key_limbs) << a.log_N;
  const std::size_t in_array = static_cast<std::size_t>(first) << a.log_N;
  const std::size_t in_key = (static_cast<std::size_t>(a.key_row[row]) << a.log_N) + j;
  // Places that are missing from the last group repeat its last ciphertext.
  std::uint32_t offset[group];
#pragma unroll
  for (unsigned i = 0; i < group; ++i) offset[i] = (min(first + i, a.batch - 1) - first) << a.log_N;
  ProductSum<Word> sum[group][2][width];
  const Word one = mul_montgomery<Word>(m.r_squared, 1, m.q, m.inverse);  // R mod q
#pragma unroll 1
  for (std::uint32_t term = 0; term < a.term_count; ++term) {
    const Gathered<Word> gathered(j, a.log_N, a.terms[term].g);
    const std::size_t at = row * row_words + term * array_words + in_array + gathered.block;
    const Word* const of_key = a.terms[term].key + in_key;
    const Word* x = a.digits + at;
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
      x += digit_words;
    }
    if (a.added == nullptr) continue;
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      const Vector y = gathered(*reinterpret_cast<const Vector*>(a.added + at + offset[i]));
#pragma unroll
      for (unsigned k = 0; k < width; ++k) {
        sum[i][0][k].add(y.word[k], one);
        sum[i][0][k].correct(m.q);
      }
    }
  }
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    if (first + i >= a.batch) break;
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      Word* const to = a.out + (static_cast<std::size_t>(c) * a.row_count + row) * array_words +
                       in_array + offset[i] + j;
      Vector out = {};
      if (a.onto != 0) out = *reinterpret_cast<const Vector*>(to);
#pragma unroll
      for (unsigned k = 0; k < width; ++k)
        out.word[k] = add_mod<Word>(out.word[k], sum[i][c][k].reduce(m.q, m.inverse), m.q);
      store_vector<Word>(to, out);
    }
  }
}

}  // namespace whorl::backend::cuda
