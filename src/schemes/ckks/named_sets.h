// The CKKS parameter sets that Whorl knows by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

struct NamedSet {
  std::string name;
  std::function<ParameterLiteral()> literal;
};

/// Whorl's own first. Primes are searched for when a literal is asked for.
const std::vector<NamedSet>& named_sets();

}  // namespace whorl::ckks
