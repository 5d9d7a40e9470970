// Linear maps of CKKS slots, as other circuits use them: without the account, and with keys of
// either kind.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/ring_keys.h"

namespace whorl::ckks {

/// Returns what rotations_of(map) does, for a map with these diagonals, modulo its period.
std::vector<std::int64_t> rotations_of_diagonals(std::uint64_t period,
                                                 const std::set<std::int64_t>& diagonals);

/// What MapOptions come to.
struct MapPlace {
  double scale = 1;
  SwitchKind kind = {};  ///< of the keys
  bool compact = false;
};
/// Does what encode() does. After each diagonal `encoded` is called, which may throw to stop the
/// work.
EncodedMap encode_for(const Server& server, const LinearMap& map, unsigned level,
                      const MapPlace& place, const std::function<void()>& encoded = {});

/// The map of ciphertexts of two parts at its level, which comes one level lower. Nothing is
/// checked but that there are keys.
lattice::rlwe::Array mapped(const Server& server, const lattice::rlwe::Array& x,
                            const EncodedMap& map);

}  // namespace whorl::ckks
