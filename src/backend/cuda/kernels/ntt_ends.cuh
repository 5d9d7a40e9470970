// Additional work of a transform's kernel, so that values need not pass through memory: of a
// forward one base conversion when it loads them, division by dropped primes when it stores them;
// of an inverse one a product when it loads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/conversion.cuh"
#include "backend/cuda/kernels/ntt.cuh"
#include "backend/cuda/kernels/unit.cuh"
#include "backend/cuda/kernels/vectors.cuh"
#include "ring/base_conversion.h"

namespace whorl::backend::cuda {

/// The additional work of a forward transform's kernel.
enum class NttEnds { none, converts, divides, converts_and_divides };

/// What an inverse transform's kernel loads: values, or two values each, of which it takes the
/// product.
enum class InttInput { values, products };

/// Values are base conversions of one row in coefficient form, the part's: that which NttPlaces
/// names as the first. Where parts are digits, of one limb each, a part has its own table, and the
/// row of its own limb is copied.
template <class Word>
struct NttConversion {
  const RnsSource<Word>* sources;  ///< one a table
  const Word* factors;             ///< `tables` rows of factor_stride(1) for each table
  const Word* own;  ///< (chain, batch, N), in evaluation form; digits only, null: they are there
  std::uint32_t tables;
  RnsRows rows;  ///< whose limb is a row of the factors
};

/// Values of an inverse transform are products a·b, which are stored as rows of digits too: row r
/// is one of digit (r + missing) / digit_limbs.
template <class Word>
struct NttProduct {
  const Word *a, *b;               ///< (rows, batch, N); b may have a batch of 1
  Word* own;                       ///< (digits, own_rows, batch, N)
  const RnsModulus<Word>* moduli;  ///< of each row
  std::uint32_t one_b, doubled, digit_limbs, missing, own_rows, unused;
};

/// A result y becomes (x - y)·factor; to the first `added_parts` parts `added` is added, at X^g.
template <class Word>
struct NttDivision {
  static constexpr std::uint32_t none = ~0u;
  const Word *x, *added;  ///< parts of x_stride and added_stride rows
  std::uint32_t x_stride, added_stride, added_parts, g;
  const Twiddle<Word>* factors;  ///< of each row of a part, and their Shoup companions
  const std::uint32_t* from;     ///< each row's in x, or none: 0 is there; null: the same rows
};

/// What pass 0 of a transform modulo limb.q begins with: the row `in`, at the transform's place,
/// converted by `table` for row `row`. The same bits as convert_rows: sums end fully reduced.
template <Split split, class Word>
__device__ __forceinline__ void load_converted(Word (&x)[1 << split.log_e],
                                               const NttConversion<Word>& conversion,
                                               std::uint32_t table, std::uint32_t row,
                                               const NttLimb<Word>& limb, const Word* in,
                                               std::uint32_t thread) {
  constexpr unsigned point = ring::BaseConversion<Word>::fraction_bits;
  const RnsSource<Word> source = conversion.sources[table];
  const Word* const factors =
      conversion.factors +
      (static_cast<std::size_t>(table) * conversion.tables + conversion.rows.limb(row)) *
          factor_stride<Word>(1);
  const Word of_y = factors[0], of_u = factors[1];
  load_whole<split, 0>(x, in, thread);
#pragma unroll
  for (int i = 0; i < 1 << split.log_e; ++i) {
    const Word y = mul_shoup<Word>(x[i], source.inverse, source.shoup, source.q);
    const Word u = (mul_high<Word>(y, source.ratio) + (Word{1} << (point - 1))) >> point;
    ProductSum<Word> sum;
    sum.add(y, of_y);
    sum.add(u, of_u);
    sum.correct(limb.q);
    x[i] = sum.reduce(limb.q, limb.montgomery);
  }
}

/// A digit's own row, from `from` to `to`, both at the transform's place.
template <KernelShape shape, class Word>
__device__ __forceinline__ void copy_own(const Unit<shape, Word>& unit, const Word* from,
                                         Word* to) {
  const std::uint32_t first = unit.part * Unit<shape, Word>::local;
  copy_unit<shape, Word>(unit.t, Place<dense, const Word>{from + first},
                         Place<dense, Word>{to + first});
}

/// How many values a thread reads of each of two arrays at once: enough to be under way together,
/// few enough for the registers.
template <KernelShape shape>
constexpr int values_together(int width) {
  constexpr int registers = 65536 / (shape.threads() * shape.resident);
  const int all = 1 << shape.split.log_e, most = (registers >= 128 ? 8 : 4) * width;
  return all < most ? all : most;
}

/// Unit::load_linear of products of a and b, which go to `own` too, all at the transform's place.
template <KernelShape shape, class Word>
__device__ __forceinline__ void load_products(Word (&x)[1 << shape.split.log_e],
                                              const Unit<shape, Word>& unit, bool active,
                                              const RnsModulus<Word>& m, const Word* a,
                                              const Word* b, Word* own) {
  constexpr int width = 1 << widest_run<Word>, all = 1 << shape.split.log_e;
  constexpr int together = values_together<shape>(width);
  const std::uint32_t first = unit.part * Unit<shape, Word>::local + unit.t * width;
  const Place<shape.padding, Word> to{unit.shared};
  if (active) {
#pragma unroll
    for (int i = 0; i < all; i += together) {
      Word u[together], v[together];
#pragma unroll
      for (int k = 0; k < together; k += width) {
        load_run<width>(u + k, a + first + ((i + k) << shape.log_threads));
        load_run<width>(v + k, b + first + ((i + k) << shape.log_threads));
      }
#pragma unroll
      for (int k = 0; k < together; k += width) {
#pragma unroll
        for (int c = 0; c < width; ++c) {
          ProductSum<Word> product;
          product.add(u[k + c], v[k + c]);
          u[k + c] = finish_product<Word>(product, m);
        }
        store_run<width>(u + k, own + first + ((i + k) << shape.log_threads));
        store_run<width>(u + k, to(unit.t * width, (i + k) << shape.log_threads));
      }
    }
  }
  unit.wait();
  load_pass<shape, shape.split.passes - 1, shape.padding>(x, unit.shared, unit.thread);
}

/// The places of one transform in what a division reads and writes; `x` and `added` may be null.
template <class Word>
struct DivisionPlace {
  Twiddle<Word> factor;
  const Word *x, *added;
  std::uint32_t g;
  Word* out;
};
/// Unit::store_linear with the division. What it reads is fetched as far as registers go, the first
/// before the threads wait for each other.
template <KernelShape shape, class Word>
__device__ __forceinline__ void store_divided(const Word (&values)[1 << shape.split.log_e],
                                              const Unit<shape, Word>& unit, bool active, Word q,
                                              const DivisionPlace<Word>& place) {
  constexpr int width = 1 << widest_run<Word>, all = 1 << shape.split.log_e;
  static_assert(width == rns_width<Word>);
  constexpr int together = values_together<shape>(width);
  const std::uint32_t first = unit.part * Unit<shape, Word>::local + unit.t * width;
  Word from[together] = {}, added[together] = {};
  const auto fetch = [&](int i) {
#pragma unroll
    for (int k = 0; k < together; k += width) {
      const std::uint32_t at = first + ((i + k) << shape.log_threads);
      if (place.x != nullptr) load_run<width>(from + k, place.x + at);
      if (place.added == nullptr) continue;
      if (place.g == 1) {
        load_run<width>(added + k, place.added + at);
      } else {
        const Gathered<Word> gathered(at, shape.split.log_n, place.g);
        const auto moved =
            gathered(*reinterpret_cast<const RnsVector<Word>*>(place.added + gathered.block));
#pragma unroll
        for (int c = 0; c < width; ++c) added[k + c] = moved.word[c];
      }
    }
  };
  store_pass<shape, shape.split.passes - 1, shape.padding>(values, unit.shared, unit.thread);
  if (active) fetch(0);
  unit.wait();
  if (!active) return;
  const Place<shape.padding, const Word> results{unit.shared};
#pragma unroll
  for (int i = 0; i < all; i += together) {
    if (i > 0) fetch(i);
#pragma unroll
    for (int k = 0; k < together; k += width) {
      Word y[width];
      load_run<width>(y, results(unit.t * width, (i + k) << shape.log_threads));
#pragma unroll
      for (int c = 0; c < width; ++c)
        y[c] = add_mod<Word>(mul_shoup<Word>(sub_mod<Word>(from[k + c], y[c], q), place.factor.w,
                                             place.factor.shoup, q),
                             added[k + c], q);
      store_run<width>(y, place.out + first + ((i + k) << shape.log_threads));
    }
  }
}

}  // namespace whorl::backend::cuda
