// Which kernel switches keys of which shape.
#include <array>
#include <utility>

#include "backend/cuda/dispatch/key_switch_launch.cuh"

namespace whorl::backend::cuda {

namespace {

constexpr unsigned most_planes = 8;
using Multiply = void (*)(const Stream&, const CudaSwitchKey&, std::size_t, const std::uint64_t*,
                          std::uint64_t*);
template <unsigned m_tiles, unsigned... planes>
constexpr std::array<Multiply, most_planes> multiply_table(
    std::integer_sequence<unsigned, planes...>) {
  return {
      multiply<planes + 1, tuning::warp_columns[planes + 1], tuning::product_stages, m_tiles>...};
}
constexpr std::make_integer_sequence<unsigned, most_planes> all_planes;

template <class Word>
void look_up(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
             const std::uint64_t* in, std::uint64_t* out) {
  constexpr unsigned threads = tuning::direct_threads, warps = tuning::staged_warps;
  constexpr unsigned least = tuning::direct_least_coefficients;
  clear(stream, key, count, out);
  const bool staged = key.wraps && key.shape().table && count >= tuning::least_staged_batch &&
                      staged_shared_bytes(key.digits, warps) <= stream.gpu().shared_per_block;
  if (!key.wraps)
    look_up_directly<Word, true, threads>(stream, key, least, count, in, out);
  else if (staged)
    look_up_staged<Word, warps>(stream, key, count, in, out);
  else
    look_up_directly<Word, false, threads>(stream, key, least, count, in, out);
  finish(stream, key, count, in, out);
}

}  // namespace

template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const Stream& stream, const SwitchShape& shape,
                                              const SwitchRows<Word>& rows,
                                              const Workers& workers) {
  return make_switch_key<Word>(stream, shape, rows, workers);
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
