// Ring-LWE over an RNS chain, from the secret's side: encryptions of zero with errors that are
// multiples of t, and the keys of hybrid key switching.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/rns.h"
#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "ring/host/transforms.h"
#include "ring/rns_plan.h"
#include "whorl/word_array.h"

namespace whorl::lattice {

/// A ternary ring secret modulo each prime of a plan, in evaluation form. Decryption is c_0 + c_1·s
/// + c_2·s^2 + …, so that an encryption of zero is (-a·s + t·e, a).
template <class Word>
class RnsSecret {
 public:
  RnsSecret(std::shared_ptr<const ring::RnsPlan<Word>> plan, std::span<const std::int32_t> secret,
            std::uint64_t t, const math::GaussianSampler& error);

  const ring::RnsPlan<Word>& plan() const { return *plan_; }

  /// b <- -a·s + t·e + m over the first `limbs` primes and, if asked for, the special ones; a and
  /// b: (rows, N) in evaluation form; m: N small integers, or empty. `b` may not be `a`.
  void encrypt(unsigned limbs, bool with_special, std::span<const Word> a,
               std::span<const std::int64_t> m, math::PrivateStream& stream,
               std::span<Word> b) const;

  /// out <- sum_k parts[k]·s^k, coefficient form, (limbs, N). parts: (parts, limbs, N).
  void phase(unsigned limbs, std::size_t parts, std::span<const Word> ciphertext,
             std::span<Word> out) const;

  /// The bodies b of a switching key from s^power(X^g) to s, (digits, L + K, N): row d encrypts
  /// P·s^power(X^g) modulo the primes of digit d and 0 modulo the others. Its `a` half modulo prime
  /// l is expand_uniform(seed, d·(L + K) + l, q_l): key_uniform.
  WordArray switch_key_bodies(std::uint32_t g, unsigned power, const math::Seed& seed,
                              unsigned threads,
                              const std::function<bool(std::size_t, std::size_t)>& progress) const;

 private:
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::uint64_t t_;
  const math::GaussianSampler* error_;
  std::vector<ring::HostNtt<Word>> ntts_;
  math::SecretVector<Word> secret_;  ///< (L + K, N)
};

/// The a half of row `digit` of a switching key: (L + K, N).
template <class Word>
void key_uniform(const ring::RnsPlan<Word>& plan, const math::Seed& seed, unsigned digit,
                 std::span<Word> a);
/// Row `row` of the uniform part of a fresh encryption: (limbs, N), limb l being
/// expand_uniform(seed, row·L + l, q_l) for the L limbs of the chain.
template <class Word>
void ciphertext_uniform(const ring::RnsPlan<Word>& plan, const math::Seed& seed, std::size_t row,
                        unsigned limbs, std::span<Word> a);

/// A source of a switching key's rows from its seed and bodies, which must outlive it.
template <class Word>
backend::RnsRowSource<Word> key_rows(const ring::RnsPlan<Word>& plan, const math::Seed& seed,
                                     std::span<const Word> bodies);

}  // namespace whorl::lattice
