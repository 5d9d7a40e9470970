// RLWE encryption from the secret's side: what rows of keys are made with.
#pragma once

#include <cstdint>
#include <span>

#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "ring/host/transforms.h"

namespace whorl::lattice {

/// Encrypts under a ring secret: (a, b = a·s + e + m) modulo (Q, X^N + 1).
template <class Word>
class RlweEncryptor {
 public:
  RlweEncryptor(std::span<const std::int32_t> secret, Word Q, const math::GaussianSampler& error);
  /// Rows of a and b, N coefficients each: b <- a·s + e. `b` may be `a`. Several threads
  /// may use one object, each with a stream of its own.
  void encrypt_zero(std::span<const Word> a, std::span<Word> b, math::PrivateStream& stream) const;
  /// One row, with errors that are given.
  void encrypt_zero(std::span<const Word> a, std::span<Word> b,
                    std::span<const std::int32_t> errors) const;
  const math::Modulus<Word>& modulus() const { return ntt_.plan().modulus(); }

 private:
  ring::HostNtt<Word> ntt_;
  math::SecretVector<Word> secret_, secret_shoup_;  ///< s at the roots
  const math::GaussianSampler* error_;
};

}  // namespace whorl::lattice
