// The bundles of an unrolled key for many ciphertexts, by FP64 tensor cores: make_fft_bundles for
// those.
//
// At one frequency, a bundle's value of a polynomial is the sum over the sets S of coefficients of
// w_S·K_S, w_S = X^a_S: a product of a matrix of ciphertexts and sets with one of sets and
// polynomials. mma.m16n8k4 multiplies 16 ciphertexts and four sets with a digit's four polynomials,
// real and imaginary parts (PTX ISA, "Matrix Fragments for mma.m16n8k4"; mma.m8n8k4 has half the
// rate on chips of compute capability 9.0). A warp holds the key's values of some frequencies in
// registers, and takes all ciphertexts through them:
//
//   [wr]·[Kr Ki] + [wi]·[-Ki Kr] = [real and imaginary part of the bundle].
//
// Lane 4·c + k has the sets whose lowest two bits are k, of ciphertexts c and c + 8, and is left
// with the values of polynomial k for both. Keys for sums over the sets with X^a_i - 1 are turned
// into those for monomials when they go to registers, since monomials at a node's two frequencies
// differ by a sign only.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "backend/cuda/kernels/bundle_progress.cuh"
#include "backend/cuda/kernels/fft_bundles.cuh"
#include "backend/cuda/kernels/rotate_fft_tensor.cuh"

namespace whorl::backend::cuda {

/// What a warp makes at a time: the bundles of two neighbouring threads of the loop, which write 32
/// bytes together, at both frequencies of a node. With five coefficients it is one frequency, and
/// the sets with the fifth have a sum of their own, which is multiplied by its monomial.
template <class KeyShape, class Shape, BundleForm form, int m, FftWords words>
struct MatrixBundleItem {
  static_assert(Shape::F == 2 && m >= 3 && m <= 5 && form != BundleForm::block);
  using Row = BundleKeyRow<form, m, words, KeyPlaces::unrolled>;
  static constexpr bool fifth = m == 5;
  /// Bits of sets beside the lowest two, and sets of a lane in a sum.
  static constexpr int high_bits = (fifth ? 4 : m) - 2, high = 1 << high_bits;
  static constexpr unsigned frequencies = matrix_bundle_frequencies(m),
                            of_step = Shape::M / frequencies;
  static constexpr unsigned pairs = Shape::threads / 2, of_thread = Shape::E / Shape::F;
  static constexpr unsigned keys = bundle_keys(form, m), sets = 1u << m;
  /// How many of 16 bytes a set has in shared memory.
  static constexpr unsigned pieces = Row::of_digit * frequencies;

  unsigned step, pair, i, f;

  __device__ static __forceinline__ MatrixBundleItem at(unsigned number) {
    const unsigned rest = number % of_step, node = rest / pairs;
    return {number / of_step, rest % pairs, node % of_thread, node / of_thread};
  }
  /// Frequency `sum` (its number among a node's, or that of the sum) of thread 0 or 1.
  __device__ __forceinline__ unsigned frequency(unsigned thread, unsigned sum) const {
    return (2 * pair + thread) * Shape::E + i * Shape::F + (fifth ? f : sum);
  }

  /// Where a piece of a set lies: lanes with other sets meet other banks.
  __device__ static __forceinline__ unsigned slot(unsigned set, unsigned piece) {
    return set * pieces + (piece ^ (set & 3));
  }
  /// Copies what a digit needs of the key. Each lane waits for its part.
  __device__ __forceinline__ void copy(const FftBundleView<words>& key, const BundleStep& step_of,
                                       unsigned digit, unsigned lane, int4* staged) const {
    for (unsigned at = lane; at < pieces * keys; at += 32) {
      const unsigned piece = at % pieces, number = at / pieces, row = piece % Row::of_digit,
                     which = piece / Row::of_digit,
                     s = fifth ? frequency(which, 0) : frequency(which / 2, which % 2);
      __pipeline_memcpy_async(
          staged + slot(number + (sets - keys), piece),
          Row::template from<KeyShape>(key, step_of, digit * Row::of_digit + row, s % KeyShape::F,
                                       s / KeyShape::F) +
              number * Row::template apart<KeyShape>,
          16);
    }
    __pipeline_commit();
  }
  /// K of set `set` (without the fifth coefficient, whose sum is `sum`) and polynomial 2·component
  /// + part.
  __device__ static __forceinline__ Complex value(const int4* staged, unsigned thread, unsigned sum,
                                                  unsigned set, unsigned polynomial) {
    if constexpr (fifth) set += 16 * sum;
    const unsigned first = (fifth ? thread : 2 * thread + sum) * Row::of_digit;
    if constexpr (is_wide<words>) {
      const double2 v = reinterpret_cast<const double2*>(staged)[slot(set, first + polynomial)];
      return {v.x, v.y};
    } else {
      const int2 v = reinterpret_cast<const int2*>(
          staged)[2 * slot(set, first + polynomial / 2) + polynomial % 2];
      return {static_cast<double>(v.x), static_cast<double>(v.y)};
    }
  }
};

/// The exponents of a step for 16 ciphertexts. Lanes fetch some each, and hand them over by way of
/// shared memory, so that few registers wait for the device's memory.
template <int m>
struct MatrixBundleExponents {
  static constexpr unsigned rows = 16, stride = m <= 4 ? 4 : 8, size = rows * stride;
  static constexpr unsigned fetched = (rows * m + 31) / 32;

  const std::uint32_t* lwe;
  std::uint32_t n, count, coefficient;  ///< the first of the step
  unsigned lane;
  std::uint32_t* shared;  ///< of the warp

  __device__ __forceinline__ void fetch(std::uint32_t first, std::uint32_t (&to)[fetched]) const {
#pragma unroll
    for (unsigned r = 0; r < fetched; ++r) {
      const unsigned at = lane + 32 * r, i = coefficient + at % m;
      to[r] =
          i < n && at < rows * m ? __ldg(lwe + min(first + at / m, count - 1) * (n + 1) + i) : 0;
    }
  }
  /// Those of ciphertexts lane/4 and lane/4 + 8.
  __device__ __forceinline__ void hand_over(const std::uint32_t (&from)[fetched],
                                            std::uint32_t (&to)[2][m]) const {
    __syncwarp();  // all have read what lies there
#pragma unroll
    for (unsigned r = 0; r < fetched; ++r) {
      const unsigned at = lane + 32 * r;
      if (at < rows * m) shared[at / m * stride + at % m] = from[r];
    }
    __syncwarp();
#pragma unroll
    for (int c = 0; c < 2; ++c)
#pragma unroll
      for (int i = 0; i < m; ++i) to[c][i] = shared[(lane / 4 + 8 * c) * stride + i];
  }
};

/// Shared memory of a block of so many warps: the real parts of all roots, the staged key, and the
/// exponents.
template <class Item, class Exponents, class Shape>
constexpr std::size_t matrix_bundle_bytes(unsigned warps) {
  return 4 * Shape::M * sizeof(double) +
         warps * (std::size_t{16} * Item::pieces * Item::sets + 4 * Exponents::size);
}

namespace matrix_bundles_detail {

/// The key of a lane at one frequency: [sum][high bits of the set], for real and imaginary parts of
/// monomials.
template <int high>
struct LaneKey {
  double of[2][high][2];
};

__device__ __forceinline__ void subtract(Complex& from, const Complex& x) {
  from.re -= x.re;
  from.im -= x.im;
}

/// Reads a thread's keys of the loop: polynomial lane/8, sets with the low bits lane mod 4.
template <class Item, BundleForm form>
__device__ __forceinline__ void load(const int4* staged, unsigned thread, double scale,
                                     unsigned lane, LaneKey<Item::high>& key) {
  constexpr int high = Item::high;
  const unsigned low = lane % 4;
  Complex v[2][high];
#pragma unroll
  for (int sum = 0; sum < 2; ++sum)
#pragma unroll
    for (int h = 0; h < high; ++h)
      v[sum][h] = Item::value(staged, thread, sum, low + 4 * h, lane / 8);
  if constexpr (form == BundleForm::differences) {
    // The sum over T of K'_T·prod (X^a_i - 1) has X^a_S times the sum over the T that contain S of
    // K'_T, with the sign of what T has more: one coefficient after the other.
    if constexpr (Item::fifth) {
#pragma unroll
      for (int h = 0; h < high; ++h) subtract(v[0][h], v[1][h]);
    }
#pragma unroll
    for (int sum = 0; sum < 2; ++sum) {
#pragma unroll
      for (int bit = 1; bit < high; bit *= 2)
#pragma unroll
        for (int h = 0; h < high; ++h)
          if ((h & bit) == 0) subtract(v[sum][h], v[sum][h | bit]);
#pragma unroll
      for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
        for (int h = 0; h < high; ++h) {
          const Complex other{__shfl_xor_sync(~0u, v[sum][h].re, bit),
                              __shfl_xor_sync(~0u, v[sum][h].im, bit)};
          if ((low & bit) == 0) subtract(v[sum][h], other);
        }
    }
  }
  // Columns of the product: real and imaginary parts of a polynomial in turn.
  const bool imaginary = lane / 4 % 2 == 1;
#pragma unroll
  for (int sum = 0; sum < 2; ++sum)
#pragma unroll
    for (int h = 0; h < high; ++h) {
      key.of[sum][h][0] = scale * (imaginary ? v[sum][h].im : v[sum][h].re);
      key.of[sum][h][1] = scale * (imaginary ? v[sum][h].re : -v[sum][h].im);
    }
}

/// Adds the products of the sets with the high bits `base` and any of those from `level` on. `w`:
/// the monomials without these, `by`: of high bits, and flips: 1 << 31 where they have the other
/// sign at the second frequency.
template <class Item, int level = 0>
__device__ __forceinline__ void add_sets(const LaneKey<Item::high>& key, const Complex (&w)[2],
                                         const std::uint32_t (&flip)[2],
                                         const Complex (&by)[Item::high_bits][2],
                                         const std::uint32_t (&flip_by)[Item::high_bits][2],
                                         double (&sums)[2][4], int base = 0) {
  using rotate_fft_tensor_detail::flipped;
  if constexpr (level == Item::high_bits) {
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int sum = 0; sum < 2; ++sum) {
        double a[2];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          a[c] = part == 0 ? w[c].re : w[c].im;
          if (!Item::fifth && sum == 1) a[c] = flipped(a[c], flip[c]);
        }
        rotate_fft_tensor_detail::multiply_add(sums[sum], a, {key.of[sum][base][part]});
      }
  } else {
    add_sets<Item, level + 1>(key, w, flip, by, flip_by, sums, base);
    Complex more[2];
    std::uint32_t flip_more[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      more[c] = rotate_fft_detail::product(w[c], by[level][c]);
      flip_more[c] = flip[c] ^ flip_by[level][c];
    }
    add_sets<Item, level + 1>(key, more, flip_more, by, flip_by, sums, base | 1 << level);
  }
}

/// Gives a lane's values of its polynomial for both threads of the loop to whoever writes them: it
/// is left with the values of polynomials k and k ^ 1 for thread k mod 2, that of part 0 first.
__device__ __forceinline__ void swap(Complex& first, Complex& second, bool odd) {
  const Complex given = odd ? first : second;
  const Complex got{__shfl_xor_sync(~0u, given.re, 1), __shfl_xor_sync(~0u, given.im, 1)};
  (odd ? first : second) = got;
}

}  // namespace matrix_bundles_detail

/// Warps take items in turn, so that the steps are made in their order. `progress.of_step` is the
/// item's.
template <class KeyShape, class Shape, BundleForm form, int m, FftWords words>
__global__ void __maxnreg__(BundleTuning::matrix_registers)
    make_matrix_bundles(const FftBundleView<words> key, const std::uint32_t* lwe, std::uint32_t n,
                        std::uint32_t count, double2* out, const BundleProgress progress) {
#if __CUDA_ARCH__ >= 900  // has_matrix_bundles
  using Item = MatrixBundleItem<KeyShape, Shape, form, m, words>;
  constexpr int M = Shape::M, N = 2 * M, high_bits = Item::high_bits;
  using Exponents = MatrixBundleExponents<m>;
  extern __shared__ double cosines[];
  let_loop_start();
  const unsigned lane = threadIdx.x, warps = blockDim.y, k = lane % 4;
  int4* const all_staged = reinterpret_cast<int4*>(cosines + 2 * N);
  int4* const staged = all_staged + threadIdx.y * Item::pieces * Item::sets;
  auto* const shared_exponents =
      reinterpret_cast<std::uint32_t*>(all_staged + warps * Item::pieces * Item::sets) +
      threadIdx.y * Exponents::size;
  // Roots 0 … N/2 - 1 and N … 3N/2 - 1 have the others' real parts as their imaginary ones.
  for (unsigned j = threadIdx.y * 32 + lane; j < N; j += 32 * warps) {
    const unsigned e = j < N / 2 ? j : j + N / 2;
    const Complex root = load_root(key.roots + e);
    cosines[e] = root.re;
    cosines[(e + 3 * N / 2) % (2 * N)] = root.im;
  }
  if constexpr (form == BundleForm::differences)  // there is no key of the empty set
    for (unsigned piece = lane; piece < Item::pieces; piece += 32) staged[piece] = {};
  __syncthreads();
  const auto root = [&](std::uint32_t e) {
    return Complex{cosines[e % (2 * N)], cosines[(e + 3 * N / 2) % (2 * N)]};
  };

  const unsigned items = progress.steps * Item::of_step, all_warps = gridDim.x * warps;
  unsigned number = blockIdx.x * warps + threadIdx.y;
  if (number < items) {
    const Item item = Item::at(number);
    item.copy(key, key.steps[item.step], 0, lane, staged);
  }
  for (; number < items; number += all_warps) {
    const Item item = Item::at(number);
    const BundleStep step = key.steps[item.step];
    const double scale = __ldg(key.inverse_scale + step.first);
    std::uint32_t exponent[2];  // of X at the first frequency of both threads
#pragma unroll
    for (int thread = 0; thread < 2; ++thread)
      exponent[thread] = 4 * (__brev(item.frequency(thread, 0)) >> (32 - Shape::log_m)) + 1;
    const Exponents exponents{lwe, n, count, step.first, lane, shared_exponents};
#pragma unroll 1
    for (unsigned digit = 0; digit < step.digits; ++digit) {
      std::uint32_t next[Exponents::fetched], a[2][m];
      exponents.fetch(0, next);
      __pipeline_wait_prior(0);
      __syncwarp();
      matrix_bundles_detail::LaneKey<Item::high> of_thread[2];
#pragma unroll
      for (int thread = 0; thread < 2; ++thread)
        matrix_bundles_detail::load<Item, form>(staged, thread, scale, lane, of_thread[thread]);
      __syncwarp();  // all have read it
      if (digit + 1 < step.digits) {
        item.copy(key, step, digit + 1, lane, staged);
      } else if (number + all_warps < items) {
        const Item after = Item::at(number + all_warps);
        after.copy(key, key.steps[after.step], 0, lane, staged);
      }
      double2* to = out + (lane / 4) * key.size + step.bundle +
                    bundle_place<Shape>(digit, 0, k / 2, item.frequency(k % 2, 0));
      exponents.hand_over(next, a);
#pragma unroll 1
      for (std::uint32_t first = 0; first < count; first += Exponents::rows) {
        exponents.fetch(first + Exponents::rows, next);
        std::uint32_t low[2], flip[2], flip_by[high_bits][2];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          low[c] = (k % 2 == 1 ? a[c][0] : 0) + (k / 2 == 1 ? a[c][1] : 0);
          flip[c] = low[c] << 31;
#pragma unroll
          for (int i = 0; i < high_bits; ++i) flip_by[i][c] = a[c][2 + i] << 31;
        }
        double sums[2][2][4] = {};
#pragma unroll
        for (int thread = 0; thread < 2; ++thread) {
          Complex w[2], by[high_bits][2];
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            w[c] = root(exponent[thread] * low[c]);
#pragma unroll
            for (int i = 0; i < high_bits; ++i) by[i][c] = root(exponent[thread] * a[c][2 + i]);
          }
          matrix_bundles_detail::add_sets<Item>(of_thread[thread], w, flip, by, flip_by,
                                                sums[thread]);
        }
        Complex value[2][2][2];  // of a ciphertext, thread and frequency
#pragma unroll
        for (int c = 0; c < 2; ++c)
#pragma unroll
          for (int thread = 0; thread < 2; ++thread) {
#pragma unroll
            for (int sum = 0; sum < 2; ++sum)
              value[c][thread][sum] = {sums[thread][sum][2 * c], sums[thread][sum][2 * c + 1]};
            if constexpr (Item::fifth)
              rotate_fft_detail::multiply_add(value[c][thread][0], value[c][thread][1],
                                              root(exponent[thread] * a[c][4]));
          }
        exponents.hand_over(next, a);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const bool there = first + lane / 4 + 8 * c < count;
#pragma unroll
          for (int f = 0; f < (Item::fifth ? 1 : 2); ++f) {
            matrix_bundles_detail::swap(value[c][0][f], value[c][1][f], k % 2 == 1);
            constexpr std::size_t second = bundle_place<Shape>(0, 0, 0, 1),
                                  part = bundle_place<Shape>(0, 1, 0, 0);
            if (there) {
              to[f * second] = {value[c][0][f].re, value[c][0][f].im};
              to[f * second + part] = {value[c][1][f].re, value[c][1][f].im};
            }
          }
          to += 8 * key.size;
        }
      }
    }
    if (progress.made != nullptr) progress.add_of_warp(item.step);
  }
#endif
}

}  // namespace whorl::backend::cuda
