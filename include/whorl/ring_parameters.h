// What parameters of the schemes over RNS rings have alike.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl {

/// A literal that was checked, and what follows from it; immutable, and cheap to copy.
template <class Literal>
class RingParameters {
 public:
  const Literal& literal() const { return state_->literal; }
  std::uint32_t N() const { return literal().N; }
  unsigned limbs() const { return static_cast<unsigned>(literal().chain.size()); }
  unsigned special() const { return static_cast<unsigned>(literal().special.size()); }
  unsigned digits() const { return (limbs() + literal().digit_limbs - 1) / literal().digit_limbs; }
  /// Bytes of a word that holds a residue: 4 or 8.
  unsigned word_bytes() const { return ring_word_bytes(literal().chain[0]); }
  double log2_P() const { return state_->log2_P; }
  /// Lower bound of the security of the keys in bits, each at its own modulus: the product of all
  /// primes, but for CKKS's key to the sparse secret.
  double security_bits() const { return state_->security; }

  /// BLAKE2b-128 over all fields that change ciphertexts or keys.
  const Digest& digest() const { return state_->digest; }
  bool operator==(const RingParameters& other) const { return digest() == other.digest(); }

 protected:
  struct Common {
    Literal literal;
    Digest digest;
    double log2_P = 0, security = 0;
  };
  explicit RingParameters(std::shared_ptr<const Common> state) : state_(std::move(state)) {}
  std::shared_ptr<const Common> state_;
};

}  // namespace whorl
