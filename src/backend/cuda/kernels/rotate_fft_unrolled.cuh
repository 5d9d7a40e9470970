// Blind rotation with unrolled keys in one kernel, with the folded FFT: groups of m LWE
// coefficients are brought in at once.
//
// A step multiplies ACC by a bundle (bundle_form.h). With differences of sets, u_i = X^a_i - 1 and
// K'_T = sum of K_S over the sets S that contain T, the bundle is the sum over T of K'_T times the
// product of the u_i of T (as X^a_S = prod (1 + u_i)): as many keys, and m monomials instead of 2^m
// - 1. Such keys are prepared as K'. With all sets the same sum is made of K_S and u_i = X^a_i.
//
// Work is divided as in rotate_fft.cuh: groups of threads own polynomials, and between transforms
// all threads own frequencies. A value of the bundle is made in the registers of the thread that
// multiplies with it. A block carries C = R·L ciphertexts: a thread takes R of them, which share
// the key's values in registers; L neighbouring threads take the same node of frequencies, and
// share what they read.
#pragma once

#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/kernels/rotate_fft.cuh"

namespace whorl::backend::cuda {

/// An unrolled key as the kernel reads it.
template <FftWords words>
struct UnrolledFftKeyView {
  /// 16 bytes for each of unrolled_fft_place; step by step, all of which have as many keys.
  const FftKeyPair<words>* values;
  const double* inverse_scale;  ///< of the LWE coefficient that begins a step: 1/(scale·M·Q)
  const double2* tables;        ///< GroupFft's
  const double2* roots;         ///< zeta^e, e < 2N
  const GadgetRange* ranges;    ///< of LWE coefficients
  std::uint32_t range_count, slots;
  std::uint64_t Q;
  bool large;
  double* spill;  ///< as in FftKeyView
};

/// Where a value lies among those of a step, in units of a complex value. A narrow key's two rows
/// of a digit, that of a and that of b, lie beside each other: threads read 16 bytes.
template <class Shape, FftWords words>
__host__ __device__ constexpr std::size_t unrolled_fft_place(unsigned digit, unsigned part,
                                                             unsigned component, unsigned key,
                                                             unsigned keys, unsigned node,
                                                             unsigned f) {
  constexpr std::size_t nodes = Shape::M / Shape::F;
  const std::size_t unit = std::size_t{2} * (digit * Shape::F + f) + component;
  return is_wide<words> ? ((unit * 2 + part) * keys + key) * nodes + node
                        : ((unit * keys + key) * nodes + node) * 2 + part;
}

/// The same for a key whose bundles tensor cores make; `keys` is tensor_keys'. `turn` is the node's
/// number with its bits reversed: the exponents of its frequencies are 4·turn + 1 and that plus N.
/// Lane 4·column + t of a warp reads the values of keys t and t + 4 together, with their 31 bits as
/// integers (rotate_fft_tensor.cuh).
template <class Shape>
__host__ __device__ constexpr std::size_t tensor_fft_place(unsigned digit, unsigned part,
                                                           unsigned component, unsigned key,
                                                           unsigned keys, unsigned turn,
                                                           unsigned f) {
  const unsigned row = tensor_digits * part + digit, column = 2 * row + (component ^ part);
  const unsigned lane = 4 * column + key % 4;
  return (std::size_t{turn * Shape::F + f} * 32 + lane) * (keys / 4) + key / 4;
}

/// Shared memory of a block. Ciphertexts lie apart so that L threads that read the same values of
/// theirs meet different banks.
template <class Shape, int R, int L, FftWords words>
struct UnrolledFftMemory {
  using Polynomial = FftPolynomialMemory<Shape, words>;
  static constexpr int C = R * L;
  static constexpr int padding = L == 1           ? 0
                                 : is_wide<words> ? 2
                                                  : 16 / L;  ///< doubles a ciphertext
  static constexpr int log_l = L == 1 ? 0 : L == 2 ? 1 : 2;
  /// Roots by which X^a differs between the nodes of a warp.
  static constexpr int log_near = 5 - log_l, near = 1 << log_near;
  static constexpr int near_roots = Shape::F * near;
  __host__ __device__ static constexpr std::size_t ciphertext_doubles(unsigned slots) {
    return 2 * slots * Polynomial::slot_doubles + padding;
  }
  __host__ __device__ static constexpr std::size_t slot_bytes(unsigned slots) {
    return C * ciphertext_doubles(slots) * 8;
  }
  __host__ __device__ static constexpr std::size_t other_bytes(unsigned slots) {
    return near_roots * 16 + 2 * C * Polynomial::other_bytes(slots);
  }
};

namespace rotate_fft_unrolled_detail {

/// What X^a_i of a coefficient brings into the bundle.
template <BundleForm form>
__device__ __forceinline__ Complex factor(Complex monomial) {
  if constexpr (form != BundleForm::all) monomial.re -= 1;
  return monomial;
}

/// The sum over the sets T of coefficients level … m - 1 of k[base and T - first] times the product
/// of their u.
template <int first, int m, int level, std::size_t keys>
__device__ __forceinline__ Complex with_sets(const Complex (&k)[keys], const Complex (&u)[m],
                                             int base) {
  if constexpr (level == m) {
    return k[base - first];
  } else {
    Complex out = with_sets<first, m, level + 1>(k, u, base);
    rotate_fft_detail::multiply_add(out, u[level],
                                    with_sets<first, m, level + 1>(k, u, base | 1 << level));
    return out;
  }
}
/// A value of the bundle.
template <BundleForm form, int m, std::size_t keys>
__device__ __forceinline__ Complex bundle(const Complex (&k)[keys], const Complex (&u)[m]) {
  if constexpr (form == BundleForm::all) {
    return with_sets<0, m, 0>(k, u, 0);
  } else {
    Complex out;
    const auto add = [&]<int level>(std::integral_constant<int, level>) {
      Complex of;
      if constexpr (form == BundleForm::block)
        of = k[level];
      else
        of = with_sets<1, m, level + 1>(k, u, 1 << level);
      if constexpr (level == m - 1)
        out = rotate_fft_detail::product(u[level], of);
      else
        rotate_fft_detail::multiply_add(out, u[level], of);
    };
    [&]<int... i>(std::integer_sequence<int, i...>) {
      (add(std::integral_constant<int, m - 1 - i>{}), ...);
    }
    (std::make_integer_sequence<int, m>());
    return out;
  }
}

/// The key's values for one frequency and component: narrow, of both rows of a digit; wide, of one.
template <int keys, FftWords words>
struct Unit {
  FftKeyPair<words> v[keys];

  __device__ __forceinline__ void load(const FftKeyPair<words>* at, int nodes) {
#pragma unroll
    for (int k = 0; k < keys; ++k) v[k] = rotate_fft_detail::load_key(at + k * nodes);
  }
  __device__ __forceinline__ void get(int part, Complex (&out)[keys]) const {
#pragma unroll
    for (int k = 0; k < keys; ++k) {
      if constexpr (is_wide<words>)
        out[k] = {v[k].x, v[k].y};
      else if (part == 0)
        out[k] = {static_cast<double>(v[k].x), static_cast<double>(v[k].y)};
      else
        out[k] = {static_cast<double>(v[k].z), static_cast<double>(v[k].w)};
    }
  }
};

}  // namespace rotate_fft_unrolled_detail

/// The products of one step.
template <class Shape, BundleForm form, int m, int R, int L, FftWords words>
struct UnrolledFftStep {
  static constexpr int keys = static_cast<int>(bundle_keys(form, m));
  using Memory = UnrolledFftMemory<Shape, R, L, words>;
  using Polynomial = typename Memory::Polynomial;
  using Value = FftKeyPair<words>;

  const Value* key;
  const double2 *tables, *roots, *near;
  double* slots;
  const std::uint32_t* exponents;
  std::uint32_t slots_each;
  std::uint32_t a[R][m];  ///< of this thread's ciphertexts

  __device__ __forceinline__ double* slot(std::uint32_t ciphertext, std::uint32_t number) const {
    return slots + ciphertext * Memory::ciphertext_doubles(slots_each) +
           number * Polynomial::slot_doubles;
  }

  /// Waits for all threads' digits first.
  template <int digits_known>
  __device__ __forceinline__ void multiply(std::uint32_t digits) const {
    constexpr int F = Shape::F, nodes = Shape::M / F;
    constexpr int C = R * L, threads = 2 * C * Shape::threads;
    constexpr int units = F * 2 * (is_wide<words> ? 2 : 1);  // of a digit
    static_assert(nodes >= 32 && threads % 32 == 0);
    if constexpr (digits_known > 0) digits = digits_known;
    using Unit = rotate_fft_unrolled_detail::Unit<keys, words>;
    const std::uint32_t own = threadIdx.x % L * R;  // the first of the thread's ciphertexts
    Unit ahead;
    ahead.load(key + threadIdx.x / L % nodes, nodes);
    __syncthreads();
#pragma unroll 1
    for (int item = threadIdx.x; item < nodes * L; item += threads) {
      const int node = item / L;
      Complex w[2];
      load_rest<Shape>(tables, node, w);
      Complex root[R][m];
      monomials(node, root);
      Complex sum[R][2][F] = {};
      const auto add_digit = [&](std::uint32_t digit) {
        Complex x[R][2][F];
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            const std::uint32_t number = part * slots_each + digit;
            load_spectrum<Shape, words>(
                slot(own + r, number),
                exponents + ((own + r) * 2 * slots_each + number) * Polynomial::parts, node, w,
                x[r][part]);
          }
#pragma unroll
        for (int f = 0; f < F; ++f) {
          Complex u[R][m];
#pragma unroll
          for (int r = 0; r < R; ++r)
#pragma unroll
            for (int i = 0; i < m; ++i) {
              // Exponents of a node's frequencies differ by multiples of N/2.
              const std::uint32_t turns = rotate_fft_detail::turns_of<F>(f);
              u[r][i] = rotate_fft_unrolled_detail::factor<form>(
                  rotate_fft_detail::turned(root[r][i], 0u - turns * a[r][i]));
            }
#pragma unroll
          for (int unit = 0; unit < units / F; ++unit) {
            const int component = is_wide<words> ? unit / 2 : unit;
            const Unit now = ahead;
            // the next unit, or the first of the next node
            const std::uint32_t number = digit * units + f * (units / F) + unit + 1;
            const bool wraps = number == digits * units;
            const int next =
                wraps ? (item + threads < nodes * L ? item + threads : item) / L : node;
            ahead.load(key + (wraps ? 0 : number * keys * nodes) + next, nodes);
#pragma unroll
            for (int part = is_wide<words> ? unit % 2 : 0;
                 part < (is_wide<words> ? unit % 2 + 1 : 2); ++part) {
              Complex k[keys];
              now.get(part, k);
#pragma unroll
              for (int r = 0; r < R; ++r)
                rotate_fft_detail::multiply_add(sum[r][component][f], x[r][part][f],
                                                rotate_fft_unrolled_detail::bundle<form>(k, u[r]));
            }
          }
        }
      };
      if constexpr (digits_known == 1) {
        add_digit(0);
      } else {
#pragma unroll 1
        for (std::uint32_t digit = 0; digit < digits; ++digit) add_digit(digit);
      }
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          inverse_rest<Shape>(sum[r][s]);
          store_result<Shape>(sum[r][s], node, slot(own + r, s * slots_each));
        }
    }
  }

 private:
  /// X^a at the first frequency of a node: zeta^(a·(4·brv(node) + 1)). The nodes of a warp differ
  /// in their low bits, which are the high ones of the reversed number: a root of low order for
  /// these, and one root for the whole warp.
  __device__ __forceinline__ void monomials(int node, Complex (&root)[R][m]) const {
    constexpr int N = 2 * Shape::M, bits = Shape::log_m - Shape::rest;
    constexpr int far_bits = bits - Memory::log_near;
    const std::uint32_t near_part = __brev(node & (Memory::near - 1)) >> (32 - Memory::log_near);
    std::uint32_t far_part = 1;
    if constexpr (far_bits > 0)
      far_part += 4 * (__brev(node >> Memory::log_near) >> (32 - far_bits));
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int i = 0; i < m; ++i) {
        const Complex far = load_root(roots + ((a[r][i] * far_part) & (2 * N - 1)));
        const Complex by = load_root(near + ((a[r][i] * near_part) & (Memory::near_roots - 1)));
        root[r][i] = rotate_fft_detail::product(far, by);
      }
  }
};

template <class Shape, BundleForm form, int m, int R, int L, FftWords words, int blocks,
          Slots place>
__global__ void __launch_bounds__(2 * R * L * Shape::threads, blocks)
    rotate_fft_unrolled(const UnrolledFftKeyView<words> key,
                        const RotationBatch<FftWord<words>> batch) {
  using Word = FftWord<words>;
  using Memory = UnrolledFftMemory<Shape, R, L, words>;
  using Polynomial = typename Memory::Polynomial;
  using Accumulator = TorusAccumulator<2 * Shape::M, words>;
  using Step = UnrolledFftStep<Shape, form, m, R, L, words>;
  constexpr int M = Shape::M, N = 2 * M, E = Shape::E, G = Shape::threads;
  constexpr int C = R * L, threads = 2 * C * G;

  extern __shared__ double2 shared_memory[];
  double2* const near = shared_memory;
  double* const shared_doubles = reinterpret_cast<double*>(near + Memory::near_roots);
  const std::size_t block_doubles = C * Memory::ciphertext_doubles(key.slots);
  double* const slots =
      place == Slots::device ? key.spill + blockIdx.x * block_doubles : shared_doubles;
  auto* const accumulators = reinterpret_cast<std::uint32_t*>(
      shared_doubles + (place == Slots::device ? 0 : block_doubles));
  std::uint32_t* const exponents = accumulators + 2 * C * (Polynomial::accumulator_bytes / 4);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t first_ciphertext = blockIdx.x * C;
  const auto clamped = [&](std::uint32_t c) { return min(first_ciphertext + c, batch.count - 1); };
  const std::uint32_t ciphertext = clamped(group / 2);
  Accumulator acc{accumulators + group * (Polynomial::accumulator_bytes / 4)};
  double* const own = slots + group / 2 * Memory::ciphertext_doubles(key.slots) +
                      group % 2 * key.slots * Polynomial::slot_doubles;
  const std::uint32_t* lwe[R];  // of the ciphertexts that this thread multiplies
#pragma unroll
  for (int r = 0; r < R; ++r)
    lwe[r] = batch.lwe + std::uint64_t{clamped(threadIdx.x % L * R + r)} * (batch.n + 1);

  for (int j = threadIdx.x; j < Memory::near_roots; j += threads)
    near[j] = key.roots[j * (2 * N / Memory::near_roots)];
  acc.template start<G>(batch, ciphertext, group % 2, t, static_cast<Word>(key.Q));
  sync();

  for (std::uint32_t range = 0; range < key.range_count; ++range) {
    const GadgetRange gadget = key.ranges[range];
    const std::uint32_t digits = digits_of<words>(gadget);
    const std::size_t step_values = std::size_t{digits} * (is_wide<words> ? 4 : 2) * M * Step::keys;
    const auto* step_key = key.values + gadget.first_row * (is_wide<words> ? 2 : 1) * M;
    for (std::uint32_t i = gadget.first; i < gadget.end; i += m, step_key += step_values) {
      const double scale = __ldg(key.inverse_scale + i);
      Step step{step_key, key.tables, key.roots, near, slots, exponents, key.slots};
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < m; ++k) step.a[r][k] = i + k < batch.n ? __ldg(lwe[r] + i + k) : 0;

          // Coefficients that a thread decomposes here are those that it adds to below.
#pragma unroll 1
      for (std::uint32_t digit = 0; digit < digits; ++digit) {
        Complex z[E];
        const DigitRule rule(gadget, digit);
        const auto digit_of = [&](int j) {
          if constexpr (words == FftWords::one_digit)
            return static_cast<double>(Accumulator::single_digit(acc.get(j), gadget));
          else
            return static_cast<double>(rule(
                Accumulator::with_offset(acc.get(j), static_cast<Word>(key.Q), gadget.offset)));
        };
#pragma unroll
        for (int k = 0; k < E; ++k) z[k] = {digit_of(t + G * k), digit_of(t + G * k + M)};
        double* const slot = own + digit * Polynomial::slot_doubles;
        transform_values<Shape, words, slot_exchange<words>>(
            z, key.tables, t, slot, slot,
            exponents + (group * key.slots + digit) * Polynomial::parts, sync);
      }
      if constexpr (words == FftWords::one_digit)
        step.template multiply<1>(1);
      else
        step.template multiply<0>(digits);
      __syncthreads();
      transform_back<Shape, words, Roots::table>(own, key.tables, scale, key.large, t, acc, sync,
                                                 form == BundleForm::all ? 0 : ~0u);
      sync();
    }
  }
  if (first_ciphertext + group / 2 < batch.count)
    acc.template write<G>(batch, ciphertext, group % 2, t, static_cast<Word>(key.Q));
}

}  // namespace whorl::backend::cuda
