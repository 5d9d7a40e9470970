// What dry runs of BGV and CKKS share: servers whose arrays have no residues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "lattice/rlwe/dry_evaluator.h"
#include "lattice/rlwe/keys.h"
#include "lattice/rlwe/switch_key.h"
#include "whorl/ring_server.h"

namespace whorl {

template <class Server, class KeyRequest>
KeyRequest RingDryRun<Server, KeyRequest>::asked() const {
  const std::uint32_t N = state().parameters.N();
  KeyRequest out;
  out.relinearise = 2;
  std::set<std::uint64_t> turns;
  for (const auto& [g, power] : state().keys.sources()) {
    if (g == 1)
      out.relinearise = std::max(out.relinearise, power + 1);
    else if (g == 2 * N - 1)
      out.*state().inverse = true;
    else
      turns.insert(g);
  }
  // The logarithm of each exponent.
  const std::int64_t half = N / 2;
  std::uint64_t g = 1;
  for (std::int64_t k = 0; k < half && out.rotations.size() < turns.size();
       ++k, g = state().generator * g % (std::uint64_t{2} * N))
    if (turns.contains(g)) out.rotations.push_back(2 * k > half ? k - half : k);
  return out;
}

template <class Server, class KeyRequest>
RingCosts RingDryRun<Server, KeyRequest>::costs() const {
  RingCosts out = static_cast<const lattice::rlwe::DryEvaluator&>(*state().evaluator).costs();
  for (const lattice::rlwe::Keys& keys : state().all_keys())
    for (const auto& [g, power] : keys.sources()) {
      const ring::KeyLayout& layout = keys.get(g, power).layout();
      ++out.keys;
      out.key_bytes += lattice::rlwe::switch_key_bytes(
          state().parameters.N(), static_cast<unsigned>(layout.digits.size()), layout.rows().size(),
          state().parameters.word_bytes());
    }
  return out;
}

}  // namespace whorl
