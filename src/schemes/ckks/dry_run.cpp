// Dry runs: a server without residues, which says what a circuit asks for.
#include "schemes/ring/dry_run.h"

#include <algorithm>

#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

DryRun::DryRun(const Parameters& parameters)
    : server_(std::make_shared<const Server::State>(parameters)) {}

Array DryRun::fresh(Packing packing, std::size_t count, std::uint64_t length, const Bounds& bound,
                    bool secret_key) const {
  const Server::State& state = *server_.state_;
  const bool coefficients = packing == Packing::coefficients;
  const std::uint64_t slots = state.parameters.slots(),
                      most = coefficients ? state.parameters.N() : most_ciphertexts * slots;
  if (count == 0 || length == 0 || length > most)
    throw ShapeError("inputs: " + std::to_string(count) + " vectors of " + std::to_string(length) +
                     " values are asked for; there must be one, of 1 … " + std::to_string(most) +
                     " values");
  CiphertextInfo info;
  if (coefficients || length <= slots) {
    info = state.account.fresh(packing, count, length, bound, !secret_key);
  } else {
    const std::size_t vectors = std::min<std::size_t>(count, most_ciphertexts),
                      each = (length - 1) / slots + 1;
    info = state.account.fresh(packing, vectors * each, slots, bound, !secret_key);
    info = state.account.as_vectors(info, length);
  }
  return Server::State::array(
      info, state.evaluator->upload({}, {info.parts, state.account.basis(info.level), info.count,
                                         lattice::rlwe::Form::evaluation}));
}

KeyRequest DryRun::asked() const {
  const Server::State& state = *server_.state_;
  return asked_of(state.keys, state.parameters.N(), 5, &KeyRequest::conjugate);
}

RingCosts DryRun::costs() const {
  const Server::State& state = *server_.state_;
  return costs_of(*state.evaluator, state.parameters.word_bytes(),
                  {&state.keys, &state.low_keys, &state.to_sparse, &state.from_sparse});
}

}  // namespace whorl::ckks
