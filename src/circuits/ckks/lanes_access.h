// What the library sees of lanes, and users do not.
#pragma once

#include <cstdint>
#include <utility>

#include "whorl/circuits/ckks/lanes.h"

namespace whorl::ckks {

struct LanesAccess {
  static const EncodedBootstrap& maps(const Lanes& lanes) { return lanes.maps_; }
  /// Bits that have been refreshed, with their errors; NoiseError if these are too large.
  static LaneArray wrap(const Lanes& lanes, Array bits) { return lanes.lanes_of(std::move(bits)); }
  /// ParameterError for integers.
  static Array values(const Lanes& lanes, const LaneArray& a) {
    static_cast<void>(lanes.bit_not(a));
    return lanes.values_of(a);
  }
  /// NoiseError if so many bootstraps of vectors more would fail too often.
  static void count(const Lanes& lanes, std::uint64_t bootstraps) {
    lanes.count(bootstraps, 0, 0, lanes.maps_.slots());
  }
};

}  // namespace whorl::ckks
