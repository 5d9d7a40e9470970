// Negacyclic NTTs of 2^8 and 2^16 points as products of byte matrices on INT8 tensor cores: a
// trial, not part of the library.
//
// As in Fan et al., "TensorFHE", HPCA 2023, section IV-C, words are split into bytes and a layer is
// a product with a matrix of roots; as in kernels/convert_int8.cuh a word of the data is four bytes
// of a B fragment as it is. Results are in the order of ring::NttPlan, value p at psi^(2·brv(p) +
// 1).
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/kernels/convert_int8.cuh"
#include "backend/cuda/kernels/transforms.cuh"
#include "ring/ntt_plan.h"

namespace whorl::backend::cuda {

inline constexpr unsigned tensor_threads = 256;

/// The shared memory of a cluster's blocks.
template <class T>
struct ClusterMemory {
  T* own;
  __device__ __forceinline__ T* operator()([[maybe_unused]] unsigned rank) const {
#if __CUDA_ARCH__ >= 900
    return cooperative_groups::this_cluster().map_shared_rank(own, rank);
#else
    return own;
#endif
  }
};

/// Byte c of f, 2^8·f, 2^16·f, 2^24·f mod p: what the four bytes of a word are multiplied by.
inline std::uint32_t byte_factors(std::uint32_t f, unsigned c,
                                  const math::Modulus<std::uint32_t>& p) {
  std::uint32_t out = 0;
  for (unsigned b = 0; b < 4; ++b) {
    out |= (f >> (8 * c) & 255) << (8 * b);
    f = p.mul(f, 256);
  }
  return out;
}

/// Two passes of radix 16. With index 16i + j and result 16k + m, k and m bit-reversed frequencies,
///   X[16k + m] = sum_j cyclic[m][j]·T[k][j]·sum_i negacyclic[k][i]·x[16i + j].
/// The columns of a product's D fragment in a lane are, as words, what the next product's B
/// fragment has in that lane if the inner index is ordered alike: nothing moves between passes.
/// Column g of tile u is index 2g + u, row g of row tile h is 2g + h, and lane t has inner indices
/// 4t … 4t + 3.
struct Radix16Arguments {
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t count, repeats;            ///< transforms; of each, one after another
  const uint4* matrices;                   ///< A fragments: (2 matrices, h, byte pair, step, lane)
  const Twiddle<std::uint32_t>* twiddles;  ///< T[k][j]
  std::uint32_t p;
  uint2 reduction;  ///< of join_bytes
};

/// For a transform of 256 points, or those that a longer one is made of.
inline std::vector<uint4> radix16_matrices(const ring::NttPlan<std::uint32_t>& plan) {
  const auto& p = plan.modulus();
  const std::uint32_t psi = p.pow(plan.psi(), plan.N() / 256);
  std::vector<uint4> out;
  for (const bool cyclic : {false, true})
    for (unsigned h = 0; h < 2; ++h)
      for (unsigned m = 0; m < 2; ++m)
        for (unsigned step = 0; step < 2; ++step)
          for (unsigned lane = 0; lane < 32; ++lane) {
            const unsigned row = ring::bit_reverse(2 * (lane / 4) + h, 4);
            std::uint32_t word[4];
            for (unsigned r = 0; r < 4; ++r) {
              const unsigned i = 4 * (lane % 4) + 2 * step + r / 2;
              const unsigned exponent = cyclic ? 32 * i * row : 16 * i * (2 * row + 1);
              word[r] = byte_factors(p.pow(psi, exponent), 2 * m + r % 2, p);
            }
            out.push_back(make_uint4(word[0], word[1], word[2], word[3]));
          }
  return out;
}
inline std::vector<Twiddle<std::uint32_t>> radix16_twiddles(
    const ring::NttPlan<std::uint32_t>& plan) {
  const auto& p = plan.modulus();
  std::vector<Twiddle<std::uint32_t>> out;
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned j = 0; j < 16; ++j) {
      const std::uint32_t w = p.pow(plan.psi(), j * (2 * ring::bit_reverse(k, 4) + 1));
      out.push_back({w, p.shoup(w)});
    }
  return out;
}

/// As join_bytes, below 2p.
__device__ __forceinline__ std::uint32_t join_bytes_lazy(std::uint32_t s0, std::uint32_t s1,
                                                         std::uint32_t s2, std::uint32_t s3,
                                                         uint2 p) {
  const std::uint32_t low = s0 + (s1 << 8), rest = s2 + (s3 << 8), high = rest + (low >> 16);
  return low + (rest << 16) + mul_high<std::uint32_t>(high, p.y) * p.x;
}

/// x[u][r]: index 4t + r of column 2g + u; then index 4t + r of what was row 2g + u. Results below
/// 2p, times a twiddle where there are some, or below p.
template <bool twiddled>
__device__ __forceinline__ void radix16_pass(std::uint32_t (&x)[2][4],
                                             const uint4 (&matrix)[2][2][2],
                                             const uint2 (&twiddle)[2][4], uint2 reduction,
                                             std::uint32_t p) {
  std::uint32_t y[2][4];
#pragma unroll
  for (unsigned h = 0; h < 2; ++h) {
    std::uint32_t sum[2][2][4] = {};
#pragma unroll
    for (unsigned step = 0; step < 2; ++step)
#pragma unroll
      for (unsigned u = 0; u < 2; ++u)
#pragma unroll
        for (unsigned m = 0; m < 2; ++m)
          multiply_bytes(sum[u][m], matrix[h][m][step], x[u][2 * step], x[u][2 * step + 1]);
#pragma unroll
    for (unsigned e = 0; e < 2; ++e)
#pragma unroll
      for (unsigned u = 0; u < 2; ++u) {
        const std::uint32_t(&s)[2][4] = sum[u];
        std::uint32_t& to = y[h][2 * e + u];
        if constexpr (twiddled) {
          to = join_bytes_lazy(s[0][e], s[0][2 + e], s[1][e], s[1][2 + e], reduction);
          to = mul_shoup_lazy<std::uint32_t>(to, twiddle[h][2 * e + u].x, twiddle[h][2 * e + u].y,
                                             p);
        } else {
          to = join_bytes(s[0][e], s[0][2 + e], s[1][e], s[1][2 + e], reduction);
        }
      }
  }
#pragma unroll
  for (unsigned u = 0; u < 2; ++u)
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) x[u][r] = y[u][r];
}

/// A transform a warp at a time, all in registers; p < 2^30, so that values below 2p have a sign
/// bit to spare and sums are those of a conversion of 16 limbs.
__global__ void __launch_bounds__(tensor_threads, 2)
    ntt_256_radix16(const __grid_constant__ Radix16Arguments a) {
  const std::uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  uint4 matrix[2][2][2][2];
#pragma unroll
  for (unsigned i = 0; i < 16; ++i)
    matrix[i / 8][i / 4 % 2][i / 2 % 2][i % 2] = a.matrices[32 * i + lane];
  uint2 twiddle[2][4];
#pragma unroll
  for (unsigned h = 0; h < 2; ++h)
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
      const Twiddle<std::uint32_t> w = a.twiddles[16 * (2 * g + h) + 4 * t + r];
      twiddle[h][r] = make_uint2(w.w, w.shoup);
    }
  const std::uint32_t warps = gridDim.x * (tensor_threads / 32);
  for (std::uint32_t n = blockIdx.x * (tensor_threads / 32) + threadIdx.x / 32; n < a.count;
       n += warps) {
    const std::size_t at = std::size_t{n} * 256 + 64 * t + 2 * g;
    std::uint32_t x[2][4];
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
      const uint2 pair = *reinterpret_cast<const uint2*>(a.in + at + 16 * r);
      x[0][r] = pair.x;
      x[1][r] = pair.y;
    }
#pragma unroll 1
    for (std::uint32_t i = 0; i < a.repeats; ++i) {
      radix16_pass<true>(x, matrix[0], twiddle, a.reduction, a.p);
      radix16_pass<false>(x, matrix[1], twiddle, a.reduction, a.p);
    }
#pragma unroll
    for (unsigned r = 0; r < 4; ++r)
      __stcs(reinterpret_cast<uint2*>(a.out + at + 16 * r), make_uint2(x[0][r], x[1][r]));
  }
}

/// A whole transform of 2^16 points by a cluster of `cluster` blocks: with index 256i + j and
/// result 256k + m, transforms of 256 points along i for each j (a column a warp), products with
/// psi^(j·(2·brv(k) + 1)), then cyclic ones along j for each k. A block has columns in its shared
/// memory, and takes its rows from all blocks' memories as fragments.
struct Ntt65536Arguments {
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t count;
  const uint4* matrices;  ///< radix16_matrices, of psi^256
  const uint4* twiddles;  ///< (column or row transform, h, r / 2, lane): two of T, with companions
  const uint2* powers;    ///< (j, r, lane): of results 64t + 16r + 2g and the next, times 2^32
  std::uint32_t p, montgomery;
  uint2 reduction;
};
inline constexpr unsigned long_row(unsigned cluster) { return 256 / cluster + 2; }
inline constexpr std::size_t long_shared(unsigned cluster) {
  return 256 * long_row(cluster) * sizeof(std::uint32_t) + 512 * sizeof(uint4);
}

inline std::vector<uint4> long_twiddles(const ring::NttPlan<std::uint32_t>& plan) {
  const auto& p = plan.modulus();
  std::vector<uint4> out;
  for (const bool cyclic : {false, true})
    for (unsigned h = 0; h < 2; ++h)
      for (unsigned pair = 0; pair < 2; ++pair)
        for (unsigned lane = 0; lane < 32; ++lane) {
          const unsigned k = ring::bit_reverse(2 * (lane / 4) + h, 4);
          std::uint32_t w[2];
          for (unsigned i = 0; i < 2; ++i)
            w[i] = p.pow(plan.psi(), std::uint64_t{256} * (4 * (lane % 4) + 2 * pair + i) *
                                         (2 * k + (cyclic ? 0 : 1)));
          out.push_back(make_uint4(w[0], p.shoup(w[0]), w[1], p.shoup(w[1])));
        }
  return out;
}
inline std::vector<uint2> long_powers(const ring::NttPlan<std::uint32_t>& plan) {
  const math::Montgomery<std::uint32_t> montgomery(plan.modulus());
  const auto& p = plan.modulus();
  std::vector<std::uint32_t> power = {montgomery.r()};
  for (unsigned i = 1; i < 1u << 17; ++i) power.push_back(p.mul(power.back(), plan.psi()));
  std::vector<uint2> out;
  for (unsigned j = 0; j < 256; ++j)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned k = 16 * (4 * (lane % 4) + r) + 2 * (lane / 4);
        out.push_back(make_uint2(power[j * (2 * ring::bit_reverse(k, 8) + 1) % (1u << 17)],
                                 power[j * (2 * ring::bit_reverse(k + 1, 8) + 1) % (1u << 17)]));
      }
  return out;
}

template <unsigned cluster>
__global__ void __launch_bounds__(tensor_threads, 2)
    ntt_65536_radix16(const __grid_constant__ Ntt65536Arguments a) {
  constexpr std::uint32_t columns = 256 / cluster, row = long_row(cluster);
  constexpr std::uint32_t warps = tensor_threads / 32;
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(transform_memory);
  uint4* const twiddles = reinterpret_cast<uint4*>(words + 256 * row);
  const ClusterMemory<std::uint32_t> blocks{words};
  const std::uint32_t rank = blockIdx.x % cluster;
  const std::uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  uint4 matrix[2][2][2][2];
#pragma unroll
  for (unsigned i = 0; i < 16; ++i)
    matrix[i / 8][i / 4 % 2][i / 2 % 2][i % 2] = a.matrices[32 * i + lane];
  for (unsigned i = threadIdx.x; i < 256; i += tensor_threads) twiddles[i] = a.twiddles[i];
  const auto load_twiddles_of = [&](std::uint32_t which, uint2(&to)[2][4]) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const uint4 two = twiddles[(4 * which + i) * 32 + lane];
      to[i / 2][i % 2 * 2] = make_uint2(two.x, two.y);
      to[i / 2][i % 2 * 2 + 1] = make_uint2(two.z, two.w);
    }
  };
  const auto transform = [&](std::uint32_t which, std::uint32_t(&x)[2][4],
                             const uint4(&first)[2][2][2]) {
    uint2 twiddle[2][4];
    load_twiddles_of(which, twiddle);
    radix16_pass<true>(x, first, twiddle, a.reduction, a.p);
    radix16_pass<false>(x, matrix[1], twiddle, a.reduction, a.p);
  };
#pragma unroll 1
  for (std::uint32_t n = blockIdx.x / cluster; n < a.count; n += gridDim.x / cluster) {
    const std::uint32_t* const in = a.in + (std::size_t{n} << 16) + rank * columns;
    std::uint32_t* const out = a.out + (std::size_t{n} << 16);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < 256 * columns / 4; i += tensor_threads) {
      const std::uint32_t k = i / (columns / 4), j = i % (columns / 4) * 4;
      const uint4 x = *reinterpret_cast<const uint4*>(in + 256 * k + j);
      *reinterpret_cast<uint2*>(words + k * row + j) = make_uint2(x.x, x.y);
      *reinterpret_cast<uint2*>(words + k * row + j + 2) = make_uint2(x.z, x.w);
    }
    __syncthreads();
#pragma unroll 1
    for (std::uint32_t j = warp; j < columns; j += warps) {
      uint2 power[4];
#pragma unroll
      for (unsigned r = 0; r < 4; ++r)
        power[r] = __ldg(a.powers + ((rank * columns + j) * 4 + r) * 32 + lane);
      std::uint32_t* const at = words + (64 * t + 2 * g) * row + j;
      std::uint32_t x[2][4];
#pragma unroll
      for (unsigned u = 0; u < 2; ++u)
#pragma unroll
        for (unsigned r = 0; r < 4; ++r) x[u][r] = at[(16 * r + u) * row];
      transform(0, x, matrix[0]);
#pragma unroll
      for (unsigned u = 0; u < 2; ++u)
#pragma unroll
        for (unsigned r = 0; r < 4; ++r)
          at[(16 * r + u) * row] = mul_montgomery_lazy<std::uint32_t>(
              x[u][r], u == 0 ? power[r].x : power[r].y, a.p, a.montgomery);
    }
    cluster_arrive();
    cluster_wait();
#pragma unroll 1
    for (std::uint32_t i = warp; i < columns; i += warps) {
      const std::uint32_t k = rank * columns + i;
      std::uint32_t x[2][4];
#pragma unroll
      for (unsigned r = 0; r < 4; ++r) {
        const std::uint32_t j = 64 * t + 16 * r + 2 * g;
        const uint2 pair =
            *reinterpret_cast<const uint2*>(blocks(j / columns) + k * row + j % columns);
        x[0][r] = pair.x;
        x[1][r] = pair.y;
      }
      transform(1, x, matrix[1]);
#pragma unroll
      for (unsigned r = 0; r < 4; ++r)
        __stcs(reinterpret_cast<uint2*>(out + 256 * k + 64 * t + 16 * r + 2 * g),
               make_uint2(x[0][r], x[1][r]));
    }
    // Its memory stays until all blocks have read it.
    cluster_arrive();
    cluster_wait();
  }
}

/// One pass of radix 256, the paper's: a 256 x 256 matrix, 1024 x 1024 bytes, with a block of
/// matrix256_columns transforms in shared memory, as B fragments. Warps have 8 rows of words and
/// half of the columns at a time; A fragments come from the caches.
struct Radix256Arguments {
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t count;  ///< transforms: a multiple of matrix256_columns
  const uint4* matrix;  ///< (32 row tiles, 32 steps, byte pair, lane)
  uint2 reduction;      ///< (-p, floor(2^48/p))
};
inline constexpr unsigned matrix256_columns = 128;
inline constexpr std::size_t matrix256_shared = matrix256_columns * 256 * sizeof(std::uint32_t);

inline std::vector<uint4> radix256_matrix(const ring::NttPlan<std::uint32_t>& plan) {
  const auto& p = plan.modulus();
  std::vector<std::uint32_t> power = {1};
  for (unsigned i = 1; i < 512; ++i) power.push_back(p.mul(power.back(), plan.psi()));
  std::vector<uint4> out;
  for (unsigned tile = 0; tile < 32; ++tile)
    for (unsigned step = 0; step < 32; ++step)
      for (unsigned m = 0; m < 2; ++m)
        for (unsigned lane = 0; lane < 32; ++lane) {
          const unsigned row = ring::bit_reverse(8 * tile + lane / 4, 8);
          std::uint32_t word[4];
          for (unsigned r = 0; r < 4; ++r) {
            const unsigned i = 8 * step + 4 * (r / 2) + lane % 4;
            word[r] = byte_factors(power[i * (2 * row + 1) % 512], 2 * m + r % 2, p);
          }
          out.push_back(make_uint4(word[0], word[1], word[2], word[3]));
        }
  return out;
}

__global__ void __launch_bounds__(tensor_threads, 1)
    ntt_256_radix256(const __grid_constant__ Radix256Arguments a) {
  // Words of step s and column tile n at ((s·16 + n)·32 + lane)·2: halves 0 and 1 of the fragment.
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(transform_memory);
  const std::size_t first = std::size_t{blockIdx.x} * matrix256_columns;
  for (unsigned i = threadIdx.x; i < matrix256_columns * 256; i += tensor_threads) {
    const unsigned column = i / 256, word = i % 256;
    const unsigned step = word / 8, half = word / 4 % 2, lane = column % 8 * 4 + word % 4;
    words[((step * 16 + column / 8) * 32 + lane) * 2 + half] = a.in[first * 256 + i];
  }
  __syncthreads();
  const std::uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const std::uint32_t tiles = warp % 2 * 8;
#pragma unroll 1
  for (std::uint32_t tile = warp / 2; tile < 32; tile += 4) {
    std::uint32_t sum[8][2][4] = {};
#pragma unroll 2
    for (std::uint32_t step = 0; step < 32; ++step) {
      const uint4* const matrix = a.matrix + (tile * 32 + step) * 64 + lane;
      const uint4 low = matrix[0], high = matrix[32];
#pragma unroll
      for (unsigned n = 0; n < 8; ++n) {
        const uint2 b = reinterpret_cast<const uint2*>(words)[(step * 16 + tiles + n) * 32 + lane];
        multiply_bytes(sum[n][0], low, b.x, b.y);
        multiply_bytes(sum[n][1], high, b.x, b.y);
      }
    }
#pragma unroll
    for (unsigned n = 0; n < 8; ++n)
#pragma unroll
      for (unsigned e = 0; e < 2; ++e) {
        const std::uint32_t(&s)[2][4] = sum[n];
        // Below 2^18·p < 2^48: the quotient may be two short.
        const std::uint64_t all = s[0][e] + (std::uint64_t{s[0][2 + e]} << 8) +
                                  (std::uint64_t{s[1][e]} << 16) +
                                  (std::uint64_t{s[1][2 + e]} << 24);
        const std::uint32_t quotient =
            mul_high<std::uint32_t>(static_cast<std::uint32_t>(all >> 16), a.reduction.y);
        std::uint32_t x = static_cast<std::uint32_t>(all) + quotient * a.reduction.x;
        x = min(x, x + a.reduction.x);
        x = min(x, x + a.reduction.x);
        const std::size_t column = first + (tiles + n) * 8 + 2 * t + e;
        a.out[column * 256 + 8 * tile + g] = x;
      }
  }
}

/// The library's butterflies of the same transform, `repeats` times before values go back.
struct ButterflyArguments {
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t count, repeats;
  NttLimb<std::uint32_t> limb;
};
/// Tuned::shape is the kernel's KernelShape.
template <int headroom, class Tuned>
__global__ void __launch_bounds__(Tuned::shape.threads(), Tuned::shape.resident)
    ntt_256_butterflies(const __grid_constant__ ButterflyArguments a) {
  constexpr KernelShape shape = Tuned::shape;
  static_assert(shape.split.log_n == 8 && shape.split.passes == 2);
  const Unit<shape, std::uint32_t> unit(transform_memory);
  const bool active = unit.transform < a.count;
  const std::size_t at = std::size_t{unit.transform} << 8;
  std::uint32_t x[1 << shape.split.log_e] = {};
  if (active) load_whole<shape.split, 0>(x, a.in + at, unit.thread);
#pragma unroll 1
  for (std::uint32_t i = 0; i < a.repeats; ++i) {
    if (i > 0) unit.template exchange<1, 0>(x, [] {});
    forward_from<headroom, shape, 0>(x, unit, a.limb, NoEarlyTwiddles{});
  }
  unit.store_linear(x, a.out + at, active);
}

}  // namespace whorl::backend::cuda
