// Keys that the schemes over RNS rings share: public keys, and keys of hybrid key switching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl {

/// A public key (b, a), an encryption of 0, where a is expanded from the seed. It only encrypts.
template <class Parameters>
struct RingPublicKey {
  Parameters parameters;
  KeyId key_id;
  Seed seed;
  WordArray b;  ///< (limbs, N), evaluation form
};

/// A role says from what to what a switching key leads, and over which primes.
enum class SwitchRole : std::uint8_t {
  usual = 0,       ///< s(X^g)^power to s, over all primes
  low = 1,         ///< the same over the primes of the lowest levels, for bootstrapping
  to_sparse = 2,   ///< s to the sparse secret of bootstrapping, over the primes of level 0
  from_sparse = 3  ///< from there to s, over all primes
};

/// A key of hybrid key switching from s(X^g)^power to s. The bodies b have the shape (digits, limbs
/// + special, N), in evaluation form (fewer primes where the role says so); the uniform halves are
/// expanded from the seed.
struct RingSwitchKey {
  std::uint32_t g = 1;
  unsigned power = 1;
  Seed seed;
  WordArray b;
  SwitchRole role = SwitchRole::usual;
};

/// The keys that a server gets.
template <class Parameters>
struct RingEvaluationKeys {
  Parameters parameters;
  KeyId key_id;
  std::vector<RingSwitchKey> keys;
  /// Bytes of bodies and seeds, as they are sent, without the frame.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const RingSwitchKey& key : keys) sum += key.b.bytes() + key.seed.size() + 8;
    return sum;
  }
};

}  // namespace whorl
