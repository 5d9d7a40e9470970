// RNS on a GPU: base conversion and the tensor product; rns_inner.cuh has inner products. All rows
// are (B, N) words, a multiple of 256 of them, and begin at 16 bytes; values are those of
// backend/cpu/rns_kernels.cpp, bit for bit, since every sum ends fully reduced.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/conversion.cuh"
#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/ntt.cuh"
#include "backend/cuda/kernels/vectors.cuh"
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

/// Converts from `size` limbs a group, fewer of the last digit (its other factors are zero). Sums
/// are corrected after `terms` products. Digits y_l and u stay in registers while the block's
/// targets go by; a target's factors, which all threads share, come from shared memory, 16 bytes
/// for rns_width² products. Bound by wide products (size + 1 a result) from four limbs or so on, by
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
/// Two parts times two, or times one: a plaintext. Grid: pieces of a row, limbs. Bound by memory: 7
/// or 5 words a value, and one for each part that is added. All are loaded before they are
/// multiplied.
template <class Word, unsigned b_parts>
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
  Vector x[2], y[b_parts], out[b_parts + 1];
#pragma unroll
  for (unsigned i = 0; i < 2; ++i) x[i] = *reinterpret_cast<const Vector*>(t.a + i * t.part + at);
#pragma unroll
  for (unsigned j = 0; j < b_parts; ++j) y[j] = *reinterpret_cast<const Vector*>(b + j * t.b_part);
#pragma unroll
  for (unsigned k = 0; k < width; ++k) {
    ProductSum<Word> sum[b_parts + 1];
#pragma unroll
    for (unsigned i = 0; i < 2; ++i)
#pragma unroll
      for (unsigned j = 0; j < b_parts; ++j) sum[i + j].add(x[i].word[k], y[j].word[k]);
#pragma unroll
    for (unsigned i = 0; i <= b_parts; ++i) out[i].word[k] = finish_product<Word>(sum[i], m);
    out[0].word[k] = add_mod<Word>(out[0].word[k], t.constant[blockIdx.y], m.q);
  }
#pragma unroll
  for (unsigned i = 0; i <= b_parts; ++i) store_part<Word>(t, i, at, out[i], m.q);
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
