// Blind rotation with unrolled keys whose bundles come from FP64 tensor cores, for narrow keys with
// two digits.
//
// At one frequency, a bundle's value for row r of the key and component c is the sum over keys S of
// w_S·K_S[r, c]. w_S is a monomial of a ciphertext; K_S is the same for all: a product of matrices.
// mma.m16n8k8 (PTX ISA, "Matrix Fragments for mma.m16n8k8") multiplies 16 rows, the real and
// imaginary parts of eight ciphertexts' w, by 8 columns, four rows of the key and two components:
//
//   [wr ]        [-wi]
//   [wi ]·Kr  +  [ wr]·Ki  =  real and imaginary parts of the bundle.
//
// Lane 4·g + t of a warp then holds the values of ciphertext g and row t for both components, and
// multiplies them with the spectrum of that row. The four lanes of a ciphertext add their products
// and keep a quarter each: row t = 2·part + digit keeps component `part`, real parts if digit = 0,
// else imaginary ones. For that, the spectrum of digit 1 is multiplied by -i, and the columns of
// part 1 have component 1 first: a lane always keeps its first value and gives the second away.
#pragma once

#include "backend/cuda/kernels/rotate_fft_unrolled.cuh"

namespace whorl::backend::cuda {

/// A shape whose slots lie apart: the eight lanes that read one node of two ciphertexts' four rows
/// meet different banks.
template <class Base>
struct TensorShape : Base {
  static constexpr int plane = Base::plane + 2;
};

/// Shared memory of a block.
template <class Shape>
struct TensorFftMemory {
  static constexpr int C = 8;  ///< ciphertexts, as a product of matrices has
  using Polynomial = FftPolynomialMemory<Shape, FftWords::narrow>;
  static constexpr std::size_t ciphertext_doubles = 2 * tensor_digits * Polynomial::slot_doubles;
  static constexpr std::size_t bytes =
      C * (ciphertext_doubles * 8 + 2 * Polynomial::other_bytes(tensor_digits));
};

namespace rotate_fft_tensor_detail {

/// d += a·b, of 16 × 4 and 4 × 8 values, or 16 × 8 and 8 × 8.
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[2],
                                             const double (&b)[1]) {
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(b[0]));
}
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[4],
                                             const double (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

/// x, or -x if `flip` is 1 << 31.
__device__ __forceinline__ double flipped(double x, std::uint32_t flip) {
  return __hiloint2double(__double2hiint(x) ^ static_cast<int>(flip), __double2loint(x));
}

/// X^a at the nodes in turn: zeta^(a·e), e = first, first + 4, …; by Chebyshev's recurrence, w(e +
/// 4) = 2·Re(zeta^(4a))·w(e) - w(e - 4). Over 16 nodes it is off by 2^-42 at most, and keys
/// and spectra are rounded to 2^-31.
struct Monomial {
  Complex now, before;
  double twice;
  std::uint32_t flip;  ///< 1 << 31 if it has the other sign at a node's second frequency

  template <class Shape>
  __device__ __forceinline__ void start(const double2* __restrict__ tables, std::uint32_t a,
                                        std::uint32_t first) {
    const auto root = [&](std::uint32_t e) {  // zeta^M = i
      return rotate_fft_detail::turned(load_root(tables + Shape::roots_at + (e & (Shape::M - 1))),
                                       0u - e / Shape::M);
    };
    const Complex by = root(4 * a);
    now = root(a * first);
    before = rotate_fft_detail::product(now, {by.re, -by.im});
    twice = 2 * by.re;
    flip = a << 31;
  }
  __device__ __forceinline__ void next() {
    const Complex after{fma(twice, now.re, -before.re), fma(twice, now.im, -before.im)};
    before = now;
    now = after;
  }
};

}  // namespace rotate_fft_tensor_detail

/// The products of one step.
template <class Shape, BundleForm form, int m>
struct TensorFftStep {
  static_assert(form != BundleForm::differences && Shape::threads == 32 && Shape::F == 2);
  static constexpr int halves = tensor_keys(form, m) / 4;
  using Polynomial = typename TensorFftMemory<Shape>::Polynomial;
  using Value = std::conditional_t<halves == 2, int4, int2>;
  /// Nodes, and those of a warp.
  static constexpr int nodes = Shape::M / Shape::F, run = nodes / (2 * TensorFftMemory<Shape>::C);

  const Value* key;
  const double2* tables;
  double* slots;
  const std::uint32_t* exponents;
  std::uint32_t a[halves] = {};  ///< of w for the lane's ciphertext and keys

  /// Takes coefficient `c` of the group into account.
  __device__ __forceinline__ void add(int c, std::uint32_t of_coefficient) {
#pragma unroll
    for (int h = 0; h < halves; ++h) {
      const int own = threadIdx.x % 4 + 4 * h;
      if (form == BundleForm::all ? own >> c & 1 : own == c) a[h] += of_coefficient;
    }
  }

  /// Waits for all threads' digits first.
  __device__ __forceinline__ void multiply() const {
    using rotate_fft_tensor_detail::flipped;
    constexpr int F = Shape::F, last = Shape::passes - 1;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double* const slot = slots + lane * Polynomial::slot_doubles;  // row t of ciphertext g
    const Value* from = key + warp * run * F * 32 + lane;
    Value ahead[F];
    const auto load = [&] {
#pragma unroll
      for (int f = 0; f < F; ++f) ahead[f] = rotate_fft_detail::load_key(from + f * 32);
    };
    load();
    const double sign = lane % 2 == 0 ? -1 : 1;
    rotate_fft_tensor_detail::Monomial w[halves];
#pragma unroll
    for (int h = 0; h < halves; ++h) w[h].template start<Shape>(tables, a[h], 4 * warp * run + 1);
    __syncthreads();
    const int high = static_cast<int>(exponents[lane]);
    const double bias = __hiloint2double(high, static_cast<int>(0x80000000u));

#pragma unroll 1
    for (int turn = warp * run; turn < (warp + 1) * run; ++turn) {
      double k[F][2][halves];  // real and imaginary parts
#pragma unroll
      for (int f = 0; f < F; ++f) {
        k[f][0][0] = __int2double_rn(ahead[f].x);
        k[f][1][0] = __int2double_rn(ahead[f].y);
        if constexpr (halves == 2) {
          k[f][0][1] = __int2double_rn(ahead[f].z);
          k[f][1][1] = __int2double_rn(ahead[f].w);
        }
      }
      if (turn + 1 < (warp + 1) * run) from += F * 32;
      load();

      double bundle[F][4] = {};
#pragma unroll
      for (int imaginary = 0; imaginary < 2; ++imaginary)
#pragma unroll
        for (int f = 0; f < F; ++f) {
          double by[2 * halves];
#pragma unroll
          for (int h = 0; h < halves; ++h) {
            const std::uint32_t flip = f == 0 ? 0 : w[h].flip;
            double re = flipped(w[h].now.re, flip);
            if (form != BundleForm::all) re -= 1;
            by[2 * h] = imaginary == 0 ? re : flipped(w[h].now.im, flip ^ 1u << 31);
            by[2 * h + 1] = imaginary == 0 ? flipped(w[h].now.im, flip) : re;
          }
          rotate_fft_tensor_detail::multiply_add(bundle[f], by, k[f][imaginary]);
        }
#pragma unroll
      for (int h = 0; h < halves; ++h) w[h].next();

      const int node = static_cast<int>(__brev(turn) / (~0u / nodes + 1));
      const int at = Shape::template place<last>(F * node);
      const int4 digits = *reinterpret_cast<const int4*>(slot + at);
      const auto value = [&](int v) { return __hiloint2double(high, v) - bias; };
      Complex x[F] = {{value(digits.x), value(digits.y)}, {value(digits.z), value(digits.w)}};
      Complex rest[2];
      load_rest<Shape>(tables, node, rest);
      forward_rest<Shape>(x, rest);

      double kept[F];
#pragma unroll
      for (int f = 0; f < F; ++f) {
        double of[2];  // components, the lane's own first
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const Complex product =
              rotate_fft_detail::product(x[f], {bundle[f][c], bundle[f][2 + c]});
          of[c] = fma(sign, __shfl_xor_sync(~0u, product.im, 1), product.re);
        }
        kept[f] = of[0] + __shfl_xor_sync(~0u, of[1], 2);
      }
      // inverse_rest, and where store_result puts it
      *reinterpret_cast<double2*>(slot + at) = {kept[0] + kept[1], kept[0] - kept[1]};
    }
  }
};

/// A block a multiprocessor.
template <class BaseShape, BundleForm form, int m>
__global__ void __launch_bounds__(2 * TensorFftMemory<BaseShape>::C * BaseShape::threads, 1)
    rotate_fft_tensor(const UnrolledFftKeyView<FftWords::narrow> key,
                      const RotationBatch<std::uint32_t> batch) {
#if __CUDA_ARCH__ >= 900  // tensor_fits
  using Shape = TensorShape<BaseShape>;
  using Memory = TensorFftMemory<Shape>;
  using Polynomial = typename Memory::Polynomial;
  using Accumulator = TorusAccumulator<2 * Shape::M, FftWords::narrow>;
  using Step = TensorFftStep<Shape, form, m>;
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads, C = Memory::C;

  extern __shared__ double2 shared_memory[];
  double* const slots = reinterpret_cast<double*>(shared_memory);
  auto* const accumulators =
      reinterpret_cast<std::uint32_t*>(slots + C * Memory::ciphertext_doubles);
  std::uint32_t* const exponents = accumulators + 2 * C * (Polynomial::accumulator_bytes / 4);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const auto clamped = [&](std::uint32_t c) { return min(blockIdx.x * C + c, batch.count - 1); };
  const std::uint32_t ciphertext = clamped(group / 2), Q = static_cast<std::uint32_t>(key.Q);
  Accumulator acc{accumulators + group * (Polynomial::accumulator_bytes / 4)};
  double* const own = slots + group * tensor_digits * Polynomial::slot_doubles;
  const std::uint32_t* const lwe =  // of the ciphertext that this lane multiplies
      batch.lwe + std::uint64_t{clamped(threadIdx.x % 32 / 4)} * (batch.n + 1);

  acc.template start<G>(batch, ciphertext, group % 2, t, Q);
  sync();

  const auto* step_key = reinterpret_cast<const typename Step::Value*>(key.values);
  for (std::uint32_t range = 0; range < key.range_count; ++range) {
    const GadgetRange gadget = key.ranges[range];
    for (std::uint32_t i = gadget.first; i < gadget.end; i += m, step_key += 32 * M) {
      const double scale = __ldg(key.inverse_scale + i);
      Step step{step_key, key.tables, slots, exponents};
#pragma unroll
      for (int c = 0; c < m; ++c) step.add(c, i + c < batch.n ? __ldg(lwe + i + c) : 0);

        // Coefficients that a thread decomposes here are those that it adds to below.
#pragma unroll 1
      for (int digit = 0; digit < static_cast<int>(tensor_digits); ++digit) {
        Complex z[E];
        const DigitRule rule(gadget, digit);
        const auto digit_of = [&](int j) {
          return rule(Accumulator::with_offset(acc.get(j), Q, gadget.offset));
        };
        // Digit 1 times -i: -i·(x + i·y) = y - i·x
        const int first = digit * M, second = M - first, sign = 1 - 2 * digit;
#pragma unroll
        for (int k = 0; k < E; ++k)
          z[k] = {static_cast<double>(digit_of(t + G * k + first)),
                  static_cast<double>(sign * digit_of(t + G * k + second))};
        double* const slot = own + digit * Polynomial::slot_doubles;
        transform_values<Shape, FftWords::narrow, Exchange::in_turn>(
            z, key.tables, t, slot, slot, exponents + group * tensor_digits + digit, sync);
      }
      step.multiply();
      __syncthreads();
      transform_back<Shape, FftWords::narrow, Roots::thread>(
          own, key.tables, scale, key.large, t, acc, sync, form == BundleForm::all ? 0 : ~0u);
      sync();
    }
  }
  if (blockIdx.x * C + group / 2 < batch.count)
    acc.template write<G>(batch, ciphertext, group % 2, t, Q);
#endif
}

}  // namespace whorl::backend::cuda
