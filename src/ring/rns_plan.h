// The primes of an RNS scheme and what hybrid key switching needs to know about them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ring/basis.h"
#include "ring/ntt_plan.h"

namespace whorl::ring {

/// Primes that arrays are over, a Basis of them each: a chain q_0 … q_(L-1) and special primes
/// p_0 … p_(K-1) after them, whose product P carries a key switching's noise (Gentry, Halevi,
/// Smart, CRYPTO 2012; hybrid with digits: Han and Ki, CT-RSA 2020). The usual ciphertext with l
/// limbs has the first l of the chain, and the usual key takes limbs apart `digit_limbs` at a time:
/// digit d has limbs d·digit_limbs … (d+1)·digit_limbs - 1, the last one fewer.
template <class Word>
class RnsPlan {
 public:
  /// ParameterError unless all primes differ, are NTT primes for N, at least 2^24 (32-bit words) or
  /// 2^44 (64-bit) and at most Basis::most, and 1 <= digit_limbs <= L. K may be 0: then there is no
  /// usual key.
  RnsPlan(std::uint32_t N, std::span<const Word> chain, std::span<const Word> special,
          unsigned digit_limbs);

  /// The plan of the same primes in a ring of fewer coefficients. ParameterError unless n is a ring
  /// dimension up to N. A polynomial in X^(N/n) has its values here, each N/n times in a row: roots
  /// of unity are powers of one number for each prime, whatever n.
  RnsPlan in_ring(std::uint32_t n) const;

  std::uint32_t N() const { return N_; }
  unsigned limbs() const { return limbs_; }      ///< L
  unsigned special() const { return special_; }  ///< K
  unsigned digit_limbs() const { return digit_limbs_; }
  /// Digits of `limbs` limbs.
  unsigned digits(unsigned limbs) const { return (limbs + digit_limbs_ - 1) / digit_limbs_; }
  unsigned digits() const { return digits(limbs_); }

  Basis level(unsigned limbs) const { return Basis::range(0, limbs); }
  Basis special_basis() const { return Basis::range(limbs_, special_); }
  Basis all() const { return Basis::range(0, limbs_ + special_); }
  /// The usual key's: all of the chain.
  const KeyLayout& key_layout() const { return key_layout_; }

  /// The chain, then the special primes.
  const std::vector<math::Modulus<Word>>& moduli() const { return moduli_; }
  const NttPlan<Word>& ntt(unsigned limb) const { return plans_[limb]; }
  std::vector<math::Modulus<Word>> moduli_of(const Basis& basis) const;
  std::vector<const NttPlan<Word>*> ntts_of(const Basis& basis) const;
  /// P mod q_l and P^-1 mod q_l.
  Word P(unsigned limb) const { return P_[limb]; }
  Word inverse_P(unsigned limb) const { return inverse_P_[limb]; }
  /// log2 of the product of the first `limbs` primes of the chain; of P.
  double log2_Q(unsigned limbs) const;
  double log2_P() const;

  /// ParameterError unless 1 <= limbs <= L.
  void check_limbs(const char* what, unsigned limbs) const;
  /// ParameterError for an empty basis, or one with an index that is not below the number of
  /// primes.
  void check_basis(const char* what, const Basis& basis) const;
  /// The same for a key's, and unless its digits partition its chain and leave the special primes.
  void check_layout(const char* what, const KeyLayout& layout) const;

 private:
  std::uint32_t N_;
  unsigned limbs_, special_, digit_limbs_;
  std::vector<math::Modulus<Word>> moduli_;
  std::vector<NttPlan<Word>> plans_;
  std::vector<Word> P_, inverse_P_;
  KeyLayout key_layout_;
};

}  // namespace whorl::ring
