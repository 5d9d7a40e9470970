// Accumulators beside folded FFTs: what the first forward pass loads, and what the last inverse one
// adds. Included once a target by Highway.
#if defined(WHORL_BACKEND_CPU_FFT_ACCUMULATOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_BACKEND_CPU_FFT_ACCUMULATOR_INL_H_
#undef WHORL_BACKEND_CPU_FFT_ACCUMULATOR_INL_H_
#else
#define WHORL_BACKEND_CPU_FFT_ACCUMULATOR_INL_H_
#endif

#include <type_traits>

#include "backend/cpu/blind_rotate.h"
#include "backend/cpu/rotation-inl.h"
#include "backend/cpu/rotation_steps.h"
#include "hwy/highway.h"
#include "ring/host/fft-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-using-namespace): each SIMD target has one of its own
using namespace ring::HWY_NAMESPACE;

template <class Int>
using Di = hn::Rebind<Int, Df>;

/// Integers -> doubles, exact for |x| < 2^53.
template <class Int>
HWY_INLINE Vf to_double(hn::Vec<Di<Int>> x) {
  const Df d;
  if constexpr (sizeof(Int) == 4)
    return hn::PromoteTo(d, x);
  else
    return hn::ConvertTo(d, x);
}
inline constexpr double units = 0x1.8p52;  ///< a double next to it is a multiple of 1
/// The low 32 bits of an integer of less than 51 bits to which `units` was added.
HWY_INLINE hn::Vec<Di<std::int32_t>> low_half(Vf x) {
  const hn::RebindToUnsigned<Df> du;
  const Di<std::uint32_t> du32;
  return hn::BitCast(Di<std::int32_t>(), hn::TruncateTo(du32, hn::BitCast(du, x)));
}
/// The nearest integer, for |x| < 2^31.
HWY_INLINE hn::Vec<Di<std::int32_t>> round_to_int(Vf x) {
  return low_half(hn::Add(x, hn::Set(Df(), units)));
}

/// Digits of N values, as doubles. `Take` takes them out of integers.
template <class Int, class Take>
struct DigitsOf {
  const Int* values;
  Take digit;
  HWY_INLINE Vf operator()(std::size_t j) const { return to_double<Int>(digit(values + j)); }
};
/// The single digits of fractions of the circle.
struct FractionDigits {
  const std::int32_t* values;
  double digits;  ///< of 2^-32 of the circle
  HWY_INLINE Vf operator()(std::size_t j) const {
    const Df d;
    const Vf x = to_double<std::int32_t>(hn::Load(Di<std::int32_t>(), values + j));
    return hn::Sub(hn::MulAdd(x, hn::Set(d, digits), hn::Set(d, units)), hn::Set(d, units));
  }
};
/// Folds what `Take` gives: the loader of the first FFT pass.
template <class Take>
struct LoadFolded {
  Take take;
  std::size_t M;
  HWY_INLINE Complex operator()(std::size_t v) const {
    return {take(v * kLanes), take(M + v * kLanes)};
  }
};

/// Adds the rounded transform to an accumulator polynomial, or puts it there. Q = Q_high + Q_low,
/// both doubles, so that subtracting multiples of a 54-bit Q is exact.
template <class Int, Accumulate how>
struct PutResidues {
  Int* acc;
  std::size_t N;
  double scale, inverse_Q, Q_high, Q_low;
  Int Q, half;
  HWY_INLINE void operator()(std::size_t j, Vf x) const {
    const Df d;
    const Di<Int> di;
    if constexpr (sizeof(Int) == 4) {
      // The accumulator is added before reducing: sums stay below 2^52 and are exact.
      const Vf sum =
          how == Accumulate::replace
              ? hn::Mul(x, hn::Set(d, scale))
              : hn::MulAdd(x, hn::Set(d, scale), to_double<Int>(hn::Load(di, acc + N + j)));
      const Vf k = hn::Round(hn::Mul(sum, hn::Set(d, inverse_Q)));
      const auto after = round_to_int(hn::NegMulAdd(k, hn::Set(d, Q_high), sum));
      set_accumulator(di, acc, N, j, after);
    } else {
      x = hn::Mul(x, hn::Set(d, scale));
      const Vf k = hn::Round(hn::Mul(x, hn::Set(d, inverse_Q)));
      const Vf r = hn::NegMulAdd(k, hn::Set(d, Q_high), x);
      const auto rounded = hn::ConvertTo(di, hn::Round(hn::NegMulAdd(k, hn::Set(d, Q_low), r)));
      if constexpr (how == Accumulate::replace)
        set_accumulator(di, acc, N, j, centre_once(di, rounded, half, Q));
      else
        add_to_accumulator(di, acc, N, j, rounded, half, Q);
    }
  }
};
/// The same where the accumulator holds fractions of the circle, whose unit the transform has, too.
template <Accumulate how>
struct PutFractions {
  std::int32_t* acc;
  HWY_INLINE void operator()(std::size_t j, Vf x) const {
    const Df d;
    const Di<std::int32_t> di;
    // Next to `turns` a double is a multiple of 2^32: whole turns are left out, exactly.
    constexpr double turns = 0x1.8p84;
    const Vf whole = hn::Add(x, hn::Set(d, turns));
    auto sum = low_half(hn::Add(x, hn::Sub(hn::Set(d, turns + units), whole)));
    if constexpr (how == Accumulate::add) sum = hn::Add(sum, hn::Load(di, acc + j));
    hn::Store(sum, di, acc + j);
  }
};
/// Unfolds for `Put`: the store of the last inverse pass.
template <class Put>
struct StoreFolded {
  Put put;
  std::size_t M;
  HWY_INLINE void operator()(std::size_t v, Complex x) const {
    put(v * kLanes, x.re);
    put(M + v * kLanes, x.im);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
