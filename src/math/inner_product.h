// The product of a public vector and a secret one: the phase of an LWE ciphertext.
#pragma once

#include <cstdint>
#include <span>

#include "math/modulus.h"

namespace whorl::math {

/// sum a_i s_i mod q, in [0, q), for residues a_i and any s_i, at most 2^31 of them. The time
/// depends on the length only. Word: uint32_t or uint64_t. Throws ShapeError when the lengths
/// differ.
template <class Word>
Word inner_product(std::span<const Word> a, std::span<const int32_t> s, const Modulus<Word>& q);

/// sum a_i s_i mod q for q a power of two up to 2^wordbits, given as mask = q - 1. Any words a_i,
/// any s_i. The time depends on the length only. Word: uint16_t, uint32_t or uint64_t. Throws
/// ShapeError when the lengths differ.
template <class Word>
Word inner_product_masked(std::span<const Word> a, std::span<const int32_t> s, Word mask);

template <>
uint32_t inner_product(std::span<const uint32_t> a, std::span<const int32_t> s,
                       const Modulus<uint32_t>& q);
template <>
uint64_t inner_product(std::span<const uint64_t> a, std::span<const int32_t> s,
                       const Modulus<uint64_t>& q);
template <>
uint16_t inner_product_masked(std::span<const uint16_t> a, std::span<const int32_t> s,
                              uint16_t mask);
template <>
uint32_t inner_product_masked(std::span<const uint32_t> a, std::span<const int32_t> s,
                              uint32_t mask);
template <>
uint64_t inner_product_masked(std::span<const uint64_t> a, std::span<const int32_t> s,
                              uint64_t mask);

}  // namespace whorl::math
