// What the two searches for parameters share: that without bootstraps, and that with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "schemes/ckks/derived.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// Parameters with bootstraps. Where there are none, `why` says what was missing.
std::optional<Parameters> choose_with_bootstraps(const Requirements& r, std::string& why);

/// Where no number of digits is asked for, a choice with bootstraps begins with this one.
inline constexpr unsigned usual_digits = 3;

/// Bits that level 0's modulus has at least: values with a sign, and a hundredth of them for errors
/// (Account::room).
inline double bits_of_level_0(const Requirements& r) {
  constexpr double sign = 1, error = 1.0 / 64;
  return r.scale_bits + r.value_bits + sign + error;
}
inline double log2_of_level_0(const ParameterLiteral& p) {
  double bits = 0;
  basis_of(p, 0).for_each([&](unsigned i) { bits += std::log2(static_cast<double>(p.chain[i])); });
  return bits;
}

/// Special primes are larger than the chain's by this part of a bit at least.
inline constexpr double special_ahead = 0.35;
/// P should be 2^3 times a digit, which then adds about as much as the division's rounding. Digits
/// of so many primes leave that with special primes below 2^30; above it butterflies of 32-bit
/// words must reduce fully, at one and a half times the work.
inline constexpr unsigned long_digit = 8;
inline double special_bound(unsigned word_bits, unsigned digit_limbs) {
  return word_bits == 64 ? 60 : digit_limbs >= long_digit ? 30 : 31;
}
/// log2 of the bound of the chain's primes that are to have so many bits.
inline double main_bound(double bits, unsigned word_bits, unsigned digit_limbs) {
  return std::min(bits, special_bound(word_bits, digit_limbs) - special_ahead);
}

}  // namespace whorl::ckks
