#include "lattice/lwe.h"

#include <atomic>
#include <bit>
#include <vector>

#include "backend/parallel.h"
#include "math/inner_product.h"

namespace whorl::lattice {

template <class Word>
std::uint64_t lwe_mask(std::span<const Word> a, std::span<const std::int32_t> s, std::uint64_t Q) {
  if (std::has_single_bit(Q))
    return math::inner_product_masked<Word>(a, s, static_cast<Word>(Q - 1));
  if constexpr (sizeof(Word) == 2)
    throw ParameterError("LWE modulus " + std::to_string(Q) +
                         ": 16-bit words are for powers of two");
  else
    return math::inner_product<Word>(a, s, math::Modulus<Word>(static_cast<Word>(Q)));
}
template std::uint64_t lwe_mask(std::span<const std::uint16_t>, std::span<const std::int32_t>,
                                std::uint64_t);
template std::uint64_t lwe_mask(std::span<const std::uint32_t>, std::span<const std::int32_t>,
                                std::uint64_t);
template std::uint64_t lwe_mask(std::span<const std::uint64_t>, std::span<const std::int32_t>,
                                std::uint64_t);

namespace {

template <class Word>
WordArray bodies(std::span<const std::int32_t> from, std::span<const std::int32_t> to,
                 std::uint64_t Q_ks, const ring::Gadget& gadget, bool table,
                 const math::GaussianSampler& error, const math::Seed& seed, unsigned threads,
                 const std::function<bool(std::size_t, std::size_t)>& progress) {
  std::size_t per_coefficient = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) per_coefficient += table ? gadget.bound(j) : 1;
  std::vector<Word> out(from.size() * per_coefficient);
  std::atomic<std::size_t> done{0};
  const backend::Workers workers{
      threads, [&] { return progress && !progress(done.load(), from.size()); }};
  backend::parallel_for(from.size(), workers, [&](std::size_t i) {
    math::PrivateStream stream("errors of a key-switching key");
    std::vector<Word> a(to.size());
    std::vector<std::int32_t> errors(per_coefficient);
    error.sample(stream, errors);
    const std::uint64_t secret = residue(from[i], Q_ks);
    std::size_t k = 0;
    for (unsigned j = 0; j < gadget.digits(); ++j)
      for (std::size_t v = 1; v <= (table ? gadget.bound(j) : 1); ++v, ++k) {
        const std::size_t row = i * per_coefficient + k;
        math::expand_uniform<Word>(seed, row, Q_ks, a);
        using Wide = unsigned __int128;
        const std::uint64_t factor = static_cast<std::uint64_t>(Wide{v} * gadget.factor(j) % Q_ks);
        const Wide sum = Wide{lwe_mask<Word>(a, to, Q_ks)} + Wide{factor} * secret +
                         residue(errors[k], Q_ks);
        out[row] = static_cast<Word>(
            std::has_single_bit(Q_ks)
                ? static_cast<std::uint64_t>(sum) & (Q_ks - 1)
                : math::Modulus<std::uint64_t>(Q_ks).reduce_wide(sum));
      }
    ++done;
  });
  return WordArray(std::move(out));
}

}  // namespace

WordArray switch_key_bodies(std::span<const std::int32_t> from, std::span<const std::int32_t> to,
                            std::uint64_t Q_ks, const ring::Gadget& gadget, bool table,
                            const math::GaussianSampler& error, const math::Seed& seed,
                            unsigned threads,
                            const std::function<bool(std::size_t, std::size_t)>& progress) {
  switch (word_bytes_for(Q_ks)) {
    case 2:
      return bodies<std::uint16_t>(from, to, Q_ks, gadget, table, error, seed, threads, progress);
    case 4:
      return bodies<std::uint32_t>(from, to, Q_ks, gadget, table, error, seed, threads, progress);
    default:
      return bodies<std::uint64_t>(from, to, Q_ks, gadget, table, error, seed, threads, progress);
  }
}

}  // namespace whorl::lattice
