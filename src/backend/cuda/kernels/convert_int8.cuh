// Base conversion of 32-bit residues on INT8 tensor cores, bit for bit that of kernels/rns.cuh.
//
// A product of words is one of bytes: with y = sum_b 2^8b·y_b and byte c of a word written [·]_c,
//   sum_l y_l·f_l = sum_c 2^8c·S_c  mod p,   S_c = sum_(l,b) y_(l,b)·[f_l·2^8b mod p]_c,
// (the splitting of Fan et al., "TensorFHE", HPCA 2023, section IV-C, with the shifts of one
// operand moved into the table: four sums instead of sixteen). S_c of 17 words, the multiple of Q
// being the last, is below 17·4·255² < 2^23. A register of four bytes of a B fragment is a digit
// y_l as it is: nothing is split at run time.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cuda/kernels/rns.cuh"
#include "math/modulus.h"

namespace whorl::backend::cuda {

inline constexpr unsigned int8_threads = 256;
/// Source limbs at most, and what target moduli are not below.
inline constexpr unsigned int8_limbs = 16;
inline constexpr std::uint32_t int8_least_modulus = 1u << 24;
/// Blocks a multiprocessor that registers are limited for, at 16·columns coefficients a warp.
constexpr unsigned int8_resident(unsigned columns) { return columns == 2 ? 3 : 2; }

/// Digits, and the multiple of Q after them, in fours: lane t of four has words 4·slot + t.
__host__ __device__ constexpr unsigned int8_slots(unsigned size) { return size / 4 + 1; }
/// Words of a target's row: for each 32 bytes of the sum (a step, two slots), 32 in the order in
/// which lanes read A fragments; then -p, floor(2^48/p), and a gap, so that the eight lanes which
/// read two rows at once meet no bank of shared memory twice.
__host__ __device__ constexpr unsigned int8_stride(unsigned slots) {
  return (slots + 1) / 2 * 32 + 16;
}

/// A target's row from its factors (ring::BaseConversion::factors, or those of fewer limbs with
/// zeros in the place of absent ones), the multiple of Q's last; `row` is zero before.
inline void set_int8_row(std::span<const std::uint32_t> factors,
                         const math::Modulus<std::uint32_t>& p, std::uint32_t* row) {
  const math::Montgomery<std::uint32_t> montgomery(p);
  for (unsigned l = 0; l < factors.size(); ++l) {
    const unsigned step = l / 8, t = l % 4, high = l / 4 % 2;
    std::uint32_t f = montgomery.from_montgomery(factors[l]);
    for (unsigned b = 0; b < 4; ++b) {
      for (unsigned c = 0; c < 4; ++c) {
        // Byte c goes to row (target, c % 2) of the tile c / 2.
        const unsigned place = ((2 * step + c / 2) * 4 + t) * 4 + 2 * high + c % 2;
        row[place] |= (f >> (8 * c) & 255) << (8 * b);
      }
      f = p.mul(f, p.reduce(256u));
    }
  }
  const unsigned end = int8_stride(int8_slots(static_cast<unsigned>(factors.size()) - 1)) - 16;
  row[end] = 0u - p.value();
  row[end + 1] = static_cast<std::uint32_t>((std::uint64_t{1} << 48) / p.value());
}

/// d = a·b + d for a of 16 x 32 and b of 32 x 8 bytes. Lane 4g + t has of a the bytes 4t … 4t + 3
/// (registers 0, 1) and 16 + 4t … (2, 3) of rows g (0, 2) and g + 8 (1, 3), of b the same of column
/// g, and of d columns 2t, 2t + 1 of rows g (0, 1) and g + 8 (2, 3). PTX ISA, "Matrix fragments for
/// mma.m16n8k32".
__device__ __forceinline__ void multiply_bytes(std::uint32_t (&d)[4], const uint4& a,
                                               std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
/// s0 + 2^8·s1 + 2^16·s2 + 2^24·s3 mod p for sums below 2^23 and p >= 2^24, the whole below
/// 2^14.1·p; p = (-p, floor(2^48/p)). With high = floor(sum/2^16) < 2^30, the quotient is above
/// high·2^16/p - 5/4: the remainder is below 2p.
__device__ __forceinline__ std::uint32_t join_bytes(std::uint32_t s0, std::uint32_t s1,
                                                    std::uint32_t s2, std::uint32_t s3, uint2 p) {
  const std::uint32_t low = s0 + (s1 << 8), rest = s2 + (s3 << 8), high = rest + (low >> 16);
  const std::uint32_t remainder = low + (rest << 16) + mul_high<std::uint32_t>(high, p.y) * p.x;
  return min(remainder, remainder + p.x);
}

/// Does what convert_rows does, for up to 4·slots - 1 limbs; factors are rows of set_int8_row, and
/// targets are counted without a digit's own ones. A warp has 16·groups coefficients, as columns:
/// it makes their digits in the registers of B fragments, and goes through the targets by eights,
/// the rows of two A tiles being their bytes 0 and 1, 2 and 3. So the lane that has the four sums
/// of two columns of a target joins them. Column g of tile i is coefficient 2g + i of 16: a lane
/// reads 8 bytes of a limb, and writes 16 of a target. Blocks go through pieces of a row, their
/// tables staying in shared memory.
template <unsigned slots, unsigned groups>
__global__ void __launch_bounds__(int8_threads, int8_resident(groups))
    convert_rows_int8(const __grid_constant__ ConvertArguments<std::uint32_t> a) {
  join_chain();
  constexpr unsigned steps = (slots + 1) / 2, stride = int8_stride(slots), columns = 16 * groups;
  constexpr unsigned point = ring::BaseConversion<std::uint32_t>::fraction_bits;
  using Source = RnsSource<std::uint32_t>;
  extern __shared__ unsigned char rns_memory[] __attribute__((aligned(16)));
  ConvertPlace<std::uint32_t> place(a, stride);
  place.end = min(place.first + a.targets_a_block, a.targets - place.owns);
  const auto row_of = [&](std::uint32_t target) {
    return target < place.own ? target : target + place.owns;
  };

  std::uint32_t* const factors = reinterpret_cast<std::uint32_t*>(rns_memory);
  Source* const sources = reinterpret_cast<Source*>(factors + a.targets_a_block * stride);
  uint2* const moduli = reinterpret_cast<uint2*>(sources + 4 * slots);
  const std::uint32_t targets = place.first < place.end ? place.end - place.first : 0;
  for (unsigned i = threadIdx.x; i < targets * 8 * steps; i += int8_threads) {
    const std::uint32_t target = i / (8 * steps), vector = i % (8 * steps);
    const std::uint32_t limb = a.rows.limb(row_of(place.first + target));
    *reinterpret_cast<uint4*>(factors + target * stride + 4 * vector) =
        reinterpret_cast<const uint4*>(place.factors + std::size_t{limb} * stride)[vector];
  }
  for (unsigned i = threadIdx.x; i < targets; i += int8_threads)
    moduli[i] = *reinterpret_cast<const uint2*>(
        place.factors + std::size_t{a.rows.limb(row_of(place.first + i))} * stride + 32 * steps);
  if (threadIdx.x < 4 * slots)
    sources[threadIdx.x] = threadIdx.x < a.size ? place.sources[threadIdx.x] : Source{};
  __syncthreads();

  const std::uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const std::uint32_t* const in = a.in + std::size_t{place.from} * a.row;
  std::uint32_t* const out = a.out + std::size_t{place.group} * a.targets * a.row;
  constexpr std::size_t piece = int8_threads / 32 * columns;
  for (std::size_t start = blockIdx.x * piece; start < a.row; start += gridDim.x * piece) {
    // A row has a multiple of 256 words, a warp a divisor of that.
    const std::size_t at = start + threadIdx.x / 32 * columns;
    if (at >= a.row) continue;
    // Rows of a digit's own limbs, several at once, some in each block of targets.
    const std::uint32_t owns = a.own != nullptr ? place.owns : 0;
    constexpr std::uint32_t at_once = 32 / (columns / 4), flights = 4;
    const std::uint32_t step = a.target_blocks * at_once;
    for (std::uint32_t i = blockIdx.y % a.target_blocks * at_once + lane / (columns / 4); i < owns;
         i += flights * step) {
      const std::size_t from = (place.own + i) * a.row + at + lane % (columns / 4) * 4;
      RnsVector<std::uint32_t> x[flights];
#pragma unroll
      for (std::uint32_t k = 0; k < flights; ++k)
        if (i + k * step < owns)
          x[k] =
              *reinterpret_cast<const RnsVector<std::uint32_t>*>(a.own + from + k * step * a.row);
#pragma unroll
      for (std::uint32_t k = 0; k < flights; ++k)
        if (i + k * step < owns) store_vector<std::uint32_t>(out + from + k * step * a.row, x[k]);
    }

    std::uint32_t y[groups][2][2 * steps];
#pragma unroll
    for (unsigned slot = 0; slot < slots; ++slot) {
      const std::uint32_t limb = min(4 * slot + t, place.count - 1);
#pragma unroll
      for (unsigned n = 0; n < groups; ++n) {
        const uint2 x = *reinterpret_cast<const uint2*>(in + limb * a.row + at + 16 * n + 2 * g);
        y[n][0][slot] = x.x;
        y[n][1][slot] = x.y;
      }
    }
    std::uint32_t u[groups][2] = {};
#pragma unroll
    for (unsigned slot = 0; slot < slots; ++slot) {
      const Source s = sources[4 * slot + t];
#pragma unroll
      for (unsigned n = 0; n < groups; ++n)
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
          std::uint32_t& digit = y[n][i][slot];
          digit = mul_shoup<std::uint32_t>(digit, s.inverse, s.shoup, s.q);
          u[n][i] += mul_high<std::uint32_t>(digit, s.ratio);
        }
    }
#pragma unroll
    for (unsigned n = 0; n < groups; ++n)
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        u[n][i] += __shfl_xor_sync(~0u, u[n][i], 1);
        u[n][i] += __shfl_xor_sync(~0u, u[n][i], 2);
        u[n][i] = (u[n][i] + (1u << (point - 1))) >> point;
        // The last slot has word `size`: int8_slots.
        if (t == a.size % 4) y[n][i][slots - 1] = u[n][i];
        if constexpr (slots % 2 == 1) y[n][i][slots] = 0;
      }

#pragma unroll 1
    for (std::uint32_t first = 0; first < targets; first += 8) {
      // Lanes without a target repeat the work of the last target, and store the same values.
      const std::uint32_t target = min(first + g, targets - 1);
      uint4 f[steps][2];
#pragma unroll
      for (unsigned step = 0; step < steps; ++step)
#pragma unroll
        for (unsigned m = 0; m < 2; ++m)
          f[step][m] =
              reinterpret_cast<const uint4*>(factors + target * stride)[8 * step + 4 * m + t];
      const uint2 p = moduli[target];
      std::uint32_t* const to = out + row_of(place.first + target) * a.row + at + 4 * t;
#pragma unroll
      for (unsigned n = 0; n < groups; ++n) {
        std::uint32_t sum[2][2][4] = {};  // tile of columns, of rows
#pragma unroll
        for (unsigned step = 0; step < steps; ++step)
#pragma unroll
          for (unsigned i = 0; i < 2; ++i)
#pragma unroll
            for (unsigned m = 0; m < 2; ++m)
              multiply_bytes(sum[i][m], f[step][m], y[n][i][2 * step], y[n][i][2 * step + 1]);
        RnsVector<std::uint32_t> result;
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
          const std::uint32_t(&s)[2][4] = sum[k % 2];
          result.word[k] =
              join_bytes(s[0][k / 2], s[0][2 + k / 2], s[1][k / 2], s[1][2 + k / 2], p);
        }
        store_vector<std::uint32_t>(to + 16 * n, result);
      }
    }
  }
}

}  // namespace whorl::backend::cuda
