// Which keys a request asks for, and what they take: known without a secret.
#pragma once

#include <vector>

#include "lattice/rlwe/secret.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// What each key of a request leads from, without repetition. ParameterError for parts out of
/// range.
std::vector<lattice::rlwe::SwitchSource> keys_of(const Parameters& parameters,
                                                 const KeyRequest& request);

}  // namespace whorl::bgv
