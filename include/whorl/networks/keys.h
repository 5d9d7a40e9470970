// Which keys the linear maps of a network take, so that all keys together are small.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "whorl/ckks/ciphertexts.h"

namespace whorl::networks {

/// What a linear map asks for (ckks::rotations_of), at the level where it takes its place.
struct MapRotations {
  unsigned level = 0;
  std::vector<std::int64_t> rotations;
};

/// Members of a ckks::KeyRequest.
struct MapKeys {
  std::vector<std::int64_t> rotations;                          ///< ascending; none that is held
  std::map<unsigned, std::vector<std::int64_t>> low_rotations;  ///< ascending
};

/// Keys of few bytes for all maps, where keys for the rotations in `held` are there for
/// other steps. ParameterError for levels above parameters.top().
///
/// A key for a level serves all levels below it, and grows with the level. So maps of neighbouring
/// levels share keys: the levels are cut into runs, each of which takes the union of its rotations
/// at its highest level. The highest run may take keys of all levels instead. Of these cuts the one
/// of fewest bytes is chosen.
MapKeys choose_keys(std::span<const MapRotations> maps, const ckks::Parameters& parameters,
                    std::span<const std::int64_t> held);

}  // namespace whorl::networks
