// Dry runs: a server without residues, which says what a circuit asks for.
#include <algorithm>
#include <set>

#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

DryRun::DryRun(const Parameters& parameters)
    : server_(std::make_shared<const Server::State>(parameters)) {}

Array DryRun::fresh(Packing packing, std::size_t count, std::uint64_t length, const Bounds& bound,
                    bool secret_key) const {
  const Server::State& state = *server_.state_;
  const std::uint64_t most =
      packing == Packing::coefficients ? state.parameters.N() : state.parameters.slots();
  if (count == 0 || length == 0 || length > most)
    throw ShapeError("inputs: " + std::to_string(count) + " vectors of " + std::to_string(length) +
                     " values are asked for; there must be one, of 1 … " + std::to_string(most) +
                     " values");
  const CiphertextInfo info = state.account.fresh(packing, count, length, bound, !secret_key);
  return Server::State::array(
      info, state.evaluator->upload({}, {info.parts, state.account.basis(info.level), count,
                                         lattice::rlwe::Form::evaluation}));
}

KeyRequest DryRun::asked() const {
  const Server::State& state = *server_.state_;
  KeyRequest out;
  out.relinearise = 2;
  std::set<std::uint32_t> turns;
  for (const auto& [g, power] : state.keys.sources()) {
    if (g == 1)
      out.relinearise = std::max(out.relinearise, power + 1);
    else if (g == conjugation_exponent(state.parameters))
      out.conjugate = true;
    else
      turns.insert(g);
  }
  // 5^k for all k: the logarithm of each exponent.
  const auto half = static_cast<std::int64_t>(state.parameters.slots());
  const std::uint64_t modulus = 2 * std::uint64_t{state.parameters.N()};
  std::uint64_t g = 1;
  for (std::int64_t k = 0; k < half && out.rotations.size() < turns.size();
       ++k, g = 5 * g % modulus)
    if (turns.contains(static_cast<std::uint32_t>(g)))
      out.rotations.push_back(2 * k > half ? k - half : k);
  return out;
}

}  // namespace whorl::ckks
