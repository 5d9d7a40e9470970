// Residues of one word-sized modulus on a GPU: the operations of math/modulus.h for kernels.
// Everything compiles for the host too, where tests run it.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define WHORL_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define WHORL_HOST_DEVICE inline
#endif
#if defined(__CUDA_ARCH__)
#define WHORL_UNROLL _Pragma("unroll")
#else
#define WHORL_UNROLL
#endif

namespace whorl::backend::cuda {

/// High word of a product.
template <class Word>
WHORL_HOST_DEVICE Word mul_high(Word a, Word b) {
  static_assert(std::is_same_v<Word, std::uint32_t> || std::is_same_v<Word, std::uint64_t>);
  if constexpr (sizeof(Word) == 4) {
#if defined(__CUDA_ARCH__)
    return __umulhi(a, b);
#else
    return static_cast<Word>((static_cast<std::uint64_t>(a) * b) >> 32);
#endif
  } else {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    return static_cast<Word>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
  }
}

/// The smaller of x and x + by, whose sum wraps: one instruction from sm_90 on.
WHORL_HOST_DEVICE std::uint32_t least_of_sum(std::uint32_t x, std::uint32_t by) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __viaddmin_u32(x, by, x);
#else
  const std::uint32_t sum = x + by;
  return sum < x ? sum : x;
#endif
}

/// x - q where x >= q, else x, for any x and q: in [0, max(q, x - q)].
template <class Word>
WHORL_HOST_DEVICE Word subtract_once(Word x, Word q) {
  if constexpr (sizeof(Word) == 4)
    return least_of_sum(x, 0u - q);  // the difference wraps where x < q
  else
    return x >= q ? x - q : x;
}

/// a + b mod q for a, b < q < 2^(w-1).
template <class Word>
WHORL_HOST_DEVICE Word add_mod(Word a, Word b, Word q) {
  return subtract_once<Word>(a + b, q);
}
/// a - b mod q for a, b < q.
template <class Word>
WHORL_HOST_DEVICE Word sub_mod(Word a, Word b, Word q) {
  const Word d = a - b;
  if constexpr (sizeof(Word) == 4)
    return least_of_sum(d, q);  // the smaller of both is the one that did not wrap
  else
    return a >= b ? d : d + q;
}
/// -a mod q for a < q.
template <class Word>
WHORL_HOST_DEVICE Word neg_mod(Word a, Word q) {
  return a == 0 ? a : q - a;
}

/// A word congruent to x·w, in [0, 2q), for any word x, w < q and w_shoup = floor(w·2^wordbits / q)
/// (Harvey 2014, section 2).
template <class Word>
WHORL_HOST_DEVICE Word mul_shoup_lazy(Word x, Word w, Word w_shoup, Word q) {
  return x * w - mul_high<Word>(x, w_shoup) * q;
}
/// x·w mod q.
template <class Word>
WHORL_HOST_DEVICE Word mul_shoup(Word x, Word w, Word w_shoup, Word q) {
  return subtract_once<Word>(mul_shoup_lazy<Word>(x, w, w_shoup, q), q);
}

/// A modulus as kernels take it, by value in their parameters.
template <class Word>
struct DeviceModulus {
  Word q = 0;
  Word barrett = 0;     ///< floor((2^2k - 1) / q), k = bits
  Word montgomery = 0;  ///< q^-1 mod R, R = 2^wordbits; meaningful for odd q
  Word r_squared = 0;   ///< R^2 mod q
  unsigned bits = 0;    ///< bit length of q

  DeviceModulus() = default;
  /// 2 <= modulus < 2^31 or 2^61, as math::Modulus demands. Host only: it divides.
  explicit DeviceModulus(Word modulus) : q(modulus) {
    using Wide = std::conditional_t<sizeof(Word) == 4, std::uint64_t, unsigned __int128>;
    while (bits < 8 * sizeof(Word) && (q >> bits) != 0) ++bits;
    barrett = static_cast<Word>(((Wide{1} << (2 * bits)) - 1) / q);
    montgomery = q;  // Newton: right modulo 8 for odd q, twice the bits each step
    for (unsigned right = 3; right < 8 * sizeof(Word); right *= 2)
      montgomery *= Word{2} - q * montgomery;
    const Word r = static_cast<Word>((Wide{1} << (8 * sizeof(Word))) % q);
    r_squared = static_cast<Word>(Wide{r} * r % q);
  }
};

/// a·b mod q for a, b < q. Barrett as in the Handbook of Applied Cryptography, algorithm 14.42,
/// k = bits: the quotient is short by at most two, by three where q is a power of two (`barrett` is
/// then one less than the algorithm's).
template <class Word>
WHORL_HOST_DEVICE Word mul_mod(Word a, Word b, const DeviceModulus<Word>& m) {
  if constexpr (sizeof(Word) == 4) {
    const std::uint64_t x = static_cast<std::uint64_t>(a) * b;
    const auto top = static_cast<Word>(x >> (m.bits - 1));
    const auto quotient =
        static_cast<Word>((static_cast<std::uint64_t>(top) * m.barrett) >> (m.bits + 1));
    const std::uint64_t r = x - static_cast<std::uint64_t>(quotient) * m.q;  // may pass 2^32
    const auto low = static_cast<Word>(r >= 2 * m.q ? r - 2 * m.q : r);
    return subtract_once<Word>(low, m.q);
  } else {
    const Word low = a * b, high = mul_high<Word>(a, b);
    const unsigned s = m.bits - 1;  // 1 … 60
    const Word top = (low >> s) | ((high << 1) << (63 - s));
    const Word l = top * m.barrett, h = mul_high<Word>(top, m.barrett);
    const unsigned t = m.bits + 1;  // 3 … 62
    const Word r = low - ((l >> t) | (h << (64 - t))) * m.q;
    return subtract_once<Word>(subtract_once<Word>(r, 2 * m.q), m.q);
  }
}

/// A word congruent to (high·R + low)·R^-1 in (0, 2q), R = 2^wordbits, for high < q; as
/// math::Montgomery::reduce without its correction.
template <class Word>
WHORL_HOST_DEVICE Word montgomery_reduce_lazy(Word high, Word low, Word q, Word inverse) {
  return high - mul_high<Word>(low * inverse, q) + q;
}
/// a·b·R^-1, in (0, 2q), for a·b < q·R.
template <class Word>
WHORL_HOST_DEVICE Word mul_montgomery_lazy(Word a, Word b, Word q, Word inverse) {
  return montgomery_reduce_lazy<Word>(mul_high<Word>(a, b), a * b, q, inverse);
}
/// a·b·R^-1 mod q, for a·b < q·R.
template <class Word>
WHORL_HOST_DEVICE Word mul_montgomery(Word a, Word b, Word q, Word inverse) {
  return sub_mod<Word>(mul_high<Word>(a, b), mul_high<Word>(a * b * inverse, q), q);
}

}  // namespace whorl::backend::cuda
