// The accumulator's arithmetic, shared by both blind rotations. Included once a target by Highway.
//
// An accumulator polynomial of residues is kept centred modulo Q as 2N signed words, -ACC then ACC
// (the doubled form), so that X^a·ACC is one contiguous stretch of it for every a. One of fractions
// of the circle, which need no reduction, is kept as it is: copies would cost more than they save.
#if defined(WHORL_BACKEND_CPU_ROTATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_BACKEND_CPU_ROTATION_INL_H_
#undef WHORL_BACKEND_CPU_ROTATION_INL_H_
#else
#define WHORL_BACKEND_CPU_ROTATION_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "ring/gadget.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// x in [-3Q/2, 3Q/2] reduced into [-Q/2, Q/2].
template <class D, class V = hn::Vec<D>, class Int = hn::TFromD<D>>
HWY_INLINE V centre_once(D d, V x, Int half, Int Q) {
  const V q = hn::Set(d, Q);
  x = hn::Sub(x, hn::IfThenElseZero(hn::Gt(x, hn::Set(d, half)), q));
  return hn::Add(x, hn::IfThenElseZero(hn::Lt(x, hn::Set(d, static_cast<Int>(-half))), q));
}

/// out = (X^a - 1)·acc, centred, plus `offset`; 0 < a < 2N.
template <class D, class Int = hn::TFromD<D>>
HWY_INLINE void rotate_minus_one(D d, const Int* acc, std::size_t N, std::size_t a, Int Q, Int half,
                                 Int offset, Int* HWY_RESTRICT out) {
  const bool negate = a >= N;
  const Int* rotated = acc + N - (negate ? a - N : a);
  const auto flip = hn::Set(d, static_cast<Int>(negate ? -1 : 0));
  const auto add = hn::Set(d, offset);
  for (std::size_t j = 0; j < N; j += hn::Lanes(d)) {
    auto x = hn::LoadU(d, rotated + j);
    x = hn::Sub(hn::Xor(x, flip), flip);
    x = centre_once(d, hn::Sub(x, hn::Load(d, acc + N + j)), half, Q);
    hn::Store(hn::Add(x, add), d, out + j);
  }
}

/// out = (X^a - 1)·acc of N fractions of the circle; 0 < a < 2N. One more vector is written.
template <class D>
HWY_INLINE void rotate_minus_one(D d, const std::int32_t* acc, std::size_t N, std::size_t a,
                                 std::int32_t* HWY_RESTRICT out) {
  const bool negate = a >= N;
  const std::size_t moved = negate ? a - N : a;
  const auto stretch = [&](const std::int32_t* from, std::size_t begin, std::size_t end,
                           bool negative) HWY_ATTR {
    const auto flip = hn::Set(d, negative ? -1 : 0);
    for (std::size_t j = begin; j < end; j += hn::Lanes(d)) {
      const auto x = hn::Xor(hn::LoadU(d, from + (j - begin)), flip);
      hn::StoreU(hn::Sub(x, hn::Add(hn::LoadU(d, acc + j), flip)), d, out + j);
    }
  };
  stretch(acc + N - moved, 0, moved, !negate);
  stretch(acc, moved, N, negate);
}

/// Adds `r`, in about [-Q/2, Q/2], to values j … of an accumulator polynomial.
template <class D, class V = hn::Vec<D>, class Int = hn::TFromD<D>>
HWY_INLINE void add_to_accumulator(D d, Int* acc, std::size_t N, std::size_t j, V r, Int half,
                                   Int Q) {
  const V sum = centre_once(d, hn::Add(hn::Load(d, acc + N + j), r), half, Q);
  hn::Store(sum, d, acc + N + j);
  hn::Store(hn::Neg(sum), d, acc + j);
}

/// A polynomial of an accumulator <- `r`, in about [-Q/2, Q/2], at values j … of it.
template <class D, class V = hn::Vec<D>, class Int = hn::TFromD<D>>
HWY_INLINE void set_accumulator(D d, Int* acc, std::size_t N, std::size_t j, V r) {
  hn::Store(r, d, acc + N + j);
  hn::Store(hn::Neg(r), d, acc + j);
}

/// Takes digit j out of values to which the gadget's offset has been added (ring::Gadget::digit).
template <class D>
struct DigitOf {
  using Int = hn::TFromD<D>;
  int shift;
  Int mask, half;  ///< the top digit is not masked
  DigitOf(const ring::Gadget& gadget, unsigned j)
      : shift(static_cast<int>(gadget.shift(j))),
        mask(j + 1 == gadget.digits()
                 ? Int{-1}
                 : static_cast<Int>((std::int64_t{1} << gadget.log_base()) - 1)),
        half(j + 1 == gadget.digits()
                 ? Int{0}
                 : static_cast<Int>(std::int64_t{1} << (gadget.log_base() - 1))) {}
  HWY_INLINE hn::Vec<D> of(hn::Vec<D> x) const {
    const D d;
    return hn::Sub(hn::And(hn::ShiftRightSame(x, shift), hn::Set(d, mask)), hn::Set(d, half));
  }
  HWY_INLINE hn::Vec<D> operator()(const Int* p) const { return of(hn::Load(D(), p)); }
};
/// Takes digit j out of values as they are.
template <class D>
struct OwnDigitOf {
  using Int = hn::TFromD<D>;
  DigitOf<D> digit;
  Int offset;
  OwnDigitOf(const ring::Gadget& gadget, unsigned j)
      : digit(gadget, j), offset(static_cast<Int>(gadget.offset())) {}
  HWY_INLINE hn::Vec<D> operator()(const Int* p) const {
    const D d;
    return digit.of(hn::Add(hn::Load(d, p), hn::Set(d, offset)));
  }
};
/// A value is a digit.
template <class D>
struct WholeValue {
  HWY_INLINE hn::Vec<D> operator()(const hn::TFromD<D>* p) const { return hn::Load(D(), p); }
};

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
