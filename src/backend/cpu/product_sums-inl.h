// Vectors of sums of products modulo q. Included once a target by Highway.
#if defined(WHORL_BACKEND_CPU_PRODUCT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_BACKEND_CPU_PRODUCT_SUMS_INL_H_
#undef WHORL_BACKEND_CPU_PRODUCT_SUMS_INL_H_
#else
#define WHORL_BACKEND_CPU_PRODUCT_SUMS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ring/host/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-using-namespace): each SIMD target has one of its own
using namespace ring::HWY_NAMESPACE;

/// Products that may be added to nothing, and to a corrected sum.
struct Terms {
  std::size_t first, next;
};
/// What a sum of products modulo q is reduced with.
template <class Word>
struct SumModulus;
/// A vector of sums of products modulo q, over R = 2^wordbits once reduced (Montgomery 1985).
template <class Word>
struct ProductSum;

template <>
struct SumModulus<std::uint32_t> {
  Vw<std::uint64_t> bound, twice;
  Vw<std::uint32_t> q, two_q, inverse;  ///< two_q: 0 where four times q is no word
  HWY_INLINE SumModulus(std::uint32_t modulus, std::uint32_t inverse_mod_r)
      : bound(hn::Set(Dw<std::uint64_t>(), std::uint64_t{modulus} << 32)),
        twice(hn::Set(Dw<std::uint64_t>(),
                      four_times(modulus) ? std::uint64_t{modulus} << 33 : std::uint64_t{0})),
        q(hn::Set(Dw<std::uint32_t>(), modulus)),
        two_q(hn::Set(Dw<std::uint32_t>(), four_times(modulus) ? 2 * modulus : 0)),
        inverse(hn::Set(Dw<std::uint32_t>(), inverse_mod_r)) {}
  /// Products of values up to `largest` and below q that one correction takes care of: they make
  /// a sum less than 4q·R, or 2q·R where four times that is no double word.
  static Terms terms(std::uint32_t q, std::uint32_t largest) {
    const std::size_t unit = (std::uint64_t{1} << 32) / largest;
    return four_times(q) ? Terms{4 * unit, 3 * unit} : Terms{2 * unit, unit};
  }

 private:
  static bool four_times(std::uint32_t q) { return q < (1u << 30); }
};
/// Double words, kept below q·R: some products are added between corrections.
template <>
struct ProductSum<std::uint32_t> {
  using V = Vw<std::uint32_t>;
  using Modulus = SumModulus<std::uint32_t>;
  Vw<std::uint64_t> even, odd;
  HWY_INLINE ProductSum() : even(hn::Zero(Dw<std::uint64_t>())), odd(even) {}
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void add(V a, V b, const Modulus&) {
    even = Vw<std::uint64_t>(even.raw + std::uint64_t{a.raw} * b.raw);
  }
  HWY_INLINE void add_same(V a, V b, const Modulus& m) { add(a, b, m); }
#else
  HWY_INLINE void add(V a, V b, const Modulus&) {
    even = hn::Add(even, hn::MulEven(a, b));
    odd = hn::Add(odd, hn::MulEven(odd_words(a), odd_words(b)));
  }
  /// b: one word throughout.
  HWY_INLINE void add_same(V a, V b, const Modulus&) {
    even = hn::Add(even, hn::MulEven(a, b));
    odd = hn::Add(odd, hn::MulEven(odd_words(a), b));
  }
#endif
  HWY_INLINE void correct(const Modulus& m) {
    even = reduce_once(reduce_once(even, m.twice), m.bound);
    odd = reduce_once(reduce_once(odd, m.twice), m.bound);
  }
  /// Returns the sum in [0, q). What correct() subtracts are multiples of R: here the high words of
  /// both sums are corrected at once.
  HWY_INLINE V reduce(const Modulus& m) const {
#if HWY_TARGET == HWY_SCALAR
    const auto low = static_cast<std::uint32_t>(even.raw);
    const auto high =
        reduce_once(reduce_once(V(static_cast<std::uint32_t>(even.raw >> 32)), m.two_q), m.q).raw;
    const auto cancel =
        static_cast<std::uint32_t>((std::uint64_t{low * m.inverse.raw} * m.q.raw) >> 32);
    return V(high < cancel ? high - cancel + m.q.raw : high - cancel);
#else
    const Dw<std::uint32_t> d;
    const auto cancel = [&](Vw<std::uint64_t> sum) HWY_ATTR {
      return hn::MulEven(hn::BitCast(d, hn::MulEven(hn::BitCast(d, sum), m.inverse)), m.q);
    };
    const V high = reduce_once(reduce_once(high_words(even, odd), m.two_q), m.q);
    return sub_mod(high, high_words(cancel(even), cancel(odd)), m.q);
#endif
  }
};

template <>
struct SumModulus<std::uint64_t> {
  Vw<std::uint64_t> q, inverse;
  HWY_INLINE SumModulus(std::uint64_t modulus, std::uint64_t inverse_mod_r)
      : q(hn::Set(Dw<std::uint64_t>(), modulus)),
        inverse(hn::Set(Dw<std::uint64_t>(), inverse_mod_r)) {}
  static Terms terms(std::uint64_t, std::uint64_t) { return {~std::size_t{0}, ~std::size_t{0}}; }
};
template <>
struct ProductSum<std::uint64_t> {
  using V = Vw<std::uint64_t>;
  using Modulus = SumModulus<std::uint64_t>;
  V sum;
  HWY_INLINE ProductSum() : sum(hn::Zero(Dw<std::uint64_t>())) {}
  HWY_INLINE void add(V a, V b, const Modulus& m) {
    sum = add_mod(sum, mul_montgomery(a, b, m.q, m.inverse), m.q);
  }
  HWY_INLINE void add_same(V a, V b, const Modulus& m) { add(a, b, m); }
  HWY_INLINE void correct(const Modulus&) {}
  HWY_INLINE V reduce(const Modulus&) const { return sum; }
};

/// Calls add(k) for k < terms, and correct() between as many as `chunk` says.
template <class Add, class Correct>
HWY_INLINE void sum_terms(std::size_t terms, const Terms& chunk, const Add& add,
                          const Correct& correct) {
  std::size_t end = HWY_MIN(chunk.first, terms);
  for (std::size_t k = 0;; end = terms - end < chunk.next ? terms : end + chunk.next) {
    for (; k < end; ++k) add(k);
    if (end == terms) break;
    correct();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#endif
