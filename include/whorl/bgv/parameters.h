// Parameters of BGV: a literal of plain data, the immutable object that building it gives, and the
// choice of one from what a circuit needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::bgv {

/// Plain data; nothing is checked until Parameters::create.
struct ParameterLiteral {
  std::string name;     ///< free text up to 64 characters
  std::uint32_t N = 0;  ///< ring dimension, a power of two 2^10 … 2^17
  std::uint64_t t = 0;  ///< plaintext modulus, 2 … 2^31 - 1
  /// Primes = 1 mod 2N of 25 to 31 bits (32-bit words, the fast ones) or of 45 to 60 bits. A
  /// ciphertext starts with all of `chain` and loses the last ones on its way.
  std::vector<std::uint64_t> chain;
  std::vector<std::uint64_t> special;  ///< of key switching; their product is P
  unsigned digit_limbs = 1;     ///< primes of the chain to a digit of key switching: ceil(L/dnum)
  double sigma = 3.19;          ///< standard deviation of errors
  unsigned depth = 0;           ///< multiplications in sequence that the chain was chosen for
  unsigned plain_products = 0;  ///< and products with plaintexts in sequence, beside them
  bool operator==(const ParameterLiteral&) const = default;
};

/// What a circuit needs.
struct Requirements {
  unsigned depth = 1;                   ///< multiplications in sequence
  std::uint64_t plain_modulus = 65537;  ///< t
  std::uint32_t N = 0;                  ///< 0: the least that is secure
  unsigned dnum = 3;                    ///< digits of key switching at the top level
  unsigned prime_bits = 30;             ///< of each prime: 26 … 31 or 46 … 60
  /// log2 of the sums that each level may add before it multiplies: 3 means eight ciphertexts of
  /// the same level, rotations included.
  double sums = 3;
  bool slots = true;  ///< whether N must allow t to be packed in slots: t = 1 mod 2N, a prime
  /// Products with plaintexts in sequence, beside the multiplications and anywhere between them, up
  /// to 64. Of any plaintexts: one integer for all slots costs no more than log2 of it of `sums`.
  unsigned plain_products = 0;
};

/// The least prime t >= at_least that packs vectors in slots up to the ring dimension N: t = 1 mod
/// 2N. N: a power of two 2^10 … 2^17. ParameterError where there is none below 2^31.
std::uint64_t plain_modulus(std::uint64_t at_least, std::uint32_t N);

/// Validated, immutable parameters; cheap to copy.
class Parameters {
 public:
  /// Checks every relation. ParameterError names the field, the value and the bound; also thrown
  /// for sets estimated under 128 bits unless `allow_insecure`.
  static Parameters create(ParameterLiteral literal, bool allow_insecure = false);
  /// The smallest ring and the shortest chain that serve, at 128 bits or more. ParameterError if
  /// none does up to N = 2^16, with what was missing.
  static Parameters choose(const Requirements& requirements);
  /// Those that choose() tries: `limbs` primes in the ring of dimension requirements.N, whether or
  /// not they carry the circuit. ParameterError for less than 128 bits.
  static Parameters of_limbs(const Requirements& requirements, unsigned limbs);

  const ParameterLiteral& literal() const;
  std::uint32_t N() const { return literal().N; }
  std::uint64_t t() const { return literal().t; }
  unsigned limbs() const { return static_cast<unsigned>(literal().chain.size()); }
  unsigned special() const { return static_cast<unsigned>(literal().special.size()); }
  unsigned digits() const { return (limbs() + literal().digit_limbs - 1) / literal().digit_limbs; }
  /// 4 or 8: the words of its residues.
  unsigned word_bytes() const { return ring_word_bytes(literal().chain[0]); }
  /// Whether vectors are packed in slots: t is a prime = 1 mod 2N.
  bool has_slots() const;

  double log2_Q() const { return log2_Q(limbs()); }
  double log2_Q(unsigned limbs) const;  ///< of the first `limbs` primes
  double log2_P() const;
  /// Lower bound of the security of the keys, which live modulo Q·P, in bits.
  double security_bits() const;

  /// BLAKE2b-128 over all fields that change ciphertexts or keys.
  const Digest& digest() const;
  bool operator==(const Parameters& other) const { return digest() == other.digest(); }

  /// What was picked and why, for people; several lines.
  std::string describe() const;

 private:
  struct State;
  explicit Parameters(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bgv
