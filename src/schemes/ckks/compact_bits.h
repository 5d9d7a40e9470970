// How bits lie in the coefficients of compact encryptions, for client, server and files
// (docs/lanes.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/basis.h"
#include "whorl/ckks/compact_bits.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// A coefficient of c_0 is rounded to so many bits.
inline constexpr unsigned compact_word_bits = 16;
/// The modulus is below 2^60, so that phases can be read modulo that.
inline constexpr unsigned compact_log2_modulus = 60;

/// Vector v is bit v mod `bits` of number v / bits, and number u is the half u mod 2 of ciphertext
/// u / 2: with n slots, lane bitrev(i) of it is the coefficient of X^(gap·(n·(u mod 2) + i)), and
/// word (u, i).
struct CompactLayout {
  /// For `count` vectors of `length` bits. ParameterError for parameters whose bootstraps are not
  /// made for bits, or whose level 0 has 60 bits or more; RangeError for counts outside
  /// 1 … most_ciphertexts, and lengths outside 1 … N/2.
  CompactLayout(const Parameters& parameters, std::uint64_t count, std::uint64_t length);

  std::uint64_t slots = 1;    ///< of a vector
  unsigned bits = 1;          ///< in a coefficient
  std::uint64_t numbers = 1;  ///< vectors of coefficients
  std::uint32_t gap = 1;
  ring::Basis basis;          ///< of level 0
  std::uint64_t modulus = 1;  ///< the product of its primes

  std::uint64_t ciphertexts() const { return (numbers + 1) / 2; }
};

/// Where an error of encryption stays below so many deviations: how far a coefficient may be from
/// (m + 1/2)/2^bits of the modulus, for its number m, in parts of the modulus.
double compact_error(const Parameters& parameters, double deviations);

}  // namespace whorl::ckks
