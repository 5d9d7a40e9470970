// Values that follow from BGV parameters, for both client and server.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lattice/rlwe/switch_key.h"
#include "schemes/ring/derived.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// Returns how many words each ciphertext of a batch has on the host.
inline std::size_t words_of(const Parameters& parameters, const CiphertextInfo& info) {
  return std::size_t{info.parts} * info.limbs * parameters.N();
}

/// What is known of batches as one. They have one key, and the words that belong to them.
/// ShapeError unless they can be one.
CiphertextInfo joined_info(std::span<const Ciphertexts* const> batches);

/// The source s(X^g)^power of each key of a request, each once. ParameterError if `relinearise` is
/// out of range.
std::vector<lattice::rlwe::SwitchSource> keys_of(const Parameters& parameters,
                                                 const KeyRequest& request);

}  // namespace whorl::bgv
