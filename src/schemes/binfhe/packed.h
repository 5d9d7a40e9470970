// Messages in coefficients of ring ciphertexts, which a server and a client take apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lattice/lwe/extraction.h"
#include "lattice/rlwe/plan.h"
#include "whorl/binfhe/packed.h"

namespace whorl::binfhe {

/// The plan of the ring key's ring, of the one prime Q.
lattice::rlwe::AnyPlan ring_plan(const Parameters& parameters);

/// EncodingError for an encoding that the parameters do not carry, or a modulus that does not carry
/// it.
void check_packed_modulus(const PackedCiphertexts& packed);
/// The same, and RangeError for a range or a largest message that the encoding does not have;
/// ShapeError for another number of words than the count takes, RangeError for one that is not
/// below the modulus.
void check_packed(const PackedCiphertexts& packed);

/// The row (a, b) of message i under the ring key, N + 1 words modulo packed.modulus().
inline void extract(const PackedCiphertexts& packed, std::size_t i, std::span<std::uint64_t> row) {
  const std::size_t N = packed.parameters.N(), ring = i / N;
  const std::span<const std::uint64_t> words = std::span(packed.data).subspan(ring * 2 * N);
  lattice::lwe::extract<std::uint64_t>(words.subspan(N), words.first(N), packed.modulus(), i % N,
                                       row);
}

}  // namespace whorl::binfhe
