// What the operations of lanes share: how errors of lanes are stated, and what lanes hold.
#pragma once

#include <algorithm>
#include <cmath>

#include "whorl/circuits/ckks/lanes.h"

namespace whorl::ckks {

/// A slot's error is below so many deviations, but with probability 2^-104: 11.8 deviations of a
/// Gaussian, and 4 times as many in the slot where a key that serves lanes has its largest value
/// (lanes.md).
inline constexpr double gaussian_deviations = 11.8, deviations = 48, log2_beyond_deviations = -104;
/// States that an operand has no error.
inline constexpr double no_error = 0x1p-190;

inline double error_of(const CiphertextInfo& info) { return deviations * std::exp2(info.error); }

/// The levels of 3x² - 2x³.
inline constexpr unsigned cleaning_levels = 2;

/// States bounds that messages and their error leave.
inline Array of_messages(const Server& server, const Array& x, const LaneMessages& messages) {
  const double error = error_of(x.info());
  return server.with_bound(
      x, {static_cast<double>(messages.low) - error, static_cast<double>(messages.high) + error});
}
inline Array of_bits(const Server& server, const Array& x) { return of_messages(server, x, {}); }
/// Messages 0 … p - 1 as they are, and what two arrays hold together.
inline LaneMessages reduced(unsigned p) { return {p, 0, std::int64_t{p} - 1}; }
inline LaneMessages both(const LaneMessages& a, const LaneMessages& b) {
  return {a.p, std::min(a.low, b.low), std::max(a.high, b.high)};
}
/// `one` where `choice` is 1, and `other` where it is 0.
Array chosen(const Server& server, const Array& choice, const Array& one, const Array& other);
/// (m + 1/2)/2^bits of whole numbers m, as bootstraps take them. The bounds are those of m modulo
/// 2^bits: what a multiple of it adds is a whole number of turns. The error has the roundings of
/// SlotsToCoeffs's plaintexts, which grow with m.
Array as_turns(const Server& server, const Array& numbers, unsigned bits);
/// What these roundings add to the errors of numbers up to `largest` in size.
double error_of_maps(const Server& server, double largest);

inline Array without_error(const Server& server, const Array& x) {
  return server.with_error(x, no_error);
}

}  // namespace whorl::ckks
