// Rows of LWE ciphertexts as coefficients of polynomials, and rows from a seed: memory sets the
// pace of the first, instructions that of the second.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/contract/lwe.h"
#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/tuning/lwe.h"

namespace whorl::backend::cuda {

inline constexpr unsigned polynomial_threads = 256;

template <class In, class Out>
struct PolynomialArguments {
  const In* rows;  ///< (vectors, 2^log_length, row), from the first column on
  Out* out;        ///< (columns, primes, batch, N)
  std::size_t row, vectors;
  std::size_t all;  ///< coefficients of a column that are not 0, as they follow each other
  std::uint32_t columns, last;  ///< last: the column to which the constant is added, or none
  std::uint32_t log_length, log_gap, shift, weights, primes;
  In constant, half_step, mask, half;  ///< half_step: what is added before a shift
  In weight[LwePolynomials::most_weights];
  Out negative[LwePolynomials::most_primes];  ///< prime - to
};

/// A block takes a tile of coefficients times columns through shared memory: a warp reads a row
/// along its columns, and writes a column along its coefficients. Grid: (tiles of coefficients,
/// tiles of columns).
template <class In, class Out>
__global__ void __launch_bounds__(polynomial_threads)
    write_polynomials(const __grid_constant__ PolynomialArguments<In, Out> a) {
  constexpr unsigned width = tuning::polynomial_columns, length = tuning::polynomial_coefficients,
                     warps = polynomial_threads / 32, each = length / warps;
  static_assert(width == 32 && length % 32 == 0 && length % warps == 0);
  __shared__ In tile[length][width + 1];
  join_chain();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * length;
  const std::uint32_t first = blockIdx.y * width, column = first + lane;
  const std::size_t in_vector = (std::size_t{1} << a.log_length) - 1;

  // 1. Sums, which wrap around in the word.
  In sum[each];
  const In* from[each];
  std::size_t vector[each];
#pragma unroll
  for (unsigned i = 0; i < each; ++i) {
    const std::size_t at = begin + i * warps + warp;
    const auto j = static_cast<std::uint32_t>(at & in_vector);
    const std::uint32_t place = a.log_length == 0 ? 0 : __brev(j) >> (32 - a.log_length);
    vector[i] = at < a.all && column < a.columns ? (at >> a.log_length) * a.weights : a.vectors;
    from[i] = a.rows + ((vector[i] << a.log_length) + place) * a.row + column;
    sum[i] = column == a.last ? a.constant : 0;
  }
  for (unsigned m = 0; m < a.weights; ++m)
#pragma unroll
    for (unsigned i = 0; i < each; ++i)
      if (vector[i] + m < a.vectors)
        sum[i] += a.weight[m] * from[i][(static_cast<std::size_t>(m) << a.log_length) * a.row];
#pragma unroll
  for (unsigned i = 0; i < each; ++i)
    tile[i * warps + warp][lane] = static_cast<In>(sum[i] + a.half_step) >> a.shift & a.mask;
  __syncthreads();

  // 2. Residues, with the zeros between them.
  const std::size_t words = (a.all < begin + length ? a.all - begin : length) << a.log_gap,
                    to = begin << a.log_gap, slab = a.all << a.log_gap;
  const std::uint32_t gaps = (1u << a.log_gap) - 1;
  for (unsigned c = warp; c < width && first + c < a.columns; c += warps)
    for (std::size_t w = lane; w < words; w += 32) {
      const bool zero = (w & gaps) != 0;
      const In x = tile[w >> a.log_gap][c];
      for (unsigned l = 0; l < a.primes; ++l)
        a.out[(static_cast<std::size_t>(first + c) * a.primes + l) * slab + to + w] =
            zero ? Out{0}
                 : static_cast<Out>(static_cast<Out>(x) + (x < a.half ? 0 : a.negative[l]));
    }
}

// ---------------------------------------------------------------------------------------------
// Keystreams

template <class Word>
struct ExpansionArguments {
  std::uint32_t key[8];
  Word mask, top;        ///< top: modulus - 1; masked words above it are dropped
  std::uint32_t blocks;  ///< of 64 bytes, of a row's keystream where no word is dropped
  std::uint64_t first;
  std::size_t row, count;
  const std::uint32_t* numbers;  ///< null if they are first, first + 1, …
  const Word* bodies;
  Word* out;

  __device__ std::uint64_t nonce(std::size_t r) const {
    return numbers != nullptr ? numbers[r] : first + r;
  }
};

__host__ __device__ inline void chacha_quarter_round(std::uint32_t& a, std::uint32_t& b,
                                                     std::uint32_t& c, std::uint32_t& d) {
  const auto turned = [](std::uint32_t x, unsigned by) { return x << by | x >> (32 - by); };
  a += b;
  d = turned(d ^ a, 16);
  c += d;
  b = turned(b ^ c, 12);
  a += b;
  d = turned(d ^ a, 8);
  c += d;
  b = turned(b ^ c, 7);
}

/// Block number `block` of the keystream with that nonce: Bernstein's original ChaCha20 ("ChaCha, a
/// variant of Salsa20", 2008), with a counter and a nonce of 64 bits, as math::Stream has it.
__host__ __device__ inline void chacha_block(const std::uint32_t (&key)[8], std::uint64_t block,
                                             std::uint64_t nonce, std::uint32_t (&out)[16]) {
  std::uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) in[4 + i] = key[i];
  in[12] = static_cast<std::uint32_t>(block);
  in[13] = static_cast<std::uint32_t>(block >> 32);
  in[14] = static_cast<std::uint32_t>(nonce);
  in[15] = static_cast<std::uint32_t>(nonce >> 32);
#pragma unroll
  for (unsigned i = 0; i < 16; ++i) out[i] = in[i];
  for (unsigned round = 0; round < 10; ++round) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      chacha_quarter_round(out[i], out[4 + i], out[8 + i], out[12 + i]);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      chacha_quarter_round(out[i], out[4 + (i + 1) % 4], out[8 + (i + 2) % 4],
                           out[12 + (i + 3) % 4]);
  }
#pragma unroll
  for (unsigned i = 0; i < 16; ++i) out[i] += in[i];
}

/// Rows of which no word is dropped. A thread makes a block of a keystream, and the threads write
/// them along the rows. The thread of a row's first block writes its body, too. Grid: tiles of all
/// rows' blocks.
__global__ void __launch_bounds__(tuning::keystream_blocks)
    expand_rows(const __grid_constant__ ExpansionArguments<std::uint32_t> a) {
  constexpr unsigned threads = tuning::keystream_blocks, words = 16;
  __shared__ std::uint32_t tile[threads][words + 1];
  __shared__ std::size_t place[threads];     // of a block in `out`
  __shared__ std::uint32_t length[threads];  // how many of its words a row has
  join_chain();
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x,
                    r = at / a.blocks;
  const auto block = static_cast<std::uint32_t>(at - r * a.blocks);
  length[threadIdx.x] = 0;
  if (r < a.count) {
    std::uint32_t stream[words];
    chacha_block(a.key, block, a.nonce(r), stream);
#pragma unroll
    for (unsigned i = 0; i < words; ++i) tile[threadIdx.x][i] = stream[i] & a.mask;
    const std::size_t done = static_cast<std::size_t>(block) * words, n = a.row - 1;
    place[threadIdx.x] = r * a.row + done;
    length[threadIdx.x] = static_cast<std::uint32_t>(n - done < words ? n - done : words);
    if (block == 0) a.out[r * a.row + n] = a.bodies[r];
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < threads * words; i += threads) {
    const unsigned from = i / words, word = i % words;
    if (word < length[from]) a.out[place[from] + word] = tile[from][word];
  }
}

/// Rows of any modulus, a block each. At a time each thread makes a block of the keystream and
/// counts the words that are kept of it. A sum over the threads before it says where they go. This
/// is repeated until the row is full. Grid: rows.
template <class Word>
__global__ void __launch_bounds__(tuning::keystream_blocks)
    expand_residues(const __grid_constant__ ExpansionArguments<Word> a) {
  constexpr unsigned threads = tuning::keystream_blocks, warps = threads / 32,
                     words = 64 / sizeof(Word);
  static_assert(threads % 32 == 0);
  // A gap behind each `words` of them, so that threads which drop none write to different banks.
  __shared__ Word kept[threads * (words + 1)];
  __shared__ unsigned of_warp[warps];
  const auto slot = [](unsigned at) { return at + at / words; };
  join_chain();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t r = blockIdx.x, n = a.row - 1;
  Word* const out = a.out + r * a.row;
  if (threadIdx.x == 0) out[n] = a.bodies[r];
  std::size_t done = 0;
  for (std::uint64_t block = threadIdx.x; done < n; block += threads) {
    std::uint32_t stream[16];
    chacha_block(a.key, block, a.nonce(r), stream);
    Word word[words];
    unsigned own = 0;
#pragma unroll
    for (unsigned i = 0; i < words; ++i) {
      if constexpr (sizeof(Word) == 8)
        word[i] = (std::uint64_t{stream[2 * i + 1]} << 32 | stream[2 * i]) & a.mask;
      else
        word[i] = stream[i] & a.mask;
      own += word[i] <= a.top;
    }
    unsigned at = own;  // of the warp's threads up to this one
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const unsigned before = __shfl_up_sync(0xffffffffu, at, distance);
      if (lane >= distance) at += before;
    }
    if (lane == 31) of_warp[warp] = at;
    __syncthreads();
    at -= own;
    unsigned all = 0;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      if (w < warp) at += of_warp[w];
      all += of_warp[w];
    }
#pragma unroll
    for (unsigned i = 0; i < words; ++i)
      if (word[i] <= a.top) kept[slot(at++)] = word[i];
    __syncthreads();
    const std::size_t some = all < n - done ? all : n - done;
    for (unsigned k = threadIdx.x; k < some; k += threads) out[done + k] = kept[slot(k)];
    done += some;
  }
}

}  // namespace whorl::backend::cuda
