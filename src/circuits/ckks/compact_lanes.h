// Compact encryptions of bits on a server's devices (docs/lanes.md).
#pragma once

#include "lattice/rlwe/array.h"
#include "whorl/ckks/compact_bits.h"
#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// The ring ciphertexts of bits of the server's client, at level 0: within compact_error() of
/// (m + 1/2)/2^bits of the modulus at the coefficients that hold numbers m, and anything at the
/// others. ShapeError for words that do not belong to so many vectors, and what CompactLayout
/// throws.
lattice::rlwe::Array compact_ciphertexts(const Server& server, const CompactBits& bits);

}  // namespace whorl::ckks
