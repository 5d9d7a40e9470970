// The parameter sets that Whorl knows by name.
#pragma once

#include <vector>

#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

/// All named sets, Whorl's own first. Literals only: Parameters::create checks them.
const std::vector<ParameterLiteral>& named_sets();

}  // namespace whorl::binfhe
