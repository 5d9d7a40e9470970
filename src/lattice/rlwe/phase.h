// The way from residues of a phase to its integers modulo any m, and to their size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/modulus.h"

namespace whorl::lattice::rlwe {

/// Residues of integers v in (-Q/2, Q/2) modulo the primes of Q: (primes, count).
template <class Word>
class PhaseReader {
 public:
  explicit PhaseReader(std::vector<math::Modulus<Word>> primes);

  /// The constants for reading a phase modulo m, 2 … 2^61 - 1.
  struct Reduction {
    math::Modulus<std::uint64_t> m;
    std::vector<std::uint64_t> quotient;  ///< Q/q_l mod m
    std::uint64_t minus_Q;                ///< -Q mod m
  };
  Reduction reduction(std::uint64_t m) const;

  /// v·scale mod m, as many as `out` has room for. No branch on values, no division.
  void modulo(const Reduction& reduction, std::span<const Word> residues, std::uint64_t scale,
              std::span<std::uint64_t> out) const;
  /// v rounded to a double, for v in (-Q/4, Q/4). No branch on values, no division.
  void centred(std::span<const Word> residues, std::span<double> out) const;
  /// log2 of the largest |v|; -inf if all are 0. Not in constant time: for measurements.
  double log2_largest(std::span<const Word> residues) const;

 private:
  std::vector<math::Modulus<Word>> primes_;
  std::vector<Word> inverse_, inverse_shoup_;  ///< (Q/q_l)^-1 mod q_l
  std::vector<std::uint64_t> ratio_;           ///< floor(2^(63 + bits of q_l)/q_l)
  /// The mixed-radix digits of value j, from residues (primes, count).
  void digits_of(std::span<const Word> residues, std::size_t count, std::size_t j,
                 std::span<Word> digits) const;

  /// Row l has, modulo q_l, the products of the first 0 … l primes, then the inverse of the last of
  /// these.
  std::vector<std::vector<Word>> garner_;
};

}  // namespace whorl::lattice::rlwe
