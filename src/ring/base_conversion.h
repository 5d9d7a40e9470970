// Residues modulo the primes of one basis to those of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/modulus.h"

namespace whorl::ring {

/// Whether a conversion counts the multiple of the product that it must take off (`exact`), or
/// leaves it there (`approximate`: x + u·Q for some 0 <= u < L).
enum class Lift : std::uint8_t { exact, approximate };

/// Fast base conversion with the multiple of the product counted (Halevi, Polyakov, Shoup, CT-RSA
/// 2019, §2.2, with integers for their floating-point quotient): for x modulo Q = q_0·…·q_(L-1),
///   y_l = [x_l·(Q/q_l)^-1]_{q_l},   x = sum_l y_l·Q/q_l - u·Q,   u = round(sum_l y_l/q_l),
///   out_k = sum_l y_l·(Q/q_l) + u·(-Q) mod p_k.
/// out represents the x in (-Q/2, Q/2] or, less than 1.5·L·2^-fraction_bits·Q above -Q/2, perhaps
/// its neighbour x + Q: u is summed from floor(y_l·ratio_l/2^w), all rounded down.
///
/// With a plain modulus t it is t·[x/t]_Q that is converted: congruent to x modulo Q and to 0
/// modulo t, which is what BGV subtracts before it divides (Brakerski, Gentry, Vaikuntanathan, ITCS
/// 2012).
template <class Word>
class BaseConversion {
 public:
  /// ParameterError if a modulus is even, below 2^fraction_bits, divides t, or is in `from` twice.
  BaseConversion(std::span<const math::Modulus<Word>> from, std::span<const math::Modulus<Word>> to,
                 std::uint64_t t = 1, Lift lift = Lift::exact);

  /// Bits after the point in the sum that u is rounded from.
  static constexpr unsigned fraction_bits = sizeof(Word) == 4 ? 24 : 44;

  const std::vector<math::Modulus<Word>>& from() const { return from_; }
  const std::vector<math::Modulus<Word>>& to() const { return to_; }
  /// The largest of from().
  Word largest() const { return largest_; }
  /// (t·Q/q_l)^-1 mod q_l, and its Shoup companion.
  const std::vector<Word>& inverse() const { return inverse_; }
  const std::vector<Word>& inverse_shoup() const { return inverse_shoup_; }
  /// floor(2^(w + fraction_bits)/q_l).
  const std::vector<Word>& ratio() const { return ratio_; }
  /// Row k, L + 1 words: t·Q/q_l mod p_k for each l, then -t·Q mod p_k, or 0 of an approximate one;
  /// in Montgomery form.
  std::span<const Word> factors(std::size_t k) const {
    return {factors_.data() + k * (from_.size() + 1), from_.size() + 1};
  }

 private:
  std::vector<math::Modulus<Word>> from_, to_;
  Word largest_ = 0;
  std::vector<Word> inverse_, inverse_shoup_, ratio_, factors_;
};

}  // namespace whorl::ring
