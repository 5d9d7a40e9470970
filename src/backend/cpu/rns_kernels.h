// RNS kernels of the CPU device, one stretch of coefficients at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ring/base_conversion.h"

namespace whorl::backend::cpu {

/// Coefficients of a stretch: its rows stay in the second-level cache.
inline constexpr std::size_t rns_stretch = 4096;

/// The first half of a base conversion: rows of `stride` words, y_l for each source modulus and
/// then u. in[l]: residues modulo from()[l]. `count` is a multiple of 64, as in all that follows.
template <class Word>
void conversion_digits(const ring::BaseConversion<Word>& conversion, const Word* const* in,
                       std::size_t count, Word* y, std::size_t stride);
/// The second: residues modulo to()[k].
template <class Word>
void conversion_sum(const ring::BaseConversion<Word>& conversion, std::size_t k, const Word* y,
                    std::size_t stride, std::size_t count, Word* out);

/// out = (x - y)·factor mod q, or added to what is there.
template <class Word>
void subtract_scale(const math::Modulus<Word>& q, const Word* x, const Word* y, Word factor,
                    bool accumulate, Word* out, std::size_t count);

/// out = sum_k a[k]·b[k] mod q. b in Montgomery form, or not: then the sum is multiplied once more.
template <class Word>
void sum_of_products(const math::Montgomery<Word>& q, std::span<const Word* const> a,
                     std::span<const Word* const> b, bool b_is_montgomery, Word* out,
                     std::size_t count);

}  // namespace whorl::backend::cpu
