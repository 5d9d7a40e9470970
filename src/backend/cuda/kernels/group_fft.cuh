// The folded FFT by a group of threads: values in registers, exchanged through shared memory.
//
// M = N/2 values, E = 2^log_e a thread, M/E threads. A pass does log_e levels on E values of a
// thread; between passes values change hands once. What is left of log2 M after the last whole pass
// (`rest` levels, nodes of F = 2^rest values) is for whoever owns the nodes next: the product with
// the key. In pass p, nodes have E·s values, s = stride(p); thread t = node·s + r holds those at
// node·E·s + r + s·k, k < E.
//
// Forward: the butterflies of ring::FftPlan, a ± w·b in six FMAs, w = zeta^(E·len/2); sibling
// nodes' w differ by the factor i. Inverse: cyclic decimation in time, whose twiddles depend on the
// position j in a node only, exp(-2·pi·i·j/len); the factors zeta^(-E·j) that a node would need
// are left pending and come down to one multiplication by zeta^-j at the root. That is six FMAs a
// butterfly where undoing the forward butterflies would be eight operations.
#pragma once

#include <cuda_runtime.h>

namespace whorl::backend::cuda {

struct Complex {
  double re, im;
};

/// Where the two pairs of values of a node of four lie in a result: see GroupFft::place.
enum class Pairs { together, apart };

template <int log_m_, int log_e_, Pairs pairs = Pairs::together>
struct GroupFft {
  static constexpr int log_m = log_m_, log_e = log_e_;
  static constexpr int M = 1 << log_m, E = 1 << log_e, threads = M / E;
  static constexpr int passes = log_m / log_e, rest = log_m % log_e, F = 1 << rest;
  static constexpr bool apart = pairs == Pairs::apart && F == 4;
  static_assert(rest <= 2 && passes >= 2);

  __host__ __device__ static constexpr int stride(int p) { return M >> (log_e * (p + 1)); }

  // One array of tables for each shape; offsets in complex values.
  /// Forward twiddles of pass p >= 1: [E/2][nodes], by index of twiddle_index.
  __host__ __device__ static constexpr int forward_at(int p) {
    return p <= 1 ? 0 : forward_at(p - 1) + E / 2 * (1 << (log_e * (p - 1)));
  }
  /// Forward twiddles of the last `rest` levels: [level][M/F], first of each pair of siblings.
  static constexpr int rest_at = forward_at(passes);
  /// Inverse twiddles of pass p: [E/2][stride(p)].
  __host__ __device__ static constexpr int inverse_at(int p) {
    return p == passes - 1 ? rest_at + rest * (M / F) : inverse_at(p + 1) + E / 2 * stride(p + 1);
  }
  /// zeta^j for j < M.
  static constexpr int roots_at = inverse_at(0) + E / 2 * stride(0);
  static constexpr int table_size = roots_at + M;

  /// Where value e lies in an exchange between passes p and p + 1 (p = passes - 1: the result), in
  /// units of 8 bytes. The gaps keep both sides' accesses out of each other's banks, and a thread's
  /// accesses at constant distances. Whoever owns a node of a result takes two of its values at
  /// once. Of four values that are `apart`, the second pairs lie behind the first pairs of all
  /// nodes, so that the pairs which neighbours take at once lie side by side.
  template <int p>
  __host__ __device__ static constexpr int place(int e) {
    if constexpr (p < passes - 1)
      return e + e / stride(p) * stride(p + 1);
    else if constexpr (!apart)
      return e + e / (F * E) * F;
    else
      return (e / F + e / (F * E)) * 2 + e % 2 + e % F / 2 * second_pairs;
  }
  /// Units that pairs of all nodes take, and where second pairs begin: 8 modulo 16, in other banks.
  static constexpr int all_pairs = M / 2 + M / (2 * E),
                       second_pairs = all_pairs + ((8 - all_pairs) % 16 + 16) % 16;
  /// Units that M values take.
  static constexpr int plane = apart ? second_pairs + all_pairs : M + M / E;
};

/// Index, among those kept, of the twiddle of pair c at sub-level q: 0 | 0 | 0 1 | 0 1 2 3 …
__host__ __device__ constexpr int twiddle_index(int q, int c) {
  return q == 0 ? 0 : (1 << (q - 1)) + c;
}

// Twiddles of the first forward pass, the same for every N: exp(i·pi·(1 + 4·brv_q(c))/2^(q+2)) for
// even c in the order of twiddle_index (c/2).
static __constant__ Complex first_twiddles[8] = {{0.70710678118654752440, 0.70710678118654752440},
                                                 {0.92387953251128675613, 0.38268343236508977173},
                                                 {0.98078528040323044913, 0.19509032201612826785},
                                                 {0.55557023301960222474, 0.83146961230254523708},
                                                 {0.99518472667219688624, 0.09801714032956060199},
                                                 {0.63439328416364549822, 0.77301045336273696081},
                                                 {0.88192126434835502971, 0.47139673682599764856},
                                                 {0.29028467725446236764, 0.95694033573220886494}};

// exp(i·pi·k/32): zeta^(threads·k) for 16 values a thread, the same for every N.
static __constant__ Complex thread_roots[16] = {{1, 0},
                                                {0.99518472667219688624, 0.098017140329560601994},
                                                {0.98078528040323044913, 0.19509032201612826785},
                                                {0.95694033573220886494, 0.29028467725446236764},
                                                {0.92387953251128675613, 0.38268343236508977173},
                                                {0.88192126434835502971, 0.47139673682599764856},
                                                {0.83146961230254523708, 0.55557023301960222474},
                                                {0.77301045336273696081, 0.63439328416364549822},
                                                {0.70710678118654752440, 0.70710678118654752440},
                                                {0.63439328416364549822, 0.77301045336273696081},
                                                {0.55557023301960222474, 0.83146961230254523708},
                                                {0.47139673682599764856, 0.88192126434835502971},
                                                {0.38268343236508977173, 0.92387953251128675613},
                                                {0.29028467725446236764, 0.95694033573220886494},
                                                {0.19509032201612826785, 0.98078528040323044913},
                                                {0.098017140329560601994, 0.99518472667219688624}};

namespace group_fft {

__device__ __forceinline__ void butterfly(Complex& a, Complex& b, double wr, double wi) {
  const double re = fma(-wi, b.im, fma(wr, b.re, a.re));
  const double im = fma(wi, b.re, fma(wr, b.im, a.im));
  b.re = fma(2.0, a.re, -re);
  b.im = fma(2.0, a.im, -im);
  a.re = re;
  a.im = im;
}

/// Sub-level q of a forward pass: 2^q nodes of E/2^q values.
template <int E, int q, class Twiddle>
__device__ __forceinline__ void forward_level(Complex (&z)[E], const Twiddle& twiddle) {
  if constexpr ((1 << q) < E) {
    constexpr int half = E >> (q + 1), nodes = 1 << q;
#pragma unroll
    for (int c = 0; c < nodes; c += 2) {
      const Complex w = twiddle(twiddle_index(q, c / 2));
#pragma unroll
      for (int i = 0; i < half; ++i)
        butterfly(z[c * 2 * half + i], z[(c * 2 + 1) * half + i], w.re, w.im);
      if constexpr (nodes > 1) {
#pragma unroll
        for (int i = 0; i < half; ++i)
          butterfly(z[(c + 1) * 2 * half + i], z[((c + 1) * 2 + 1) * half + i], -w.im, w.re);
      }
    }
    forward_level<E, q + 1>(z, twiddle);
  }
}

/// Sub-level q of an inverse pass: pairs at distance 2^q.
template <int E, int q, class Twiddle>
__device__ __forceinline__ void inverse_level(Complex (&z)[E], const Twiddle& twiddle) {
  if constexpr ((1 << q) < E) {
    constexpr int half = 1 << q, kept = q == 0 ? 1 : half / 2;
#pragma unroll
    for (int c = 0; c < kept; ++c) {
      const Complex w = twiddle(twiddle_index(q, c));
#pragma unroll
      for (int base = 0; base < E; base += 2 * half) {
        butterfly(z[base + c], z[base + c + half], w.re, w.im);
        if constexpr (q > 0)  // a quarter turn on: -i·w
          butterfly(z[base + c + kept], z[base + c + kept + half], w.im, -w.re);
      }
    }
    inverse_level<E, q + 1>(z, twiddle);
  }
}

}  // namespace group_fft

/// Reads a root from global or shared memory, as the compiler finds out.
__device__ __forceinline__ Complex load_root(const double2* at) {
  const double2 w = *at;
  return {w.x, w.y};
}

/// How real and imaginary parts change hands between passes.
enum class Exchange { in_turn, together };

/// Forward passes of thread t's values; on entry those of pass 0, on return those of the last pass.
/// `buffer` holds a plane of doubles, or two where parts move together.
template <class Shape, Exchange exchange, int p = 0, class Sync>
__device__ __forceinline__ void forward_passes(Complex (&z)[Shape::E], int t,
                                               const double2* __restrict__ tables, double* buffer,
                                               const Sync& sync) {
  constexpr int E = Shape::E, s = Shape::stride(p);
  if constexpr (p == 0) {
    group_fft::forward_level<E, 0>(z, [](int i) { return first_twiddles[i]; });
  } else {
    const double2* w = tables + Shape::forward_at(p) + t / s;
    constexpr int nodes = 1 << (Shape::log_e * p);
    group_fft::forward_level<E, 0>(z, [w](int i) { return load_root(w + i * nodes); });
  }
  if constexpr (p + 1 < Shape::passes) {
    constexpr int next = Shape::stride(p + 1);
    const int from = t / s * E * s + t % s, to = t / next * E * next + t % next;
    if constexpr (exchange == Exchange::together) {
#pragma unroll
      for (int k = 0; k < E; ++k) {
        const int at = Shape::template place<p>(from + s * k);
        buffer[at] = z[k].re;
        buffer[Shape::plane + at] = z[k].im;
      }
      sync();
#pragma unroll
      for (int k = 0; k < E; ++k) {
        const int at = Shape::template place<p>(to + next * k);
        z[k].re = buffer[at];
        z[k].im = buffer[Shape::plane + at];
      }
      sync();
    } else {
#pragma unroll
      for (int k = 0; k < E; ++k) buffer[Shape::template place<p>(from + s * k)] = z[k].re;
      sync();
#pragma unroll
      for (int k = 0; k < E; ++k) z[k].re = buffer[Shape::template place<p>(to + next * k)];
      sync();
#pragma unroll
      for (int k = 0; k < E; ++k) buffer[Shape::template place<p>(from + s * k)] = z[k].im;
      sync();
#pragma unroll
      for (int k = 0; k < E; ++k) z[k].im = buffer[Shape::template place<p>(to + next * k)];
      sync();
    }
    forward_passes<Shape, exchange, p + 1>(z, t, tables, buffer, sync);
  }
}

/// Inverse passes: on entry the values of the last pass, on return those of pass 0, without the
/// final factors zeta^-j/M. `buffer` holds two planes.
template <class Shape, int p = Shape::passes - 1, class Sync>
__device__ __forceinline__ void inverse_passes(Complex (&z)[Shape::E], int t,
                                               const double2* __restrict__ tables, double* buffer,
                                               const Sync& sync) {
  constexpr int E = Shape::E, s = Shape::stride(p);
  const double2* w = tables + Shape::inverse_at(p) + t % s;
  group_fft::inverse_level<E, 0>(z, [w](int i) { return load_root(w + i * s); });
  if constexpr (p > 0) {
    constexpr int before = Shape::stride(p - 1);
    const int from = t / s * E * s + t % s, to = t / before * E * before + t % before;
    sync();  // all have read what lies there
#pragma unroll
    for (int k = 0; k < E; ++k) {
      const int at = Shape::template place<p - 1>(from + s * k);
      buffer[at] = z[k].re;
      buffer[Shape::plane + at] = z[k].im;
    }
    sync();
#pragma unroll
    for (int k = 0; k < E; ++k) {
      const int at = Shape::template place<p - 1>(to + before * k);
      z[k].re = buffer[at];
      z[k].im = buffer[Shape::plane + at];
    }
    inverse_passes<Shape, p - 1>(z, t, tables, buffer, sync);
  }
}

/// The last `rest` forward levels on a node of F values; `node` counts nodes, M/F of them.
template <class Shape>
__device__ __forceinline__ void forward_rest(Complex (&z)[Shape::F], const Complex (&w)[2]) {
  if constexpr (Shape::F == 2) {
    group_fft::butterfly(z[0], z[1], w[0].re, w[0].im);
  } else if constexpr (Shape::F == 4) {
    group_fft::butterfly(z[0], z[2], w[0].re, w[0].im);
    group_fft::butterfly(z[1], z[3], w[0].re, w[0].im);
    group_fft::butterfly(z[0], z[1], w[1].re, w[1].im);
    group_fft::butterfly(z[2], z[3], -w[1].im, w[1].re);
  }
}
template <class Shape>
__device__ __forceinline__ void load_rest(const double2* __restrict__ tables, int node,
                                          Complex (&w)[2]) {
  constexpr int nodes = Shape::M / Shape::F;
  if constexpr (Shape::F >= 2) w[0] = load_root(tables + Shape::rest_at + node);
  if constexpr (Shape::F == 4) w[1] = load_root(tables + Shape::rest_at + nodes + node);
}

/// The first `rest` inverse levels: twiddles 1 and -i.
template <class Shape>
__device__ __forceinline__ void inverse_rest(Complex (&z)[Shape::F]) {
  auto pair = [](Complex& a, Complex& b) {
    const Complex difference{a.re - b.re, a.im - b.im};
    a.re += b.re;
    a.im += b.im;
    b = difference;
  };
  if constexpr (Shape::F == 2) {
    pair(z[0], z[1]);
  } else if constexpr (Shape::F == 4) {
    pair(z[0], z[1]);
    pair(z[2], z[3]);
    pair(z[0], z[2]);
    const Complex turned{z[3].im, -z[3].re};
    z[3] = turned;
    pair(z[1], z[3]);
  }
}

}  // namespace whorl::backend::cuda
