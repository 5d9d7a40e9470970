// Blind rotation in one kernel, with the folded FFT.
//
// A block carries C ciphertexts through all steps. Each of their 2·C accumulator polynomials
// belongs to a group of threads for good: it forms the digits of (X^a - 1)·ACC and transforms them
// (forward), and later transforms its own part of the product back and adds it. In between, all
// threads of the block multiply: each owns some frequencies, and a word of the key that it reads
// serves all C ciphertexts. Two barriers a step.
//
// narrow (Q < 2^31): keys and digits' spectra are 32-bit integers. The key's are value·scale,
// one scale an LWE coefficient (docs/fft-error.md); the digits' have a power of two for each row
// and warp, so that the largest of its values takes 30 to 31 bits. wide: doubles.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/kernels/fft_words.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/torus_accumulator.cuh"

namespace whorl::backend::cuda {

/// A blind-rotation key as the kernel reads it.
template <FftWords words>
struct FftKeyView {
  /// [row][key, component][frequency], rows in the order component, digit; LWE coefficient by LWE
  /// coefficient. Frequencies as fft_key_place has them.
  const FftKeyValue<words>* values;
  const double* inverse_scale;  ///< of each LWE coefficient: 1/(scale·M·Q)
  const double2* tables;        ///< GroupFft's
  const double2* roots;         ///< zeta^e, e < 2N: for ternary keys
  const GadgetRange* ranges;
  std::uint32_t range_count, slots;  ///< slots: rows that a polynomial's digits take
  std::uint64_t Q;
  bool large;     ///< quotients by Q may pass 2^22
  double* spill;  ///< slots of all blocks, for shapes whose slots do not fit shared memory
  bool fetches;   ///< blocks fetch the next step's key: so few that nobody else has
};

/// Where frequency f of a node lies among the M of a polynomial: threads, which own nodes, read 16
/// bytes each side by side.
template <class Shape, FftWords words>
__host__ __device__ constexpr int fft_key_place(int node, int f) {
  return is_wide<words> ? f * (Shape::M / Shape::F) + node : node * Shape::F + f;
}

namespace rotate_fft_detail {

/// 2^52 + 2^31: a double whose low word is an integer's, plus 2^31.
constexpr double biased = 4503599627370496.0 + 2147483648.0;

/// The key's values are read once a block: they must not push the tables out of the first level.
template <class T>
__device__ __forceinline__ T load_key(const T* at) {
  return __ldcg(at);
}

template <class Shape, int keys, FftWords words>
struct KeyRow {
  static constexpr int F = Shape::F;
  FftKeyValue<words> v[2 * keys][F];

  __device__ __forceinline__ void load(const FftKeyValue<words>* row, int node) {
#pragma unroll
    for (int c = 0; c < 2 * keys; ++c)
#pragma unroll
      for (int f = 0; f < F; ++f) {
        const auto* at = row + c * Shape::M + fft_key_place<Shape, words>(node, f);
        if constexpr (is_wide<words> || F == 1) {
          v[c][f] = load_key(at);
        } else if (f % 2 == 0) {
          const int4 both = load_key(reinterpret_cast<const int4*>(at));
          v[c][f] = {both.x, both.y};
          v[c][f + 1] = {both.z, both.w};
        }
      }
  }
  __device__ __forceinline__ Complex get(int c, int f) const {
    if constexpr (is_wide<words>)
      return {v[c][f].x, v[c][f].y};
    else
      return {static_cast<double>(v[c][f].x), static_cast<double>(v[c][f].y)};
  }
};

__device__ __forceinline__ void multiply_add(Complex& sum, const Complex& a, const Complex& b) {
  sum.re = fma(-a.im, b.im, fma(a.re, b.re, sum.re));
  sum.im = fma(a.im, b.re, fma(a.re, b.im, sum.im));
}

__device__ __forceinline__ Complex product(const Complex& a, const Complex& b) {
  return {fma(-a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
}

/// By how many times N/2 the exponent of frequency f of a node's F is above that of its first: they
/// come in the order of reversed bits.
template <int F>
__device__ __forceinline__ std::uint32_t turns_of(int f) {
  if (f == 0) return 0;
  return F == 2 || f == 1 ? 2 : f == 2 ? 1 : 3;
}

/// w·(-i)^turns.
__device__ __forceinline__ Complex turned(Complex w, std::uint32_t turns) {
  if (turns & 1) w = {w.im, -w.re};
  if (turns & 2) w = {-w.re, -w.im};
  return w;
}

}  // namespace rotate_fft_detail

/// Shared memory: slots for the digits' spectra of a polynomial (a result takes two narrow ones or
/// a wide one), its accumulator, exponents of its narrow spectra.
template <class Shape, FftWords words>
struct FftPolynomialMemory {
  static constexpr int N = 2 * Shape::M;
  static constexpr int parts = Shape::threads <= 32 ? 1 : Shape::threads / 32;
  static constexpr std::size_t accumulator_bytes = TorusAccumulator<N, words>::bytes;
  static constexpr std::size_t slot_doubles = (is_wide<words> ? 2 : 1) * Shape::plane;
  __host__ __device__ static constexpr std::size_t slot_bytes(unsigned slots) {
    return slots * slot_doubles * 8;
  }
  __host__ __device__ static constexpr std::size_t other_bytes(unsigned slots) {
    return accumulator_bytes + (is_wide<words> ? 0 : slots * parts * 4);
  }
};

/// A slot serves as the buffer of a transform: a wide one has two planes.
template <FftWords words>
inline constexpr Exchange slot_exchange = is_wide<words> ? Exchange::together : Exchange::in_turn;

/// Digits of a step.
template <FftWords words>
__device__ __forceinline__ std::uint32_t digits_of(const GadgetRange& gadget) {
  return words == FftWords::one_digit ? 1 : gadget.digits;
}

/// Thread t's part of a digit's spectrum from its values: `z` holds those of pass 0. Values are
/// exchanged in `buffer`; one plane may be the slot.
template <class Shape, FftWords words, Exchange exchange, class Sync>
__device__ __forceinline__ void transform_values(Complex (&z)[Shape::E],
                                                 const double2* __restrict__ tables, int t,
                                                 double* buffer, double* slot,
                                                 std::uint32_t* exponents, const Sync& sync) {
  constexpr int E = Shape::E, F = Shape::F, last = Shape::passes - 1;
  forward_passes<Shape, exchange>(z, t, tables, buffer, sync);
  const int base = t / F * F * E + t % F;
  if constexpr (is_wide<words>) {
#pragma unroll
    for (int k = 0; k < E; ++k) {
      const int at = Shape::template place<last>(base + F * k);
      slot[at] = z[k].re;
      slot[Shape::plane + at] = z[k].im;
    }
  } else {
    // The power of two that brings the warp's largest value to just below 2^31.
    // High words of doubles are ordered as floats are.
    float most = 0;
#pragma unroll
    for (int k = 0; k < E; ++k)
      most = fmaxf(fmaxf(most, fabsf(__int_as_float(__double2hiint(z[k].re)))),
                   fabsf(__int_as_float(__double2hiint(z[k].im))));
    std::uint32_t largest = max(__float_as_uint(most), 1000u << 20);  // at least 2^-23
    largest = __reduce_max_sync(~0u, largest);
    const std::uint32_t exponent = (largest + 16) >> 20;  // + 16: rounding may carry
    const double up = __hiloint2double(static_cast<int>((2076 - exponent) << 20), 0);
    if (t % 32 == 0) exponents[t / 32] = (exponent + 22) << 20;
    int2* const to = reinterpret_cast<int2*>(slot);
#pragma unroll
    for (int k = 0; k < E; ++k)
      to[Shape::template place<last>(base + F * k)] = {
          __double2loint(fma(z[k].re, up, rotate_fft_detail::biased)),
          __double2loint(fma(z[k].im, up, rotate_fft_detail::biased))};
  }
}

/// Thread t's part of transforming digit `digit` of (X^a - 1)·acc into `slot`. With several digits
/// the first call leaves the decomposed values in `saved`, where the others find them; the last
/// digit's slot may be that place. The rest as in transform_values.
template <class Shape, FftWords words, Exchange exchange, class Sync>
__device__ __forceinline__ void transform_digit(const TorusAccumulator<2 * Shape::M, words>& acc,
                                                const GadgetRange& gadget, std::uint32_t digit,
                                                bool first, std::uint32_t a, std::uint64_t Q,
                                                const double2* __restrict__ tables, int t,
                                                void* saved_values, double* buffer, double* slot,
                                                std::uint32_t* exponents, const Sync& sync) {
  using Accumulator = TorusAccumulator<2 * Shape::M, words>;
  using Word = typename Accumulator::Word;
  using Int = std::make_signed_t<Word>;
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads;
  Complex z[E];
  if constexpr (words == FftWords::one_digit) {
    const auto digit_of = [&](int j) {
      return static_cast<double>(acc.rotated_digit(j, a, gadget));
    };
#pragma unroll
    for (int k = 0; k < E; ++k) z[k] = {digit_of(t + G * k), digit_of(t + G * k + M)};
  } else {
    const DigitRule rule(gadget, digit);
    Int* const saved = static_cast<Int*>(saved_values);
#pragma unroll
    for (int k = 0; k < E; ++k) {
      const int j = t + G * k;
      Int x, y;
      if (first) {
        x = acc.with_offset(acc.rotated_difference(j, a), static_cast<Word>(Q), gadget.offset);
        y = acc.with_offset(acc.rotated_difference(j + M, a), static_cast<Word>(Q), gadget.offset);
        saved[j] = x;
        saved[j + M] = y;
      } else {
        x = saved[j];
        y = saved[j + M];
      }
      z[k] = {static_cast<double>(rule(x)), static_cast<double>(rule(y))};
    }
    sync();  // the slot may be the one that values were read from
  }
  transform_values<Shape, words, exchange>(z, tables, t, buffer, slot, exponents, sync);
}

/// The F values of a node of a digit's spectrum, all levels done.
template <class Shape, FftWords words>
__device__ __forceinline__ void load_spectrum(const double* slot, const std::uint32_t* exponents,
                                              int node, const Complex (&w)[2],
                                              Complex (&x)[Shape::F]) {
  constexpr int M = Shape::M, F = Shape::F, last = Shape::passes - 1, nodes = M / F;
  if constexpr (is_wide<words>) {
#pragma unroll
    for (int f = 0; f < F; f += 2) {
      const int at = Shape::template place<last>(node * F + f);
      if constexpr (F == 1) {
        x[0] = {slot[at], slot[Shape::plane + at]};
      } else {
        [[maybe_unused]] const double2 re = *reinterpret_cast<const double2*>(slot + at);
        [[maybe_unused]] const double2 im =
            *reinterpret_cast<const double2*>(slot + Shape::plane + at);
        x[f] = {re.x, im.x};
        x[f + 1] = {re.y, im.y};
      }
    }
  } else {
    constexpr int parts = FftPolynomialMemory<Shape, words>::parts;
    const int high = static_cast<int>(exponents[node / (nodes / parts)]);
    const double bias = __hiloint2double(high, static_cast<int>(0x80000000u));
    const auto value = [&](int v) { return __hiloint2double(high, v) - bias; };
    const int2* const from = reinterpret_cast<const int2*>(slot);
#pragma unroll
    for (int f = 0; f < F; f += 2) {
      const int at = Shape::template place<last>(node * F + f);
      if constexpr (F == 1) {
        const int2 one = from[at];
        x[0] = {value(one.x), value(one.y)};
      } else {
        const int4 two = *reinterpret_cast<const int4*>(from + at);
        x[f] = {value(two.x), value(two.y)};
        x[f + 1] = {value(two.z), value(two.w)};
      }
    }
  }
  forward_rest<Shape>(x, w);
}

/// -X^-a at a node's frequencies: (X^a - 1)·ACC times the first key, and times this and the second
/// key, are (X^a - 1)·K·ACC + (X^-a - 1)·K'·ACC.
template <class Shape>
__device__ __forceinline__ void second_key_factors(int node, std::uint32_t a,
                                                   const double2* __restrict__ roots,
                                                   Complex (&out)[Shape::F]) {
  // Exponents of a node's frequencies differ by multiples of N/2.
  constexpr int F = Shape::F, N = 2 * Shape::M, bits = Shape::log_m - Shape::rest;
  const std::uint32_t exponent = 4 * (__brev(node) >> (32 - bits)) + 1;
  const Complex root = load_root(roots + ((N - a * exponent) & (2 * N - 1)));  // zeta^N = -1
#pragma unroll
  for (int f = 0; f < F; ++f) {
    const std::uint32_t turns = rotate_fft_detail::turns_of<F>(f);
    out[f] = rotate_fft_detail::turned(root, turns * a);
  }
}

/// Puts a node's F values of a result where transform_back finds them: `to` holds two planes.
template <class Shape>
__device__ __forceinline__ void store_result(const Complex (&x)[Shape::F], int node, double* to) {
  constexpr int F = Shape::F, last = Shape::passes - 1;
#pragma unroll
  for (int f = 0; f < F; f += 2) {
    const int at = Shape::template place<last>(node * F + f);
    if constexpr (F == 1) {
      to[at] = x[0].re;
      to[Shape::plane + at] = x[0].im;
    } else {
      *reinterpret_cast<double2*>(to + at) = {x[f].re, x[f + 1].re};
      *reinterpret_cast<double2*>(to + Shape::plane + at) = {x[f].im, x[f + 1].im};
    }
  }
}

/// Where the roots zeta^j of a result come from: each is read, or it is the thread's own times one
/// of E that all threads have, which leaves the first-level cache to others and takes more
/// registers.
enum class Roots { table, thread };

/// Adds thread t's values of a result, as inverse_passes leaves them, to the accumulator; `keep` as
/// add_product's. Value j is multiplied by zeta^-j/(scale·M·Q).
template <class Shape, FftWords words, Roots from>
__device__ __forceinline__ void add_result(const Complex (&z)[Shape::E],
                                           const double2* __restrict__ tables, double scale,
                                           bool large, int t,
                                           TorusAccumulator<2 * Shape::M, words>& acc,
                                           std::uint32_t keep) {
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads;
  static_assert(E % 4 == 0 && E <= 16);
  const double2* const roots = tables + Shape::roots_at + t;
  Complex own{};
  if constexpr (from == Roots::thread) {
    own = load_root(roots);
    own = {own.re * scale, own.im * scale};
  }
  const auto add_all = [&]<Turns turns>() {
  // Roots are taken four at a time: one by one, each read would be waited for.
#pragma unroll
    for (int first = 0; first < E; first += 4) {
      Complex root[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if constexpr (from == Roots::table)
          root[k] = load_root(roots + G * (first + k));
        else
          root[k] = rotate_fft_detail::product(own, thread_roots[(first + k) * (16 / E)]);
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int j = t + G * (first + k);
        const Complex& x = z[first + k];
        const double wr = from == Roots::table ? root[k].re * scale : root[k].re,
                     wi = from == Roots::table ? root[k].im * scale : root[k].im;
        acc.template add_product<turns>(j, x.re, wr, x.im, wi, keep);
        acc.template add_product<turns>(j + M, x.im, wr, -x.re, wi, keep);
      }
    }
  };
  if (!is_wide<words> && large)
    add_all.template operator()<Turns::many>();
  else
    add_all.template operator()<Turns::few>();
}

/// Where an accumulator lies: apart from the results, or perhaps where the result is.
enum class AccumulatorPlace { apart, in_slot };

/// Thread t's part of transforming a result back and adding it to the accumulator.
template <class Shape, FftWords words, Roots from, AccumulatorPlace place = AccumulatorPlace::apart,
          class Sync>
__device__ __forceinline__ void transform_back(double* result, const double2* __restrict__ tables,
                                               double scale, bool large, int t,
                                               TorusAccumulator<2 * Shape::M, words>& acc,
                                               const Sync& sync, std::uint32_t keep = ~0u) {
  constexpr int E = Shape::E, F = Shape::F, last = Shape::passes - 1;
  Complex z[E];
  const int base = t / F * F * E + t % F;
#pragma unroll
  for (int k = 0; k < E; ++k) {
    const int at = Shape::template place<last>(base + F * k);
    z[k] = {result[at], result[Shape::plane + at]};
  }
  inverse_passes<Shape>(z, t, tables, result, sync);
  if constexpr (place == AccumulatorPlace::in_slot) sync();  // all have read what lies there
  add_result<Shape, words, from>(z, tables, scale, large, t, acc, keep);
}

/// The products of one step: for each node of F frequencies all rows, all ciphertexts.
template <class Shape, int keys, int C, FftWords words>
struct FftStep {
  const FftKeyValue<words>* key;
  const double2 *tables, *roots;
  double* slots;
  const std::uint32_t* exponents;
  std::uint32_t slots_each;
  std::uint32_t a[C] = {};  ///< with two keys: of each ciphertext

  /// Waits for all threads' digits first. `digits_known` > 0: loops over rows are unrolled. With 1
  /// part, and digits_known = 0, only digits of a are there.
  template <int digits_known>
  __device__ __forceinline__ void multiply(std::uint32_t digits,
                                           std::uint32_t parts_there = 2) const {
    using Memory = FftPolynomialMemory<Shape, words>;
    constexpr int M = Shape::M, F = Shape::F, nodes = M / F, parts = Memory::parts;
    constexpr int threads = 2 * C * Shape::threads;
    if constexpr (digits_known > 0) digits = digits_known;
    const std::uint32_t rows = parts_there * digits;
    using Row = rotate_fft_detail::KeyRow<Shape, keys, words>;
    // Rows are read one ahead, unless two would take most of the registers.
    constexpr bool reads_ahead = sizeof(Row) < 128;
    Row ahead;
    if constexpr (reads_ahead) ahead.load(key, threadIdx.x % nodes);
    __syncthreads();
#pragma unroll 1
    for (int node = threadIdx.x; node < nodes; node += threads) {
      Complex w[2];
      load_rest<Shape>(tables, node, w);
      Complex turn[C][keys == 2 ? F : 1];
      if constexpr (keys == 2)
#pragma unroll
        for (int c = 0; c < C; ++c) second_key_factors<Shape>(node, a[c], roots, turn[c]);
      Complex sum[C][2][F] = {};
      const auto add_row = [&](std::uint32_t row) {
        Row now;
        if constexpr (!reads_ahead) {
          now.load(key + row * keys * 2 * M, node);
        } else {
          now = ahead;
          // the next row, or the first of the next node
          const bool wraps = row + 1 == rows;
          const int next = wraps ? (node + threads < nodes ? node + threads : node) : node;
          ahead.load(key + (wraps ? 0 : (row + 1) * keys * 2 * M), next);
        }
        const std::uint32_t component = row >= digits,
                            slot = component * slots_each + row - component * digits;
#pragma unroll
        for (int c = 0; c < C; ++c) {
          const std::uint32_t which = 2 * c * slots_each + slot;
          Complex x[F];
          load_spectrum<Shape, words>(slots + which * Memory::slot_doubles,
                                      exponents + which * parts, node, w, x);
#pragma unroll
          for (int s = 0; s < 2; ++s)
#pragma unroll
            for (int f = 0; f < F; ++f) {
              Complex k = now.get(s, f);
              if constexpr (keys == 2)
                rotate_fft_detail::multiply_add(k, turn[c][f], now.get(2 + s, f));
              rotate_fft_detail::multiply_add(sum[c][s][f], x[f], k);
            }
        }
      };
      if constexpr (digits_known > 0) {
#pragma unroll
        for (std::uint32_t row = 0; row < 2 * digits_known; ++row) add_row(row);
      } else {
        for (std::uint32_t row = 0; row < rows; ++row) add_row(row);
      }
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          inverse_rest<Shape>(sum[c][s]);
          store_result<Shape>(sum[c][s], node,
                              slots + (2 * c + s) * slots_each * Memory::slot_doubles);
        }
    }
  }
};

template <class Shape, int keys, int C, FftWords words, int blocks, Slots place>
__global__ void __launch_bounds__(2 * C * Shape::threads, blocks)
    rotate_fft(const FftKeyView<words> key, const RotationBatch<FftWord<words>> batch) {
  using Word = FftWord<words>;
  using Memory = FftPolynomialMemory<Shape, words>;
  constexpr int M = Shape::M, N = 2 * M, G = Shape::threads;
  constexpr int parts = Memory::parts, threads = 2 * C * G;

  extern __shared__ double2 shared_memory[];
  const std::uint32_t block_doubles = 2 * C * key.slots * Memory::slot_doubles;
  double* const shared_doubles = reinterpret_cast<double*>(shared_memory);
  double* const slots = place == Slots::device
                            ? key.spill + std::uint64_t{blockIdx.x} * block_doubles
                            : shared_doubles;
  auto* const accumulators = reinterpret_cast<std::uint32_t*>(
      shared_doubles + (place == Slots::device ? 0 : block_doubles));
  std::uint32_t* const exponents = accumulators + 2 * C * (Memory::accumulator_bytes / 4);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t first_ciphertext = blockIdx.x * C;
  const std::uint32_t ciphertext = min(first_ciphertext + group / 2, batch.count - 1);
  TorusAccumulator<N, words> acc{accumulators + group * (Memory::accumulator_bytes / 4)};
  double* const own = slots + group * key.slots * Memory::slot_doubles;
  const std::uint32_t* const lwe = batch.lwe + std::uint64_t{ciphertext} * (batch.n + 1);

  acc.template start<G>(batch, ciphertext, group % 2, t, static_cast<Word>(key.Q));
  sync();

  std::uint32_t next_a = __ldg(lwe);
  double next_scale = __ldg(key.inverse_scale);
  for (std::uint32_t range = 0; range < key.range_count; ++range) {
    const GadgetRange gadget = key.ranges[range];
    const std::uint32_t digits = digits_of<words>(gadget), rows = 2 * digits;
    const auto* step_key = key.values + gadget.first_row * 2 * M;
    for (std::uint32_t i = gadget.first; i < gadget.end; ++i, step_key += rows * keys * 2 * M) {
      const std::uint32_t a = next_a;
      const double scale = next_scale;
      if (i + 1 < batch.n) {
        next_a = __ldg(lwe + i + 1);
        next_scale = __ldg(key.inverse_scale + i + 1);
      }
#pragma unroll 1
      for (std::uint32_t digit = 0; digit < digits; ++digit)
        transform_digit<Shape, words, slot_exchange<words>>(
            acc, gadget, digit, digit == 0, a, key.Q, key.tables, t,
            own + (digits - 1) * Memory::slot_doubles, own + digit * Memory::slot_doubles,
            own + digit * Memory::slot_doubles, exponents + (group * key.slots + digit) * parts,
            sync);
      if (C == 1 && key.fetches && i + 1 < batch.n) {
        const char* const next = reinterpret_cast<const char*>(step_key + rows * keys * 2 * M);
        constexpr std::uint32_t line = 128;
        const std::uint32_t bytes = rows * keys * 2 * M * sizeof(*step_key);
        for (std::uint32_t at = threadIdx.x * line; at < bytes; at += threads * line)
          asm volatile("prefetch.global.L2 [%0];" ::"l"(next + at));
      }
      FftStep<Shape, keys, C, words> step{step_key, key.tables, key.roots,
                                          slots,    exponents,  key.slots};
      if constexpr (keys == 2) {
#pragma unroll
        for (int c = 0; c < C; ++c) {
          const std::uint32_t which = min(first_ciphertext + c, batch.count - 1);
          step.a[c] = __ldg(batch.lwe + std::uint64_t{which} * (batch.n + 1) + i);
        }
      }
      if (digits == 1) {
        step.template multiply<1>(1);
      } else if constexpr (words != FftWords::one_digit) {
        if (digits == 2)
          step.template multiply<2>(2);
        else if (digits == 3)
          step.template multiply<3>(3);
        else
          step.template multiply<0>(digits);
      }
      __syncthreads();

      // All of b, in the last step too: asking which step it is costs more than it saves, 2 to 5 %
      // of the whole against 0.1 % (docs/performance/blind-rotation-gpu.md).
      transform_back<Shape, words, Roots::thread>(own, key.tables, scale, key.large, t, acc, sync);
      sync();
    }
  }
  if (first_ciphertext + group / 2 < batch.count)
    acc.template write<G>(batch, ciphertext, group % 2, t, static_cast<Word>(key.Q));
}

}  // namespace whorl::backend::cuda
