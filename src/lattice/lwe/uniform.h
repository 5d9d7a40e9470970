// The public parts of fresh LWE ciphertexts, which travel as seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "math/random.h"

namespace whorl::lattice::lwe {

/// a of ciphertext `index` of a fresh batch modulo q: expand_uniform(seed, index) in the words of
/// ciphertexts, as many as `a` has room for.
template <class Word>
void ciphertext_uniform(const math::Seed& seed, std::size_t index, std::uint64_t q,
                        std::span<Word> a) {
  math::expand_uniform<Word>(seed, index, q, a);
}

}  // namespace whorl::lattice::lwe
