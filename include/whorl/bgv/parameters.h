// Parameters of BGV: a literal of plain data, the immutable object that is made from it, and the
// choice of parameters for what a circuit needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "whorl/common.h"
#include "whorl/ring_parameters.h"

namespace whorl::bgv {

/// Plain data; nothing is checked until Parameters::create.
struct ParameterLiteral {
  std::string name;     ///< free text up to 64 characters
  std::uint32_t N = 0;  ///< ring dimension, a power of two 2^10 … 2^17
  std::uint64_t t = 0;  ///< plaintext modulus, 2 … 2^31 - 1
  /// Primes = 1 mod 2N of 26 to 31 bits (32-bit words, the fast ones) or of 46 to 60 bits. A fresh
  /// ciphertext has all primes of `chain`; operations drop the last ones.
  std::vector<std::uint64_t> chain;
  std::vector<std::uint64_t> special;  ///< primes for key switching; their product is P
  unsigned digit_limbs = 1;     ///< primes of the chain in a digit of key switching: ceil(L/dnum)
  double sigma = 3.19;          ///< standard deviation of errors
  unsigned depth = 0;           ///< multiplications in sequence that the chain was chosen for
  unsigned plain_products = 0;  ///< products with plaintexts in sequence, in addition to `depth`
  bool operator==(const ParameterLiteral&) const = default;
};

/// What a circuit needs.
struct Requirements {
  unsigned depth = 1;                   ///< multiplications in sequence
  std::uint64_t plain_modulus = 65537;  ///< t
  std::uint32_t N = 0;                  ///< 0: the least that is secure
  /// Digits of key switching at the top level, 1 … 16; 0: three, or as many more or fewer as make
  /// the ring smaller or the chain shorter.
  unsigned dnum = 0;
  unsigned prime_bits = 30;  ///< of each prime: 26 … 31 or 46 … 60
  /// log2 of the sums that each level may add before it multiplies: 3 means eight ciphertexts of
  /// the same level, rotations included.
  double sums = 3;
  bool slots = true;  ///< whether N must allow t to be packed in slots: t = 1 mod 2N, a prime
  /// Products with plaintexts in sequence, up to 64, in addition to the multiplications and
  /// anywhere between them. The plaintexts may have any values. A product with one integer c for
  /// all slots does not count here: it takes log2(c) of `sums`.
  unsigned plain_products = 0;
};

/// The least prime t >= at_least with t = 1 mod 2N, so that rings of dimension up to N have slots.
/// N is a power of two in 2^10 … 2^17. ParameterError if there is none below 2^31.
std::uint64_t plain_modulus(std::uint64_t at_least, std::uint32_t N);

/// Validated, immutable parameters; cheap to copy.
class Parameters : public RingParameters<ParameterLiteral> {
 public:
  /// Checks every relation. ParameterError names the field, the value and the bound. It is also
  /// thrown for parameters estimated under 128 bits unless `allow_insecure`.
  static Parameters create(ParameterLiteral literal, bool allow_insecure = false);
  /// The smallest ring and the shortest chain that meet the requirements with at least 128 bits of
  /// security. If none does up to N = 2^17, ParameterError says what is missing.
  static Parameters choose(const Requirements& requirements);
  /// One of the candidates of choose(): a chain of `limbs` primes in the ring of dimension
  /// requirements.N, which may be too short for the circuit. ParameterError for less than 128 bits.
  static Parameters of_limbs(const Requirements& requirements, unsigned limbs);

  std::uint64_t t() const { return literal().t; }
  /// Whether vectors are packed in slots: t is a prime = 1 mod 2N.
  bool has_slots() const;

  double log2_Q() const { return log2_Q(limbs()); }
  double log2_Q(unsigned limbs) const;  ///< of the first `limbs` primes

  /// A description of the parameters for people, of several lines.
  std::string describe() const;

 private:
  struct State;
  using RingParameters::RingParameters;
  const State& state() const;
};

}  // namespace whorl::bgv
