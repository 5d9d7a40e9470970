// Key-switching keys, and the launches of each kernel; included by what chooses among them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/lwe/lwe.h"
#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/kernels/copy.cuh"
#include "backend/cuda/kernels/key_switch.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/tuning/key_switch.h"
#include "backend/parallel.h"
#include "whorl/word_array.h"

namespace whorl::backend::cuda {

/// Tiles of 16 ciphertexts that a warp of the product has: in small batches and in others.
inline constexpr unsigned small_m_tiles = 1, large_m_tiles = 4;

/// What a key's layout depends on: numbers as in tuning/key_switch.h.
struct SwitchLayout {
  const unsigned* warp_columns = tuning::warp_columns;
  unsigned product_stages = tuning::product_stages;
  unsigned largest_multiplied_table = tuning::largest_multiplied_table;
};

/// A key as byte planes for the matrix product, or as rows of words for look-ups.
class CudaSwitchKey final : public SwitchKey {
 public:
  CudaSwitchKey(const Stream& stream, const SwitchShape& of, const SwitchLayout& numbers = {})
      : SwitchKey(of) {
    const SwitchShape& shape = this->shape();
    const ring::Gadget& g = shape.gadget;
    digits = {shape.Q_ks, g.offset(), g.dropped(), g.log_base(), g.digits(), 0, shape.table};
    std::uint64_t largest = 0, sum = 0;
    for (unsigned j = 0; j < g.digits(); ++j) {
      largest = std::max(largest, g.bound(j));
      sum += g.bound(j);
    }
    const std::uint64_t per_coefficient = shape.table ? sum : g.digits();
    digits.per_coefficient = static_cast<unsigned>(per_coefficient);
    rows = std::size_t{shape.N} * per_coefficient;
    wraps = std::has_single_bit(shape.Q_ks);

    // Digits must fit signed bytes, and sums of digits times bytes 32 bits.
    const std::uint64_t addends = shape.table ? g.digits() : sum;
    const bool small = shape.table ? largest <= numbers.largest_multiplied_table
                                   : g.log_base() <= 8 && g.bound(g.digits() - 1) <= 127;
    const auto planes = static_cast<unsigned>(std::bit_width(shape.Q_ks - 1) + 7) / 8;
    const unsigned columns = numbers.warp_columns[planes];
    product = wraps && small && shape.N * addends * 255 < (std::uint64_t{1} << 31) &&
              product_shared_bytes(planes, columns, numbers.product_stages, large_m_tiles) <=
                  stream.gpu().shared_per_block;
    word_bytes = word_bytes_for(shape.Q_ks);
    if (product) {
      layout = {planes, columns, 0};
      layout.column_blocks = (shape.n + 1 + layout.block_columns() - 1) / layout.block_columns();
      k_blocks = static_cast<unsigned>((rows + k_block - 1) / k_block);
      storage = stream.allocate<std::uint8_t>(k_blocks * layout.all_rows() * k_block);
      stream.fill(storage.data(), 0, storage.size());  // the padding
    } else {
      stride = ((shape.n + 1) * word_bytes + 15) / 16 * 16;
      storage = stream.allocate<std::uint8_t>(rows * stride);
    }
  }
  std::size_t bytes() const override { return storage.size(); }
  /// Words of ciphertexts have so many bytes where kernels take them: 4 where Q_ks fits, or 8.
  unsigned ciphertext_bytes() const { return word_bytes <= 4 ? 4 : 8; }

  SwitchDigits digits;
  std::size_t rows = 0;
  bool wraps = true, product = false;
  PlaneLayout layout{};                ///< of a product
  unsigned k_blocks = 0;               ///< of a product
  std::size_t word_bytes, stride = 0;  ///< of look-ups, bytes
  DeviceArray<std::uint8_t> storage;
};

/// The number of parts, at most `most`, into which the work of `blocks` blocks is split, so that
/// the last round of blocks fills a GPU that runs `slots` at a time. Each part costs additions to
/// the result.
inline unsigned best_splits(std::size_t blocks, std::size_t slots, std::size_t most) {
  unsigned best = 1;
  double least = 0;
  const std::size_t limit = std::clamp<std::size_t>(slots / blocks, 8, 1024);
  for (unsigned s = 1; s <= std::min(limit, std::max<std::size_t>(1, most)); ++s) {
    const double rounds = static_cast<double>((blocks * s + slots - 1) / slots);
    const double cost = rounds / s * (1 + 0.01 * s);
    if (s == 1 || cost < least) {
      least = cost;
      best = s;
    }
  }
  return best;
}

/// Lets a kernel have so much shared memory; returns how many of its blocks the GPU runs at a time.
template <class Kernel>
std::size_t slots_of(const Stream& stream, Kernel* kernel, unsigned threads, std::size_t shared) {
  allow_shared(stream, kernel, shared);
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads),
                                                      shared),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::size_t{stream.gpu().multiprocessors} * static_cast<unsigned>(std::max(1, resident));
}

/// A kernel, so that it is launched together with those around it.
template <class Word>
void clear(const Stream& stream, const CudaSwitchKey& key, std::size_t count, Word* out) {
  const std::size_t words = count * (key.shape().n + 1);
  const auto blocks = static_cast<unsigned>(
      std::min<std::size_t>((words + copy_threads - 1) / copy_threads, 1u << 16));
  stream.launch("clear_sums", fill_words<Word>, urgent(dim3(blocks), dim3(copy_threads)), words,
                Word{0}, out);
}
template <class Word>
void finish(const Stream& stream, const CudaSwitchKey& key, std::size_t count, const Word* in,
            Word* out) {
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(count, 1u << 20));
  stream.launch("finish_switch", finish_switch<Word>, urgent(dim3(blocks), dim3(256)),
                key.shape().Q_ks, in, key.shape().N, key.shape().n, count, out);
}

// ---------------------------------------------------------------------------------------------

template <unsigned planes, unsigned columns, unsigned stages, unsigned m_tiles>
void multiply(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
              const ProductWord<planes>* in, ProductWord<planes>* out) {
  using Word = ProductWord<planes>;
  constexpr unsigned block_m = product_warps_m * 16 * m_tiles;
  const std::size_t shared = product_shared_bytes(planes, columns, stages, m_tiles);
  const std::size_t k = std::size_t{key.k_blocks} * k_block;
  const std::size_t piece =
      std::max<std::size_t>(1, tuning::expanded_bytes / k / block_m) * block_m;
  auto* kernel = switch_product<planes, columns, stages, m_tiles>;
  const std::size_t slots = slots_of(stream, kernel, product_threads, shared);
  const SwitchShape& shape = key.shape();
  const std::size_t most = std::min((count + block_m - 1) / block_m * block_m, piece);
  const auto expanded = stream.allocate<std::uint8_t>(most * k);
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t size = std::min(piece, count - begin);
    const std::size_t padded = (size + block_m - 1) / block_m * block_m;
    const Word* from = in + begin * (shape.N + 1);
    Word* to = out + begin * (shape.n + 1);
    const dim3 expand((key.k_blocks + expand_k_blocks - 1) / expand_k_blocks,
                      static_cast<unsigned>((padded + 63) / 64));
    stream.launch("expand_ciphertexts", expand_ciphertexts<Word>, urgent(expand, dim3(256)),
                  key.digits, from, shape.N, size, padded, key.k_blocks, expanded.data());

    const ProductArguments<Word> arguments{expanded.data(),
                                           key.storage.data(),
                                           from,
                                           to,
                                           size,
                                           padded,
                                           shape.N,
                                           shape.n,
                                           key.layout.column_blocks,
                                           key.k_blocks,
                                           static_cast<Word>(shape.Q_ks - 1)};
    const std::size_t tiles = padded / block_m;
    const unsigned splits =
        best_splits(tiles * key.layout.column_blocks, slots, key.k_blocks / (2 * stages));
    const dim3 grid(key.layout.column_blocks, static_cast<unsigned>(tiles), splits);
    if (splits > 1) clear(stream, key, size, to);
    stream.launch("switch_product", kernel, urgent(grid, dim3(product_threads), shared), arguments);
    if (splits > 1) finish(stream, key, size, from, to);
  }
}

// ---------------------------------------------------------------------------------------------

template <class Word>
LookupArguments<Word> lookup_arguments(const CudaSwitchKey& key, std::size_t count, const Word* in,
                                       Word* out) {
  return {key.digits, key.storage.data(), key.stride, in, out, count, key.shape().N, key.shape().n};
}

template <class Word, unsigned warps>
void look_up_staged(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
                    const LookupWord<Word>* in, LookupWord<Word>* out) {
  constexpr unsigned threads = 32 * warps, tile = warps * staged_ciphertexts;
  const std::size_t shared = staged_shared_bytes(key.digits, warps);
  auto* kernel = switch_staged<Word, warps>;
  const std::size_t slots = slots_of(stream, kernel, threads, shared);
  const std::size_t pieces = (key.stride + staged_row_bytes - 1) / staged_row_bytes;
  const std::size_t tiles = (count + tile - 1) / tile;
  const unsigned splits = best_splits(pieces * tiles, slots, key.shape().N / 8);
  const dim3 grid(static_cast<unsigned>(pieces), static_cast<unsigned>(tiles), splits);
  stream.launch("switch_staged", kernel, urgent(grid, dim3(threads), shared),
                lookup_arguments(key, count, in, out));
}

/// `least_coefficients`: of a block.
template <class Word, RowSums sums, unsigned threads>
void look_up_directly(const Stream& stream, const CudaSwitchKey& key, unsigned least_coefficients,
                      std::size_t count, const LookupWord<Word>* in, LookupWord<Word>* out) {
  const SwitchShape& shape = key.shape();
  const std::size_t vectors = key.stride / 16;
  const std::size_t chunks = (vectors + threads - 1) / threads;
  std::size_t most = std::max(1u, shape.N / least_coefficients);
  DeviceModulus<std::uint64_t> q;
  if constexpr (sums == RowSums::reduced) {  // partial sums are added unreduced
    q = DeviceModulus<std::uint64_t>(shape.Q_ks);
    most = std::min<std::size_t>(most, std::numeric_limits<LookupWord<Word>>::max() / shape.Q_ks);
  }
  // Some eight blocks a multiprocessor keep its memory requests coming.
  const std::size_t wanted = 8 * std::size_t{stream.gpu().multiprocessors};
  const std::size_t splits =
      std::clamp<std::size_t>((wanted + count * chunks - 1) / (count * chunks), 1, most);
  const dim3 grid(static_cast<unsigned>(count * chunks), static_cast<unsigned>(splits));
  stream.launch("switch_direct", switch_direct<Word, sums, threads>, urgent(grid, dim3(threads)),
                lookup_arguments(key, count, in, out), q, static_cast<unsigned>(chunks));
}

// ---------------------------------------------------------------------------------------------

template <class In>
void lay_out(const Stream& stream, const CudaSwitchKey& key, std::size_t first, std::size_t rows,
             const In* in) {
  const unsigned columns = key.shape().n + 1;
  if (key.product) {
    const dim3 grid(static_cast<unsigned>((rows + k_block - 1) / k_block), (columns + 31) / 32);
    lay_out_planes<In><<<grid, 256, 0, stream.handle()>>>(in, columns, first, rows, key.layout,
                                                          key.storage.data(), std::size_t{0});
    return check_launch("lay_out_planes", grid, 256, 0);
  }
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(rows, 1u << 20));
  auto go = [&]<class Word>(Word) {
    auto* to = reinterpret_cast<Word*>(key.storage.data() + first * key.stride);
    lay_out_rows<In, Word>
        <<<blocks, 256, 0, stream.handle()>>>(in, columns, rows, key.stride / sizeof(Word), to);
  };
  if (key.word_bytes == 2)
    go(std::uint16_t{});
  else if (key.word_bytes == 4)
    go(std::uint32_t{});
  else
    go(std::uint64_t{});
  check_launch("lay_out_rows", blocks, 256, 0);
}

/// prepare_switch_key (lwe.h), with other tuning numbers than those in use.
template <class Word>
std::unique_ptr<CudaSwitchKey> make_switch_key(const Stream& stream, const SwitchShape& shape,
                                               const SwitchRowWriter& rows, const Workers& workers,
                                               const SwitchLayout& numbers = {}) {
  const CurrentGpu current(stream.gpu().ordinal);
  auto key = std::make_unique<CudaSwitchKey>(stream, shape, numbers);
  // Rows come in pieces: made by the host, copied, and laid out on the GPU while the next is made.
  const std::size_t columns = std::size_t{shape.n} + 1;
  const std::size_t group =
      std::max<std::size_t>(1, (std::size_t{64} << 10) / sizeof(Word) / columns);
  const std::size_t piece = std::min(
      (key->rows + k_block - 1) / k_block * k_block,
      std::max<std::size_t>(1, (std::size_t{16} << 20) / sizeof(Word) / columns / k_block) *
          k_block);
  std::vector<Word> made(piece * columns);
  auto arrived = stream.allocate<Word>(piece * columns);
  for (std::size_t begin = 0; begin < key->rows; begin += piece) {
    const std::size_t size = std::min(piece, key->rows - begin);
    parallel_for((size + group - 1) / group, workers, [&](std::size_t g) {
      const std::size_t at = g * group;
      rows(begin + at, std::min(group, size - at), made.data() + at * columns, columns);
    });
    stream.copy_in(made.data(), arrived.data(), size * columns * sizeof(Word));
    lay_out(stream, *key, begin, size, arrived.data());
  }
  arrived = {};
  stream.wait();
  stream.trim();
  return key;
}

}  // namespace whorl::backend::cuda
