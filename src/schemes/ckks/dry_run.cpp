// Dry runs: a server without residues, which says what a circuit asks for.
#include "schemes/ring/dry_run.h"

#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

DryRun::DryRun(const Parameters& parameters)
    : server_(std::make_shared<const Server::State>(parameters)) {}

Array DryRun::fresh(Packing packing, std::size_t count, std::uint64_t length, const Bounds& bound,
                    bool secret_key) const {
  const Server::State& state = server_.state();
  const Parameters& p = state.parameters;
  const std::uint64_t most =
      packing == Packing::coefficients ? p.N() : most_ciphertexts * p.slots();
  if (count == 0 || length == 0 || length > most)
    throw ShapeError("inputs: " + std::to_string(count) + " vectors of " + std::to_string(length) +
                     " values are asked for; there must be one, of 1 … " + std::to_string(most) +
                     " values");
  const CiphertextInfo info = state.account.fresh(packing, count, length, bound, !secret_key);
  return Server::State::array(
      info, state.evaluator->upload({}, {info.parts, state.account.basis(info.level), info.count,
                                         lattice::rlwe::Form::evaluation}));
}

KeyRequest DryRun::asked() const {
  const Server::State& state = server_.state();
  return asked_of(state.keys, state.parameters.N(), 5, &KeyRequest::conjugate);
}

RingCosts DryRun::costs() const {
  const Server::State& state = server_.state();
  return costs_of(*state.evaluator, state.parameters.word_bytes(), state.role_keys);
}

}  // namespace whorl::ckks
