// Which parameters a network runs under, and where it is refreshed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "whorl/ckks/parameters.h"
#include "whorl/common.h"
#include "whorl/networks/placement.h"

namespace whorl::networks {

/// Parameters, and the steps of a network with the bootstraps that it has under them.
struct Plan {
  ckks::Parameters parameters;
  std::vector<PlacedStep> steps;
};

/// A plan for vectors of up to so many slots, 1 … 2^16. A network that a ring of N = 2^16 carries
/// without bootstraps has none. For others parameters with bootstraps are tried, with every number
/// of levels between two of them up to 24, and those are taken under which the bootstraps cost
/// least: their number times limbs times N. If none serve, a larger ring may do without.
///
/// `progress` counts steps, of all numbers of levels that are tried. ParameterError if there are no
/// parameters for the network, and for slots out of range; otherwise errors as of place.
Plan plan(std::span<const Step> steps, std::uint32_t slots, const Progress& progress = {});

/// The same under given parameters. Errors as of place.
Plan plan(std::span<const Step> steps, const ckks::Parameters& parameters,
          const Progress& progress = {});

}  // namespace whorl::networks
