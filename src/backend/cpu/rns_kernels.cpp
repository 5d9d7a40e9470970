// Base conversion and sums of products, written once for every SIMD width and both word sizes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rns_kernels.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/rns_kernels.h"
#include "backend/cpu/words-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {

/// A vector of sums of products modulo q, over R = 2^wordbits once reduced (Montgomery 1985).
template <class Word>
struct ProductSum;

/// Double words, kept below 2q·R: a few products are added between corrections.
template <>
struct ProductSum<std::uint32_t> {
  using V = Vw<std::uint32_t>;
  using V64 = Vw<std::uint64_t>;
  V64 even, odd, bound;
  V q, inverse;
  /// Products below q^2 that one correction takes care of.
  static std::size_t terms(std::uint32_t q) { return (std::uint64_t{1} << 32) / q; }

  HWY_INLINE ProductSum(std::uint32_t modulus, std::uint32_t inverse_mod_r)
      : even(hn::Zero(Dw<std::uint64_t>())),
        odd(even),
        bound(hn::Set(Dw<std::uint64_t>(), std::uint64_t{modulus} << 32)),
        q(hn::Set(Dw<std::uint32_t>(), modulus)),
        inverse(hn::Set(Dw<std::uint32_t>(), inverse_mod_r)) {}
  HWY_INLINE void add(V a, V b) {
#if HWY_TARGET == HWY_SCALAR
    even = V64(even.raw + std::uint64_t{a.raw} * b.raw);
#else
    even = hn::Add(even, hn::MulEven(a, b));
    odd = hn::Add(odd, hn::MulEven(upper(a), upper(b)));
#endif
  }
  HWY_INLINE void correct() {
    even = reduce_once(even, bound);
    odd = reduce_once(odd, bound);
  }
  /// In [0, q), the sum being corrected.
  HWY_INLINE V reduce() const {
#if HWY_TARGET == HWY_SCALAR
    const auto low = static_cast<std::uint32_t>(even.raw);
    const auto high = static_cast<std::uint32_t>(even.raw >> 32);
    const auto cancel =
        static_cast<std::uint32_t>((std::uint64_t{low * inverse.raw} * q.raw) >> 32);
    return V(high < cancel ? high - cancel + q.raw : high - cancel);
#else
    const Dw<std::uint32_t> d;
    const V high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
    const V low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
    return sub_mod(high, mul_high(mul_low(low, inverse), q), q);
#endif
  }

 private:
#if HWY_TARGET != HWY_SCALAR
  static HWY_INLINE V upper(V x) {
    return hn::BitCast(Dw<std::uint32_t>(),
                       hn::ShiftRight<32>(hn::BitCast(Dw<std::uint64_t>(), x)));
  }
#endif
};

template <>
struct ProductSum<std::uint64_t> {
  using V = Vw<std::uint64_t>;
  V sum, q, inverse;
  static std::size_t terms(std::uint64_t) { return ~std::size_t{0}; }
  HWY_INLINE ProductSum(std::uint64_t modulus, std::uint64_t inverse_mod_r)
      : sum(hn::Zero(Dw<std::uint64_t>())),
        q(hn::Set(Dw<std::uint64_t>(), modulus)),
        inverse(hn::Set(Dw<std::uint64_t>(), inverse_mod_r)) {}
  HWY_INLINE void add(V a, V b) { sum = add_mod(sum, mul_montgomery(a, b, q, inverse), q); }
  HWY_INLINE void correct() {}
  HWY_INLINE V reduce() const { return sum; }
};

template <class Word>
void digits_of(const ring::BaseConversion<Word>& conversion, const Word* const* in,
               std::size_t count, Word* y, std::size_t stride) {
  const Dw<Word> d;
  constexpr unsigned point = ring::BaseConversion<Word>::fraction_bits;
  const std::size_t L = conversion.from().size();
  const Vw<Word> half = hn::Set(d, Word{1} << (point - 1));
  Word* const u = y + L * stride;
  for (std::size_t j = 0; j < count; j += kWords<Word>) hn::StoreU(half, d, u + j);
  for (std::size_t l = 0; l < L; ++l) {
    const Vw<Word> q = hn::Set(d, conversion.from()[l].value()),
                   w = hn::Set(d, conversion.inverse()[l]),
                   s = hn::Set(d, conversion.inverse_shoup()[l]),
                   ratio = hn::Set(d, conversion.ratio()[l]);
    const Word* const x = in[l];
    Word* const to = y + l * stride;
    for (std::size_t j = 0; j < count; j += kWords<Word>) {
      const Vw<Word> v = reduce_once(mul_shoup_lazy(hn::LoadU(d, x + j), w, s, q), q);
      hn::StoreU(v, d, to + j);
      hn::StoreU(hn::Add(hn::LoadU(d, u + j), mul_high(v, ratio)), d, u + j);
    }
  }
  for (std::size_t j = 0; j < count; j += kWords<Word>)
    hn::StoreU(hn::ShiftRight<static_cast<int>(point)>(hn::LoadU(d, u + j)), d, u + j);
}
void digits_32(const ring::BaseConversion<std::uint32_t>& conversion,
               const std::uint32_t* const* in, std::size_t count, std::uint32_t* y,
               std::size_t stride) {
  digits_of(conversion, in, count, y, stride);
}
void digits_64(const ring::BaseConversion<std::uint64_t>& conversion,
               const std::uint64_t* const* in, std::size_t count, std::uint64_t* y,
               std::size_t stride) {
  digits_of(conversion, in, count, y, stride);
}

/// out = sum over k < terms of a_k·b_k/R, which `pair(k, j)` gives from coefficient j on; `finish`
/// maps the reduced sum to what is stored. `largest`: a bound of the a_k; the b_k are below q.
template <class Word, class Pair, class Finish>
HWY_INLINE void sum_pairs(Word q, Word inverse, Word largest, std::size_t terms, std::size_t count,
                          const Pair& pair, const Finish& finish, Word* out) {
  const std::size_t chunk = ProductSum<Word>::terms(largest);
  for (std::size_t j = 0; j < count; j += kWords<Word>) {
    ProductSum<Word> sum(q, inverse);
    for (std::size_t k = 0; k < terms;) {
      const std::size_t end = terms - k < chunk ? terms : k + chunk;
      for (; k < end; ++k) pair(sum, k, j);
      sum.correct();
    }
    hn::StoreU(finish(sum.reduce()), Dw<Word>(), out + j);
  }
}

template <class Word>
void convert_row(const math::Montgomery<Word>& p, Word largest, std::span<const Word> factors,
                 const Word* y, std::size_t stride, std::size_t count, Word* out) {
  const Dw<Word> d;
  sum_pairs<Word>(
      p.modulus().value(), p.inverse(), largest, factors.size(), count,
      [=](ProductSum<Word>& sum, std::size_t k, std::size_t j)
          HWY_ATTR { sum.add(hn::LoadU(d, y + k * stride + j), hn::Set(d, factors[k])); },
      [](Vw<Word> x) HWY_ATTR { return x; }, out);
}
void convert_32(const math::Montgomery<std::uint32_t>& p, std::uint32_t largest,
                std::span<const std::uint32_t> factors, const std::uint32_t* y, std::size_t stride,
                std::size_t count, std::uint32_t* out) {
  convert_row(p, largest, factors, y, stride, count, out);
}
void convert_64(const math::Montgomery<std::uint64_t>& p, std::uint64_t largest,
                std::span<const std::uint64_t> factors, const std::uint64_t* y, std::size_t stride,
                std::size_t count, std::uint64_t* out) {
  convert_row(p, largest, factors, y, stride, count, out);
}

template <class Word>
void products(const math::Montgomery<Word>& m, std::span<const Word* const> a,
              std::span<const Word* const> b, bool b_is_montgomery, Word* out, std::size_t count) {
  const Dw<Word> d;
  const Word q = m.modulus().value(), inverse = m.inverse();
  const auto pair = [=](ProductSum<Word>& sum, std::size_t k, std::size_t j)
                        HWY_ATTR { sum.add(hn::LoadU(d, a[k] + j), hn::LoadU(d, b[k] + j)); };
  if (b_is_montgomery)
    return sum_pairs<Word>(
        q, inverse, q, a.size(), count, pair, [](Vw<Word> x) HWY_ATTR { return x; }, out);
  const Vw<Word> vq = hn::Set(d, q), vi = hn::Set(d, inverse), square = hn::Set(d, m.r_squared());
  sum_pairs<Word>(
      q, inverse, q, a.size(), count, pair,
      [=](Vw<Word> x) HWY_ATTR { return mul_montgomery(x, square, vq, vi); }, out);
}
void products_32(const math::Montgomery<std::uint32_t>& m, std::span<const std::uint32_t* const> a,
                 std::span<const std::uint32_t* const> b, bool b_is_montgomery, std::uint32_t* out,
                 std::size_t count) {
  products(m, a, b, b_is_montgomery, out, count);
}
void products_64(const math::Montgomery<std::uint64_t>& m, std::span<const std::uint64_t* const> a,
                 std::span<const std::uint64_t* const> b, bool b_is_montgomery, std::uint64_t* out,
                 std::size_t count) {
  products(m, a, b, b_is_montgomery, out, count);
}

template <class Word>
void scale_difference(const math::Modulus<Word>& modulus, const Word* x, const Word* y, Word factor,
                      bool accumulate, Word* out, std::size_t count) {
  const Dw<Word> d;
  const Vw<Word> q = hn::Set(d, modulus.value()), w = hn::Set(d, factor),
                 s = hn::Set(d, modulus.shoup(factor));
  for (std::size_t j = 0; j < count; j += kWords<Word>) {
    const Vw<Word> difference = sub_mod(hn::LoadU(d, x + j), hn::LoadU(d, y + j), q);
    Vw<Word> r = reduce_once(mul_shoup_lazy(difference, w, s, q), q);
    if (accumulate) r = add_mod(r, hn::LoadU(d, out + j), q);
    hn::StoreU(r, d, out + j);
  }
}
void difference_32(const math::Modulus<std::uint32_t>& q, const std::uint32_t* x,
                   const std::uint32_t* y, std::uint32_t factor, bool accumulate,
                   std::uint32_t* out, std::size_t count) {
  scale_difference(q, x, y, factor, accumulate, out, count);
}
void difference_64(const math::Modulus<std::uint64_t>& q, const std::uint64_t* x,
                   const std::uint64_t* y, std::uint64_t factor, bool accumulate,
                   std::uint64_t* out, std::size_t count) {
  scale_difference(q, x, y, factor, accumulate, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(digits_32);
HWY_EXPORT(digits_64);
HWY_EXPORT(convert_32);
HWY_EXPORT(convert_64);
HWY_EXPORT(products_32);
HWY_EXPORT(products_64);
HWY_EXPORT(difference_32);
HWY_EXPORT(difference_64);

template <class Word>
void conversion_digits(const ring::BaseConversion<Word>& conversion, const Word* const* in,
                       std::size_t count, Word* y, std::size_t stride) {
  if constexpr (sizeof(Word) == 4)
    HWY_DYNAMIC_DISPATCH(digits_32)(conversion, in, count, y, stride);
  else
    HWY_DYNAMIC_DISPATCH(digits_64)(conversion, in, count, y, stride);
}
template <class Word>
void conversion_sum(const ring::BaseConversion<Word>& conversion, std::size_t k, const Word* y,
                    std::size_t stride, std::size_t count, Word* out) {
  const math::Montgomery<Word> p(conversion.to()[k]);
  const Word largest = conversion.largest();
  if constexpr (sizeof(Word) == 4)
    HWY_DYNAMIC_DISPATCH(convert_32)(p, largest, conversion.factors(k), y, stride, count, out);
  else
    HWY_DYNAMIC_DISPATCH(convert_64)(p, largest, conversion.factors(k), y, stride, count, out);
}
template <class Word>
void subtract_scale(const math::Modulus<Word>& q, const Word* x, const Word* y, Word factor,
                    bool accumulate, Word* out, std::size_t count) {
  if constexpr (sizeof(Word) == 4)
    HWY_DYNAMIC_DISPATCH(difference_32)(q, x, y, factor, accumulate, out, count);
  else
    HWY_DYNAMIC_DISPATCH(difference_64)(q, x, y, factor, accumulate, out, count);
}
template <class Word>
void sum_of_products(const math::Montgomery<Word>& q, std::span<const Word* const> a,
                     std::span<const Word* const> b, bool b_is_montgomery, Word* out,
                     std::size_t count) {
  if constexpr (sizeof(Word) == 4)
    HWY_DYNAMIC_DISPATCH(products_32)(q, a, b, b_is_montgomery, out, count);
  else
    HWY_DYNAMIC_DISPATCH(products_64)(q, a, b, b_is_montgomery, out, count);
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template void conversion_digits(const ring::BaseConversion<Word>&, const Word* const*,         \
                                  std::size_t, Word*, std::size_t);                              \
  template void conversion_sum(const ring::BaseConversion<Word>&, std::size_t, const Word*,      \
                               std::size_t, std::size_t, Word*);                                 \
  template void subtract_scale(const math::Modulus<Word>&, const Word*, const Word*, Word, bool, \
                               Word*, std::size_t);                                              \
  template void sum_of_products(const math::Montgomery<Word>&, std::span<const Word* const>,     \
                                std::span<const Word* const>, bool, Word*, std::size_t);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
