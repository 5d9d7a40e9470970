// Which kernel switches keys of which shape.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/lwe.h"
#include "backend/cuda/kernels/key_switch.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/parallel.h"
#include "whorl/word_array.h"

namespace whorl::backend::cuda {

namespace {

constexpr unsigned most_planes = 8;
/// Tiles of 16 ciphertexts that a warp of the product has: in small batches and in others.
constexpr unsigned small_m_tiles = 1, large_m_tiles = 4;

/// A key as byte planes for the matrix product, or as rows of words for look-ups.
class CudaSwitchKey final : public SwitchKey {
 public:
  CudaSwitchKey(const Stream& stream, const SwitchShape& shape)
      : SwitchKey(shape), ordinal(stream.gpu().ordinal) {
    const ring::Gadget& g = shape_.gadget;
    digits = {shape_.Q_ks, g.offset(), g.dropped(), g.log_base(), g.digits(), 0, shape_.table};
    std::uint64_t largest = 0, sum = 0;
    for (unsigned j = 0; j < g.digits(); ++j) {
      largest = std::max(largest, g.bound(j));
      sum += g.bound(j);
    }
    const std::uint64_t per_coefficient = shape_.table ? sum : g.digits();
    if (largest > std::numeric_limits<std::int32_t>::max() ||
        per_coefficient > std::numeric_limits<std::uint32_t>::max() / direct_entries)
      throw ParameterError("key-switching key: digits up to " + std::to_string(largest) +
                           " are too large");
    digits.per_coefficient = static_cast<unsigned>(per_coefficient);
    rows = std::size_t{shape_.N} * per_coefficient;
    wraps = std::has_single_bit(shape_.Q_ks);
    if (!wraps) static_cast<void>(math::Modulus<std::uint64_t>(shape_.Q_ks));  // below 2^61

    // Digits must fit signed bytes, and sums of digits times bytes 32 bits.
    const std::uint64_t addends = shape_.table ? g.digits() : sum;
    const bool small = shape_.table ? largest <= tuning::largest_multiplied_table
                                    : g.log_base() <= 8 && g.bound(g.digits() - 1) <= 127;
    const auto planes = static_cast<unsigned>(std::bit_width(shape_.Q_ks - 1) + 7) / 8;
    product = wraps && small && shape_.N * addends * 255 < (std::uint64_t{1} << 31) &&
              product_shared_bytes(planes, large_m_tiles) <= stream.gpu().shared_per_block;
    word_bytes = word_bytes_for(shape_.Q_ks);
    if (product) {
      const unsigned columns = tuning::warp_columns[planes];
      layout = {planes, columns, 0};
      layout.column_blocks = (shape_.n + 1 + layout.block_columns() - 1) / layout.block_columns();
      k_blocks = static_cast<unsigned>((rows + k_block - 1) / k_block);
      storage = stream.allocate<std::uint8_t>(k_blocks * layout.all_rows() * k_block);
      stream.fill(storage.data(), 0, storage.size());  // the padding
    } else {
      stride = ((shape_.n + 1) * word_bytes + 15) / 16 * 16;
      storage = stream.allocate<std::uint8_t>(rows * stride);
    }
  }
  std::size_t bytes() const override { return storage.size(); }

  int ordinal;
  SwitchDigits digits;
  std::size_t rows = 0;
  bool wraps = true, product = false;
  PlaneLayout layout{};                ///< of a product
  unsigned k_blocks = 0;               ///< of a product
  std::size_t word_bytes, stride = 0;  ///< of look-ups, bytes
  DeviceArray<std::uint8_t> storage;
};

/// The number of splits of the work of `blocks` blocks, on a GPU that runs `slots` at a time, after
/// which the last round is fullest; `most` at most. A split costs its additions to the result.
unsigned best_splits(std::size_t blocks, std::size_t slots, std::size_t most) {
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
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared)),
        "cudaFuncSetAttribute of " + std::to_string(shared) + " bytes of shared memory");
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads),
                                                      shared),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::size_t{stream.gpu().multiprocessors} * static_cast<unsigned>(std::max(1, resident));
}

void clear(const Stream& stream, const CudaSwitchKey& key, std::size_t count, std::uint64_t* out) {
  stream.fill(out, 0, count * (key.shape().n + 1) * sizeof(std::uint64_t));
}
void finish(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
            const std::uint64_t* in, std::uint64_t* out) {
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(count, 1u << 20));
  finish_switch<<<blocks, 256, 0, stream.handle()>>>(key.shape().Q_ks, in, key.shape().N,
                                                     key.shape().n, count, out);
  check_launch("finish_switch", blocks, 256, 0);
}

// ---------------------------------------------------------------------------------------------

template <unsigned planes, unsigned m_tiles>
void multiply(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
              const std::uint64_t* in, std::uint64_t* out) {
  constexpr unsigned block_m = product_warps_m * 16 * m_tiles;
  const std::size_t shared = product_shared_bytes(planes, m_tiles);
  const std::size_t k = std::size_t{key.k_blocks} * k_block;
  const std::size_t piece =
      std::max<std::size_t>(1, tuning::expanded_bytes / k / block_m) * block_m;
  auto* kernel = switch_product<planes, m_tiles>;
  const std::size_t slots = slots_of(stream, kernel, product_threads, shared);
  const SwitchShape& shape = key.shape();
  const std::size_t most = std::min((count + block_m - 1) / block_m * block_m, piece);
  const auto expanded = stream.allocate<std::uint8_t>(most * k);
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t size = std::min(piece, count - begin);
    const std::size_t padded = (size + block_m - 1) / block_m * block_m;
    const std::uint64_t* from = in + begin * (shape.N + 1);
    std::uint64_t* to = out + begin * (shape.n + 1);
    const dim3 expand((key.k_blocks + expand_k_blocks - 1) / expand_k_blocks,
                      static_cast<unsigned>((padded + 63) / 64));
    expand_ciphertexts<<<expand, 256, 0, stream.handle()>>>(key.digits, from, shape.N, size, padded,
                                                            key.k_blocks, expanded.data());
    check_launch("expand_ciphertexts", expand, 256, 0);

    const ProductArguments arguments{expanded.data(),
                                     key.storage.data(),
                                     from,
                                     to,
                                     size,
                                     padded,
                                     shape.N,
                                     shape.n,
                                     key.layout.column_blocks,
                                     key.k_blocks,
                                     shape.Q_ks - 1};
    const std::size_t tiles = padded / block_m;
    const unsigned splits = best_splits(tiles * key.layout.column_blocks, slots,
                                        key.k_blocks / (2 * tuning::product_stages));
    const dim3 grid(key.layout.column_blocks, static_cast<unsigned>(tiles), splits);
    if (splits > 1) clear(stream, key, size, to);
    kernel<<<grid, product_threads, shared, stream.handle()>>>(arguments);
    check_launch("switch_product", grid, product_threads, shared);
    if (splits > 1) finish(stream, key, size, from, to);
  }
}

using Multiply = void (*)(const Stream&, const CudaSwitchKey&, std::size_t, const std::uint64_t*,
                          std::uint64_t*);
template <unsigned m_tiles, unsigned... planes>
constexpr std::array<Multiply, most_planes> multiply_table(
    std::integer_sequence<unsigned, planes...>) {
  return {multiply<planes + 1, m_tiles>...};
}
constexpr std::make_integer_sequence<unsigned, most_planes> all_planes;

// ---------------------------------------------------------------------------------------------

LookupArguments lookup_arguments(const CudaSwitchKey& key, std::size_t count,
                                 const std::uint64_t* in, std::uint64_t* out) {
  return {key.digits, key.storage.data(), key.stride, in, out, count, key.shape().N, key.shape().n};
}

template <class Word>
void look_up_staged(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
                    const std::uint64_t* in, std::uint64_t* out) {
  const std::size_t shared = staged_shared_bytes(key.digits);
  const std::size_t slots = slots_of(stream, switch_staged<Word>, staged_threads, shared);
  const std::size_t pieces = (key.stride + staged_row_bytes - 1) / staged_row_bytes;
  const std::size_t tiles = (count + staged_tile - 1) / staged_tile;
  const unsigned splits = best_splits(pieces * tiles, slots, key.shape().N / 8);
  const dim3 grid(static_cast<unsigned>(pieces), static_cast<unsigned>(tiles), splits);
  switch_staged<Word>
      <<<grid, staged_threads, shared, stream.handle()>>>(lookup_arguments(key, count, in, out));
  check_launch("switch_staged", grid, staged_threads, shared);
}

template <class Word, bool reduced>
void look_up_directly(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
                      const std::uint64_t* in, std::uint64_t* out) {
  const SwitchShape& shape = key.shape();
  const std::size_t vectors = key.stride / 16;
  const std::size_t chunks = (vectors + tuning::direct_threads - 1) / tuning::direct_threads;
  std::size_t most = std::max(1u, shape.N / tuning::direct_least_coefficients);
  DeviceModulus<std::uint64_t> q;
  if constexpr (reduced) {  // partial sums are added unreduced
    q = DeviceModulus<std::uint64_t>(shape.Q_ks);
    most = std::min<std::size_t>(most, ~std::uint64_t{0} / shape.Q_ks);
  }
  // Some eight blocks a multiprocessor keep its memory requests coming.
  const std::size_t wanted = 8 * std::size_t{stream.gpu().multiprocessors};
  const std::size_t splits =
      std::clamp<std::size_t>((wanted + count * chunks - 1) / (count * chunks), 1, most);
  const dim3 grid(static_cast<unsigned>(count * chunks), static_cast<unsigned>(splits));
  switch_direct<Word, reduced><<<grid, tuning::direct_threads, 0, stream.handle()>>>(
      lookup_arguments(key, count, in, out), q, static_cast<unsigned>(chunks));
  check_launch("switch_direct", grid, tuning::direct_threads, 0);
}

template <class Word>
void look_up(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
             const std::uint64_t* in, std::uint64_t* out) {
  clear(stream, key, count, out);
  const bool staged = key.wraps && key.shape().table && count >= tuning::least_staged_batch &&
                      staged_shared_bytes(key.digits) <= stream.gpu().shared_per_block;
  if (!key.wraps)
    look_up_directly<Word, true>(stream, key, count, in, out);
  else if (staged)
    look_up_staged<Word>(stream, key, count, in, out);
  else
    look_up_directly<Word, false>(stream, key, count, in, out);
  finish(stream, key, count, in, out);
}

// ---------------------------------------------------------------------------------------------

template <class In>
void lay_out(const Stream& stream, const CudaSwitchKey& key, std::size_t first, std::size_t rows,
             const In* in) {
  const unsigned columns = key.shape().n + 1;
  if (key.product) {
    const dim3 grid(static_cast<unsigned>((rows + k_block - 1) / k_block), (columns + 31) / 32);
    lay_out_planes<In><<<grid, 256, 0, stream.handle()>>>(in, columns, first, rows, key.layout,
                                                          key.storage.data());
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

}  // namespace

template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const Stream& stream, const SwitchShape& shape,
                                              const SwitchRows<Word>& rows,
                                              const Workers& workers) {
  const CurrentGpu current(stream.gpu().ordinal);
  if (word_bytes_for(shape.Q_ks) > sizeof(Word))
    throw ParameterError("a key-switching key modulo Q_ks = " + std::to_string(shape.Q_ks) +
                         " was given in words of " + std::to_string(8 * sizeof(Word)) + " bits");
  auto key = std::make_unique<CudaSwitchKey>(stream, shape);
  // Rows come in pieces: made by the host, copied, and laid out on the GPU while the next is made.
  const std::size_t columns = std::size_t{shape.n} + 1;
  const std::size_t group =
      std::max<std::size_t>(1, (std::size_t{64} << 10) / sizeof(Word) / columns);
  const std::size_t piece = std::min(
      (key->rows + k_block - 1) / k_block * k_block,
      std::max<std::size_t>(1, (std::size_t{16} << 20) / sizeof(Word) / columns / k_block) *
          k_block);
  std::vector<Word> made(piece * columns);
  const auto arrived = stream.allocate<Word>(piece * columns);
  for (std::size_t begin = 0; begin < key->rows; begin += piece) {
    const std::size_t size = std::min(piece, key->rows - begin);
    parallel_for((size + group - 1) / group, workers, [&](std::size_t g) {
      const std::size_t at = g * group;
      rows(begin + at, std::min(group, size - at), made.data() + at * columns, columns);
    });
    stream.copy_in(made.data(), arrived.data(), size * columns * sizeof(Word));
    lay_out(stream, *key, begin, size, arrived.data());
  }
  stream.wait();
  return key;
}

void lwe_key_switch(const Stream& stream, const SwitchKey& any_key, std::size_t count,
                    const std::uint64_t* in, std::uint64_t* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const auto& key = own_key<CudaSwitchKey>(any_key);
  if (key.ordinal != stream.gpu().ordinal)
    throw DeviceError("a key-switching key of cuda:" + std::to_string(key.ordinal) +
                      " was given to " + stream.gpu().name());
  if (count == 0) return;
  if (key.product) {
    static constexpr auto small = multiply_table<small_m_tiles>(all_planes),
                          large = multiply_table<large_m_tiles>(all_planes);
    const auto& table = count <= tuning::small_product_batch ? small : large;
    return table[key.layout.planes - 1](stream, key, count, in, out);
  }
  if (key.word_bytes == 2)
    look_up<std::uint16_t>(stream, key, count, in, out);
  else if (key.word_bytes == 4)
    look_up<std::uint32_t>(stream, key, count, in, out);
  else
    look_up<std::uint64_t>(stream, key, count, in, out);
}

template std::unique_ptr<SwitchKey> prepare_switch_key(const Stream&, const SwitchShape&,
                                                       const SwitchRows<std::uint16_t>&,
                                                       const Workers&);
template std::unique_ptr<SwitchKey> prepare_switch_key(const Stream&, const SwitchShape&,
                                                       const SwitchRows<std::uint32_t>&,
                                                       const Workers&);
template std::unique_ptr<SwitchKey> prepare_switch_key(const Stream&, const SwitchShape&,
                                                       const SwitchRows<std::uint64_t>&,
                                                       const Workers&);

}  // namespace whorl::backend::cuda
