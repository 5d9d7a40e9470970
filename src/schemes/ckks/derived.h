// Values that follow from CKKS parameters, for both client and server.
#pragma once

#include <vector>

#include "lattice/rlwe/plan.h"
#include "lattice/rlwe/switch_key.h"
#include "ring/basis.h"
#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/parameters.h"
#include "whorl/rows.h"

namespace whorl::ckks {

inline lattice::rlwe::AnyPlan any_plan_of(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  return lattice::rlwe::make_plan(p.N, p.chain, p.special, p.digit_limbs);
}

/// The primes of a level.
inline ring::Basis basis_of(const Parameters& parameters, unsigned level) {
  ring::Basis basis;
  for (const unsigned i : parameters.primes(level)) basis.insert(i);
  return basis;
}

/// Of a batch on the host: words of each ciphertext.
inline std::size_t words_of(const Parameters& parameters, const CiphertextInfo& info) {
  return std::size_t{info.parts} * parameters.primes(info.level).size() * parameters.N();
}

/// The keys that are asked for; ParameterError for numbers of parts out of range.
std::vector<lattice::rlwe::SwitchSource> keys_of(const Parameters& parameters,
                                                 const KeyRequest& request);

}  // namespace whorl::ckks
