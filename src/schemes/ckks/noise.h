// Errors of CKKS as standard deviations in the slots. docs/ckks-noise.md derives them.
//
// A ciphertext carries v = scale·m + e, a polynomial of integers. What is followed is the standard
// deviation of e's value at a root of X^N + 1, a complex number: sqrt(N) times that of a
// coefficient. Deviations of sums are added, as if the errors were equal, which is never too small.
// All values are log2, and of e itself: not yet divided by the scale.
#pragma once

#include <vector>

#include "whorl/ckks/parameters.h"
#include "whorl/ring_keys.h"

namespace whorl::ckks {

class NoiseModel {
 public:
  explicit NoiseModel(const Parameters& parameters);

  /// What rounding coefficients to integers adds: an encoding.
  double encoding() const { return encoding_; }
  /// e + encoding, and e·u + e_0 + e_1·s + encoding.
  double fresh_secret() const { return fresh_secret_; }
  double fresh_public() const { return fresh_public_; }
  /// What a division of so many parts by primes adds by rounding; of three and more in the worst
  /// slot of a key.
  double rounding(unsigned parts) const { return rounding_[parts]; }
  /// What key switching adds at a level, with usual keys, or with those of a kind that rotates.
  double key_switch(unsigned level) const { return key_switch_[level]; }
  double key_switch(unsigned level, SwitchKind kind) const;
  /// The same at level 0 with bootstrapping's keys of lower levels, and with that to its sparse
  /// secret, whose special primes are their own. 0 without bootstrapping.
  double low_key_switch() const { return low_key_switch_; }
  double to_sparse_key_switch() const { return to_sparse_key_switch_; }

 private:
  Parameters parameters_;
  double encoding_, fresh_secret_, fresh_public_;
  double low_key_switch_ = 0, to_sparse_key_switch_ = 0;
  std::vector<double> rounding_, key_switch_;  ///< of each number of parts, and of each level
};

}  // namespace whorl::ckks
