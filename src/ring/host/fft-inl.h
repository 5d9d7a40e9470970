// The folded FFT, written once for every SIMD width. Included once a target by Highway.
#if defined(WHORL_RING_HOST_FFT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_RING_HOST_FFT_INL_H_
#undef WHORL_RING_HOST_FFT_INL_H_
#else
#define WHORL_RING_HOST_FFT_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "ring/host/fft_tables.h"
#include "ring/host/forms.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::ring {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Df = hn::ScalableTag<double>;
using Vf = hn::Vec<Df>;
inline constexpr std::size_t kLanes = HWY_LANES(double);
inline constexpr int kLogLanes = kLanes == 8 ? 3 : kLanes == 4 ? 2 : kLanes == 2 ? 1 : 0;
static_assert(kLanes == std::size_t{1} << kLogLanes);

/// One vector of complex values. In memory the real vector comes first, the imaginary one next.
struct Complex {
  Vf re, im;
};

HWY_INLINE Complex load_complex(const double* HWY_RESTRICT p) {
  const Df d;
  return {hn::Load(d, p), hn::Load(d, p + kLanes)};
}
HWY_INLINE void store_complex(Complex x, double* HWY_RESTRICT p) {
  const Df d;
  hn::Store(x.re, d, p);
  hn::Store(x.im, d, p + kLanes);
}
HWY_INLINE Complex add(Complex a, Complex b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex sub(Complex a, Complex b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
HWY_INLINE Complex mul(Complex a, Complex b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
HWY_INLINE Complex mul_conjugate(Complex a, Complex b) {  // a · conj(b)
  return {hn::MulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::NegMulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

/// (u, v) <- (u + w·v, u - w·v)
HWY_INLINE void forward(Complex& u, Complex& v, Complex w) {
  const Complex t = mul(v, w);
  v = sub(u, t);
  u = add(u, t);
}
/// (u, v) <- (u + i·w·v, u - i·w·v)
HWY_INLINE void forward_i(Complex& u, Complex& v, Complex w) {
  const Complex t = mul(v, w);
  v = {hn::Add(u.re, t.im), hn::Sub(u.im, t.re)};
  u = {hn::Sub(u.re, t.im), hn::Add(u.im, t.re)};
}
/// (u, v) <- (u + v, conj(w)·(u - v))
HWY_INLINE void inverse(Complex& u, Complex& v, Complex w) {
  const Complex t = sub(u, v);
  u = add(u, v);
  v = mul_conjugate(t, w);
}
/// (u, v) <- (u + v, conj(i·w)·(u - v)), with the roundings that `inverse` has of i·w: which nodes
/// share a twiddle depends on the width, and results must not.
HWY_INLINE void inverse_i(Complex& u, Complex& v, Complex w) {
  const Complex t = sub(u, v);
  u = add(u, v);
  v = {hn::MulSub(t.im, w.re, hn::Mul(t.re, w.im)), hn::NegMulSub(t.re, w.re, hn::Mul(t.im, w.im))};
}

/// Butterflies of x[i] with x[i + distance], i < distance; the twiddle is w, or i·w.
template <Direction direction, Times times, int distance>
HWY_INLINE void butterflies(Complex* x, const Complex& w) {
  for (int i = 0; i < distance; ++i) {
    if constexpr (direction == Direction::forward && times == Times::w)
      forward(x[i], x[i + distance], w);
    if constexpr (direction == Direction::forward && times == Times::i_w)
      forward_i(x[i], x[i + distance], w);
    if constexpr (direction == Direction::inverse && times == Times::w)
      inverse(x[i], x[i + distance], w);
    if constexpr (direction == Direction::inverse && times == Times::i_w)
      inverse_i(x[i], x[i + distance], w);
  }
}
/// Level 1, 2 or 3 of a node of 2^log_radix values, w being loaded by `twiddle(i)`.
template <Direction direction, int log_radix, int level, class Twiddle>
HWY_INLINE void node_level(Complex* x, const Twiddle& twiddle) {
  constexpr int distance = 1 << (log_radix - level);
  const Complex w = twiddle(level - 1);
  butterflies<direction, Times::w, distance>(x, w);
  if constexpr (level >= 2) butterflies<direction, Times::i_w, distance>(x + 2 * distance, w);
  if constexpr (level == 3) {
    const Complex w4 = twiddle(3);
    butterflies<direction, Times::w, distance>(x + 4 * distance, w4);
    butterflies<direction, Times::i_w, distance>(x + 6 * distance, w4);
  }
}
/// All levels of a node of 2^log_radix values in registers.
template <int log_radix, class Twiddle>
HWY_INLINE void forward_node(Complex* x, const Twiddle& twiddle) {
  node_level<Direction::forward, log_radix, 1>(x, twiddle);
  if constexpr (log_radix >= 2) node_level<Direction::forward, log_radix, 2>(x, twiddle);
  if constexpr (log_radix >= 3) node_level<Direction::forward, log_radix, 3>(x, twiddle);
}
template <int log_radix, class Twiddle>
HWY_INLINE void inverse_node(Complex* x, const Twiddle& twiddle) {
  if constexpr (log_radix >= 3) node_level<Direction::inverse, log_radix, 3>(x, twiddle);
  if constexpr (log_radix >= 2) node_level<Direction::inverse, log_radix, 2>(x, twiddle);
  node_level<Direction::inverse, log_radix, 1>(x, twiddle);
}

#if HWY_TARGET != HWY_SCALAR
/// One vector of each of kLanes complex values: rows become columns.
template <Vf Complex::*part>
HWY_INLINE void transpose_part(Complex* x) {
  const Df d;
  if constexpr (kLanes == 4) {  // by blocks of 128 bits: each of these is one instruction of AVX2
    const Vf a = hn::InterleaveLower(d, x[0].*part, x[1].*part);
    const Vf b = hn::InterleaveUpper(d, x[0].*part, x[1].*part);
    const Vf e = hn::InterleaveLower(d, x[2].*part, x[3].*part);
    const Vf f = hn::InterleaveUpper(d, x[2].*part, x[3].*part);
    x[0].*part = hn::ConcatLowerLower(d, e, a);
    x[1].*part = hn::ConcatLowerLower(d, f, b);
    x[2].*part = hn::ConcatUpperUpper(d, e, a);
    x[3].*part = hn::ConcatUpperUpper(d, f, b);
  } else {
    // Each round moves the lowest lane bit to the top of the vector number.
    constexpr std::size_t half = kLanes / 2;
    for (int round = 0; round < kLogLanes; ++round) {
      Vf y[kLanes];
      for (std::size_t i = 0; i < half; ++i) {
        y[i] = hn::ConcatEven(d, x[2 * i + 1].*part, x[2 * i].*part);
        y[i + half] = hn::ConcatOdd(d, x[2 * i + 1].*part, x[2 * i].*part);
      }
      for (std::size_t i = 0; i < kLanes; ++i) x[i].*part = y[i];
    }
  }
}
#endif
/// Transposes kLanes vectors.
HWY_INLINE void transpose([[maybe_unused]] Complex* x) {
#if HWY_TARGET != HWY_SCALAR
  transpose_part<&Complex::re>(x);
  transpose_part<&Complex::im>(x);
#endif
}

struct Broadcast {
  const double* w;
  HWY_INLINE Complex operator()(int i) const {
    const Df d;
    return {hn::Set(d, w[2 * i]), hn::Set(d, w[2 * i + 1])};
  }
};
struct PerLane {
  const double* w;
  HWY_INLINE Complex operator()(int i) const { return load_complex(w + 2 * kLanes * i); }
};

/// One pass; `load(v)` and `store(v, x)` reach vector v of the transform.
template <int log_radix, Direction direction, class Load, class Store>
HWY_INLINE void fft_pass(const FftTables::Pass& pass, const Load& load, const Store& store) {
  constexpr int radix = 1 << log_radix;
  const std::size_t node_vectors = pass.len / kLanes;
  const std::size_t stride = node_vectors / radix;
  for (std::uint32_t node = 0; node < pass.nodes; ++node) {
    const Broadcast twiddle{pass.twiddles + 2 * FftTables::twiddles_per_node(log_radix) * node};
    const std::size_t base = node * node_vectors;
    for (std::size_t r = base; r < base + stride; ++r) {
      Complex x[radix];
      for (int t = 0; t < radix; ++t) x[t] = load(r + t * stride);
      if constexpr (direction == Direction::forward)
        forward_node<log_radix>(x, twiddle);
      else
        inverse_node<log_radix>(x, twiddle);
      for (int t = 0; t < radix; ++t) store(r + t * stride, x[t]);
    }
  }
}

template <Direction direction, class Load, class Store>
HWY_INLINE void fft_any_pass(const FftTables::Pass& pass, const Load& load, const Store& store) {
  if (kLanes >= 8 && pass.log_radix == 3)
    fft_pass<kLanes >= 8 ? 3 : 1, direction>(pass, load, store);
  else if (pass.log_radix == 2)
    fft_pass<2, direction>(pass, load, store);
  else
    fft_pass<1, direction>(pass, load, store);
}

/// The last vertical pass and the levels within a vector, for one group of kLanes vectors: values
/// of that group on the way in, results in internal order on the way out. The inverse undoes it.
HWY_INLINE void forward_group([[maybe_unused]] const FftTables& tables,
                              [[maybe_unused]] std::size_t group, [[maybe_unused]] Complex* x) {
  if constexpr (kLanes > 1) {
    constexpr std::size_t broadcast = 2 * FftTables::twiddles_per_node(kLogLanes);
    forward_node<kLogLanes>(x, Broadcast{tables.passes.back().twiddles + group * broadcast});
    transpose(x);
    forward_node<kLogLanes>(x, PerLane{tables.lane_twiddles + group * broadcast * kLanes});
  }
}
HWY_INLINE void inverse_group([[maybe_unused]] const FftTables& tables,
                              [[maybe_unused]] std::size_t group, [[maybe_unused]] Complex* x) {
  if constexpr (kLanes > 1) {
    constexpr std::size_t broadcast = 2 * FftTables::twiddles_per_node(kLogLanes);
    inverse_node<kLogLanes>(x, PerLane{tables.lane_twiddles + group * broadcast * kLanes});
    transpose(x);
    inverse_node<kLogLanes>(x, Broadcast{tables.passes.back().twiddles + group * broadcast});
  }
}
HWY_INLINE void load_group(const double* data, Complex* x) {
  for (std::size_t i = 0; i < kLanes; ++i) x[i] = load_complex(data + 2 * kLanes * i);
}
HWY_INLINE void store_group(const Complex* x, double* data) {
  for (std::size_t i = 0; i < kLanes; ++i) store_complex(x[i], data + 2 * kLanes * i);
}

struct LoadFrom {
  const double* data;
  HWY_INLINE Complex operator()(std::size_t v) const { return load_complex(data + 2 * kLanes * v); }
};
struct StoreTo {
  double* data;
  HWY_INLINE void operator()(std::size_t v, Complex x) const {
    store_complex(x, data + 2 * kLanes * v);
  }
};

/// The passes before the groups: M values read by `load` (natural order) into `out` (2·M doubles).
template <class Load>
HWY_INLINE void fft_forward_passes(const FftTables& tables, const Load& load, double* out) {
  fft_any_pass<Direction::forward>(tables.passes[0], load, StoreTo{out});
  const std::size_t vertical = tables.passes.size() - (kLanes > 1 ? 1 : 0);
  for (std::size_t p = 1; p < vertical; ++p)
    fft_any_pass<Direction::forward>(tables.passes[p], LoadFrom{out}, StoreTo{out});
}
/// Their inverse: `data` is destroyed, results go to `store` in natural order.
template <class Store>
HWY_INLINE void fft_inverse_passes(const FftTables& tables, double* data, const Store& store) {
  const std::size_t vertical = tables.passes.size() - (kLanes > 1 ? 1 : 0);
  for (std::size_t p = vertical; p-- > 1;)
    fft_any_pass<Direction::inverse>(tables.passes[p], LoadFrom{data}, StoreTo{data});
  fft_any_pass<Direction::inverse>(tables.passes[0], LoadFrom{data}, store);
}

/// Whole forward transform; the standard order is that of FftPlan.
template <Order order, class Load>
HWY_INLINE void fft_forward(const FftTables& tables, const Load& load, double* out) {
  fft_forward_passes(tables, load, out);
  for (std::size_t group = 0; group < tables.vectors / kLanes; ++group) {
    Complex x[kLanes];
    load_group(out + group * kLanes * 2 * kLanes, x);
    forward_group(tables, group, x);
    if constexpr (order == Order::standard) transpose(x);
    store_group(x, out + group * kLanes * 2 * kLanes);
  }
}
/// Whole inverse transform of `data` in standard order (destroyed), times M.
template <class Store>
HWY_INLINE void fft_inverse(const FftTables& tables, double* data, const Store& store) {
  for (std::size_t group = 0; group < tables.vectors / kLanes; ++group) {
    Complex x[kLanes];
    load_group(data + group * kLanes * 2 * kLanes, x);
    transpose(x);
    inverse_group(tables, group, x);
    store_group(x, data + group * kLanes * 2 * kLanes);
  }
  fft_inverse_passes(tables, data, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
