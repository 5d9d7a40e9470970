// A matrix of residues times ciphertexts, one row of an RNS basis at a time: each row is a plain
// product of matrices modulo its prime, of W (M, K) and x (K, B·N).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/conversion.cuh"
#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/vectors.cuh"
#include "ring/basis.h"

namespace whorl::backend::cuda {

template <class Word>
struct MatrixArguments {
  const Word *x, *weights, *constants;   ///< as CheckedSums
  Word* out;                             ///< (parts, rows, count, N)
  const RnsModulus<Word>* moduli;        ///< of all primes
  std::size_t row, stride;               ///< words of a row of x, B·N, and of weights
  std::size_t first, results;            ///< words of the (M, B, N) in front of out, and of a row
  std::uint32_t inputs, outputs, tiles;  ///< tiles: of outputs
  std::uint8_t prime[ring::Basis::most];
};

/// A block makes a tile of outputs times columns. A warp's lanes have columns beside each other, a
/// vector each, and its threads `a_thread` outputs, so that a warp reads the same weights.
/// Tiles of weights and of x for `depth` inputs lie in shared memory, twice.
template <class Word, unsigned a_thread>
struct MatrixTile {
  static constexpr unsigned threads = 256, lanes = 32, warps = threads / lanes;
  static constexpr unsigned width = rns_width<Word>, columns = lanes * width;
  static constexpr unsigned outputs = warps * a_thread, depth = 16;
  static constexpr unsigned x_loads = depth * lanes / threads,  ///< vectors of a thread
      w_loads = (outputs * depth + threads - 1) / threads;      ///< words of a thread
  alignas(16) Word x[2][depth][columns];
  alignas(16) Word weights[2][depth][outputs];
};

/// Sums are corrected after `terms` products. With bound = q they stay below q·R as in
/// sum_products. With twice: q < 2^30, so that eight products are below 2q·R, and a sum that was
/// corrected to below 2q·R stays a double word.
///
/// Grid: (tiles of outputs, the faster, so that blocks that run together read the same x from a
/// cache, × tiles of columns; rows; parts). Bound by multiplications: a load of 16 bytes from
/// shared memory for about ten of them.
template <class Word, unsigned a_thread, unsigned terms, bool twice>
__global__ void __launch_bounds__(MatrixTile<Word, a_thread>::threads)
    multiply_matrix(const __grid_constant__ MatrixArguments<Word> a) {
  using Tile = MatrixTile<Word, a_thread>;
  using Vector = RnsVector<Word>;
  static_assert(Tile::depth % terms == 0);
  __shared__ Tile tile;
  join_chain();
  const std::uint32_t lane = threadIdx.x % Tile::lanes, warp = threadIdx.x / Tile::lanes;
  const std::uint32_t of_outputs = blockIdx.x % a.tiles;
  const std::size_t column =
      static_cast<std::size_t>(blockIdx.x / a.tiles) * Tile::columns + lane * Tile::width;
  const std::uint32_t first_output = of_outputs * Tile::outputs;
  const std::size_t slab = static_cast<std::size_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const Word* const x = a.x + slab * a.inputs * a.row + column;
  const Word* const weights = a.weights + blockIdx.y * a.stride;
  const RnsModulus<Word> modulus = a.moduli[a.prime[blockIdx.y]];
  const Word bound = twice ? 2 * modulus.q : modulus.q;

  Vector next_x[Tile::x_loads];
  Word next_w[Tile::w_loads];
  const auto load = [&](std::uint32_t from) {
#pragma unroll
    for (unsigned i = 0; i < Tile::x_loads; ++i) {
      const std::uint32_t k = from + i * Tile::warps + warp;
      next_x[i] = Vector{};
      if (k < a.inputs) next_x[i] = *reinterpret_cast<const Vector*>(x + k * a.row);
    }
#pragma unroll
    for (unsigned i = 0; i < Tile::w_loads; ++i) {
      const std::uint32_t at = i * Tile::threads + threadIdx.x, j = first_output + at / Tile::depth,
                          k = from + at % Tile::depth;
      next_w[i] = 0;
      if (j < a.outputs && k < a.inputs)
        next_w[i] = weights[static_cast<std::size_t>(j) * a.inputs + k];
    }
  };
  const auto store = [&](unsigned half) {
#pragma unroll
    for (unsigned i = 0; i < Tile::x_loads; ++i)
      *reinterpret_cast<Vector*>(&tile.x[half][i * Tile::warps + warp][lane * Tile::width]) =
          next_x[i];
#pragma unroll
    for (unsigned i = 0; i < Tile::w_loads; ++i) {
      const std::uint32_t at = i * Tile::threads + threadIdx.x;
      if (at < Tile::outputs * Tile::depth)
        tile.weights[half][at % Tile::depth][at / Tile::depth] = next_w[i];
    }
  };

  ProductSum<Word> sum[a_thread][Tile::width];
  load(0);
  store(0);
  __syncthreads();
  unsigned half = 0;
  for (std::uint32_t from = 0; from < a.inputs; from += Tile::depth, half ^= 1) {
    const bool more = from + Tile::depth < a.inputs;
    if (more) load(from + Tile::depth);
#pragma unroll
    for (unsigned k = 0; k < Tile::depth; ++k) {
      const Vector v = *reinterpret_cast<const Vector*>(&tile.x[half][k][lane * Tile::width]);
#pragma unroll
      for (unsigned j = 0; j < a_thread; ++j) {
        const Word w = tile.weights[half][k][warp * a_thread + j];
#pragma unroll
        for (unsigned c = 0; c < Tile::width; ++c) {
          sum[j][c].add(v.word[c], w);
          if (k % terms == terms - 1) sum[j][c].correct(bound);
        }
      }
    }
    // The other half was read before the last barrier.
    if (more) store(half ^ 1);
    __syncthreads();
  }

#pragma unroll
  for (unsigned j = 0; j < a_thread; ++j) {
    const std::uint32_t output = first_output + warp * a_thread + j;
    const std::size_t at = static_cast<std::size_t>(output) * a.row + column;
    if (output >= a.outputs || at < a.first || at - a.first >= a.results) continue;
    const Word constant =
        a.constants != nullptr && blockIdx.z == 0
            ? a.constants[static_cast<std::size_t>(blockIdx.y) * a.outputs + output]
            : 0;
    Vector result;
#pragma unroll
    for (unsigned c = 0; c < Tile::width; ++c)
      result.word[c] = add_mod<Word>(finish_product<Word>(sum[j][c], modulus), constant, modulus.q);
    store_vector<Word>(a.out + slab * a.results + (at - a.first), result);
  }
}

}  // namespace whorl::backend::cuda
