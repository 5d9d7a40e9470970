// Modular arithmetic on vectors of 32- and 64-bit words. Included once a target by Highway.
#if defined(WHORL_RING_HOST_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_RING_HOST_WORDS_INL_H_
#undef WHORL_RING_HOST_WORDS_INL_H_
#else
#define WHORL_RING_HOST_WORDS_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::ring {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Word>
using Dw = hn::ScalableTag<Word>;
template <class Word>
using Vw = hn::Vec<Dw<Word>>;
template <class Word>
inline constexpr std::size_t kWords = HWY_LANES(Word);
template <class Word>
inline constexpr int kLogWords = std::bit_width(kWords<Word>) - 1;

#if HWY_TARGET == HWY_SCALAR

inline HWY_ATTR Vw<std::uint32_t> mul_low(Vw<std::uint32_t> a, Vw<std::uint32_t> b) {
  return Vw<std::uint32_t>(a.raw * b.raw);
}
inline HWY_ATTR Vw<std::uint32_t> mul_high(Vw<std::uint32_t> a, Vw<std::uint32_t> b) {
  return Vw<std::uint32_t>(static_cast<std::uint32_t>(std::uint64_t{a.raw} * b.raw >> 32));
}
inline HWY_ATTR Vw<std::uint32_t> mul_high_same(Vw<std::uint32_t> a, Vw<std::uint32_t> b) {
  return mul_high(a, b);
}
inline HWY_ATTR Vw<std::uint64_t> mul_low(Vw<std::uint64_t> a, Vw<std::uint64_t> b) {
  return Vw<std::uint64_t>(a.raw * b.raw);
}
inline HWY_ATTR Vw<std::uint64_t> mul_high(Vw<std::uint64_t> a, Vw<std::uint64_t> b) {
  return Vw<std::uint64_t>(
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(a.raw) * b.raw >> 64));
}

#else

/// Low half of each product.
HWY_INLINE Vw<std::uint32_t> mul_low(Vw<std::uint32_t> a, Vw<std::uint32_t> b) {
  return hn::Mul(a, b);
}
/// The odd words of x, at even places.
HWY_INLINE Vw<std::uint32_t> odd_words(Vw<std::uint32_t> x) {
  return hn::BitCast(Dw<std::uint32_t>(), hn::ShiftRight<32>(hn::BitCast(Dw<std::uint64_t>(), x)));
}
/// The high halves of products of even and of odd words, in the words' places.
HWY_INLINE Vw<std::uint32_t> high_words(Vw<std::uint64_t> even, Vw<std::uint64_t> odd) {
  const Dw<std::uint32_t> d;
  return hn::OddEven(hn::BitCast(d, odd), hn::DupOdd(hn::BitCast(d, even)));
}
/// High half of each product.
HWY_INLINE Vw<std::uint32_t> mul_high(Vw<std::uint32_t> a, Vw<std::uint32_t> b) {
  return high_words(hn::MulEven(a, b), hn::MulEven(odd_words(a), odd_words(b)));
}
/// The same where all words of b are equal.
HWY_INLINE Vw<std::uint32_t> mul_high_same(Vw<std::uint32_t> a, Vw<std::uint32_t> b) {
  return high_words(hn::MulEven(a, b), hn::MulEven(odd_words(a), b));
}

struct Product64 {
  Vw<std::uint64_t> low, high;
};
/// 64×64 -> 128 bits from four 32×32 -> 64 products.
HWY_INLINE Product64 mul_wide(Vw<std::uint64_t> a, Vw<std::uint64_t> b) {
  const Dw<std::uint64_t> d;
  const Dw<std::uint32_t> d32;
  const auto a0 = hn::BitCast(d32, a), b0 = hn::BitCast(d32, b);
  const auto a1 = hn::BitCast(d32, hn::ShiftRight<32>(a));
  const auto b1 = hn::BitCast(d32, hn::ShiftRight<32>(b));
  const auto mask = hn::Set(d, 0xffffffffu);
  const auto low = hn::MulEven(a0, b0), high = hn::MulEven(a1, b1);
  const auto cross = hn::Add(hn::MulEven(a1, b0), hn::ShiftRight<32>(low));  // < 2^64
  const auto cross2 = hn::Add(hn::MulEven(a0, b1), hn::And(cross, mask));    // < 2^64
  return {hn::Or(hn::And(low, mask), hn::ShiftLeft<32>(cross2)),
          hn::Add(hn::Add(high, hn::ShiftRight<32>(cross)), hn::ShiftRight<32>(cross2))};
}
HWY_INLINE Vw<std::uint64_t> mul_low(Vw<std::uint64_t> a, Vw<std::uint64_t> b) {
  return mul_wide(a, b).low;
}
HWY_INLINE Vw<std::uint64_t> mul_high(Vw<std::uint64_t> a, Vw<std::uint64_t> b) {
  return mul_wide(a, b).high;
}

#endif

inline HWY_ATTR Vw<std::uint64_t> mul_high_same(Vw<std::uint64_t> a, Vw<std::uint64_t> b) {
  return mul_high(a, b);
}

/// x, but what it is made of is not mixed with what is made of it: the compiler would save no
/// addition where a difference is used twice, but make it twice.
template <class V>
HWY_INLINE V whole(V x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && defined(__GNUC__)
  asm("" : "+v"(x.raw));
#endif
  return x;
}

/// x, or x - bound if that does not wrap below zero: x in [0, 2·bound) -> [0, bound).
template <class V>
HWY_INLINE V reduce_once(V x, V bound) {
  return hn::Min(x, hn::Sub(x, bound));
}

/// x·w mod q in [0, 2q) for any word x (Shoup; Harvey 2014, Algorithm 2): w_shoup =
/// floor(w·2^bits/q).
template <class V>
HWY_INLINE V mul_shoup_lazy(V x, V w, V w_shoup, V q) {
  return hn::Sub(mul_low(x, w), mul_low(mul_high(x, w_shoup), q));
}

/// The same where w and w_shoup are each one word throughout.
template <class V>
HWY_INLINE V mul_shoup_lazy_same(V x, V w, V w_shoup, V q) {
  return hn::Sub(mul_low(x, w), mul_low(mul_high_same(x, w_shoup), q));
}

/// a·b/2^bits mod q in [0, q), for a·b < q·2^bits; inverse = q^-1 mod 2^bits, q: one word
/// throughout (Montgomery 1985).
template <class V>
HWY_INLINE V mul_montgomery(V a, V b, V q, V inverse) {
  const V high = mul_high(a, b);
  const V carry = mul_high_same(mul_low(mul_low(a, b), inverse), q);
  return reduce_once(hn::Add(hn::Sub(high, carry), q), q);
}

template <class V>
HWY_INLINE V add_mod(V a, V b, V q) {
  return reduce_once(hn::Add(a, b), q);
}
template <class V>
HWY_INLINE V sub_mod(V a, V b, V q) {
  const V difference = hn::Sub(a, b);
  return hn::Min(difference, hn::Add(difference, q));
}

/// A sum of products a·b of residues modulo q, divided by 2^bits. Words of 32 bits are summed up
/// before they are reduced: `most(q)` products, of a and b below q.
template <class Word>
struct ProductSum {
  static constexpr std::size_t most(Word) { return ~std::size_t{0}; }
  struct Factor {
    Vw<Word> even;
  };
  static HWY_INLINE Factor factor(Vw<Word> a) { return {a}; }
  Vw<Word> sum;
  HWY_INLINE ProductSum() : sum(hn::Zero(Dw<Word>())) {}
  HWY_INLINE void add(Factor a, Vw<Word> b, Vw<Word> q, Vw<Word> inverse) {
    sum = add_mod(sum, mul_montgomery(a.even, b, q, inverse), q);
  }
  HWY_INLINE Vw<Word> reduce(Vw<Word>, Vw<Word>) const { return sum; }
};
#if HWY_TARGET != HWY_SCALAR
template <>
struct ProductSum<std::uint32_t> {
  using V = Vw<std::uint32_t>;
  static constexpr std::size_t most(std::uint32_t q) { return (std::uint64_t{1} << 32) / q; }
  struct Factor {
    V even, odd;  ///< odd: the odd words, at even places
  };
  static HWY_INLINE Factor factor(V a) { return {a, odd_words(a)}; }
  Vw<std::uint64_t> even, odd;
  HWY_INLINE ProductSum()
      : even(hn::Zero(Dw<std::uint64_t>())), odd(hn::Zero(Dw<std::uint64_t>())) {}
  HWY_INLINE void add(Factor a, V b, V, V) {
    even = hn::Add(even, hn::MulEven(a.even, b));
    odd = hn::Add(odd, hn::MulEven(a.odd, odd_words(b)));
  }
  HWY_INLINE V reduce(V q, V inverse) const {
    const Dw<std::uint32_t> d;
    const auto even_carry = hn::MulEven(mul_low(hn::BitCast(d, even), inverse), q);
    const auto odd_carry = hn::MulEven(mul_low(hn::BitCast(d, odd), inverse), q);
    const V high = high_words(even, odd), down = high_words(even_carry, odd_carry);
    return reduce_once(hn::Add(hn::Sub(high, down), q), q);
  }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace whorl::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
