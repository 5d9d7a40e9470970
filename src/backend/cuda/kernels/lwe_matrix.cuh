// A matrix of integers times LWE ciphertexts, on INT8 tensor cores: signed bytes of the weights
// times byte planes of the words, as in a key switch whose key the words are, put together again
// modulo any q.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/key_switch.cuh"
#include "backend/cuda/kernels/lwe.cuh"
#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

/// The most k-blocks whose sums of products of signed and unsigned bytes fit 32 bits: 1024·64·128·
/// 255 is below 2^31.
inline constexpr unsigned most_matrix_k_blocks = 1024;

/// Byte `limb` of a weight as sum_l byte_l·256^l of bytes in -128 … 127: of 32 bits and fewer there
/// are at most five.
__host__ __device__ inline int weight_limb(std::int64_t weight, unsigned limb) {
  for (unsigned l = 0; l < limb; ++l) weight = (weight + 128) >> 8;
  return static_cast<int>((weight + 128) & 255) - 128;
}
/// How many bytes that takes.
__host__ __device__ inline unsigned weight_limbs(std::int64_t weight) {
  unsigned limbs = 1;
  for (; weight < -128 || weight > 127; weight = (weight + 128) >> 8) ++limbs;
  return limbs;
}

/// weights (results, inputs) -> bytes `limb`, as the products want them of `padded` rows. A block
/// takes 64 rows of one k-block, as expand_ciphertexts.
__global__ void __launch_bounds__(256)
    expand_weights(const std::int32_t* __restrict__ weights, std::size_t results,
                   std::size_t inputs, std::size_t padded, unsigned limb,
                   std::uint8_t* __restrict__ out) {
  const std::size_t tile = std::size_t{blockIdx.y} * 4 + threadIdx.x / 64;
  if (tile * m_tile >= padded) return;
  const unsigned product = threadIdx.x / 32 % 2, lane = threadIdx.x % 32;
  const std::size_t upper = tile * m_tile + lane / 4, k = expanded_k(blockIdx.x, product, lane);
  const auto four = [&](std::size_t row, std::size_t first) {
    unsigned bytes = 0;
    for (unsigned e = 0; e < 4; ++e) {
      if (row >= results || first + e >= inputs) continue;
      const int byte = weight_limb(weights[row * inputs + first + e], limb);
      bytes |= (static_cast<unsigned>(byte) & 0xff) << (8 * e);
    }
    return bytes;
  };
  auto* to = reinterpret_cast<uint4*>(out + blockIdx.x * padded * k_block + tile * m_tile_bytes);
  to[threadIdx.x % 64] = {four(upper, k), four(upper + 8, k), four(upper, k + 4),
                          four(upper + 8, k + 4)};
}

/// Matrices of few results, which combinations make.
inline constexpr unsigned most_combined_results = 8;

template <class Word>
struct GroupArguments {
  Word factor[most_combined_results][most_linear_inputs];        ///< below q
  Word factor_shoup[most_combined_results][most_linear_inputs];  ///< as those of LinearArguments
  Word constant[most_combined_results];
  unsigned inputs, results;
  std::uint64_t q, barrett;
  std::size_t row, size;  ///< words of a row, and of an input of a group
};

/// in (groups, inputs, size), out (groups, results, size), apart: all sums of a group for each row
/// of blocks.
template <class Word, unsigned width>
__global__ void __launch_bounds__(lwe_threads)
    combine_groups(const __grid_constant__ GroupArguments<Word> p, const Word* __restrict__ in,
                   Word* __restrict__ out) {
  using Vector = LweVector<Word, width>;
  const std::size_t vectors = p.size / width, group = blockIdx.y;
  const auto* from = reinterpret_cast<const Vector*>(in) + group * p.inputs * vectors;
  auto* to = reinterpret_cast<Vector*>(out) + group * p.results * vectors;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < vectors;
       i += std::size_t{gridDim.x} * blockDim.x)
    for (unsigned r = 0; r < p.results; ++r) {
      std::uint64_t sums[width];
      begin_sums<Word, width>(sums, i * width, p.row, p.constant[r]);
      for (unsigned input = 0; input < p.inputs; ++input) {
        const Word factor = p.factor[r][input], factor_shoup = p.factor_shoup[r][input];
        if (factor == 0) continue;
        const Vector x = from[input * vectors + i];
#pragma unroll
        for (unsigned k = 0; k < width; ++k)
          sums[k] = add_linear_term<Word>(sums[k], x.word[k], factor, factor_shoup, p.q);
      }
      Vector result;
#pragma unroll
      for (unsigned k = 0; k < width; ++k)
        result.word[k] = static_cast<Word>(linear_reduce(sums[k], p.q, p.barrett));
      to[r * vectors + i] = result;
    }
}

/// How sums of bytes' products become residues.
struct MatrixModulus {
  std::uint64_t q;
  std::uint64_t barrett;             ///< floor((2^64 - 1)/q)
  std::uint64_t above;               ///< a multiple of q, at least 2^56 and below 2^62
  std::uint64_t upper, upper_shoup;  ///< 2^32 mod q

  /// Residue of sums of products by planes, each below 2^31 in absolute value.
  template <unsigned planes>
  __host__ __device__ std::uint64_t residue(const int (&sums)[planes]) const {
    const auto part = [&](unsigned first) {
      std::int64_t sum = 0;  // below 2^56 in absolute value
      for (unsigned plane = first; plane < planes && plane < first + 4; ++plane)
        sum += std::int64_t{sums[plane]} * (std::int64_t{1} << (8 * (plane - first)));
      return linear_reduce(static_cast<std::uint64_t>(sum) + above, q, barrett);
    };
    const std::uint64_t low = part(0);
    if constexpr (planes <= 4)
      return low;
    else
      return sum_of(low, mul_shoup<std::uint64_t>(part(4), upper, upper_shoup, q));
  }
  __host__ __device__ std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) const {
    return add_mod<std::uint64_t>(a, b, q);
  }
};

template <class Word>
struct MatrixArguments {
  const std::uint8_t* weights;     ///< bytes of one limb of `padded` rows
  const std::uint8_t* planes;      ///< of each group's words
  std::size_t group_planes;        ///< bytes of a group's
  const std::uint64_t* constants;  ///< of each result, below q
  Word* out;                       ///< (groups, results, size)
  std::size_t results, padded, row;
  unsigned size, column_blocks, k_blocks;
  MatrixModulus modulus;
  std::uint64_t limb, limb_shoup;  ///< 256^limb mod q
  bool first;                      ///< constants are added, and nothing is in `out` yet
};

/// Grid: column blocks, tiles of results, groups.
template <class Word, unsigned planes, unsigned columns, unsigned stages, unsigned m_tiles>
__global__ void __launch_bounds__(product_threads, 1)
    multiply_matrix_planes(const __grid_constant__ MatrixArguments<Word> p) {
  using Tile = ProductTile<planes, columns, m_tiles>;
  const Tile tile;
  typename Tile::Sums sums = {};
  multiply_k_blocks<planes, columns, stages, m_tiles>(
      tile, p.weights, p.planes + blockIdx.z * p.group_planes, p.padded, p.column_blocks, 0,
      p.k_blocks, sums);
  Word* const group = p.out + blockIdx.z * p.results * p.size;
#pragma unroll
  for (unsigned i = 0; i < m_tiles; ++i)
#pragma unroll
    for (unsigned j = 0; j < columns / 8; ++j)
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        const std::size_t r = tile.row(i, e);
        const unsigned column = tile.column(j, e);
        if (r >= p.results || column >= p.size) continue;
        int of_planes[planes];
#pragma unroll
        for (unsigned plane = 0; plane < planes; ++plane)
          of_planes[plane] = sums[i][plane * (columns / 8) + j][e];
        std::uint64_t x = p.modulus.template residue<planes>(of_planes);
        Word* const to = group + r * p.size + column;
        if (p.first) {
          if ((column + 1) % p.row == 0) x = p.modulus.sum_of(x, p.constants[r]);
        } else {
          x = p.modulus.sum_of(mul_shoup<std::uint64_t>(x, p.limb, p.limb_shoup, p.modulus.q), *to);
        }
        *to = static_cast<Word>(x);
      }
}

}  // namespace whorl::backend::cuda
