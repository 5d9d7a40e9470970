// Negacyclic NTTs as two products of matrices, as in Fan et al., "TensorFHE", HPCA 2023, sections
// IV-B and IV-C: by words on the CUDA cores, and by bytes on INT8 tensor cores. For comparison with
// the library's butterflies, whose results they give; not part of the library.
//
// With N = R·C, index C·i + j and result (r, c), both bit-reversed frequencies as in ring::NttPlan,
//   X[r][c] = sum_j right[j][c]·middle[r][j]·sum_i left[r][i]·x[i][j].
// That is X = ((left·x) o middle)·right for matrices in row-major order: W1, W2 and W3 of the
// paper, whose transpositions are in the order of the tables. The inverse takes the product on the
// right first, and has N^-1 in its factors in the middle. A sum is reduced once.
//
// What a thread does is written for the host too, where check_on_host() runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/modular.cuh"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include "backend/cuda/kernels/convert_int8.cuh"
#endif

namespace whorl::bench::matrix {

using Word = std::uint32_t;
using backend::cuda::mul_high;
using backend::cuda::mul_shoup;
using backend::cuda::subtract_once;

struct Shape {
  std::uint32_t rows, columns;
};
/// R = C, or C = 2R.
constexpr Shape shape_of(std::uint32_t N) {
  Shape shape{1, 1};
  while (shape.rows * shape.columns < N)
    (shape.rows == shape.columns ? shape.columns : shape.rows) *= 2;
  return shape;
}

struct [[gnu::may_alias]] Words1 {
  Word x;
};
struct alignas(8) Factor {
  Word w, shoup;
};
// Vectors that memory is read and written by, whatever it holds.
struct [[gnu::may_alias]] alignas(16) Words4 {
  Word x[4];
};

/// Tables of one prime and one direction.
struct Limb {
  Word q;
  unsigned room;                    ///< products that a sum takes between two folds: 1, 4, 16 or 32
  std::uint64_t barrett;            ///< floor(2^64/q)
  std::uint64_t multiple;           ///< of q, the largest up to 2^63
  const Word* left;                 ///< (R, R): result, inner
  const Word* right;                ///< (C, C): inner, result
  const Factor* middle;             ///< (R, C)
  const std::uint8_t* left_planes;  ///< (4, R, R): byte, result, inner
  const std::uint8_t* right_planes;  ///< (4, C, C): byte, result, inner
};

/// x mod q for any x, in [0, 2q).
WHORL_HOST_DEVICE Word reduce_lazy(std::uint64_t x, const Limb& limb) {
  return static_cast<Word>(x - mul_high<std::uint64_t>(x, limb.barrett) * limb.q);
}
/// A sum of a product, times what is in the middle if there is something.
WHORL_HOST_DEVICE Word finish(Word lazy, const Limb& limb, const Factor* middle) {
  return middle ? mul_shoup<Word>(lazy, middle->w, middle->shoup, limb.q)
                : subtract_once<Word>(lazy, limb.q);
}

/// sum_s 2^8s·sums[s] mod q, in [0, 2q), for sums below 2^26: the join of the paper's stages 3 and
/// 5, where sums[s] has the products of byte i of one factor and byte s - i of the other.
WHORL_HOST_DEVICE Word join(const std::uint32_t (&sums)[7], const Limb& limb) {
  const std::uint64_t low = sums[0] + (std::uint64_t{sums[1]} << 8) +
                            (std::uint64_t{sums[2]} << 16) + (std::uint64_t{sums[3]} << 24),
                      high =
                          sums[4] + (std::uint64_t{sums[5]} << 8) + (std::uint64_t{sums[6]} << 16);
  const std::uint64_t top = subtract_once<Word>(reduce_lazy(high, limb), limb.q);
  return reduce_lazy((top << 32) + low, limb);
}
/// The 16 products of planes i and j, number 4i + j.
WHORL_HOST_DEVICE Word join(const std::uint32_t (&products)[16], const Limb& limb) {
  std::uint32_t sums[7] = {};
  WHORL_UNROLL
  for (unsigned i = 0; i < 4; ++i) WHORL_UNROLL
  for (unsigned j = 0; j < 4; ++j) sums[i + j] += products[4 * i + j];
  return join(sums, limb);
}

/// Byte p of four words, as one word.
WHORL_HOST_DEVICE Word plane_word(const Word (&x)[4], unsigned p) {
#if defined(__CUDA_ARCH__)
  const unsigned pick = p | (p + 4) << 4;
  return __byte_perm(__byte_perm(x[0], x[1], pick), __byte_perm(x[2], x[3], pick), 0x5410);
#else
  Word out = 0;
  for (unsigned e = 0; e < 4; ++e) out |= (x[e] >> (8 * p) & 255) << (8 * e);
  return out;
#endif
}

// ---- tiles: a block makes 32 rows and 64 columns of a product

inline constexpr unsigned tile_rows = 32, tile_columns = 64;

/// Which tile, of a product with `inner` terms a sum.
struct Tile {
  std::uint32_t row, column, inner, columns;  ///< `columns`: of the whole matrix
};
/// Number `number` of the tiles of a product.
WHORL_HOST_DEVICE Tile tile_of(Shape shape, bool on_left, std::uint32_t number) {
  const std::uint32_t across = shape.columns / tile_columns;
  return {number / across * tile_rows, number % across * tile_columns,
          on_left ? shape.rows : shape.columns, shape.columns};
}
constexpr std::uint32_t tiles(Shape shape) {
  return shape.rows / tile_rows * (shape.columns / tile_columns);
}

// ---- words: a (rows, inner) · b (inner, columns), 4 x 4 sums a thread

inline constexpr unsigned word_threads = 128, word_chunk = 32;
inline constexpr unsigned word_stride_a = 33, word_stride_b = tile_columns;
struct alignas(16) WordMemory {
  Word a[word_chunk * word_stride_a];  ///< (inner, row)
  alignas(16) Word b[word_chunk * word_stride_b];
};

WHORL_HOST_DEVICE void load_words(const Tile& tile, const Word* a, const Word* b,
                                  std::uint32_t first, unsigned thread, WordMemory& memory) {
  WHORL_UNROLL
  for (unsigned s = 0; s < tile_rows * word_chunk / 4 / word_threads; ++s) {
    const unsigned v = thread + word_threads * s, row = v / (word_chunk / 4),
                   k = v % (word_chunk / 4) * 4;
    const Words4 x =
        *reinterpret_cast<const Words4*>(a + std::size_t{tile.row + row} * tile.inner + first + k);
    WHORL_UNROLL
    for (unsigned e = 0; e < 4; ++e) memory.a[(k + e) * word_stride_a + row] = x.x[e];
  }
  WHORL_UNROLL
  for (unsigned s = 0; s < tile_columns * word_chunk / 4 / word_threads; ++s) {
    const unsigned v = thread + word_threads * s, k = v / (tile_columns / 4),
                   column = v % (tile_columns / 4) * 4;
    *reinterpret_cast<Words4*>(memory.b + k * word_stride_b + column) =
        *reinterpret_cast<const Words4*>(b + std::size_t{first + k} * tile.columns + tile.column +
                                         column);
  }
}
template <unsigned room>
WHORL_HOST_DEVICE void multiply_words(const WordMemory& memory, unsigned thread,
                                      std::uint64_t multiple, std::uint64_t (&sum)[4][4]) {
  const unsigned row = thread / 16 * 4, column = thread % 16 * 4;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
  for (unsigned k = 0; k < word_chunk; ++k) {
    const Words4 b = *reinterpret_cast<const Words4*>(memory.b + k * word_stride_b + column);
    WHORL_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint64_t a = memory.a[k * word_stride_a + row + i];
      WHORL_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        sum[i][j] += a * b.x[j];
        if ((k + 1) % room == 0 && sum[i][j] >= multiple) sum[i][j] -= multiple;
      }
    }
  }
}
WHORL_HOST_DEVICE void multiply_words(const WordMemory& memory, unsigned thread, const Limb& limb,
                                      std::uint64_t (&sum)[4][4]) {
  switch (limb.room) {
    case 32:
      return multiply_words<32>(memory, thread, limb.multiple, sum);
    case 16:
      return multiply_words<16>(memory, thread, limb.multiple, sum);
    case 4:
      return multiply_words<4>(memory, thread, limb.multiple, sum);
    default:
      return multiply_words<1>(memory, thread, limb.multiple, sum);
  }
}
WHORL_HOST_DEVICE void store_words(const Tile& tile, const Limb& limb, bool with_middle,
                                   unsigned thread, const std::uint64_t (&sum)[4][4], Word* out) {
  const std::uint32_t row = tile.row + thread / 16 * 4, column = tile.column + thread % 16 * 4;
  WHORL_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    const std::size_t at = std::size_t{row + i} * tile.columns + column;
    Words4 x;
    WHORL_UNROLL
    for (unsigned j = 0; j < 4; ++j)
      x.x[j] =
          finish(reduce_lazy(sum[i][j], limb), limb, with_middle ? limb.middle + at + j : nullptr);
    *reinterpret_cast<Words4*>(out + at) = x;
  }
}

// ---- bytes: 16 products of planes (rows, inner) and (columns, inner); a warp makes 16 x 16

inline constexpr unsigned byte_threads = 256;
/// Words of a row of a plane in shared memory, with a gap: a warp that reads a fragment meets no
/// bank twice.
constexpr unsigned byte_stride(unsigned steps) { return 8 * steps + 4; }
template <unsigned steps>
struct alignas(16) ByteMemory {
  Word a[4 * tile_rows * byte_stride(steps)];
  alignas(16) Word b[4 * tile_columns * byte_stride(steps)];
};

/// `rows` rows of planes whose inner index is contiguous.
template <unsigned steps, unsigned rows>
WHORL_HOST_DEVICE void load_planes(const std::uint8_t* planes, std::size_t plane,
                                   std::uint32_t first_row, std::uint32_t inner,
                                   std::uint32_t first, unsigned thread, Word* memory) {
  WHORL_UNROLL
  for (unsigned v = thread; v < 4 * rows * 2 * steps; v += byte_threads) {
    const unsigned p = v / (rows * 2 * steps), row = v / (2 * steps) % rows, part = v % (2 * steps);
    *reinterpret_cast<Words4*>(memory + (p * rows + row) * byte_stride(steps) + 4 * part) =
        *reinterpret_cast<const Words4*>(planes + p * plane + std::size_t{first_row + row} * inner +
                                         first + 16 * part);
  }
}
/// The same of words (rows, inner), split on the way.
template <unsigned steps, unsigned rows>
WHORL_HOST_DEVICE void load_rows(const Word* words, std::uint32_t first_row, std::uint32_t inner,
                                 std::uint32_t first, unsigned thread, Word* memory) {
  WHORL_UNROLL
  for (unsigned v = thread; v < rows * 8 * steps; v += byte_threads) {
    const unsigned row = v / (8 * steps), part = v % (8 * steps);
    const Words4 x = *reinterpret_cast<const Words4*>(words + std::size_t{first_row + row} * inner +
                                                      first + 4 * part);
    WHORL_UNROLL
    for (unsigned p = 0; p < 4; ++p)
      memory[(p * rows + row) * byte_stride(steps) + part] = plane_word(x.x, p);
  }
}
/// The same of words (inner, columns).
template <unsigned steps, unsigned rows>
WHORL_HOST_DEVICE void load_columns(const Word* words, std::uint32_t columns,
                                    std::uint32_t first_column, std::uint32_t first,
                                    unsigned thread, Word* memory) {
  WHORL_UNROLL
  for (unsigned v = thread; v < rows * 8 * steps; v += byte_threads) {
    const unsigned column = v % rows, part = v / rows;
    Word x[4];
    WHORL_UNROLL
    for (unsigned e = 0; e < 4; ++e)
      x[e] = words[std::size_t{first + 4 * part + e} * columns + first_column + column];
    WHORL_UNROLL
    for (unsigned p = 0; p < 4; ++p)
      memory[(p * rows + column) * byte_stride(steps) + part] = plane_word(x, p);
  }
}

/// What a lane has of a step: fragments as multiply_bytes takes them, of every plane; two tiles of
/// eight columns.
struct Fragments {
  Word a[4][4], b[4][2][2];
};
template <unsigned steps>
WHORL_HOST_DEVICE void load_fragments(const ByteMemory<steps>& memory, unsigned thread,
                                      unsigned step, Fragments& out) {
  const unsigned warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
  const unsigned row = warp % 2 * 16 + g, column = warp / 2 * 16 + g, at = 8 * step + t;
  WHORL_UNROLL
  for (unsigned p = 0; p < 4; ++p) {
    WHORL_UNROLL
    for (unsigned r = 0; r < 4; ++r)
      out.a[p][r] =
          memory.a[(p * tile_rows + row + r % 2 * 8) * byte_stride(steps) + at + r / 2 * 4];
    WHORL_UNROLL
    for (unsigned n = 0; n < 2; ++n) WHORL_UNROLL
    for (unsigned r = 0; r < 2; ++r)
      out.b[p][n][r] =
          memory.b[(p * tile_columns + column + 8 * n) * byte_stride(steps) + at + 4 * r];
  }
}
/// Where element e of tile n of a lane's sums lies in the whole matrix.
WHORL_HOST_DEVICE std::size_t place_of(const Tile& tile, unsigned thread, unsigned n, unsigned e) {
  const unsigned warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
  const std::uint32_t row = tile.row + warp % 2 * 16 + g + e / 2 * 8;
  return std::size_t{row} * tile.columns + tile.column + warp / 2 * 16 + 8 * n + 2 * t + e % 2;
}

/// Sums of a lane: of the 16 products apart, or of those with equal weights together.
template <bool apart>
struct ByteSums {
  static constexpr unsigned count = apart ? 16 : 7;
  Word sum[count][2][4] = {};
};
struct [[gnu::may_alias]] alignas(8) Words2 {
  Word x[2];
};
/// One of the 16 products after another, `plane` words each.
WHORL_HOST_DEVICE void store_sums(const Tile& tile, unsigned thread, const ByteSums<true>& sums,
                                  std::size_t plane, Word* out) {
  WHORL_UNROLL
  for (unsigned s = 0; s < 16; ++s) WHORL_UNROLL
  for (unsigned n = 0; n < 2; ++n) WHORL_UNROLL
  for (unsigned e = 0; e < 4; e += 2)
    *reinterpret_cast<Words2*>(out + s * plane + place_of(tile, thread, n, e)) = {
        {sums.sum[s][n][e], sums.sum[s][n][e + 1]}};
}
WHORL_HOST_DEVICE void store_joined(const Tile& tile, const Limb& limb, bool with_middle,
                                    unsigned thread, const ByteSums<false>& sums, Word* out) {
  WHORL_UNROLL
  for (unsigned n = 0; n < 2; ++n) WHORL_UNROLL
  for (unsigned e = 0; e < 4; e += 2) {
    const std::size_t at = place_of(tile, thread, n, e);
    Words2 x;
    WHORL_UNROLL
    for (unsigned k = 0; k < 2; ++k) {
      std::uint32_t of[7];
      WHORL_UNROLL
      for (unsigned s = 0; s < 7; ++s) of[s] = sums.sum[s][n][e + k];
      x.x[k] = finish(join(of, limb), limb, with_middle ? limb.middle + at + k : nullptr);
    }
    *reinterpret_cast<Words2*>(out + at) = x;
  }
}

// ---- the stages between products, in memory: four values a thread

enum class From : std::uint8_t { words, products };
enum class To : std::uint8_t { words, planes, turned_planes };

/// `in`: words, or 16 products of which each has `in_plane` words. Turned planes are (columns,
/// rows), so that the inner index of the product on the left is contiguous.
template <From from, To to>
WHORL_HOST_DEVICE void convert_four(Shape shape, const Limb& limb, bool with_middle,
                                    std::uint32_t thread, const Word* in, std::size_t in_plane,
                                    Word* words, std::uint8_t* planes, std::size_t out_plane) {
  constexpr bool turned = to == To::turned_planes;
  const std::uint32_t column = turned ? thread % shape.columns : thread * 4 % shape.columns,
                      row = turned ? thread / shape.columns * 4 : thread * 4 / shape.columns;
  const std::size_t at = std::size_t{row} * shape.columns + column,
                    next = turned ? shape.columns : 1;
  Words4 x;
  if constexpr (from == From::words) {
    WHORL_UNROLL
    for (unsigned e = 0; e < 4; ++e) x.x[e] = in[at + e * next];
  } else {
    Word sums[4][7] = {};
    WHORL_UNROLL
    for (unsigned s = 0; s < 16; ++s) {
      if constexpr (turned) {
        WHORL_UNROLL
        for (unsigned e = 0; e < 4; ++e) sums[e][s / 4 + s % 4] += in[s * in_plane + at + e * next];
      } else {
        const Words4 y = *reinterpret_cast<const Words4*>(in + s * in_plane + at);
        WHORL_UNROLL
        for (unsigned e = 0; e < 4; ++e) sums[e][s / 4 + s % 4] += y.x[e];
      }
    }
    WHORL_UNROLL
    for (unsigned e = 0; e < 4; ++e)
      x.x[e] =
          finish(join(sums[e], limb), limb, with_middle ? limb.middle + at + e * next : nullptr);
  }
  if constexpr (to == To::words) {
    *reinterpret_cast<Words4*>(words + at) = x;
  } else {
    const std::size_t place = turned ? std::size_t{column} * shape.rows + row : at;
    WHORL_UNROLL
    for (unsigned p = 0; p < 4; ++p)
      *reinterpret_cast<Words1*>(planes + p * out_plane + place) = {plane_word(x.x, p)};
  }
}

// ---- kernels

/// Of (limbs, batch, N). Grid: tiles or pieces of a transform, batch, limbs.
struct Arguments {
  const Limb* limbs;
  Shape shape;
  bool on_left;      ///< the product with `left`
  bool with_middle;  ///< multiplies what it gives
  const Word* in;    ///< words, or 16 products
  const std::uint8_t* in_planes;
  Word* out;  ///< words, or 16 products
  std::uint8_t* out_planes;
  std::size_t plane;  ///< values of all transforms: the size of a plane and of a product
};

#if defined(__CUDACC__)

__device__ inline std::size_t transform_start(Shape shape) {
  return (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * shape.rows * shape.columns;
}

__global__ void __launch_bounds__(word_threads)
    product_of_words(const __grid_constant__ Arguments a) {
  __shared__ WordMemory memory;
  const Limb limb = a.limbs[blockIdx.z];
  const Tile tile = tile_of(a.shape, a.on_left, blockIdx.x);
  const std::size_t start = transform_start(a.shape);
  const Word* const from_a = a.on_left ? limb.left : a.in + start;
  const Word* const from_b = a.on_left ? a.in + start : limb.right;
  std::uint64_t sum[4][4] = {};
  for (std::uint32_t first = 0; first < tile.inner; first += word_chunk) {
    if (first > 0) __syncthreads();
    load_words(tile, from_a, from_b, first, threadIdx.x, memory);
    __syncthreads();
    multiply_words(memory, threadIdx.x, limb, sum);
  }
  store_words(tile, limb, a.with_middle, threadIdx.x, sum, a.out + start);
}

/// `apart`: the paper's stages 2 and 4, from planes in memory to 16 products in memory. Else from
/// words to words: planes are made on the way to shared memory, and joined in registers.
template <bool apart, unsigned steps>
__global__ void __launch_bounds__(byte_threads, apart ? 1 : 2)
    product_of_bytes(const __grid_constant__ Arguments a) {
  __shared__ ByteMemory<steps> memory;
  const Limb& limb = a.limbs[blockIdx.z];
  const Tile tile = tile_of(a.shape, a.on_left, blockIdx.x);
  const std::size_t start = transform_start(a.shape);
  ByteSums<apart> sums;
  for (std::uint32_t first = 0; first < tile.inner; first += 32 * steps) {
    if (first > 0) __syncthreads();
    if (a.on_left) {
      load_planes<steps, tile_rows>(limb.left_planes, std::size_t{tile.inner} * tile.inner,
                                    tile.row, tile.inner, first, threadIdx.x, memory.a);
      if constexpr (apart)
        load_planes<steps, tile_columns>(a.in_planes + start, a.plane, tile.column, tile.inner,
                                         first, threadIdx.x, memory.b);
      else
        load_columns<steps, tile_columns>(a.in + start, tile.columns, tile.column, first,
                                          threadIdx.x, memory.b);
    } else {
      load_planes<steps, tile_columns>(limb.right_planes, std::size_t{tile.inner} * tile.inner,
                                       tile.column, tile.inner, first, threadIdx.x, memory.b);
      if constexpr (apart)
        load_planes<steps, tile_rows>(a.in_planes + start, a.plane, tile.row, tile.inner, first,
                                      threadIdx.x, memory.a);
      else
        load_rows<steps, tile_rows>(a.in + start, tile.row, tile.inner, first, threadIdx.x,
                                    memory.a);
    }
    __syncthreads();
#pragma unroll
    for (unsigned step = 0; step < steps; ++step) {
      Fragments f;
      load_fragments<steps>(memory, threadIdx.x, step, f);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const uint4 of_a = make_uint4(f.a[i][0], f.a[i][1], f.a[i][2], f.a[i][3]);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j)
#pragma unroll
          for (unsigned n = 0; n < 2; ++n)
            backend::cuda::multiply_bytes(sums.sum[apart ? 4 * i + j : i + j][n], of_a,
                                          f.b[j][n][0], f.b[j][n][1]);
      }
    }
  }
  if constexpr (apart)
    store_sums(tile, threadIdx.x, sums, a.plane, a.out + start);
  else
    store_joined(tile, limb, a.with_middle, threadIdx.x, sums, a.out + start);
}

/// The paper's stages 1, 3 and 5.
template <From from, To to>
__global__ void __launch_bounds__(byte_threads) convert(const __grid_constant__ Arguments a) {
  const std::uint32_t thread = blockIdx.x * byte_threads + threadIdx.x;
  if (thread >= a.shape.rows * a.shape.columns / 4) return;
  const std::size_t start = transform_start(a.shape);
  convert_four<from, to>(a.shape, a.limbs[blockIdx.z], a.with_middle, thread, a.in + start, a.plane,
                         to == To::words ? a.out + start : nullptr,
                         to == To::words ? nullptr : a.out_planes + start, a.plane);
}

#endif

}  // namespace whorl::bench::matrix
