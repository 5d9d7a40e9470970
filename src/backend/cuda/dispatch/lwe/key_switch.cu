// Which kernel switches keys of which shape.
#include <array>
#include <type_traits>
#include <utility>

#include "backend/cuda/dispatch/lwe/key_switch_launch.cuh"

namespace whorl::backend::cuda {

namespace {

constexpr unsigned most_planes = 8, narrow_planes = 4;
template <class Word>
using Multiply = void (*)(const Stream&, const CudaSwitchKey&, std::size_t, const Word*, Word*);
/// The products with first + 1 … first + sizeof...(planes) byte planes.
template <class Word, unsigned m_tiles, unsigned first, unsigned... planes>
constexpr std::array<Multiply<Word>, sizeof...(planes)> multiply_table(
    std::integer_sequence<unsigned, planes...>) {
  return {multiply<first + planes + 1, tuning::warp_columns[first + planes + 1],
                   tuning::product_stages, m_tiles>...};
}
/// Switches by products of byte planes.
template <class Word>
void multiply_planes(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
                     const Word* in, Word* out) {
  constexpr unsigned first = sizeof(Word) == 4 ? 0 : narrow_planes;
  constexpr std::make_integer_sequence<unsigned, most_planes - narrow_planes> planes;
  static constexpr auto small = multiply_table<Word, small_m_tiles, first>(planes),
                        large = multiply_table<Word, large_m_tiles, first>(planes);
  const auto& table = count <= tuning::small_product_batch ? small : large;
  table[key.layout.planes - first - 1](stream, key, count, in, out);
}

template <class Word>
void look_up(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
             const LookupWord<Word>* in, LookupWord<Word>* out) {
  constexpr unsigned threads = tuning::direct_threads, warps = tuning::staged_warps;
  constexpr unsigned least = tuning::direct_least_coefficients;
  clear(stream, key, count, out);
  const bool staged = key.wraps && key.shape().table && count >= tuning::least_staged_batch &&
                      staged_shared_bytes(key.digits, warps) <= stream.gpu().shared_per_block;
  if (!key.wraps)
    look_up_directly<Word, RowSums::reduced, threads>(stream, key, least, count, in, out);
  else if (staged)
    look_up_staged<Word, warps>(stream, key, count, in, out);
  else
    look_up_directly<Word, RowSums::wrapping, threads>(stream, key, least, count, in, out);
  finish(stream, key, count, in, out);
}

/// Switches ciphertexts in the key's words.
void switch_keys(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
                 const std::uint32_t* in, std::uint32_t* out) {
  if (key.product) return multiply_planes(stream, key, count, in, out);
  key.word_bytes == 2 ? look_up<std::uint16_t>(stream, key, count, in, out)
                      : look_up<std::uint32_t>(stream, key, count, in, out);
}
void switch_keys(const Stream& stream, const CudaSwitchKey& key, std::size_t count,
                 const std::uint64_t* in, std::uint64_t* out) {
  if (key.product) return multiply_planes(stream, key, count, in, out);
  look_up<std::uint64_t>(stream, key, count, in, out);
}

/// Rows of words as rows of words of another size.
template <class In, class Out>
void convert_words(const Stream& stream, std::size_t rows, unsigned columns, const In* in,
                   Out* out) {
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(rows, 1u << 20));
  lay_out_rows<In, Out><<<blocks, 256, 0, stream.handle()>>>(in, columns, rows, columns, out);
  check_launch("lay_out_rows", blocks, 256, 0);
}

}  // namespace

std::unique_ptr<SwitchKey> prepare_switch_key(const Stream& stream, const SwitchShape& shape,
                                              unsigned word_bytes, const SwitchRowWriter& rows,
                                              const Workers& workers) {
  return with_word_bytes<2>(word_bytes, [&]<class Word>(Word) {
    return make_switch_key<Word>(stream, shape, rows, workers);
  });
}

template <class Word>
void lwe_key_switch(const Stream& stream, const SwitchKey& any_key, std::size_t count,
                    const Word* in, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const auto& key = static_cast<const CudaSwitchKey&>(any_key);
  if (key.ciphertext_bytes() != sizeof(Word)) {
    // The kernels want words of the key's width: in both directions residues fit.
    using Other = std::conditional_t<sizeof(Word) == 8, std::uint32_t, std::uint64_t>;
    const unsigned columns_in = key.shape().N + 1, columns_out = key.shape().n + 1;
    const auto other_in = stream.allocate<Other>(count * columns_in),
               other_out = stream.allocate<Other>(count * columns_out);
    convert_words(stream, count, columns_in, in, other_in.data());
    switch_keys(stream, key, count, other_in.data(), other_out.data());
    return convert_words(stream, count, columns_out, other_out.data(), out);
  }
  switch_keys(stream, key, count, in, out);
}

template void lwe_key_switch(const Stream&, const SwitchKey&, std::size_t, const std::uint32_t*,
                             std::uint32_t*);
template void lwe_key_switch(const Stream&, const SwitchKey&, std::size_t, const std::uint64_t*,
                             std::uint64_t*);

}  // namespace whorl::backend::cuda
