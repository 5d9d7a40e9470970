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

/// A key of hybrid key switching from s(X^g)^power to s. The bodies b have the shape (digits, limbs
/// + special, N), in evaluation form; the uniform halves are expanded from the seed.
struct RingSwitchKey {
  std::uint32_t g = 1;
  unsigned power = 1;
  Seed seed;
  WordArray b;
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
