// Dry runs: a server without residues, which says what a circuit asks for.
#include "schemes/ring/dry_run.h"

#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl {

template class RingDryRun<ckks::Server, ckks::KeyRequest>;

}  // namespace whorl

namespace whorl::ckks {

DryRun::DryRun(const Parameters& parameters)
    : RingDryRun(std::make_shared<const ServerState>(parameters)) {}

Array DryRun::fresh(Packing packing, std::size_t count, std::uint64_t length, const Bounds& bound,
                    bool secret_key) const {
  const Parameters& p = state().parameters;
  const std::uint64_t most =
      packing == Packing::coefficients ? p.N() : most_ciphertexts * p.slots();
  if (count == 0 || length == 0 || length > most)
    throw ShapeError("inputs: " + std::to_string(count) + " vectors of " + std::to_string(length) +
                     " values are asked for; there must be one, of 1 … " + std::to_string(most) +
                     " values");
  const CiphertextInfo info = state().account.fresh(packing, count, length, bound, !secret_key);
  return ServerState::array(
      info, state().evaluator->upload({}, {info.parts, state().account.basis(info.level),
                                           info.count, lattice::rlwe::Form::evaluation}));
}

}  // namespace whorl::ckks
