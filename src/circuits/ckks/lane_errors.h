// What the operations of lanes share: how errors of lanes are stated.
#pragma once

#include <cmath>

#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// A slot's error is below so many deviations, but with probability 2^-104: 11.8 deviations of a
/// Gaussian, and 4 times as many in the slot where a key that serves lanes has its largest value
/// (lanes.md).
inline constexpr double gaussian_deviations = 11.8, deviations = 48, log2_beyond_deviations = -104;
/// States that an operand has no error.
inline constexpr double no_error = 0x1p-190;

inline double error_of(const CiphertextInfo& info) { return deviations * std::exp2(info.error); }

/// States bounds that bits and their error leave.
inline Array of_bits(const Server& server, const Array& x) {
  const double error = error_of(x.info());
  return server.with_bound(x, {-error, 1 + error});
}
inline Array without_error(const Server& server, const Array& x) {
  return server.with_error(x, no_error);
}

}  // namespace whorl::ckks
