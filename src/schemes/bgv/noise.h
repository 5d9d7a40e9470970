// Bounds of BGV's noise. docs/bgv-noise.md derives them.
//
// A ciphertext (c_0, …, c_d) carries v = sum_k c_k·s^k mod Q, a polynomial of integers congruent to
// m·f modulo t. Decryption is right while every coefficient is below Q/2. What is followed is a
// bound of |v| at all complex 2N-th roots of unity that are odd powers (the canonical norm), which
// bounds the coefficients, is multiplicative, and is the same for v(X^g). All values are log2.
#pragma once

#include <vector>

#include "whorl/bgv/parameters.h"

namespace whorl::bgv {

class NoiseModel {
 public:
  explicit NoiseModel(const Parameters& parameters);

  /// A plaintext of which nothing is known: N coefficients of at most t/2.
  double plaintext() const;
  /// m + t·e, and m + t·(e·u + e_0 + e_1·s).
  double fresh_secret() const;
  double fresh_public() const;
  /// What dividing by primes and rounding to multiples of t adds to a ciphertext of `parts`.
  double rounding(unsigned parts) const { return rounding_[parts]; }
  /// What key switching adds to a ciphertext of `limbs`.
  double key_switch(unsigned limbs) const { return key_switch_[limbs]; }
  /// Returns the noise after the last limb of `limbs` is dropped.
  double dropped(double noise, unsigned limbs, unsigned parts) const;
  /// Bits left: log2(Q/2) - noise. Decryption is right while this is positive.
  double budget(double noise, unsigned limbs) const;

  /// Limbs that a ciphertext should have when it is multiplied by one like itself: dropping the
  /// others leaves the product the largest budget.
  unsigned limbs_to_multiply(double noise, unsigned limbs, unsigned parts) const;

  /// Budget at the end of the circuit that Requirements describe, from public encryptions on: at
  /// each level `sums` bits of additions of key-switched ciphertexts, then a multiplication and a
  /// relinearisation; sums once more at the end, and what products with plaintexts take there.
  /// Negative where it does not last. Where the plaintexts come earlier, more may be needed:
  /// Account::rated_budget.
  double rated_budget(const Requirements& requirements) const;

  /// One multiplication of that circuit: operands of `limbs`, whose noise is between `least` and
  /// `most`, drop to `left`.
  struct Level {
    unsigned limbs, left;
    double least, most;
  };
  /// The multiplications of the circuit that the parameters are rated for, with the largest sums
  /// that last to its end and leave there what products with plaintexts take; empty where there are
  /// none. Operands that keep to it all drop the same
  /// limbs, whatever their own noise: so their products have one factor and add without loss.
  std::vector<Level> schedule() const;

 private:
  double rounding_of(unsigned parts) const;
  double key_switch_of(unsigned limbs) const;
  /// rated_budget, and the levels on the way.
  double follow(unsigned depth, double sums, std::vector<Level>* levels) const;

  Parameters parameters_;
  std::vector<double> rounding_, key_switch_;  ///< of each number of parts and of limbs
};

}  // namespace whorl::bgv
