// The steps of a CKKS bootstrap, each for a whole batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "circuits/common/encoded.h"
#include "lattice/rlwe/evaluator.h"
#include "schemes/ckks/access.h"
#include "schemes/ckks/account.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/polynomials.h"

namespace whorl::ckks {

struct EncodedBootstrap::Storage {
  static constexpr const char* missing = "a bootstrap that is not encoded was given";

  std::uint64_t slots = 1;
  std::vector<EncodedMap> to_coefficients, to_slots;
  /// With coefficients_last the first of them for real values, of which half of the coefficients
  /// serves.
  std::vector<EncodedMap> to_real_coefficients;
  Polynomial cosine, arcsine;
  Account::SineError error;
};

using EncodedBootstrapAccess = circuits::EncodedAccess<EncodedBootstrap>;

/// Between the first step and the sine the account knows nothing: coefficients are values plus
/// multiples of the small modulus.
class BootstrapSteps {
 public:
  BootstrapSteps(const Server& server, const EncodedBootstrapAccess::Storage& with)
      : server_(server), with_(with) {}

  /// What is to be refreshed, at the lowest level for it and 2^6 times the scale there: then the
  /// roundings of the maps to coefficients are small. With coefficients_last at level 0 and
  /// raised_by() times its scale.
  Array low(const Array& x) const;
  /// The slots of such a ciphertext become coefficients; with coefficients_last it stays as it is.
  lattice::rlwe::Array coefficients(const Array& low) const;
  /// To all primes, under the sparse secret, for which few multiples of the modulus are added; then
  /// to the ring of the vector's slots.
  lattice::rlwe::Array raised(const lattice::rlwe::Array& coefficients) const;
  /// The coefficients t, divided by twice the polynomial's range, in slots.
  lattice::rlwe::Array slots(const lattice::rlwe::Array& raised) const;
  /// Real parts of t, less cosine_center, divided by the range; of complex values the imaginary
  /// parts too, each after its real part, so that both lie on one device. `info` is that of the
  /// values.
  Array angles(const lattice::rlwe::Array& slots, const CiphertextInfo& info) const;
  /// The polynomial: a cosine of a part of the angle.
  Array cosine(const Array& angles) const;
  /// The cosine of twice the angle.
  Array doubled(const Array& cosine) const;
  /// The polynomial, and all doublings but the last.
  Array sine(const Array& angles) const;
  /// The last doubling, which gives sin(2πt), and the arcsine: the values at their scale. Those of
  /// real and imaginary parts are joined; without an arcsine before the last division. With
  /// coefficients_last they are the message's coefficients, which are moved back. `low`: what was
  /// refreshed.
  Array result(const Array& cosines, const CiphertextInfo& low) const;

 private:
  bool last() const { return server_.parameters().literal().bootstrap->coefficients_last != 0; }
  lattice::rlwe::Array through(lattice::rlwe::Array x, std::span<const EncodedMap> maps) const;
  lattice::rlwe::Array image(const lattice::rlwe::Array& x, std::uint32_t g) const;
  /// KeyMismatchError if the client made none.
  const lattice::rlwe::Key& key(SwitchRole role) const;
  /// The values at their scale, at result_level().
  Array values(const Array& cosines, const CiphertextInfo& low) const;
  /// y² stands for 2y², at half the scale; of three parts.
  Array square(const Array& cosine) const;

  const Server& server_;
  const EncodedBootstrapAccess::Storage& with_;
  const lattice::rlwe::Evaluator& evaluator_ = Access::evaluator(server_);
  const Account& account_ = Access::account(server_);
};

}  // namespace whorl::ckks
