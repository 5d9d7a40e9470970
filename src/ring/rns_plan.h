// The primes of an RNS scheme and what hybrid key switching needs to know about them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ring/ntt_plan.h"

namespace whorl::ring {

/// A chain of primes q_0 … q_(L-1), of which a ciphertext with l limbs has the first l, and special
/// primes p_0 … p_(K-1), whose product P carries a key switching's noise (Gentry, Halevi, Smart,
/// CRYPTO 2012; hybrid with digits: Han and Ki, CT-RSA 2020). Limbs are taken apart `digit_limbs`
/// at a time: digit d has limbs d·digit_limbs … (d+1)·digit_limbs - 1, the last one fewer.
template <class Word>
class RnsPlan {
 public:
  /// ParameterError unless all primes differ, are NTT primes for N and at least 2^25 (32-bit words)
  /// or 2^45 (64-bit), and 1 <= digit_limbs <= L. K may be 0: then there is no key switching.
  RnsPlan(std::uint32_t N, std::span<const Word> chain, std::span<const Word> special,
          unsigned digit_limbs);

  std::uint32_t N() const { return N_; }
  unsigned limbs() const { return limbs_; }      ///< L
  unsigned special() const { return special_; }  ///< K
  unsigned digit_limbs() const { return digit_limbs_; }
  /// Digits of `limbs` limbs.
  unsigned digits(unsigned limbs) const { return (limbs + digit_limbs_ - 1) / digit_limbs_; }
  unsigned digits() const { return digits(limbs_); }

  /// The chain, then the special primes.
  const std::vector<math::Modulus<Word>>& moduli() const { return moduli_; }
  const NttPlan<Word>& ntt(unsigned limb) const { return plans_[limb]; }
  /// Of `limbs` chain primes and, if asked for, all special ones.
  std::vector<math::Modulus<Word>> moduli_of(unsigned limbs, bool with_special) const;
  std::vector<const NttPlan<Word>*> ntts_of(unsigned limbs, bool with_special) const;
  /// P mod q_l and P^-1 mod q_l.
  Word P(unsigned limb) const { return P_[limb]; }
  Word inverse_P(unsigned limb) const { return inverse_P_[limb]; }
  /// log2 of the product of the first `limbs` primes of the chain; of P.
  double log2_Q(unsigned limbs) const;
  double log2_P() const;

  /// ParameterError unless 1 <= limbs <= L.
  void check_limbs(const char* what, unsigned limbs) const;

 private:
  std::uint32_t N_;
  unsigned limbs_, special_, digit_limbs_;
  std::vector<math::Modulus<Word>> moduli_;
  std::vector<NttPlan<Word>> plans_;
  std::vector<Word> P_, inverse_P_;
};

}  // namespace whorl::ring
