// What gates compute, and what encodings they take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

/// A threshold gate decides whether sum_k weights[k]·bit_k >= threshold in one blind rotation. The
/// sum of k bits of weight 1 takes values 0 … k of `sectors` sectors; it can be decided if those
/// below and those from the threshold on lie in opposite halves of the circle (FHEW's trick for AND
/// and OR; Micciancio and Polyakov 2021, §3 for three and more inputs).
struct GateRule {
  std::string_view name;
  unsigned inputs;
  unsigned threshold;
  bool negated;
  bool doubled;  ///< XOR: twice the sum, p = 4 only
};
const GateRule& rule_of(Gate gate);
/// Sums 0 … threshold-1 and threshold … inputs must fit into half circles of so many sectors.
std::uint64_t least_sectors(const GateRule& rule);

/// "p = 4 with padding", for messages.
std::string describe(Encoding encoding);

}  // namespace whorl::binfhe
