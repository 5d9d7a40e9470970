// Values that follow from BGV parameters, for both client and server.
#pragma once

#include <cstddef>

#include "schemes/ring/derived.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// Returns how many words each ciphertext of a batch has on the host.
inline std::size_t words_of(const Parameters& parameters, const CiphertextInfo& info) {
  return std::size_t{info.parts} * info.limbs * parameters.N();
}

}  // namespace whorl::bgv
