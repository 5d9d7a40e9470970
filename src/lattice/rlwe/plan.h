// A plan with words of either size, so that schemes need no templates.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "ring/rns_plan.h"

namespace whorl::lattice::rlwe {

using AnyPlan = std::variant<std::shared_ptr<const ring::RnsPlan<std::uint32_t>>,
                             std::shared_ptr<const ring::RnsPlan<std::uint64_t>>>;

inline std::uint32_t ring_dimension(const AnyPlan& plan) {
  return std::visit([](const auto& p) { return p->N(); }, plan);
}

}  // namespace whorl::lattice::rlwe
