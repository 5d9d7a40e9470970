#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/rtl/kernels.cpp"
#include "hwy/foreach_target.h"

#include "backend/rtl/kernels.h"
#include "hwy/highway.h"

#ifndef WHORL_BACKEND_RTL_KERNELS_ONCE
#define WHORL_BACKEND_RTL_KERNELS_ONCE
#include <bit>
#include <cmath>
#endif

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::rtl {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using DI = hn::ScalableTag<std::int64_t>;
constexpr std::size_t lanes = HWY_LANES(double);
constexpr unsigned log_lanes = std::bit_width(lanes) - 1;
constexpr double p = static_cast<double>(prime), inverse_p = 1.0 / p;
/// Adding and subtracting it rounds doubles below 2^51 to integers.
constexpr double magic = 6755399441055744.0;

#if HWY_TARGET == HWY_SCALAR || (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2)
/// Targets without such an instruction would round the product.
HWY_INLINE V fused(V a, V b, V c) {
  const D d;
  HWY_ALIGN double x[lanes], y[lanes], z[lanes];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t k = 0; k < lanes; ++k) z[k] = std::fma(x[k], y[k], z[k]);
  return hn::Load(d, z);
}
HWY_INLINE V fused_minus(V a, V b, V c) { return fused(a, b, hn::Neg(c)); }
HWY_INLINE V fused_from(V a, V b, V c) { return fused(hn::Neg(a), b, c); }
#else
HWY_INLINE V fused(V a, V b, V c) { return hn::MulAdd(a, b, c); }
HWY_INLINE V fused_minus(V a, V b, V c) { return hn::MulSub(a, b, c); }
HWY_INLINE V fused_from(V a, V b, V c) { return hn::NegMulAdd(a, b, c); }
#endif

HWY_INLINE V rounded(V x) {
  const D d;
  return hn::Sub(hn::Add(x, hn::Set(d, magic)), hn::Set(d, magic));
}
/// x·w modulo p, in about [-p/2, p/2]; |x| below 2^46, and w_p = w/p.
HWY_INLINE V times(V x, V w, V w_p) {
  const D d;
  const V h = hn::Mul(x, w), q = hn::Sub(fused(x, w_p, hn::Set(d, magic)), hn::Set(d, magic));
  return hn::Add(fused_from(q, hn::Set(d, p), h), fused_minus(x, w, h));
}
/// a·b modulo p, in about [-p/2, p/2]; |a·b| below 2^80.
HWY_INLINE V times(V a, V b) {
  const D d;
  const V h = hn::Mul(a, b);
  const V q = hn::Sub(fused(h, hn::Set(d, inverse_p), hn::Set(d, magic)), hn::Set(d, magic));
  return hn::Add(fused_from(q, hn::Set(d, p), h), fused_minus(a, b, h));
}
/// x modulo p, in [-(p-1)/2, (p-1)/2]; |x| below 2^50.
HWY_INLINE V centred(V x) {
  const D d;
  return fused_from(rounded(hn::Mul(x, hn::Set(d, inverse_p))), hn::Set(d, p), x);
}

/// (u, v) <- (u + w·v, u - w·v)
HWY_INLINE void ahead(V& u, V& v, V w, V w_p) {
  const V t = times(v, w, w_p);
  v = hn::Sub(u, t);
  u = hn::Add(u, t);
}
/// (u, v) <- (u + v, w·(u - v))
HWY_INLINE void back(V& u, V& v, V w, V w_p) {
  const V t = hn::Sub(u, v);
  u = hn::Add(u, v);
  v = times(t, w, w_p);
}

HWY_INLINE void transpose([[maybe_unused]] V* x) {
#if HWY_TARGET != HWY_SCALAR
  const D d;
  constexpr std::size_t half = lanes / 2;
  for (unsigned round = 0; round < log_lanes; ++round) {
    V y[lanes];
    for (std::size_t i = 0; i < half; ++i) {
      y[i] = hn::ConcatEven(d, x[2 * i + 1], x[2 * i]);
      y[i + half] = hn::ConcatOdd(d, x[2 * i + 1], x[2 * i]);
    }
    for (std::size_t i = 0; i < lanes; ++i) x[i] = y[i];
  }
#endif
}

struct Root {
  V w, w_p;
  explicit HWY_INLINE Root(const double* pair)
      : w(hn::Set(D(), pair[0])), w_p(hn::Set(D(), pair[1])) {}
};

/// Calls change() for each two vectors of x that are `half` vectors apart.
template <class Change>
HWY_INLINE void each_pair(double* x, std::size_t half, const Change& change) {
  const D d;
  for (double* const end = x + half * lanes; x < end; x += lanes) {
    V u = hn::Load(d, x), v = hn::Load(d, x + half * lanes);
    change(u, v);
    hn::Store(u, d, x);
    hn::Store(v, d, x + half * lanes);
  }
}
/// The same of each four, a quarter apart.
template <class Change>
HWY_INLINE void each_four(double* x, std::size_t quarter, const Change& change) {
  const D d;
  const std::size_t step = quarter * lanes;
  for (double* const end = x + step; x < end; x += lanes) {
    V a = hn::Load(d, x), b = hn::Load(d, x + step);
    V c = hn::Load(d, x + 2 * step), e = hn::Load(d, x + 3 * step);
    change(a, b, c, e);
    hn::Store(a, d, x);
    hn::Store(b, d, x + step);
    hn::Store(c, d, x + 2 * step);
    hn::Store(e, d, x + 3 * step);
  }
}

/// Levels of nodes of two vectors or more, two at a time; then those within vectors.
HWY_NOINLINE void forward(const KernelTables& tables, double* x) {
  const D d;
  const std::size_t vectors = tables.N / lanes;
  const double* roots = tables.roots.data();
  std::size_t m = 1, half = vectors / 2;   // nodes; half a node, in vectors
  if (std::bit_width(vectors) % 2 == 0) {  // an odd number of levels
    const Root w(roots + 2);
    each_pair(x, half, [&](V& u, V& v) HWY_ATTR { ahead(u, v, w.w, w.w_p); });
    m = 2;
    half /= 2;
  }
  for (; half >= 2; m *= 4, half /= 4)
    for (std::size_t i = 0; i < m; ++i) {
      const Root w(roots + 2 * (m + i)), low(roots + 4 * (m + i)), high(roots + 4 * (m + i) + 2);
      each_four(x + 2 * half * i * lanes, half / 2, [&](V& a, V& b, V& c, V& e) HWY_ATTR {
        ahead(a, c, w.w, w.w_p);
        ahead(b, e, w.w, w.w_p);
        ahead(a, b, low.w, low.w_p);
        ahead(c, e, high.w, high.w_p);
      });
    }
  if constexpr (lanes > 1) {
    const double* root = tables.lane_roots.get();
    for (std::size_t group = 0; group < vectors / lanes; ++group, x += lanes * lanes) {
      V y[lanes];
      for (std::size_t s = 0; s < lanes; ++s) y[s] = hn::Load(d, x + s * lanes);
      transpose(y);
      for (std::size_t nodes = 1, distance = lanes / 2; distance > 0; nodes *= 2, distance /= 2)
        for (std::size_t i = 0; i < nodes; ++i, root += 2 * lanes) {
          const V w = hn::Load(d, root), w_p = hn::Load(d, root + lanes);
          for (std::size_t k = 0; k < distance; ++k)
            ahead(y[2 * distance * i + k], y[2 * distance * i + k + distance], w, w_p);
        }
      for (std::size_t s = 0; s < lanes; ++s) hn::Store(y[s], d, x + s * lanes);
    }
  }
}

/// Undoes forward, times N.
HWY_NOINLINE void backward(const KernelTables& tables, double* x) {
  const D d;
  const std::size_t vectors = tables.N / lanes;
  if constexpr (lanes > 1) {
    const double* root = tables.lane_inverse_roots.get();
    double* to = x;
    for (std::size_t group = 0; group < vectors / lanes; ++group, to += lanes * lanes) {
      V y[lanes];
      for (std::size_t s = 0; s < lanes; ++s) y[s] = hn::Load(d, to + s * lanes);
      for (std::size_t nodes = lanes / 2, distance = 1; nodes > 0; nodes /= 2, distance *= 2)
        for (std::size_t i = 0; i < nodes; ++i) {
          const double* const of = root + 2 * lanes * (nodes - 1 + i);
          const V w = hn::Load(d, of), w_p = hn::Load(d, of + lanes);
          for (std::size_t k = 0; k < distance; ++k)
            back(y[2 * distance * i + k], y[2 * distance * i + k + distance], w, w_p);
        }
      root += 2 * lanes * (lanes - 1);
      transpose(y);
      for (std::size_t s = 0; s < lanes; ++s) hn::Store(y[s], d, to + s * lanes);
    }
  }
  const double* roots = tables.inverse_roots.data();
  std::size_t m = vectors / 4, quarter = 1;  // nodes of the upper of two levels
  for (; m >= 1; m /= 4, quarter *= 4)
    for (std::size_t i = 0; i < m; ++i) {
      const Root w(roots + 2 * (m + i)), low(roots + 4 * (m + i)), high(roots + 4 * (m + i) + 2);
      each_four(x + 4 * quarter * i * lanes, quarter, [&](V& a, V& b, V& c, V& e) HWY_ATTR {
        back(a, b, low.w, low.w_p);
        back(c, e, high.w, high.w_p);
        back(a, c, w.w, w.w_p);
        back(b, e, w.w, w.w_p);
      });
    }
  if (std::bit_width(vectors) % 2 == 0) {
    const Root w(roots + 2);
    each_pair(x, vectors / 2, [&](V& u, V& v) HWY_ATTR { back(u, v, w.w, w.w_p); });
  }
}

HWY_INLINE void decompose(const KernelTables& tables, const KernelShape& shape,
                          const std::int64_t* acc, double* digits) {
  const D d;
  const DI di;
  const auto offset = hn::Set(di, shape.offset);
  const auto mask = hn::Set(di, (std::int64_t{1} << shape.log_Bg) - 1);
  const auto half = hn::Set(di, std::int64_t{1} << (shape.log_Bg - 1));
  for (std::size_t i = 0; i < tables.N; i += lanes) {
    const auto y = hn::Add(hn::Load(di, acc + i), offset);
    for (unsigned j = 0; j < shape.L; ++j) {
      auto digit = hn::ShiftRightSame(y, static_cast<int>(shape.dropped + j * shape.log_Bg));
      if (j + 1 < shape.L) digit = hn::Sub(hn::And(digit, mask), half);
      hn::Store(hn::ConvertTo(d, digit), d, digits + j * tables.N + i);
    }
  }
}

/// Digits times the bundle of this ciphertext's exponents, in place of the first two polynomials.
/// M is a constant so that factors stay in registers.
template <unsigned M>
HWY_NOINLINE void multiply(const KernelTables& tables, unsigned rows, const double* key,
                           const std::uint32_t* exponents, std::size_t count, double* digits) {
  const D d;
  const DI di;
  constexpr unsigned sets = (1u << M) - 1;
  const std::size_t N = tables.N;
  const auto mask = hn::Set(di, static_cast<std::int64_t>(2 * N - 1));
  std::int64_t exponent[M];
  for (unsigned t = 0; t < M; ++t) exponent[t] = t < count ? exponents[t] : 0;
  const V one = hn::Set(d, 1.0);
  HWY_ALIGN std::int64_t index[lanes];
  HWY_ALIGN double gathered[lanes];
  for (std::size_t i = 0; i < N; i += lanes) {
    V factor[sets + 1];
    for (unsigned t = 0; t < M; ++t) {
      // Products of exponents are below 2^28.
      HWY_ALIGN std::int64_t place[lanes];
      hn::Store(hn::Load(di, tables.exponents.get() + i), di, place);
      for (std::size_t k = 0; k < lanes; ++k) index[k] = place[k] * exponent[t];
      hn::Store(hn::And(hn::Load(di, index), mask), di, index);
      for (std::size_t k = 0; k < lanes; ++k)
        gathered[k] = tables.powers[static_cast<std::size_t>(index[k])];
      const V power = hn::Load(d, gathered);
      factor[1u << t] = power;
      for (unsigned set = (1u << t) + 1; set < (2u << t); ++set)
        factor[set] = times(factor[set - (1u << t)], power);
    }
    for (unsigned set = 1; set <= sets; ++set) factor[set] = hn::Sub(factor[set], one);
    V sum[2] = {hn::Zero(d), hn::Zero(d)};
    for (unsigned row = 0; row < rows; ++row) {
      V bundle[2] = {hn::Zero(d), hn::Zero(d)};
      for (unsigned set = 1; set <= sets; ++set, key += 2 * lanes) {
        bundle[0] = hn::Add(bundle[0], times(factor[set], hn::Load(d, key)));
        bundle[1] = hn::Add(bundle[1], times(factor[set], hn::Load(d, key + lanes)));
      }
      const V digit = hn::Load(d, digits + row * N + i);
      for (unsigned column = 0; column < 2; ++column)
        sum[column] = hn::Add(sum[column], times(digit, bundle[column]));
    }
    hn::Store(sum[0], d, digits + i);
    hn::Store(sum[1], d, digits + N + i);
  }
}

HWY_INLINE void accumulate(const KernelTables& tables, const double* product, std::int64_t* acc) {
  const D d;
  const DI di;
  for (std::size_t i = 0; i < tables.N; i += lanes) {
    const V sum = hn::Add(hn::ConvertTo(d, hn::Load(di, acc + i)), hn::Load(d, product + i));
    hn::Store(hn::ConvertTo(di, centred(sum)), di, acc + i);
  }
}

void step(const KernelTables& tables, const KernelShape& shape, const double* key,
          std::size_t first, std::size_t count, std::span<Travelling> ciphertexts) {
  const std::size_t N = tables.N;
  using Multiply = void (*)(const KernelTables&, unsigned, const double*, const std::uint32_t*,
                            std::size_t, double*);
  constexpr Multiply by_group[] = {multiply<1>, multiply<2>, multiply<3>, multiply<4>};
  for (const Travelling& ct : ciphertexts) {
    for (unsigned column = 0; column < 2; ++column)
      decompose(tables, shape, ct.acc + column * N, ct.digits + column * shape.L * N);
    for (unsigned row = 0; row < 2 * shape.L; ++row) forward(tables, ct.digits + row * N);
    by_group[shape.M - 1](tables, 2 * shape.L, key, ct.exponents + first, count, ct.digits);
    for (unsigned column = 0; column < 2; ++column) {
      backward(tables, ct.digits + column * N);
      accumulate(tables, ct.digits + column * N, ct.acc + column * N);
    }
  }
}

void subtract_row(const std::uint32_t* row, std::uint32_t digit, std::size_t count,
                  std::uint32_t* out) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto factor = hn::Set(d, 0u - digit);
  std::size_t k = 0;
  for (; k + hn::Lanes(d) <= count; k += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, out + k), hn::Mul(hn::LoadU(d, row + k), factor)), d, out + k);
  for (; k < count; ++k) out[k] -= digit * row[k];
}

constexpr Kernels table{static_cast<unsigned>(lanes), step, subtract_row};
const Kernels& kernel_table() { return table; }

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::rtl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/rtl/transform.h"
#include "ring/gadget.h"
#include "ring/ntt_plan.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

HWY_EXPORT(kernel_table);

const Kernels& kernels() { return HWY_DYNAMIC_DISPATCH(kernel_table)(); }

namespace {

double centre(std::uint64_t x) {
  return x > prime / 2 ? static_cast<double>(x) - static_cast<double>(prime)
                       : static_cast<double>(x);
}
/// Returns each root, and the root over p behind it.
std::vector<double> pairs(const std::vector<std::uint64_t>& roots) {
  std::vector<double> out;
  for (const std::uint64_t root : roots) {
    out.push_back(centre(root));
    out.push_back(centre(root) / static_cast<double>(prime));
  }
  return out;
}
/// Twiddles of the levels within vectors, of each group.
hwy::AlignedFreeUniquePtr<double[]> lane_pairs(const std::vector<double>& roots, std::size_t N,
                                               std::size_t lanes) {
  const std::size_t nodes = N / lanes;  // of one vector each
  auto out = room<double>(2 * N + 1, "tables");
  double* to = out.get();
  for (std::size_t group = 0; group < nodes / lanes; ++group)
    for (std::size_t inner = 1; inner < lanes; inner *= 2)
      for (std::size_t i = 0; i < inner; ++i)
        for (const std::size_t part : {0, 1})
          for (std::size_t k = 0; k < lanes; ++k)
            *to++ = roots[2 * (nodes * inner + (group * lanes + k) * inner + i) + part];
  return out;
}

}  // namespace

KernelTables::KernelTables(unsigned log, unsigned width)
    : log_N(log), lanes(width), N(std::size_t{1} << log) {
  const Transform transform(log);
  roots = pairs(transform.roots());
  inverse_roots = pairs(transform.inverse_roots());
  lane_roots = lane_pairs(roots, N, lanes);
  lane_inverse_roots = lane_pairs(inverse_roots, N, lanes);
  std::uint64_t power = 1;
  for (std::size_t e = 0; e < 2 * N; ++e) {
    powers.push_back(centre(power));
    power = transform.modulus().mul(power, transform.psi());
  }
  exponents = room<std::int64_t>(N, "tables");
  for (std::size_t i = 0; i < N; ++i)
    exponents[i] = 2 * ring::bit_reverse(static_cast<std::uint32_t>(location(i)), log) + 1;
}

KernelShape::KernelShape(const Shape& shape) : L(shape.L), log_Bg(shape.log_Bg), M(shape.M) {
  const ring::Gadget gadget(prime, log_Bg, L);
  dropped = gadget.dropped();
  offset = gadget.offset();
}

}  // namespace whorl::backend::rtl
#endif  // HWY_ONCE
