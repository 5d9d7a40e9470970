#include "schemes/binfhe/gates.h"

#include <algorithm>
#include <array>

#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

constexpr std::array<GateRule, 11> gate_rules{{{"and", 2, 2, false, false},
                                               {"or", 2, 1, false, false},
                                               {"nand", 2, 2, true, false},
                                               {"nor", 2, 1, true, false},
                                               {"xor", 2, 1, false, true},
                                               {"xnor", 2, 1, true, true},
                                               {"majority", 3, 2, false, false},
                                               {"and3", 3, 3, false, false},
                                               {"or3", 3, 1, false, false},
                                               {"and4", 4, 4, false, false},
                                               {"or4", 4, 1, false, false}}};

}  // namespace

std::string describe(Encoding encoding) {
  return "p = " + std::to_string(encoding.p) + (encoding.padding ? " with padding" : "");
}

const GateRule& rule_of(Gate gate) {
  const auto i = static_cast<std::size_t>(gate);
  if (i >= gate_rules.size()) throw EncodingError("gate number " + std::to_string(i) + " of 11");
  return gate_rules[i];
}

std::uint64_t least_sectors(const GateRule& rule) {
  return 2 * std::max<std::uint64_t>(rule.threshold, rule.inputs - rule.threshold + 1);
}

}  // namespace whorl::binfhe
