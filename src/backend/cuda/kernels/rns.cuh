// RNS on a GPU: base conversion, key switching's inner product and the tensor product. All rows are
// (B, N) words, a multiple of 256 of them, and begin at 16 bytes; values are those of
// backend/cpu/rns_kernels.cpp, bit for bit, since every sum ends fully reduced.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/conversion.cuh"
#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/ntt.cuh"
#include "backend/cuda/kernels/vectors.cuh"
#include "backend/cuda/tuning/rns.h"
#include "ring/base_conversion.h"
#include "ring/basis.h"

namespace whorl::backend::cuda {

inline constexpr unsigned rns_threads = 128;
/// Base conversion of groups of rows. A group is a part, or, where digit_limbs is not 0, a digit:
/// then its own limbs are copied from `own`. Digit d has the rows below `chain` from
/// d·digit_limbs - missing on: the first digit has so many fewer. Its tables are those of its
/// number or, if not `numbered`, those of the chain's limbs that it has.
template <class Word>
struct ConvertArguments {
  const Word* in;   ///< part g's rows from row g·in_stride on; of digits, (chain, row)
  Word* out;        ///< (groups, targets, row)
  const Word* own;  ///< (chain, row); digits only, null: they are there already
  std::size_t row;  ///< words
  std::uint32_t size, in_stride, targets, targets_a_block, target_blocks;
  std::uint32_t digit_limbs, tables;  ///< of factors for one number of limbs: rows
  std::uint32_t missing, numbered;
  RnsRows rows;
  const RnsSource<Word>* sources;  ///< `size` for each table
  const Word* factors;
};

/// The work of a block of the grid (pieces of a row, groups × blocks of targets).
template <class Word>
struct ConvertPlace {
  std::uint32_t group, first, end;     ///< targets first … end - 1
  std::uint32_t count, own = 0, owns;  ///< source limbs; targets own … own + owns - 1 are they
  std::uint32_t from;                  ///< the first row of `in`
  const RnsSource<Word>* sources;
  const Word* factors;

  __device__ __forceinline__ ConvertPlace(const ConvertArguments<Word>& a, unsigned stride) {
    group = blockIdx.y / a.target_blocks;
    first = (blockIdx.y - group * a.target_blocks) * a.targets_a_block;
    end = min(first + a.targets_a_block, a.targets);
    count = a.size;
    owns = 0;
    sources = a.sources;
    factors = a.factors;
    from = group * a.in_stride;
    if (a.digit_limbs != 0) {
      const std::uint32_t next = (group + 1) * a.digit_limbs - a.missing;
      from = own = group == 0 ? 0 : next - a.digit_limbs;
      owns = count = min(next, a.rows.chain) - own;
      const std::uint32_t table = a.numbered != 0 ? group : own + count - 1;
      sources += table * a.size;
      factors += static_cast<std::size_t>(table) * a.tables * stride;
    }
  }
  __device__ __forceinline__ bool is_own(std::uint32_t row) const { return row - own < owns; }
};

/// For `size` limbs a group, fewer of the last digit (its other factors are zero). Sums are
/// corrected after `terms` products. Digits y_l and u stay in registers while the block's targets
/// go by; a target's factors, which all threads share, come from shared memory, 16 bytes for
/// rns_width² products. Bound by wide products (size + 1 a result) from four limbs or so on, by
/// memory below.
template <class Word, unsigned size, unsigned terms>
__global__ void __launch_bounds__(rns_threads)
    convert_rows(const __grid_constant__ ConvertArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>, stride = factor_stride<Word>(size);
  constexpr unsigned point = ring::BaseConversion<Word>::fraction_bits;
  using Vector = RnsVector<Word>;
  extern __shared__ unsigned char rns_memory[] __attribute__((aligned(16)));
  const ConvertPlace<Word> place(a, stride);
  const std::size_t at = (static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x) * width;

  Word y[size + 1][width];
  if (at < a.row) {
    const Word* const in = a.in + static_cast<std::size_t>(place.from) * a.row + at;
#pragma unroll
    for (unsigned l = 0; l < size; ++l) {
      // An absent limb's constants are zeros: any value will do.
      const Vector x = *reinterpret_cast<const Vector*>(in + min(l, place.count - 1) * a.row);
#pragma unroll
      for (unsigned k = 0; k < width; ++k) y[l][k] = x.word[k];
    }
  }
  RnsSource<Word>* const sources = reinterpret_cast<RnsSource<Word>*>(rns_memory);
  Vector* const factors = reinterpret_cast<Vector*>(sources + size);
  constexpr unsigned vectors = stride / width;
  for (unsigned i = threadIdx.x; i < (place.end - place.first) * vectors; i += rns_threads) {
    const std::uint32_t limb = a.rows.limb(place.first + i / vectors);
    factors[i] = reinterpret_cast<const Vector*>(place.factors + static_cast<std::size_t>(limb) *
                                                                     stride)[i % vectors];
  }
  if (threadIdx.x < size) sources[threadIdx.x] = place.sources[threadIdx.x];
  __syncthreads();
  if (at >= a.row) return;

#pragma unroll
  for (unsigned k = 0; k < width; ++k) y[size][k] = Word{1} << (point - 1);
#pragma unroll
  for (unsigned l = 0; l < size; ++l) {
    const RnsSource<Word> s = sources[l];
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      y[l][k] = mul_shoup<Word>(y[l][k], s.inverse, s.shoup, s.q);
      y[size][k] += mul_high<Word>(y[l][k], s.ratio);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < width; ++k) y[size][k] >>= point;

  Word* const out = a.out + static_cast<std::size_t>(place.group) * a.targets * a.row + at;
#pragma unroll 1
  for (std::uint32_t row = place.first; row < place.end; ++row) {
    Vector result;
    if (place.is_own(row)) {
      if (a.own == nullptr) continue;
      result = *reinterpret_cast<const Vector*>(a.own + row * a.row + at);
    } else {
      const Vector* const from = factors + (row - place.first) * vectors;
      ProductSum<Word> sum[width];
      Vector f;
      Word q = 0, inverse = 0;
#pragma unroll
      for (unsigned v = 0; v < vectors; ++v) {
        f = from[v];
#pragma unroll
        for (unsigned i = 0; i < width; ++i) {
          const unsigned l = v * width + i;
          if (l == size + 1) q = f.word[i];
          if (l == size + 2) inverse = f.word[i];
        }
      }
#pragma unroll
      for (unsigned v = 0; v < vectors; ++v) {
        f = from[v];
#pragma unroll
        for (unsigned i = 0; i < width; ++i) {
          const unsigned l = v * width + i;
          if (l > size) continue;
#pragma unroll
          for (unsigned k = 0; k < width; ++k) {
            sum[k].add(y[l][k], f.word[i]);
            if (l % terms == terms - 1 || l == size) sum[k].correct(q);
          }
        }
      }
#pragma unroll
      for (unsigned k = 0; k < width; ++k) result.word[k] = sum[k].reduce(q, inverse);
    }
    store_vector<Word>(out + row * a.row, result);
  }
}

/// The same for any number of limbs, a coefficient a thread, digits in shared memory.
template <class Word>
__global__ void __launch_bounds__(rns_threads)
    convert_many_rows(const __grid_constant__ ConvertArguments<Word> a) {
  join_chain();
  constexpr unsigned point = ring::BaseConversion<Word>::fraction_bits;
  extern __shared__ unsigned char rns_memory[] __attribute__((aligned(16)));
  Word* const y = reinterpret_cast<Word*>(rns_memory) + threadIdx.x;  // y_l at y[l·rns_threads]
  const unsigned stride = factor_stride<Word>(a.size);
  const ConvertPlace<Word> place(a, stride);
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x;
  if (at >= a.row) return;
  const Word* const in = a.in + static_cast<std::size_t>(place.from) * a.row + at;
  Word u = Word{1} << (point - 1);
  for (unsigned l = 0; l < place.count; ++l) {
    const RnsSource<Word> s = place.sources[l];
    const Word v = mul_shoup<Word>(in[l * a.row], s.inverse, s.shoup, s.q);
    y[l * rns_threads] = v;
    u += mul_high<Word>(v, s.ratio);
  }
  u >>= point;
  Word* const out = a.out + static_cast<std::size_t>(place.group) * a.targets * a.row + at;
  for (std::uint32_t row = place.first; row < place.end; ++row) {
    if (place.is_own(row)) {
      if (a.own != nullptr) out[row * a.row] = a.own[row * a.row + at];
      continue;
    }
    const Word* const f = place.factors + static_cast<std::size_t>(a.rows.limb(row)) * stride;
    const Word q = f[a.size + 1];
    ProductSum<Word> sum;
    sum.add(u, f[a.size]);
    for (unsigned l = 0; l < place.count; ++l) {
      sum.add(y[l * rns_threads], f[l]);
      if (l % ProductSum<Word>::safe_terms == 0) sum.correct(q);
    }
    sum.correct(q);
    out[row * a.row] = sum.reduce(q, f[a.size + 2]);
  }
}

/// A ring::Basis for kernels.
struct PrimeSet {
  std::uint64_t words[2];
  __device__ __forceinline__ bool contains(std::uint32_t prime) const {
    return words[prime / 64] >> (prime % 64) & 1;
  }
  /// The row of a prime.
  __device__ __forceinline__ std::uint32_t rank(std::uint32_t prime) const {
    const std::uint64_t below = (std::uint64_t{1} << (prime % 64)) - 1;
    return prime < 64 ? __popcll(words[0] & below)
                      : __popcll(words[0]) + __popcll(words[1] & below);
  }
};
inline PrimeSet prime_set(const ring::Basis& basis) {
  PrimeSet out = {};
  basis.for_each([&](unsigned i) { out.words[i / 64] |= std::uint64_t{1} << (i % 64); });
  return out;
}

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
template <class Word, bool indexed>
using InnerArgumentsOf =
    std::conditional_t<indexed, IndexedInnerArguments<Word>, InnerArguments<Word>>;

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
template <class Word, unsigned group, bool permuted, bool indexed, class Factors = NoFactors>
__device__ __forceinline__ void sum_digits(const InnerArgumentsOf<Word, indexed>& a,
                                           const Word* of_key, std::uint32_t g, std::uint32_t j,
                                           std::uint32_t first, Word* sums,
                                           const Factors& factors = {}) {
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::uint32_t row = blockIdx.y;
  std::uint32_t limb, key_row;
  if constexpr (indexed) {
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
    if constexpr (indexed)
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
    if constexpr (!indexed) key += 2 * key_words;
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
template <class Word, unsigned group, bool permuted, bool indexed = false>
__global__ void __launch_bounds__(rns_threads)
    sum_digit_products(const __grid_constant__ InnerArgumentsOf<Word, indexed> a) {
  join_chain();
  const std::uint32_t piece = blockIdx.x / a.batch_groups;
  const std::uint32_t first = (blockIdx.x - piece * a.batch_groups) * group;
  const std::uint32_t j = (piece * rns_threads + threadIdx.x) * rns_width<Word>;
  if (j >> a.log_N != 0) return;
  sum_digits<Word, group, permuted, indexed>(a, a.key, a.g, j, first, a.out);
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
  sum_digits<Word, group, false, true>(a, a.key, 1, j, first, a.out, a.factors);
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

/// For each key (2, rows, batch, N) to `out`, one after another. Grid: (pieces of N × groups of the
/// batch × keys, the last first; rows). Blocks that run together read the same piece of the digits,
/// which X -> X^g moves as a whole: one of them reads it from memory, the others from the cache.
/// So it is count·(1/keys + 2/group) + 2 words a value and key.
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
  sum_digits<Word, group, true, true>(a, term.key, term.g, j, first, a.out + number * product);
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

template <class Word>
struct TensorArguments {
  const Word *a, *b;  ///< (parts, limbs, row)
  Word* out;
  std::size_t row, part;      ///< words, of a and out
  std::size_t b_row, b_part;  ///< of b, whose row may be one polynomial, read again and again
  std::size_t b_mask;         ///< of places in a row: N - 1 then, else all ones
  std::uint32_t a_parts, b_parts;
  const RnsModulus<Word>* moduli;
  const Word* added;  ///< (added_parts, limbs, row)
  std::uint32_t added_parts;
  std::uint32_t doubled;             ///< 1: all is doubled
  Word constant[ring::Basis::most];  ///< of each limb, added to part 0
};
/// The constants of a block's row.
template <class Word>
__device__ __forceinline__ RnsModulus<Word> modulus_of(const TensorArguments<Word>& t) {
  return for_products<Word>(t.moduli[blockIdx.y], t.doubled != 0);
}
/// The place in b that belongs to a place in a row of a.
template <class Word>
__device__ __forceinline__ const Word* place_in_b(const TensorArguments<Word>& t,
                                                  std::size_t in_row) {
  return t.b + blockIdx.y * t.b_row + (in_row & t.b_mask);
}
/// Stores a part, with what is added to it.
template <class Word>
__device__ __forceinline__ void store_part(const TensorArguments<Word>& t, std::uint32_t part,
                                           std::size_t at, RnsVector<Word> x, Word q) {
  if (part < t.added_parts) {
    const auto y = *reinterpret_cast<const RnsVector<Word>*>(t.added + part * t.part + at);
#pragma unroll
    for (unsigned k = 0; k < rns_width<Word>; ++k)
      x.word[k] = add_mod<Word>(x.word[k], y.word[k], q);
  }
  store_vector<Word>(t.out + part * t.part + at, x);
}
/// Two parts each. Grid: pieces of a row, limbs. Bound by memory: 7 words a value, and one for each
/// part that is added.
template <class Word>
__global__ void __launch_bounds__(rns_threads)
    multiply_pairs(const __grid_constant__ TensorArguments<Word> t) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::size_t in_row =
      (static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x) * width;
  if (in_row >= t.row) return;
  const std::size_t at = blockIdx.y * t.row + in_row;
  const Word* const b = place_in_b(t, in_row);
  const RnsModulus<Word> m = modulus_of(t);
  const Vector a0 = *reinterpret_cast<const Vector*>(t.a + at),
               a1 = *reinterpret_cast<const Vector*>(t.a + t.part + at),
               b0 = *reinterpret_cast<const Vector*>(b),
               b1 = *reinterpret_cast<const Vector*>(b + t.b_part);
  Vector out[3];
#pragma unroll
  for (unsigned k = 0; k < width; ++k) {
    ProductSum<Word> sum[3];
    sum[0].add(a0.word[k], b0.word[k]);
    sum[1].add(a0.word[k], b1.word[k]);
    sum[1].add(a1.word[k], b0.word[k]);
    sum[2].add(a1.word[k], b1.word[k]);
#pragma unroll
    for (unsigned i = 0; i < 3; ++i) out[i].word[k] = finish_product<Word>(sum[i], m);
    out[0].word[k] = add_mod<Word>(out[0].word[k], t.constant[blockIdx.y], m.q);
  }
#pragma unroll
  for (unsigned i = 0; i < 3; ++i) store_part<Word>(t, i, at, out[i], m.q);
}

/// Any parts. The same grid.
template <class Word>
__global__ void __launch_bounds__(rns_threads)
    multiply_parts(const __grid_constant__ TensorArguments<Word> t) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  const std::size_t in_row =
      (static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x) * width;
  if (in_row >= t.row) return;
  const std::size_t at = blockIdx.y * t.row + in_row;
  const Word* const b = place_in_b(t, in_row);
  const RnsModulus<Word> m = modulus_of(t);
  for (std::uint32_t out = 0; out + 1 < t.a_parts + t.b_parts; ++out) {
    ProductSum<Word> sum[width];
    const std::uint32_t last = min(out, t.a_parts - 1);
    for (std::uint32_t i = out < t.b_parts ? 0 : out - t.b_parts + 1, terms = 1; i <= last;
         ++i, ++terms) {
      const Vector x = *reinterpret_cast<const Vector*>(t.a + i * t.part + at),
                   y = *reinterpret_cast<const Vector*>(b + (out - i) * t.b_part);
#pragma unroll
      for (unsigned k = 0; k < width; ++k) {
        sum[k].add(x.word[k], y.word[k]);
        if (terms % ProductSum<Word>::safe_terms == 0) sum[k].correct(m.q);
      }
    }
    Vector result;
#pragma unroll
    for (unsigned k = 0; k < width; ++k)
      result.word[k] = add_mod<Word>(finish_product<Word>(sum[k], m),
                                     out == 0 ? t.constant[blockIdx.y] : 0, m.q);
    store_part<Word>(t, out, at, result, m.q);
  }
}

}  // namespace whorl::backend::cuda
