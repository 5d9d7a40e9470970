// The keys that a request asks for, and their size. Both are known without a secret.
#pragma once

#include <vector>

#include "lattice/rlwe/switch_key.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// The source s(X^g)^power of each key of a request, each once. ParameterError if `relinearise` is
/// out of range.
std::vector<lattice::rlwe::SwitchSource> keys_of(const Parameters& parameters,
                                                 const KeyRequest& request);

}  // namespace whorl::bgv
