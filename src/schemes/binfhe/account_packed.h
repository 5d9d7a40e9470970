// What is known of messages in coefficients, and of the ciphertexts that they become.
#pragma once

#include "whorl/binfhe/packed.h"

namespace whorl::binfhe {

/// RangeError for a range or a largest message that the encoding does not have.
void check_messages(const PackedCiphertexts& packed);
/// Gives ciphertexts what is known of those that a public key encrypted, which they are.
void set_unpacked(Ciphertexts& batch, const PackedCiphertexts& packed);

}  // namespace whorl::binfhe
