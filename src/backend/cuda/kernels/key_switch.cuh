// Key switching of LWE ciphertexts: (0, b) - sum_ij digit_j(a_i)·K_ij modulo Q_ks.
//
// Small digits and small tables are a matrix product on INT8 tensor cores: ciphertexts' digits (or,
// for a table, ±1 in the place of the value looked up) times the key's byte planes, which are put
// together again modulo a power of two. Larger tables are looked up.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

// ---------------------------------------------------------------------------------------------
// Digits

/// ring::Gadget and the order of a key's rows, for kernels.
struct SwitchDigits {
  std::uint64_t modulus;
  std::int64_t offset;
  unsigned dropped, log_base, digits;
  unsigned per_coefficient;  ///< rows of the key
  bool table;

  __host__ __device__ std::int64_t centred(std::uint64_t a) const {
    return static_cast<std::int64_t>(a > modulus / 2 ? a - modulus : a);
  }
  /// Digit j of a centred value: ring::Gadget::digit.
  __host__ __device__ std::int64_t digit(std::int64_t a, unsigned j) const {
    const std::int64_t shifted = (a + offset) >> (dropped + j * log_base);
    if (j + 1 == digits) return shifted;
    const std::int64_t base = std::int64_t{1} << log_base;
    return (shifted & (base - 1)) - base / 2;
  }
  /// First row of digit j within its coefficient.
  __host__ __device__ unsigned first(unsigned j) const { return table ? j << (log_base - 1) : j; }
};

// ---------------------------------------------------------------------------------------------
// The matrix product: layouts. A k-block is 64 consecutive rows of the key (K of them in all).

inline constexpr unsigned k_block = 64;
inline constexpr unsigned product_warps_m = 2, product_warps_n = 4;
inline constexpr unsigned product_threads = 32 * product_warps_m * product_warps_n;

/// Byte planes of a key, in tiles: (k-block, column block, warp, plane, column of the warp, 64).
struct PlaneLayout {
  unsigned planes, warp_columns, column_blocks;

  __host__ __device__ unsigned block_columns() const { return product_warps_n * warp_columns; }
  /// Rows of 64 bytes of one column block, and of all.
  __host__ __device__ unsigned block_rows() const { return block_columns() * planes; }
  __host__ __device__ std::size_t all_rows() const {
    return std::size_t{column_blocks} * block_rows();
  }
  /// Offset of byte `plane` of the key's row k at a column.
  __host__ __device__ std::size_t at(std::size_t k, unsigned column, unsigned plane) const {
    const unsigned warp = column / warp_columns, within = column % warp_columns;
    const std::size_t row = (std::size_t{warp} * planes + plane) * warp_columns + within;
    return (k / k_block * all_rows() + row) * k_block + k % k_block;
  }
};

/// What a thread of a warp owns of the operands and of the result of mma.m16n8k32 (PTX ISA,
/// "Matrix Fragments for mma.m16n8k32"). Of the 64 rows of a k-block, lane l has those from
/// 16·(l mod 4) on: eight for one product and eight for another. This permutes the k-block, in both
/// operands alike.
struct Fragment {
  unsigned lane;
  /// A column of the key has 64 bytes in a k-block. The lane reads the 16 of them that begin here.
  __host__ __device__ unsigned key_offset() const { return lane / 4 * k_block + lane % 4 * 16; }
  /// The e-th of a thread's four accumulators belongs to this row, and to the column below.
  __host__ __device__ unsigned result_row(unsigned e) const { return lane / 4 + e / 2 * 8; }
  __host__ __device__ unsigned result_column(unsigned e) const { return lane % 4 * 2 + e % 2; }
};

/// Ciphertexts' digits lie as the products want them: (k-block, tile of 16 ciphertexts, product,
/// lane, 16), of which the bytes are, four at a time, from ciphertexts g, g+8, g, g+8, g = lane/4.
inline constexpr unsigned m_tile = 16, m_tile_bytes = m_tile * k_block;
/// Where the eight digits lie that a lane gets of ciphertext g for a product.
__host__ __device__ inline std::size_t expanded_k(std::size_t block, unsigned product,
                                                  unsigned lane) {
  return block * k_block + lane % 4 * 16 + product * 8;
}

// ---------------------------------------------------------------------------------------------
// Keys on their way in: rows of n+1 words as they came -> rows of the key's words, or byte planes.

template <class In, class Word>
__global__ void lay_out_rows(const In* __restrict__ in, unsigned columns, std::size_t rows,
                             std::size_t stride, Word* __restrict__ out) {
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x)
    for (unsigned c = threadIdx.x; c < stride; c += blockDim.x)
      out[r * stride + c] = c < columns ? static_cast<Word>(in[r * columns + c]) : Word{0};
}

/// Rows first … first + rows - 1, first a multiple of k_block; a block takes 64 rows of 32 columns.
/// Layers of blocks take rows that follow one another, and bytes that are `stride` apart.
template <class In>
__global__ void lay_out_planes(const In* __restrict__ in, unsigned columns, std::size_t first,
                               std::size_t rows, PlaneLayout layout, std::uint8_t* __restrict__ out,
                               std::size_t stride) {
  __shared__ In tile[k_block][33];
  in += blockIdx.z * rows * columns;
  out += blockIdx.z * stride;
  const std::size_t k0 = std::size_t{blockIdx.x} * k_block;
  const unsigned c0 = blockIdx.y * 32;
  for (unsigned i = threadIdx.x; i < k_block * 32; i += blockDim.x) {
    const unsigned k = i / 32, c = i % 32;
    const bool inside = k0 + k < rows && c0 + c < columns;
    tile[k][c] = inside ? in[(k0 + k) * columns + c0 + c] : In{0};
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 32 * layout.planes * k_block; i += blockDim.x) {
    const unsigned k = i % k_block, c = i / k_block % 32, plane = i / k_block / 32;
    if (c0 + c >= columns) continue;
    out[layout.at(first + k0 + k, c0 + c, plane)] =
        static_cast<std::uint8_t>(std::uint64_t{tile[k][c]} >> (8 * plane));
  }
}

// ---------------------------------------------------------------------------------------------
// Ciphertexts' digits

/// Eight bytes, rows k … k+7, of a ciphertext `a` of N coefficients.
template <class Word>
__host__ __device__ uint2 expand_digits(const SwitchDigits& d, const Word* a, unsigned N,
                                        unsigned k) {
  unsigned i = k / d.per_coefficient, r = k % d.per_coefficient;
  // The top digit's table may be longer than the others'.
  unsigned j = d.table ? r >> (d.log_base - 1) : r;
  if (j >= d.digits) j = d.digits - 1;
  std::int64_t centred = 0;
  int value = 0;
  unsigned halves[2] = {0, 0};
  bool next_coefficient = true, next_digit = true;
  for (unsigned e = 0; e < 8; ++e) {
    if (next_coefficient) centred = i < N ? d.centred(a[i]) : 0;
    if (next_digit) value = i < N ? static_cast<int>(d.digit(centred, j)) : 0;
    next_coefficient = next_digit = false;
    int byte = value;
    if (d.table) {
      const int v = static_cast<int>(r - d.first(j)) + 1;
      byte = (value == v) - (value == -v);
    }
    halves[e / 4] |= (static_cast<unsigned>(byte) & 0xff) << (e % 4 * 8);
    if (++r == d.per_coefficient) {
      r = j = 0;
      ++i;
      next_coefficient = next_digit = true;
    } else if (j + 1 < d.digits && r == d.first(j + 1)) {
      ++j;
      next_digit = true;
    }
  }
  return {halves[0], halves[1]};
}

/// in (count, N+1) -> digits as above of `padded` ciphertexts. A block takes 64 of them and some
/// k-blocks, whose coefficients share lines of memory.
inline constexpr unsigned expand_k_blocks = 8;
template <class Word>
__global__ void __launch_bounds__(256, 4)
    expand_ciphertexts(SwitchDigits digits, const Word* __restrict__ in, unsigned N,
                       std::size_t count, std::size_t padded, unsigned k_blocks,
                       std::uint8_t* __restrict__ out) {
  const std::size_t tile = std::size_t{blockIdx.y} * 4 + threadIdx.x / 64;
  if (tile * m_tile >= padded) return;
  const unsigned product = threadIdx.x / 32 % 2, lane = threadIdx.x % 32;
  const std::size_t upper = tile * m_tile + lane / 4, lower = upper + 8;
  const unsigned first = blockIdx.x * expand_k_blocks;
  const unsigned last = min(k_blocks, first + expand_k_blocks);
  for (unsigned b = first; b < last; ++b) {
    const auto k = static_cast<unsigned>(expanded_k(b, product, lane));
    uint2 x{0, 0}, y{0, 0};
    if (upper < count) x = expand_digits(digits, in + upper * (N + 1), N, k);
    if (lower < count) y = expand_digits(digits, in + lower * (N + 1), N, k);
    auto* to = reinterpret_cast<uint4*>(out + b * padded * k_block + tile * m_tile_bytes);
    to[threadIdx.x % 64] = {x.x, y.x, x.y, y.y};
  }
}

__device__ inline void add_atomically(std::uint32_t* to, std::uint32_t x) { atomicAdd(to, x); }
__device__ inline void add_atomically(std::uint64_t* to, std::uint64_t x) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(x));
}

// ---------------------------------------------------------------------------------------------
// The matrix product

__device__ inline void copy_16_async(void* shared, const void* global, bool valid = true) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int bytes = valid ? 16 : 0;  // the rest is filled with zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;"); }
template <int pending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// sums += a·b, signed digits times unsigned bytes of the key.
__device__ inline void multiply_tiles(int (&sums)[4], const uint4& a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

/// Words of ciphertexts: those of Q_ks with so many byte planes.
template <unsigned planes>
using ProductWord = std::conditional_t<planes <= 4, std::uint32_t, std::uint64_t>;

template <class Word>
struct ProductArguments {
  const std::uint8_t* expanded;  ///< digits of `padded` ciphertexts
  const std::uint8_t* key;       ///< PlaneLayout
  const Word* in;                ///< (count, N+1)
  Word* out;                     ///< (count, n+1); zeros if there are several splits
  std::size_t count, padded;
  unsigned N, n, column_blocks, k_blocks;
  Word mask;  ///< Q_ks - 1
};

constexpr std::size_t product_shared_bytes(unsigned planes, unsigned columns, unsigned stages,
                                           unsigned m_tiles) {
  return std::size_t{stages} * k_block *
         (product_warps_m * m_tiles * m_tile + product_warps_n * planes * columns);
}

/// What a warp of a block has of the products, and where.
template <unsigned planes, unsigned columns, unsigned m_tiles>
struct ProductTile {
  static constexpr unsigned n_tiles = planes * columns / 8;
  static constexpr unsigned block_m = product_warps_m * 16 * m_tiles;
  static constexpr unsigned block_n = product_warps_n * planes * columns;
  static constexpr unsigned stage_bytes = (block_m + block_n) * k_block;
  using Sums = int[m_tiles][n_tiles][4];

  unsigned warp_m = threadIdx.x / 32 / product_warps_n, warp_n = threadIdx.x / 32 % product_warps_n;
  Fragment fragment{threadIdx.x % 32};

  /// The row of the e-th accumulators of tile i, and the column of those of tile j.
  __device__ std::size_t row(unsigned i, unsigned e) const {
    return std::size_t{blockIdx.y} * block_m + (warp_m * m_tiles + i) * 16 + fragment.result_row(e);
  }
  __device__ unsigned column(unsigned j, unsigned e) const {
    return (blockIdx.x * product_warps_n + warp_n) * columns + j * 8 + fragment.result_column(e);
  }
};

/// sums += signed bytes of the rows of this block (blockIdx.y) times the byte planes of its columns
/// (blockIdx.x), k-blocks begin … end - 1. `expanded`: of `padded` rows; `key`: PlaneLayout.
/// `columns`: a warp's; `m_tiles`: tiles of rows, a warp's; `stages`: of shared memory, a k-block
/// each.
template <unsigned planes, unsigned columns, unsigned stages, unsigned m_tiles>
__device__ __forceinline__ void multiply_k_blocks(
    const ProductTile<planes, columns, m_tiles>& tile, const std::uint8_t* expanded,
    const std::uint8_t* planes_of_key, std::size_t padded, unsigned column_blocks, unsigned begin,
    unsigned end, typename ProductTile<planes, columns, m_tiles>::Sums& sums) {
  using Tile = ProductTile<planes, columns, m_tiles>;
  constexpr unsigned n_tiles = Tile::n_tiles, block_m = Tile::block_m, block_n = Tile::block_n,
                     stage_bytes = Tile::stage_bytes;
  extern __shared__ __align__(128) std::uint8_t shared[];
  const unsigned warp_m = tile.warp_m, warp_n = tile.warp_n;
  const Fragment fragment = tile.fragment;
  const std::size_t m0 = std::size_t{blockIdx.y} * block_m;
  const std::size_t key_rows = std::size_t{column_blocks} * block_n;

  auto fetch = [&](unsigned b) {
    if (b < end) {
      std::uint8_t* stage = shared + (b - begin) % stages * stage_bytes;
      const std::uint8_t* a = expanded + (std::size_t{b} * padded + m0) * k_block;
      const std::uint8_t* key =
          planes_of_key + (b * key_rows + std::size_t{blockIdx.x} * block_n) * k_block;
#pragma unroll
      for (unsigned at = 0; at < block_m * k_block; at += product_threads * 16)
        if (at + threadIdx.x * 16 < block_m * k_block)
          copy_16_async(stage + at + threadIdx.x * 16, a + at + threadIdx.x * 16);
#pragma unroll
      for (unsigned at = 0; at < block_n * k_block; at += product_threads * 16)
        if (at + threadIdx.x * 16 < block_n * k_block)
          copy_16_async(stage + block_m * k_block + at + threadIdx.x * 16,
                        key + at + threadIdx.x * 16);
    }
    commit_copies();
  };

  for (unsigned s = 0; s + 1 < stages; ++s) fetch(begin + s);
  for (unsigned b = begin; b < end; ++b) {
    wait_copies<stages - 2>();
    __syncthreads();  // the stage has arrived, and the one before is free
    fetch(b + stages - 1);
    const std::uint8_t* stage = shared + (b - begin) % stages * stage_bytes;
    const std::uint8_t* a = stage + warp_m * m_tiles * m_tile_bytes + fragment.lane * 16;
    const std::uint8_t* key =
        stage + (block_m + warp_n * planes * columns) * k_block + fragment.key_offset();
    uint4 first[m_tiles], second[m_tiles];  // products
#pragma unroll
    for (unsigned i = 0; i < m_tiles; ++i) {
      first[i] = *reinterpret_cast<const uint4*>(a + i * m_tile_bytes);
      second[i] = *reinterpret_cast<const uint4*>(a + i * m_tile_bytes + m_tile_bytes / 2);
    }
#pragma unroll
    for (unsigned j = 0; j < n_tiles; ++j) {
      const uint4 k = *reinterpret_cast<const uint4*>(key + j * 8 * k_block);
#pragma unroll
      for (unsigned i = 0; i < m_tiles; ++i) multiply_tiles(sums[i][j], first[i], k.x, k.y);
#pragma unroll
      for (unsigned i = 0; i < m_tiles; ++i) multiply_tiles(sums[i][j], second[i], k.z, k.w);
    }
  }
  wait_copies<0>();
}

/// Grid: column blocks, tiles of ciphertexts, splits of the k-blocks. Several splits add to `out`.
template <unsigned planes, unsigned columns, unsigned stages, unsigned m_tiles>
__global__ void __launch_bounds__(product_threads, 1)
    switch_product(ProductArguments<ProductWord<planes>> p) {
  using Tile = ProductTile<planes, columns, m_tiles>;
  const Tile tile;
  const unsigned begin = static_cast<unsigned>(std::uint64_t{p.k_blocks} * blockIdx.z / gridDim.z);
  const unsigned end =
      static_cast<unsigned>(std::uint64_t{p.k_blocks} * (blockIdx.z + 1) / gridDim.z);
  typename Tile::Sums sums = {};
  multiply_k_blocks<planes, columns, stages, m_tiles>(tile, p.expanded, p.key, p.padded,
                                                      p.column_blocks, begin, end, sums);

  using Sum = ProductWord<planes>;
#pragma unroll
  for (unsigned i = 0; i < m_tiles; ++i)
#pragma unroll
    for (unsigned j = 0; j < columns / 8; ++j)
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        Sum sum = 0;
#pragma unroll
        for (unsigned plane = 0; plane < planes; ++plane)
          sum += static_cast<Sum>(static_cast<std::int64_t>(sums[i][plane * (columns / 8) + j][e]))
                 << (8 * plane);
        const std::size_t m = tile.row(i, e);
        const unsigned column = tile.column(j, e);
        if (m >= p.count || column > p.n) continue;
        Sum* out = p.out + m * (p.n + 1) + column;
        if (gridDim.z == 1) {
          const Sum body = column == p.n ? p.in[m * (p.N + 1) + p.N] : 0;
          *out = (body - sum) & p.mask;
        } else {
          add_atomically(out, Sum{0} - sum);
        }
      }
}

/// After several blocks have added to `out`: adds the body and reduces.
template <class Word>
__global__ void finish_switch(std::uint64_t Q_ks, const Word* __restrict__ in, unsigned N,
                              unsigned n, std::size_t count, Word* __restrict__ out) {
  const bool wraps = (Q_ks & (Q_ks - 1)) == 0;
  for (std::size_t m = blockIdx.x; m < count; m += gridDim.x)
    for (unsigned c = threadIdx.x; c <= n; c += blockDim.x) {
      Word& x = out[m * (n + 1) + c];
      const std::uint64_t body = c == n ? in[m * (N + 1) + N] : 0;
      x = static_cast<Word>(wraps ? (x + body) & (Q_ks - 1) : (x % Q_ks + body) % Q_ks);
    }
}

// ---------------------------------------------------------------------------------------------
// Look-ups. Rows lie one after the other, each padded to 16 bytes.

/// a + b on the 16-, 32- or 64-bit words in 8 bytes.
template <class Word>
__device__ inline uint2 add_words(uint2 a, uint2 b) {
  if constexpr (sizeof(Word) == 2) {
    return {__vadd2(a.x, b.x), __vadd2(a.y, b.y)};
  } else if constexpr (sizeof(Word) == 4) {
    return {a.x + b.x, a.y + b.y};
  } else {
    const std::uint64_t sum = (std::uint64_t{a.y} << 32 | a.x) + (std::uint64_t{b.y} << 32 | b.x);
    return {static_cast<unsigned>(sum), static_cast<unsigned>(sum >> 32)};
  }
}

/// Words of ciphertexts: 32 bits with such words of the key and narrower ones.
template <class KeyWord>
using LookupWord = std::conditional_t<sizeof(KeyWord) <= 4, std::uint32_t, std::uint64_t>;

template <class Word>
struct LookupArguments {
  SwitchDigits digits;
  const std::uint8_t* key;
  std::size_t stride;  ///< bytes of a row
  const Word* in;      ///< (count, N+1)
  Word* out;           ///< (count, n+1), zeros: blocks add to it
  std::size_t count;
  unsigned N, n;
};

/// Ciphertexts of a warp of the staged look-up: as many as lanes, each of which finds the digits of
/// one.
inline constexpr unsigned staged_ciphertexts = 32;
inline constexpr unsigned staged_row_bytes = 256;  ///< of a row: eight a thread

/// Shared memory of `warps` warps: two times (row of zeros, a coefficient's rows), then two times
/// digits.
inline std::size_t staged_shared_bytes(const SwitchDigits& digits, unsigned warps) {
  return 2 * (std::size_t{digits.per_coefficient + 1} * staged_row_bytes +
              std::size_t{digits.digits} * warps * staged_ciphertexts * sizeof(std::uint32_t));
}

/// Grid: pieces of 256 bytes of the rows, tiles of ciphertexts, splits of the coefficients. Rows of
/// a coefficient are staged for the whole tile; a warp adds those that its ciphertexts pick. What
/// is subtracted is complemented instead, one less than the negative; the ones are added at the
/// end.
template <class Word, unsigned warps>
__global__ void __launch_bounds__(32 * warps, 16 / warps)
    switch_staged(LookupArguments<LookupWord<Word>> p) {
  constexpr unsigned mine = staged_ciphertexts, lane_words = 8 / sizeof(Word);
  constexpr unsigned staged_threads = 32 * warps, staged_tile = warps * mine;
  static_assert(staged_tile == staged_threads, "a thread finds the digits of one ciphertext");
  extern __shared__ __align__(128) std::uint8_t shared[];
  const unsigned rows = p.digits.per_coefficient, digits = p.digits.digits;
  const unsigned stage_bytes = (rows + 1) * staged_row_bytes;
  auto* entries = reinterpret_cast<std::uint32_t*>(shared + 2 * stage_bytes);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::size_t tile = std::size_t{blockIdx.y} * staged_tile;
  const unsigned begin = static_cast<unsigned>(std::uint64_t{p.N} * blockIdx.z / gridDim.z);
  const unsigned end = static_cast<unsigned>(std::uint64_t{p.N} * (blockIdx.z + 1) / gridDim.z);
  const std::size_t piece = std::size_t{blockIdx.x} * staged_row_bytes;

  for (unsigned s = 0; s < 2; ++s)
    if (threadIdx.x < staged_row_bytes / 4)
      reinterpret_cast<std::uint32_t*>(shared + s * stage_bytes)[threadIdx.x] = 0;

  auto fetch = [&](unsigned i) {
    if (i < end) {
      std::uint8_t* stage = shared + (i & 1) * stage_bytes + staged_row_bytes;
      const std::uint8_t* from = p.key + std::size_t{i} * rows * p.stride;
      for (unsigned at = threadIdx.x; at < rows * (staged_row_bytes / 16); at += staged_threads) {
        const unsigned row = at / (staged_row_bytes / 16), byte = at % (staged_row_bytes / 16) * 16;
        const bool inside = piece + byte < p.stride;
        copy_16_async(stage + row * staged_row_bytes + byte,
                      from + row * p.stride + (inside ? piece + byte : 0), inside);
      }
    }
    commit_copies();
  };
  // An entry is the picked row's place in shared memory; its top bit says: complement.
  const bool present = tile + threadIdx.x < p.count;
  const LookupWord<Word>* a = p.in + (present ? tile + threadIdx.x : 0) * (p.N + 1);
  unsigned complemented = 0;
  auto find_digits = [&](unsigned i, std::uint64_t value) {
    const std::int64_t centred = p.digits.centred(value);
    for (unsigned j = 0; j < digits; ++j) {
      const int d = present ? static_cast<int>(p.digits.digit(centred, j)) : 0;
      const unsigned row = d == 0 ? 0 : p.digits.first(j) + static_cast<unsigned>(abs(d));
      complemented += d > 0;
      entries[((i & 1) * digits + j) * staged_tile + threadIdx.x] =
          ((i & 1) * stage_bytes + row * staged_row_bytes) | (d > 0 ? 0x80000000u : 0);
    }
  };

  uint2 sums[mine];
#pragma unroll
  for (unsigned c = 0; c < mine; ++c) sums[c] = {0, 0};
  std::uint64_t next = begin < end ? a[begin] : 0;
  fetch(begin);
  for (unsigned i = begin; i < end; ++i) {
    find_digits(i, next);
    if (i + 1 < end) next = a[i + 1];
    fetch(i + 1);
    wait_copies<1>();
    __syncthreads();  // rows and digits of coefficient i are there
    const std::uint32_t* entry = entries + (i & 1) * digits * staged_tile + warp * mine;
    for (unsigned j = 0; j < digits; ++j, entry += staged_tile) {
#pragma unroll
      for (unsigned c = 0; c < mine; c += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(entry + c);
        const std::uint32_t picked[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) {
          const unsigned at = (picked[e] & 0x7fffff00u) | (lane * 8);
          const auto flip = static_cast<unsigned>(static_cast<int>(picked[e]) >> 31);
          const uint2 row = *reinterpret_cast<const uint2*>(shared + at);
          sums[c + e] = add_words<Word>(sums[c + e], {row.x ^ flip, row.y ^ flip});
        }
      }
    }
    __syncthreads();  // the stage is free
  }
  wait_copies<0>();
  entries[threadIdx.x] = complemented;
  __syncthreads();
#pragma unroll
  for (unsigned c = 0; c < mine; ++c) {
    const std::size_t m = tile + warp * mine + c;
    if (m >= p.count) break;
    const std::uint64_t ones = entries[warp * mine + c];
    const std::uint64_t words = std::uint64_t{sums[c].y} << 32 | sums[c].x;
#pragma unroll
    for (unsigned w = 0; w < lane_words; ++w) {
      const unsigned column = static_cast<unsigned>(piece / sizeof(Word)) + lane * lane_words + w;
      if (column <= p.n)
        add_atomically(p.out + m * (p.n + 1) + column,
                       static_cast<LookupWord<Word>>(
                           ones + static_cast<Word>(words >> (8 * sizeof(Word) * w) % 64)));
    }
  }
}

/// How sums of rows are kept: modulo a power of two a word wraps, else they are reduced.
enum class RowSums { wrapping, reduced };

/// Sums of whole rows straight from memory: small batches, tables too large to be staged, and
/// moduli that are not powers of two. A block: a ciphertext, some of its coefficients,
/// some columns of which a thread has 16 bytes.
inline constexpr unsigned direct_entries = 1024;
template <class Word, RowSums kind, unsigned threads>
__global__ void __launch_bounds__(threads)
    switch_direct(LookupArguments<LookupWord<Word>> p, DeviceModulus<std::uint64_t> q,
                  unsigned column_chunks) {
  constexpr unsigned lanes = 16 / sizeof(Word);
  constexpr bool reduced = kind == RowSums::reduced;
  using Sum = std::conditional_t<reduced || sizeof(Word) == 8, std::uint64_t, std::uint32_t>;
  struct Entry {
    std::uint32_t row;  ///< within the chunk of coefficients
    std::int32_t factor;
  };
  __shared__ Entry entries[direct_entries];
  const std::size_t m = blockIdx.x / column_chunks;
  const unsigned vector = blockIdx.x % column_chunks * blockDim.x + threadIdx.x;
  const bool inside = std::size_t{vector} * 16 < p.stride;
  const unsigned begin = static_cast<unsigned>(std::uint64_t{p.N} * blockIdx.y / gridDim.y);
  const unsigned end = static_cast<unsigned>(std::uint64_t{p.N} * (blockIdx.y + 1) / gridDim.y);
  const unsigned digits = p.digits.digits, chunk = direct_entries / digits;
  Sum sums[lanes] = {};
  for (unsigned i0 = begin; i0 < end; i0 += chunk) {
    const unsigned coefficients = min(chunk, end - i0);
    __syncthreads();
    for (unsigned e = threadIdx.x; e < coefficients * digits; e += blockDim.x) {
      const unsigned i = e / digits, j = e % digits;
      const auto d = static_cast<std::int32_t>(
          p.digits.digit(p.digits.centred(p.in[m * (p.N + 1) + i0 + i]), j));
      const unsigned looked_up = p.digits.table && d != 0 ? static_cast<unsigned>(abs(d)) - 1 : 0;
      entries[e] = {i * p.digits.per_coefficient + p.digits.first(j) + looked_up,
                    p.digits.table ? (d > 0) - (d < 0) : d};
    }
    __syncthreads();
    if (!inside) continue;
    const std::uint8_t* rows =
        p.key + std::size_t{i0} * p.digits.per_coefficient * p.stride + std::size_t{vector} * 16;
#pragma unroll 4
    for (unsigned e = 0; e < coefficients * digits; ++e) {
      const Entry entry = entries[e];
      const uint4 bytes = *reinterpret_cast<const uint4*>(rows + entry.row * p.stride);
      const std::uint64_t halves[2] = {std::uint64_t{bytes.y} << 32 | bytes.x,
                                       std::uint64_t{bytes.w} << 32 | bytes.z};
#pragma unroll
      for (unsigned l = 0; l < lanes; ++l) {
        const auto word =
            static_cast<Word>(halves[l * sizeof(Word) / 8] >> (8 * (l * sizeof(Word) % 8)));
        if constexpr (reduced) {
          const auto size = static_cast<std::uint64_t>(abs(std::int64_t{entry.factor}));
          const std::uint64_t product =
              size <= 1 ? size * word : mul_mod<std::uint64_t>(size, word, q);
          sums[l] = entry.factor > 0 ? sub_mod<std::uint64_t>(sums[l], product, q.q)
                                     : add_mod<std::uint64_t>(sums[l], product, q.q);
        } else {
          sums[l] -= static_cast<Sum>(std::int64_t{entry.factor}) * word;
        }
      }
    }
  }
  if (!inside) return;
#pragma unroll
  for (unsigned l = 0; l < lanes; ++l)
    if (vector * lanes + l <= p.n)
      add_atomically(p.out + m * (p.n + 1) + vector * lanes + l,
                     static_cast<LookupWord<Word>>(sums[l]));
}

}  // namespace whorl::backend::cuda
