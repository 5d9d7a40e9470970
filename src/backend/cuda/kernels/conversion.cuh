// What kernels that convert between bases share: tables, rows, and sums of products.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

/// A source modulus of a base conversion: ring::BaseConversion's from, inverse, inverse_shoup,
/// ratio.
template <class Word>
struct alignas(4 * sizeof(Word)) RnsSource {
  Word q, inverse, shoup, ratio;
};

/// Rows of a chain's limbs and the special primes after them.
struct RnsRows {
  std::uint32_t chain, special_limb;
  __device__ __forceinline__ std::uint32_t limb(std::uint32_t row) const {
    return row < chain ? row : special_limb + row - chain;
  }
};

/// A sum of products modulo q, over R once reduced (Montgomery 1985). Corrected, it is below q·R;
/// R / largest products of a factor up to `largest` and one below q may then be added.
template <class Word>
struct ProductSum {
  using Wide = std::conditional_t<sizeof(Word) == 4, std::uint64_t, unsigned __int128>;
  static constexpr unsigned bits = 8 * sizeof(Word);
  /// How many products fit uncorrected, of any factors below the largest modulus, 2^31 or 2^61.
  static constexpr unsigned safe_terms = sizeof(Word) == 4 ? 2 : 8;
  /// The same for moduli up to `largest`, a power of two.
  static unsigned terms_below(Word largest) {
    return sizeof(Word) == 4 && largest < (Word{1} << 30) ? 4 : safe_terms;
  }
  Wide sum = 0;

  __device__ __forceinline__ void add(Word a, Word b) {
#if defined(__CUDA_ARCH__)
    // The compiler would keep 64 bits of factors that a loop keeps, and multiply those. Hidden like
    // this, a product and its addition are one instruction; as mad.wide.u32 they would be three.
    if constexpr (sizeof(Word) == 4) asm volatile("" : "+r"(a), "+r"(b));
#endif
    sum += static_cast<Wide>(a) * b;
  }
  __device__ __forceinline__ void correct(Word q) {
    const Word high = subtract_once<Word>(static_cast<Word>(sum >> bits), q);
    sum = (static_cast<Wide>(high) << bits) | static_cast<Word>(sum);
  }
  /// Returns the sum, which is corrected, in [0, q).
  __device__ __forceinline__ Word reduce(Word q, Word inverse) const {
    return sub_mod<Word>(static_cast<Word>(sum >> bits),
                         mul_high<Word>(static_cast<Word>(sum) * inverse, q), q);
  }
};

template <class Word>
struct alignas(4 * sizeof(Word)) RnsModulus {
  Word q, inverse, r_squared, unused;  ///< q^-1 mod R; R^2 mod q; R = 2^wordbits
};
/// Returns the modulus for finish_product; products that are to be doubled get 2·R^2, which ends
/// their reduction.
template <class Word>
__device__ __forceinline__ RnsModulus<Word> for_products(RnsModulus<Word> m, bool doubled) {
  if (doubled) m.r_squared = add_mod<Word>(m.r_squared, m.r_squared, m.q);
  return m;
}
template <class Word>
__device__ __forceinline__ Word finish_product(ProductSum<Word> sum, const RnsModulus<Word>& m) {
  sum.correct(m.q);
  return mul_montgomery<Word>(sum.reduce(m.q, m.inverse), m.r_squared, m.q, m.inverse);
}

/// Words of a row of a conversion's factors: those of ring::BaseConversion::factors, zeros in the
/// place of absent limbs, then p and p^-1 mod R; a multiple of 16 bytes.
template <class Word>
__host__ __device__ constexpr unsigned factor_stride(unsigned size) {
  constexpr unsigned width = 16 / sizeof(Word);
  return (size + 3 + width - 1) / width * width;
}

}  // namespace whorl::backend::cuda
