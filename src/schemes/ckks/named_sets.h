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

/// What parameters for bits are made of.
struct BitSet {
  std::uint32_t N = 65536;
  unsigned bits = 5;     ///< in a coefficient
  unsigned levels = 10;  ///< of users, between bootstraps
  double scale_bits = 40;
  double lift = 0;                      ///< bits by which the scales of bootstraps are above that
  unsigned degree = 31, doublings = 3;  ///< of EvalMod
  unsigned digits = 4;                  ///< of key switching
  unsigned slots_to_coeffs = 3, coeffs_to_slots = 4;
};
ParameterLiteral for_bits(const BitSet& set);

}  // namespace whorl::ckks
