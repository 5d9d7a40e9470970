// Dry runs: a server without residues, which says what a circuit asks for.
#include "schemes/ring/dry_run.h"

#include "schemes/bgv/server_state.h"

namespace whorl {

template class RingDryRun<bgv::Server, bgv::KeyRequest>;

}  // namespace whorl

namespace whorl::bgv {

DryRun::DryRun(const Parameters& parameters)
    : RingDryRun(std::make_shared<const ServerState>(parameters)) {}

Array DryRun::fresh(Packing packing, std::size_t values, std::size_t length,
                    bool secret_key) const {
  state().encoder.check(packing);
  const Rows rows = state().encoder.rows(values, length, packing);
  const CiphertextInfo info =
      secret_key ? state().account.fresh_secret(packing, rows.count(), rows.kept())
                 : state().account.fresh_public(packing, rows.count(), rows.kept());
  return state().array(
      info, state().evaluator->upload({}, {info.parts, state().evaluator->level(info.limbs),
                                           info.count, lattice::rlwe::Form::evaluation}));
}

}  // namespace whorl::bgv
