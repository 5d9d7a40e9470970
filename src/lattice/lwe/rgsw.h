// RLWE and RGSW encryption from the secret's side: the blind-rotation key.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "ring/gadget.h"
#include "ring/host/transforms.h"
#include "whorl/word_array.h"

namespace whorl::lattice {

/// Encrypts under a ring secret: (a, b = a·s + e + m) modulo (Q, X^N + 1).
template <class Word>
class RlweEncryptor {
 public:
  RlweEncryptor(std::span<const std::int32_t> secret, Word Q, const math::GaussianSampler& error);
  /// Rows of a and b, N coefficients each: b <- a·s + e. `b` may be `a`. Several threads
  /// may use one object, each with a stream of its own.
  void encrypt_zero(std::span<const Word> a, std::span<Word> b, math::PrivateStream& stream) const;
  const math::Modulus<Word>& modulus() const { return ntt_.plan().modulus(); }

 private:
  ring::HostNtt<Word> ntt_;
  math::SecretVector<Word> secret_, secret_shoup_;  ///< s at the roots
  const math::GaussianSampler* error_;
};

/// The b halves of a GINX blind-rotation key for the LWE secret `lwe` under the ring secret `ring`,
/// in the order of whorl::binfhe::EvaluationKeys. `gadgets` has one entry per LWE coefficient;
/// `keys` is 1 for binary secrets, 2 for ternary.
template <class Word>
WordArray rotation_key_bodies(std::span<const std::int32_t> lwe, std::span<const std::int32_t> ring,
                              Word Q, std::span<const ring::Gadget> gadgets, unsigned keys,
                              const math::GaussianSampler& error, const math::Seed& seed,
                              unsigned threads,
                              const std::function<bool(std::size_t, std::size_t)>& progress);

}  // namespace whorl::lattice
