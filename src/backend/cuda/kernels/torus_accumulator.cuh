// The accumulator of the FFT blind rotation: fractions of the circle.
//
// A coefficient x modulo Q is kept as the integer nearest x·2^w/Q, modulo 2^w: sums wrap by
// themselves, and the product's quotient by Q is added without being multiplied out. narrow: w =
// 32, within 2^-6 of x for Q < 2^27. wide: w = 64, as two arrays of 32 bits. one_digit:
// w = 32 again: 2^-33 of a turn is nothing beside the FFT's error, some 2^-26 then.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/kernels/fft_words.h"

namespace whorl::backend::cuda {

/// How many turns of the circle a product has: TorusAccumulator::add_product.
enum class Turns { few, many };

template <int N, FftWords words>
struct TorusAccumulator {
  using Word = FftWord<words>;
  static constexpr bool is_long = words == FftWords::wide;
  using Fraction = std::conditional_t<is_long, std::uint64_t, std::uint32_t>;
  static constexpr std::size_t bytes = N * sizeof(Fraction);

  std::uint32_t* high;  ///< N words; low ones N further on

  __device__ __forceinline__ Fraction get(int j) const {
    if constexpr (is_long)
      return Fraction{high[j]} << 32 | high[N + j];
    else
      return high[j];
  }
  __device__ __forceinline__ void set(int j, Fraction x) {
    if constexpr (is_long) {
      high[j] = static_cast<std::uint32_t>(x >> 32);
      high[N + j] = static_cast<std::uint32_t>(x);
    } else {
      high[j] = x;
    }
  }

  /// (0, lut·X^-b), coefficients t, t + G, …; `move` as start_accumulator's.
  template <int G>
  __device__ void start(const RotationBatch<Word>& batch, std::uint32_t ciphertext, int component,
                        int t, Word Q, std::uint32_t move = 1) {
    const std::uint32_t b = batch.lwe[std::uint64_t{ciphertext} * (batch.n + 1) + batch.n];
    for (int j = t; j < N; j += G) {
      Fraction x = 0;
      if (component == 1) {
        const std::uint32_t from = (static_cast<std::uint32_t>(j) * move + b) & (2 * N - 1);
        x = fraction(batch.template lut<N>(ciphertext, from & (N - 1)), Q);
        if (from & N) x = 0 - x;
      }
      set(j, x);
    }
  }

  /// Writes the polynomial as residues modulo Q.
  template <int G>
  __device__ void write(const RotationBatch<Word>& batch, std::uint32_t ciphertext, int component,
                        int t, Word Q) const {
    batch.template write<N, G>(ciphertext, component, t, Q, [&](int j) {
      Word x;
      if constexpr (is_wide<words>)
        x = __umul64hi(whole(j), Q) + ((whole(j) * Q) >> 63);
      else
        x = static_cast<Word>((std::uint64_t{get(j)} * Q + 0x80000000u) >> 32);
      return x == Q ? Word{0} : x;
    });
  }

  /// Coefficient j of (X^a - 1)·acc, as a fraction of the circle; a < 2N.
  __device__ __forceinline__ Fraction rotated_difference(int j, std::uint32_t a) const {
    const std::uint32_t from = (static_cast<std::uint32_t>(j) - a) & (2 * N - 1);
    const Fraction x = get(static_cast<int>(from & (N - 1)));
    if constexpr (is_long)  // ~x is -x but for 2^-64 of a turn
      return (x ^ (from & N ? ~Fraction{0} : 0)) - get(j);
    else
      return (from & N ? 0 - x : x) - get(j);
  }
  /// The single digit of a fraction, round(x/2^dropped). Near a tie it may differ by one from the
  /// exact digit (docs/algorithm.md, section 9).
  __device__ static __forceinline__ std::int32_t single_digit(Fraction fraction,
                                                              const GadgetRange& gadget) {
    static_assert(words == FftWords::one_digit);
    const std::int64_t product = std::int64_t{static_cast<std::int32_t>(fraction)} * gadget.factor +
                                 (0x80000000ll << gadget.factor_shift);
    return static_cast<std::int32_t>(product >> 32) >> gadget.factor_shift;
  }
  __device__ __forceinline__ std::int32_t rotated_digit(int j, std::uint32_t a,
                                                        const GadgetRange& gadget) const {
    return single_digit(rotated_difference(j, a), gadget);
  }

  /// x + offset, where x is the centred residue that the fraction represents.
  __device__ static __forceinline__ std::make_signed_t<Word> with_offset(Fraction fraction, Word Q,
                                                                         std::int64_t offset) {
    if constexpr (is_long) {
      const auto x = __mul64hi(static_cast<long long>(fraction), static_cast<long long>(Q));
      return x + static_cast<std::int64_t>((fraction * Q) >> 63) + offset;
    } else {
      const std::int64_t product = static_cast<std::int64_t>(static_cast<std::int32_t>(fraction)) *
                                       static_cast<std::int64_t>(Q) +
                                   ((offset << 32) + 0x80000000ll);
      return static_cast<std::int32_t>(product >> 32);
    }
  }

  /// Coefficient j of acc(X^g), `inverse` being g^-1 modulo 2N.
  __device__ __forceinline__ Fraction moved(int j, std::uint32_t inverse) const {
    const std::uint32_t from = (static_cast<std::uint32_t>(j) * inverse) & (2 * N - 1);
    const Fraction x = get(static_cast<int>(from & (N - 1)));
    return from & N ? 0 - x : x;
  }

  /// Adds a·b + c·d turns of the circle, fewer than 2^51, or 2^22 if narrow and `few`. `keep`
  /// has all bits set, or none: then the product takes the accumulator's place.
  template <Turns turns>
  __device__ __forceinline__ void add_product(int j, double a, double b, double c, double d,
                                              std::uint32_t keep = ~0u) {
    constexpr double whole = 6755399441055744.0;  // 1.5·2^52: its ulp is 1
    if constexpr (is_wide<words>) {
      double y = fma(a, b, c * d);
      y -= (y + whole) - whole;
      if constexpr (words ==
                    FftWords::one_digit) {  // 1.5·2^20 has an ulp of 2^-32, 1.5·2^8 of 2^-44
        high[j] = (high[j] & keep) + static_cast<std::uint32_t>(__double2loint(y + 1572864.0));
      } else {
        const auto bits = static_cast<std::uint64_t>(__double_as_longlong(y + 384.0));
        set(j, (keep != 0 ? get(j) : 0) + (bits << 20));
      }
    } else {
      constexpr double magic = 25165824.0;  // 1.5·2^24: its ulp is 2^-28
      double y;
      if constexpr (turns == Turns::many) {
        y = fma(a, b, c * d);
        y -= (y + whole) - whole;
        y += magic;
      } else {
        y = fma(a, b, fma(c, d, magic));
      }
      high[j] = (high[j] & keep) + (static_cast<std::uint32_t>(__double2loint(y)) << 4);
    }
  }

 private:
  /// round(x·2^w/Q) modulo 2^w.
  __device__ static Fraction fraction(Word x, Word Q) {
    using Wide = std::conditional_t<is_wide<words>, unsigned __int128, std::uint64_t>;
    return static_cast<Fraction>(((static_cast<Wide>(x) << (8 * sizeof(Fraction))) + Q / 2) / Q);
  }
  /// Returns a coefficient as a fraction of 2^64.
  __device__ std::uint64_t whole(int j) const {
    return std::uint64_t{get(j)} << (64 - 8 * sizeof(Fraction));
  }
};

}  // namespace whorl::backend::cuda
