// The public parts of fresh LWE ciphertexts, which travel as seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "math/random.h"

namespace whorl::lattice::lwe {

/// a of ciphertext `index` of a fresh batch modulo q: expand_uniform(seed, index) in 32-bit words,
/// as many as `a` has room for.
inline void ciphertext_uniform(const math::Seed& seed, std::size_t index, std::uint64_t q,
                               std::span<std::uint32_t> a) {
  math::expand_uniform<std::uint32_t>(seed, index, q, a);
}

}  // namespace whorl::lattice::lwe
