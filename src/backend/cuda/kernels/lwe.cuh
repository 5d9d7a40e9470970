// Sample extraction, modulus switching and linear combinations of LWE ciphertexts: memory sets the
// pace.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

inline constexpr unsigned lwe_threads = 256;

/// Coefficients that one launch extracts.
inline constexpr unsigned most_extracted = 128;
template <class Word>
struct ExtractArguments {
  Word Q, constant;
  std::uint32_t N, offsets;
  std::size_t out_stride;  ///< of the samples of one ciphertext, words
  std::uint32_t offset[most_extracted];
};

/// A block takes a sample at a time, of (ciphertexts, offsets).
template <class Word>
__global__ void __launch_bounds__(lwe_threads)
    extract_samples(const __grid_constant__ ExtractArguments<Word> p, std::size_t samples,
                    const Word* __restrict__ rlwe, Word* __restrict__ out) {
  const std::uint32_t N = p.N;
  for (std::size_t sample = blockIdx.x; sample < samples; sample += gridDim.x) {
    const std::size_t m = sample / p.offsets, which = sample - m * p.offsets;
    const std::uint32_t k = p.offset[which];
    const Word* a = rlwe + m * 2 * N;
    Word* to = out + m * p.out_stride + which * (N + 1);
    for (std::uint32_t j = threadIdx.x; j < N; j += lwe_threads)
      to[j] = j <= k ? a[k - j] : neg_mod<Word>(a[N + k - j], p.Q);
    if (threadIdx.x == 0) to[N] = add_mod<Word>(a[N + k], p.constant, p.Q);
  }
}

// ---------------------------------------------------------------------------------------------
// Modulus switching

/// round(x·to/from) = floor((x·to + from/2)/from) without division. With to = whole·from + part and
/// ratio = floor(part·2^w/from), floor(x·ratio/2^w) is short of x·part/from by less than 2, as in
/// Shoup's product, so that what is left is below 2.5·from: it must fit a word of Arithmetic.
/// Arithmetic: uint32_t for from <= 2^30, uint64_t for from <= 2^62, else unsigned __int128, which
/// divides.
template <class Arithmetic>
struct ModulusRatio {
  std::uint64_t from, to, whole, part, ratio;

  struct Rounded {
    std::uint64_t quotient;   ///< in [0, to]
    std::uint64_t remainder;  ///< of x·to + floor(from/2) by from
  };
  ModulusRatio(std::uint64_t from_modulus, std::uint64_t to_modulus)
      : from(from_modulus),
        to(to_modulus),
        whole(to / from),
        part(to % from),
        ratio(static_cast<std::uint64_t>(
            (static_cast<unsigned __int128>(part) << (sizeof(Arithmetic) == 4 ? 32 : 64)) / from)) {
  }
  /// Rounds x·to/from; x must be below from.
  __host__ __device__ Rounded round(std::uint64_t x) const {
    if constexpr (sizeof(Arithmetic) == 16) {
      const Arithmetic scaled = static_cast<Arithmetic>(x) * to + from / 2;
      const Arithmetic quotient = scaled / from;
      return {static_cast<std::uint64_t>(quotient),
              static_cast<std::uint64_t>(scaled - quotient * from)};
    } else {
      const auto q = static_cast<Arithmetic>(from), y = static_cast<Arithmetic>(x);
      Arithmetic quotient = mul_high<Arithmetic>(y, static_cast<Arithmetic>(ratio));
      Arithmetic left = y * static_cast<Arithmetic>(part) + q / 2 - quotient * q;
      for (int i = 0; i < 2; ++i) {
        quotient += left >= q;
        left = subtract_once<Arithmetic>(left, q);
      }
      return {whole * x + quotient, left};
    }
  }
  __host__ __device__ std::uint64_t reduced(std::uint64_t quotient) const {
    return quotient == to ? 0 : quotient;
  }
  /// The last element `b` of a row of `others` + 1 elements, whose rounding errors add up to
  /// sum/from: round((b·to + sum/centre)/from) mod to.
  __host__ __device__ std::uint64_t centred(std::uint64_t b, std::int64_t sum, std::size_t others,
                                            unsigned centre) const {
    const Rounded rounded = round(b);
    // (centre·(2·b·to + from) + 2·sum)/(2·centre·from), of which centre·2·quotient·from is taken
    // out; made positive.
    const std::uint64_t turns = others / 2 + 1;
    const auto numerator = static_cast<unsigned __int128>(
        centre * (2 * static_cast<__int128>(rounded.remainder) + static_cast<__int128>(from & 1) +
                  2 * static_cast<__int128>(turns) * from) +
        2 * static_cast<__int128>(sum));
    const auto correction =
        static_cast<std::uint64_t>(numerator / (2 * static_cast<unsigned __int128>(centre) * from));
    const std::uint64_t x = reduced(rounded.quotient);
    if (correction >= turns) {
      const std::uint64_t up = (correction - turns) % to;
      return up < to - x ? x + up : up - (to - x);
    }
    const std::uint64_t down = (turns - correction) % to;
    return x >= down ? x - down : x + (to - down);
  }
};

template <class Word, unsigned width>
struct alignas(width * sizeof(Word)) LweVector {
  Word word[width];
};

/// Switches moduli of rows, which do not matter without centring. `out` may be `in`.
template <class Arithmetic, class In, class Out, unsigned width>
__global__ void __launch_bounds__(lwe_threads)
    switch_values(ModulusRatio<Arithmetic> ratio, std::size_t size, const In* in, Out* out) {
  const std::size_t vectors = size / width;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::size_t i = first; i < vectors; i += std::size_t{gridDim.x} * blockDim.x) {
    const auto x = reinterpret_cast<const LweVector<In, width>*>(in)[i];
    LweVector<Out, width> y;
#pragma unroll
    for (unsigned k = 0; k < width; ++k)
      y.word[k] = static_cast<Out>(ratio.reduced(ratio.round(x.word[k]).quotient));
    reinterpret_cast<LweVector<Out, width>*>(out)[i] = y;
  }
  const std::size_t tail = vectors * width + first;
  if (tail < size) out[tail] = static_cast<Out>(ratio.reduced(ratio.round(in[tail]).quotient));
}

/// A warp takes a row. `out` may be `in`.
template <class Arithmetic, class In, class Out>
__global__ void __launch_bounds__(lwe_threads)
    switch_rows_centred(ModulusRatio<Arithmetic> ratio, std::size_t row, unsigned centre,
                        std::size_t count, const In* in, Out* out) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t m = (std::size_t{blockIdx.x} * lwe_threads + threadIdx.x) / 32;
  if (m >= count) return;
  in += m * row;
  out += m * row;
  const std::size_t last = row - 1;
  std::int64_t sum = 0;
#pragma unroll 4
  for (std::size_t k = lane; k < last; k += 32) {
    const auto rounded = ratio.round(in[k]);
    sum += static_cast<std::int64_t>(ratio.from / 2) - static_cast<std::int64_t>(rounded.remainder);
    out[k] = static_cast<Out>(ratio.reduced(rounded.quotient));
  }
  for (unsigned distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) out[last] = static_cast<Out>(ratio.centred(in[last], sum, last, centre));
}

// ---------------------------------------------------------------------------------------------
// Linear combinations

inline constexpr unsigned most_linear_inputs = 16;

template <class Word>
struct LinearArguments {
  const Word* in[most_linear_inputs];
  Word factor[most_linear_inputs];        ///< below q
  Word factor_shoup[most_linear_inputs];  ///< floor(factor·2^w/q), w bits of a word
  unsigned inputs;
  std::uint64_t q;        ///< at most 2^32, or below 2^61 for 64-bit words
  std::uint64_t barrett;  ///< floor((2^64 - 1)/q)
  Word constant;
  std::size_t row, size;
};

/// The sum with one product more. Of 32-bit words each is left in [0, 2q) (Harvey 2014, section 2),
/// so that the sum stays below 2^38; of 64-bit ones the sum is reduced.
template <class Word>
__host__ __device__ inline std::uint64_t add_linear_term(std::uint64_t sum, Word x, Word w,
                                                         Word w_shoup, std::uint64_t q) {
  if constexpr (sizeof(Word) == 4)
    return sum + (std::uint64_t{x} * w - mul_high<std::uint32_t>(x, w_shoup) * q);
  else
    return add_mod<Word>(sum, mul_shoup<Word>(x, w, w_shoup, q), q);
}
/// Barrett (CRYPTO 1986); the quotient is short by at most one.
__host__ __device__ inline std::uint64_t linear_reduce(std::uint64_t sum, std::uint64_t q,
                                                       std::uint64_t barrett) {
  sum -= mul_high<std::uint64_t>(sum, barrett) * q;
  return sum >= q ? sum - q : sum;
}

/// Sums of `width` elements from `at` on, so far: the constant where a row has its body.
template <class Word, unsigned width>
__device__ void begin_sums(std::uint64_t (&sums)[width], std::size_t at, std::size_t row,
                           Word constant) {
  // Elements up to the next body, which gets the constant.
  const std::size_t until_body =
      row - 1 -
      (at >> 32 == 0 && row >> 32 == 0
           ? static_cast<std::uint32_t>(at) % static_cast<std::uint32_t>(row)
           : at % row);
#pragma unroll
  for (unsigned k = 0; k < width; ++k)
    sums[k] = k >= until_body && (k - until_body) % row == 0 ? constant : 0;
}

/// `out` may be one of the inputs.
template <class Word, unsigned width>
__global__ void __launch_bounds__(lwe_threads)
    combine_linearly(const __grid_constant__ LinearArguments<Word> p, Word* out) {
  using Vector = LweVector<Word, width>;
  const std::size_t vectors = p.size / width;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < vectors;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint64_t sums[width];
    begin_sums<Word, width>(sums, i * width, p.row, p.constant);
#pragma unroll 4
    for (unsigned input = 0; input < p.inputs; ++input) {
      const Vector x = reinterpret_cast<const Vector*>(p.in[input])[i];
#pragma unroll
      for (unsigned k = 0; k < width; ++k)
        sums[k] =
            add_linear_term<Word>(sums[k], x.word[k], p.factor[input], p.factor_shoup[input], p.q);
    }
    Vector result;
#pragma unroll
    for (unsigned k = 0; k < width; ++k)
      result.word[k] = static_cast<Word>(linear_reduce(sums[k], p.q, p.barrett));
    reinterpret_cast<Vector*>(out)[i] = result;
  }
}

}  // namespace whorl::backend::cuda
