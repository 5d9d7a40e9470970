// What dry runs of BGV and CKKS share: servers whose arrays have no residues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "lattice/rlwe/dry_evaluator.h"
#include "lattice/rlwe/keys.h"
#include "whorl/ring_costs.h"

namespace whorl {

/// The keys that a dry run has asked for. A rotation by k is X -> X^(generator^k), and is named by
/// the k that is nearest to 0, from -N/4 + 1 to N/4; `inverse` is the request of X -> X^-1.
template <class Request>
Request asked_of(const lattice::rlwe::Keys& keys, std::uint32_t N, std::uint64_t generator,
                 bool Request::*inverse) {
  Request out;
  out.relinearise = 2;
  std::set<std::uint64_t> turns;
  for (const auto& [g, power] : keys.sources()) {
    if (g == 1)
      out.relinearise = std::max(out.relinearise, power + 1);
    else if (g == 2 * N - 1)
      out.*inverse = true;
    else
      turns.insert(g);
  }
  // The logarithm of each exponent.
  const std::int64_t half = N / 2;
  std::uint64_t g = 1;
  for (std::int64_t k = 0; k < half && out.rotations.size() < turns.size();
       ++k, g = generator * g % (std::uint64_t{2} * N))
    if (turns.contains(g)) out.rotations.push_back(2 * k > half ? k - half : k);
  return out;
}

/// What a dry run has cost, with all keys that it has asked for.
RingCosts costs_of(const lattice::rlwe::Evaluator& evaluator, unsigned word_bytes,
                   std::span<const lattice::rlwe::Keys> keys);

}  // namespace whorl
