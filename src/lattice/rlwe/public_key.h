// Encryption under a public key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lattice/rlwe/plan.h"
#include "lattice/rlwe/secret.h"

namespace whorl::lattice::rlwe {

/// A public key (b, a), an encryption of 0 under the secret: a is ciphertext_uniform's first.
class PublicKey {
 public:
  /// b: Secret::public_key_body, (basis, N). ShapeError for other words.
  PublicKey(AnyPlan plan, const ring::Basis& basis, const Seed& seed, WordArray b, double sigma);

  /// (b·u + t·e_0 + m, a·u + t·e_1) for each of `count` messages, u ternary: (2, basis, count, N).
  WordArray encrypt(std::uint64_t t, std::size_t count, const Encode& encode,
                    const Progress& progress = {}, unsigned threads = 0) const;

 private:
  AnyPlan plan_;
  ring::Basis basis_;
  WordArray a_, b_;
  math::GaussianSampler error_;
};

}  // namespace whorl::lattice::rlwe
