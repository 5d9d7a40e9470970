// From residues of m·f + t·e to the message, and to the size of the noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/modulus.h"

namespace whorl::bgv {

/// Residues of integers v in (-Q/2, Q/2) modulo the primes of Q.
template <class Word>
class PhaseReader {
 public:
  PhaseReader(std::span<const math::Modulus<Word>> primes, std::uint64_t t);

  /// v·scale mod t of `count` integers: residues (primes, count). No branch on values, no division.
  void modulo_t(std::span<const Word> residues, std::size_t count, std::uint64_t scale,
                std::span<std::uint64_t> out) const;
  /// log2 of the largest |v|; -inf if all are 0. Not in constant time: for measurements.
  double log2_largest(std::span<const Word> residues, std::size_t count) const;

 private:
  std::vector<math::Modulus<Word>> primes_;
  math::Modulus<std::uint64_t> t_;
  std::vector<Word> inverse_, inverse_shoup_;  ///< (Q/q_l)^-1 mod q_l
  std::vector<std::uint64_t> ratio_;           ///< floor(2^(63 + bits of q_l)/q_l)
  std::vector<std::uint64_t> quotient_;        ///< Q/q_l mod t
  std::uint64_t minus_Q_;                      ///< -Q mod t
  /// Modulo q_l: products of the first 0 … l primes, then the inverse of the last of these.
  std::vector<std::vector<Word>> garner_;
};

}  // namespace whorl::bgv
