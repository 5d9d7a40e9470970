// Arithmetic on residues of one word-sized modulus. Nothing here divides after construction, and no
// operation on residues branches on their values, except pow (in the exponent) and inverse, which
// are for public values.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "whorl/error.h"

namespace whorl::math {

/// The unsigned type of twice the width of Word: it holds any product of two words.
template <class Word>
struct WideWord;
template <>
struct WideWord<uint32_t> {
  using Type = uint64_t;
};
template <>
struct WideWord<uint64_t> {
  using Type = unsigned __int128;
};
template <class Word>
using Wide = typename WideWord<Word>::Type;

template <class Word>
inline constexpr unsigned word_bits = 8 * sizeof(Word);

/// Exclusive bound of a modulus: 2^31 for 32-bit words, 2^61 for 64-bit ones. The spare bits are
/// what lazy reduction lives on.
template <class Word>
inline constexpr Word max_modulus = Word{1} << (sizeof(Word) == 4 ? 31 : 61);

/// High word of a product.
template <class Word>
constexpr Word mul_high(Word a, Word b) {
  return static_cast<Word>((static_cast<Wide<Word>>(a) * b) >> word_bits<Word>);
}

/// All bits, or none. Clang makes a branch of what is masked by a comparison (of cmov, in loops),
/// unless it cannot know that the mask is one.
template <class Word>
constexpr Word mask_of(bool condition) {
  Word mask = Word{0} - static_cast<Word>(condition);
#if defined(__clang__)
  if (!std::is_constant_evaluated()) asm("" : "+r"(mask));
#endif
  return mask;
}

/// x - q where x >= q, else x; no branch. For x < 2q.
template <class Word>
constexpr Word subtract_once(Word x, Word q) {
  return static_cast<Word>(x - (q & mask_of<Word>(x >= q)));
}

/// A modulus q, 2 <= q < max_modulus<Word>, with what its reductions need. Residues are in [0, q);
/// operations expect and give such unless they say otherwise.
template <class Word>
class Modulus {
  static_assert(std::is_same_v<Word, uint32_t> || std::is_same_v<Word, uint64_t>);

 public:
  /// Throws ParameterError when value is outside [2, max_modulus<Word>).
  constexpr explicit Modulus(Word value) : q_(checked(value)) {
    bits_ = static_cast<unsigned>(std::bit_width(q_));
    word_ratio_ = static_cast<Word>((Wide<Word>{1} << word_bits<Word>) / q_);
    // 2^2w does not fit: floor((2^2w - 1) / q) differs from floor(2^2w / q) only when q is a power
    // of two, by one.
    wide_ratio_ = ~Wide<Word>{0} / q_ + (std::has_single_bit(q_) ? 1 : 0);
    if constexpr (sizeof(Word) == 8) {
      product_ratio_ = static_cast<Word>((Wide<Word>{1} << (2 * bits_)) / q_);
    }
    minus_two_to_64_ = neg(static_cast<Word>((~uint64_t{0} % q_ + 1) % q_));
  }

  constexpr Word value() const { return q_; }

  /// Bit length of q.
  constexpr unsigned bits() const { return bits_; }

  /// x mod q for any word. Barrett (CRYPTO 1986) with floor(2^w / q): the quotient is short by at
  /// most one.
  constexpr Word reduce(Word x) const {
    return subtract_once<Word>(x - mul_high<Word>(x, word_ratio_) * q_, q_);
  }

  /// x mod q for any double word. Barrett (CRYPTO 1986) with floor(2^2w / q): the quotient is short
  /// by at most one.
  constexpr Word reduce_wide(Wide<Word> x) const {
    return subtract_once<Word>(static_cast<Word>(x) - static_cast<Word>(wide_quotient(x)) * q_, q_);
  }

  constexpr Word add(Word a, Word b) const { return subtract_once<Word>(a + b, q_); }

  constexpr Word sub(Word a, Word b) const {
    return static_cast<Word>(a - b + (q_ & mask_of<Word>(a < b)));
  }

  constexpr Word neg(Word a) const { return static_cast<Word>((q_ - a) & mask_of<Word>(a != 0)); }

  constexpr Word mul(Word a, Word b) const {
    const Wide<Word> x = static_cast<Wide<Word>>(a) * b;
    if constexpr (sizeof(Word) == 4) {
      return reduce_wide(x);
    } else {
      // Barrett as in the Handbook of Applied Cryptography, algorithm 14.42, base 2, k = bits: for
      // x < 2^2k one word product estimates the quotient, short by at most two; 3q < 2^63.
      const Word quotient = static_cast<Word>(
          (static_cast<Wide<Word>>(static_cast<Word>(x >> (bits_ - 1))) * product_ratio_) >>
          (bits_ + 1));
      const Word r = static_cast<Word>(x) - quotient * q_;
      return subtract_once<Word>(subtract_once<Word>(r, 2 * q_), q_);
    }
  }

  /// base^exponent; the time depends on the exponent.
  constexpr Word pow(Word base, uint64_t exponent) const {
    Word result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = mul(result, base);
      base = mul(base, base);
    }
    return result;
  }

  /// The inverse of a, by the extended Euclidean algorithm; the time depends on a. Throws
  /// ParameterError when a and q have a common factor.
  constexpr Word inverse(Word a) const {
    Word r0 = q_;
    Word r1 = reduce(a);
    Word t0 = 0;
    Word t1 = 1;
    while (r1 != 0) {
      const Word quotient = r0 / r1;
      const Word r2 = r0 - quotient * r1;
      const Word t2 = sub(t0, mul(reduce(quotient), t1));
      r0 = r1;
      r1 = r2;
      t0 = t1;
      t1 = t2;
    }
    if (r0 != 1) {
      throw ParameterError("inverse: " + std::to_string(a) + " has the factor " +
                           std::to_string(r0) + " in common with the modulus " +
                           std::to_string(q_));
    }
    return t0;
  }

  /// floor(w * 2^wordbits / q) for a constant factor w < q: what mul_shoup wants (Shoup, NTL;
  /// Harvey, "Faster arithmetic for number-theoretic transforms", 2014, section 2).
  constexpr Word shoup(Word w) const {
    return static_cast<Word>((static_cast<Wide<Word>>(w) << word_bits<Word>) / q_);
  }

  /// x * w mod q for any word x and w < q.
  constexpr Word mul_shoup(Word x, Word w, Word w_shoup) const {
    return subtract_once<Word>(mul_shoup_lazy(x, w, w_shoup), q_);
  }

  /// A word congruent to x * w, in [0, 2q), for any word x and w < q (Harvey 2014, section 2).
  constexpr Word mul_shoup_lazy(Word x, Word w, Word w_shoup) const {
    return static_cast<Word>(x * w - mul_high<Word>(x, w_shoup) * q_);
  }

  /// v mod q in [0, q); no branch.
  constexpr Word from_signed(int64_t v) const {
    const uint64_t u = static_cast<uint64_t>(v);
    Word r = 0;
    if constexpr (sizeof(Word) == 4) {
      r = reduce_wide(u);
    } else {
      r = reduce(u);
    }
    return add(r, minus_two_to_64_ & mask_of<Word>(v < 0));
  }

  /// The representative of x in (-q/2, q/2]; no branch.
  constexpr int64_t centred(Word x) const {
    const uint64_t wrap = static_cast<uint64_t>(q_) & mask_of<uint64_t>(x > (q_ >> 1));
    return static_cast<int64_t>(static_cast<uint64_t>(x) - wrap);
  }

  constexpr bool operator==(const Modulus& other) const { return q_ == other.q_; }

 private:
  static constexpr Word checked(Word value) {
    if (value < 2 || value >= max_modulus<Word>) {
      throw ParameterError("modulus " + std::to_string(value) + " is outside [2, 2^" +
                           std::to_string(std::bit_width(max_modulus<Word>) - 1) + ") for " +
                           std::to_string(word_bits<Word>) + "-bit words");
    }
    return value;
  }

  // High half of x * wide_ratio_.
  constexpr Wide<Word> wide_quotient(Wide<Word> x) const {
    if constexpr (sizeof(Word) == 4) {
      return mul_high<uint64_t>(x, wide_ratio_);
    } else {
      const Word x0 = static_cast<Word>(x);
      const Word x1 = static_cast<Word>(x >> 64);
      const Word m0 = static_cast<Word>(wide_ratio_);
      const Word m1 = static_cast<Word>(wide_ratio_ >> 64);
      const Wide<Word> low = mul_high<Word>(x0, m0);
      const Wide<Word> cross0 = static_cast<Wide<Word>>(x0) * m1 + low;
      const Wide<Word> cross1 = static_cast<Wide<Word>>(x1) * m0 + static_cast<Word>(cross0);
      return static_cast<Wide<Word>>(x1) * m1 + (cross0 >> 64) + (cross1 >> 64);
    }
  }

  Word q_;
  unsigned bits_ = 0;
  Word word_ratio_ = 0;        // floor(2^w / q)
  Wide<Word> wide_ratio_ = 0;  // floor(2^2w / q)
  Word product_ratio_ = 0;     // floor(2^2k / q), k = bits; 64-bit words only
  Word minus_two_to_64_ = 0;   // -2^64 mod q
};

/// Montgomery form x * R mod q, R = 2^wordbits (Montgomery, "Modular multiplication without trial
/// division", 1985), for odd q.
template <class Word>
class Montgomery {
 public:
  /// Throws ParameterError when the modulus is even.
  constexpr explicit Montgomery(const Modulus<Word>& modulus)
      : modulus_(modulus), inverse_(inverse_mod_r(modulus.value())) {
    const Word q = modulus.value();
    r_ = static_cast<Word>((Wide<Word>{1} << word_bits<Word>) % q);
    r_squared_ = modulus.mul(r_, r_);
  }

  constexpr const Modulus<Word>& modulus() const { return modulus_; }
  constexpr Word inverse() const { return inverse_; }      ///< q^-1 mod R
  constexpr Word r() const { return r_; }                  ///< R mod q: one, in Montgomery form
  constexpr Word r_squared() const { return r_squared_; }  ///< R^2 mod q

  /// x * R^-1 mod q, in [0, q), for x < q * R. With q^-1 instead of Montgomery's -q^-1 the low
  /// halves cancel by themselves, and no carry is needed.
  constexpr Word reduce(Wide<Word> x) const {
    const Word q = modulus_.value();
    const Word high = static_cast<Word>(x >> word_bits<Word>);
    const Word cancel = mul_high<Word>(static_cast<Word>(static_cast<Word>(x) * inverse_), q);
    return modulus_.sub(high, cancel);
  }

  constexpr Word to_montgomery(Word x) const { return mul(x, r_squared_); }
  constexpr Word from_montgomery(Word x) const { return reduce(x); }

  /// a * b * R^-1 mod q: the product in Montgomery form.
  constexpr Word mul(Word a, Word b) const { return reduce(static_cast<Wide<Word>>(a) * b); }

 private:
  static constexpr Word inverse_mod_r(Word q) {
    if ((q & 1) == 0) {
      throw ParameterError("Montgomery form needs an odd modulus; it is " + std::to_string(q));
    }
    // Newton: each step doubles the number of right low bits; q is its own inverse mod 8.
    Word x = q;
    for (unsigned bits = 3; bits < word_bits<Word>; bits *= 2) x *= 2 - q * x;
    return x;
  }

  Modulus<Word> modulus_;
  Word inverse_;
  Word r_ = 0;
  Word r_squared_ = 0;
};

}  // namespace whorl::math
