// The folded negacyclic FFT in registers and shared memory, for kernels: order and roots of
// ring::FftPlan, everything as M = N/2 complex doubles (Klemsa, CSCML 2021; Xiao et al., TCHES
// 2025, §3.1).
#pragma once

#include <cmath>

#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/split.cuh"

namespace whorl::backend::cuda {

struct alignas(16) FftValue {
  double re, im;
};

WHORL_HOST_DEVICE double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// (u, v) <- (u + w·v, u - w·v) in six fused operations: the difference is 2u less the sum.
WHORL_HOST_DEVICE void fft_butterfly(FftValue& u, FftValue& v, FftValue w) {
  const double re = multiply_add(-w.im, v.im, multiply_add(w.re, v.re, u.re));
  const double im = multiply_add(w.im, v.re, multiply_add(w.re, v.im, u.im));
  v = {multiply_add(2.0, u.re, -re), multiply_add(2.0, u.im, -im)};
  u = {re, im};
}
/// (u, v) <- (u + v, conj(w)·(u - v))
WHORL_HOST_DEVICE void ifft_butterfly(FftValue& u, FftValue& v, FftValue w) {
  const double re = u.re - v.re, im = u.im - v.im;
  u = {u.re + v.re, u.im + v.im};
  v = {multiply_add(im, w.im, re * w.re), multiply_add(-re, w.im, im * w.re)};
}
/// i·w: the twiddle of a node's second child is that of its first, turned.
WHORL_HOST_DEVICE FftValue turned(FftValue w) { return {-w.im, w.re}; }

/// Twiddle c of a node as for the NTT (twiddle_slot), c = 1 or even: the odd ones are turned.
WHORL_HOST_DEVICE constexpr std::uint32_t fft_twiddle_slot(std::uint32_t nodes, std::uint32_t node,
                                                           std::uint32_t c) {
  return (c >> 1) * nodes + node;
}
WHORL_HOST_DEVICE constexpr std::uint32_t fft_table_start(const Split& split, int p) {
  return split.table_start(p) / 2;
}
WHORL_HOST_DEVICE FftValue load_twiddle(const FftValue* from) {
#if defined(__CUDA_ARCH__)
  const double2 w = __ldg(reinterpret_cast<const double2*>(from));
  return {w.x, w.y};
#else
  return *from;
#endif
}

/// Level t of pass p; `table`: the pass's twiddles, `node`: the thread's first.
template <Split split, int p, int t, Direction direction>
WHORL_HOST_DEVICE void fft_level(FftValue (&x)[1 << split.log_e], const FftValue* table,
                                 std::uint32_t node) {
  using P = Pass<split, p>;
  constexpr int half = 1 << (P::levels - 1 - t + P::inner);
  constexpr int step = t == 0 ? 1 : 2;
  WHORL_UNROLL
  for (int n = 0; n < 1 << P::outer; ++n) WHORL_UNROLL
  for (int g = 0; g < 1 << t; g += step) {
    const FftValue w =
        load_twiddle(table + fft_twiddle_slot(1u << P::start, node + n, (1 << t) + g));
    WHORL_UNROLL
    for (int h = 0; h < step; ++h) WHORL_UNROLL
    for (int i = 0; i < half; ++i) {
      const int u = (n << (P::levels + P::inner)) + (g + h) * 2 * half + i;
      if constexpr (direction == Direction::forward)
        fft_butterfly(x[u], x[u + half], h == 0 ? w : turned(w));
      else
        ifft_butterfly(x[u], x[u + half], h == 0 ? w : turned(w));
    }
  }
}
template <Split split, int p, int t = 0>
WHORL_HOST_DEVICE void fft_levels(FftValue (&x)[1 << split.log_e], const FftValue* table,
                                  std::uint32_t node) {
  fft_level<split, p, t, Direction::forward>(x, table, node);
  if constexpr (t + 1 < split.levels[p]) fft_levels<split, p, t + 1>(x, table, node);
}
template <Split split, int p, int t = split.levels[p] - 1>
WHORL_HOST_DEVICE void ifft_levels(FftValue (&x)[1 << split.log_e], const FftValue* table,
                                   std::uint32_t node) {
  fft_level<split, p, t, Direction::inverse>(x, table, node);
  if constexpr (t > 0) ifft_levels<split, p, t - 1>(x, table, node);
}

/// The work of a thread between exchanges. The inverse computes M times the inverse transform.
template <Split split, int p>
WHORL_HOST_DEVICE void fft_pass(FftValue (&x)[1 << split.log_e], const FftValue* table,
                                std::uint32_t thread) {
  fft_levels<split, p>(x, table + fft_table_start(split, p), Pass<split, p>::node(thread));
}
template <Split split, int p>
WHORL_HOST_DEVICE void ifft_pass(FftValue (&x)[1 << split.log_e], const FftValue* table,
                                 std::uint32_t thread) {
  ifft_levels<split, p>(x, table + fft_table_start(split, p), Pass<split, p>::node(thread));
}

/// z_j = x_j + i·x_(j+M) of N reals, as pass 0 holds them.
template <Split split>
WHORL_HOST_DEVICE void load_folded(FftValue (&z)[1 << split.log_e], const double* x,
                                   std::uint32_t thread) {
  using P = Pass<split, 0>;
  constexpr int count = 1 << (P::run < 1 ? P::run : 1);
  const double* base = x + P::base(thread);
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count) {
    double re[count], im[count];
    load_run<count>(re, base + P::offset(i));
    load_run<count>(im, base + P::offset(i) + (1u << split.log_n));
    WHORL_UNROLL
    for (int c = 0; c < count; ++c) z[i + c] = {re[c], im[c]};
  }
}
/// Its inverse, times `scale`.
template <Split split>
WHORL_HOST_DEVICE void store_folded(const FftValue (&z)[1 << split.log_e], double* x, double scale,
                                    std::uint32_t thread) {
  using P = Pass<split, 0>;
  constexpr int count = 1 << (P::run < 1 ? P::run : 1);
  double* base = x + P::base(thread);
  WHORL_UNROLL
  for (int i = 0; i < P::values; i += count) {
    double re[count], im[count];
    WHORL_UNROLL
    for (int c = 0; c < count; ++c) {
      re[c] = z[i + c].re * scale;
      im[c] = z[i + c].im * scale;
    }
    store_run<count>(re, base + P::offset(i));
    store_run<count>(im, base + P::offset(i) + (1u << split.log_n));
  }
}

}  // namespace whorl::backend::cuda
