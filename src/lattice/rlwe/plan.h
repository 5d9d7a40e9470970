// A plan with words of either size, so that schemes need no templates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "ring/rns_plan.h"
#include "whorl/word_array.h"

namespace whorl::lattice::rlwe {

using AnyPlan = std::variant<std::shared_ptr<const ring::RnsPlan<std::uint32_t>>,
                             std::shared_ptr<const ring::RnsPlan<std::uint64_t>>>;

/// Makes a plan with words of the size that the chain's first prime takes.
inline AnyPlan make_plan(std::uint32_t N, std::span<const std::uint64_t> chain,
                         std::span<const std::uint64_t> special, unsigned digit_limbs) {
  const auto make = [&]<class Word>(Word) -> AnyPlan {
    const std::vector<Word> first(chain.begin(), chain.end()), last(special.begin(), special.end());
    return std::make_shared<const ring::RnsPlan<Word>>(N, first, last, digit_limbs);
  };
  if (ring_word_bytes(chain[0]) == 4) return make(std::uint32_t{});
  return make(std::uint64_t{});
}

inline std::uint32_t ring_dimension(const AnyPlan& plan) {
  return std::visit([](const auto& p) { return p->N(); }, plan);
}

}  // namespace whorl::lattice::rlwe
