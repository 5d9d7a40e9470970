#include "lattice/lwe/keys.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "backend/parallel.h"
#include "math/inner_product.h"
#include "math/secret.h"

namespace whorl::lattice {

template <class Word>
std::uint64_t lwe_mask(std::span<const Word> a, std::span<const std::int32_t> s, std::uint64_t Q) {
  if (std::has_single_bit(Q))
    return math::inner_product_masked<Word>(a, s, static_cast<Word>(Q - 1));
  if constexpr (sizeof(Word) == 2)
    throw ParameterError("LWE modulus " + std::to_string(Q) +
                         " is not a power of two, and 16-bit words are for powers of two only");
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

/// Masks of this many rows stay in the first-level cache between being expanded and being used.
constexpr std::size_t rows_at_once = 16;

template <class Word>
WordArray bodies(std::span<const std::int32_t> from, std::span<const std::int32_t> to,
                 std::uint64_t Q_ks, const ring::Gadget& gadget, bool table,
                 const math::GaussianSampler& error, const math::Seed& seed, unsigned threads,
                 const std::function<bool(std::size_t, std::size_t)>& progress) {
  std::vector<std::uint64_t> factors;  // v·g_j
  for (unsigned j = 0; j < gadget.digits(); ++j)
    for (std::uint64_t v = 1; v <= (table ? gadget.bound(j) : 1); ++v)
      factors.push_back(
          static_cast<std::uint64_t>(static_cast<unsigned __int128>(v) * gadget.factor(j) % Q_ks));
  const std::size_t per_coefficient = factors.size();
  // Not zeroed: every word is written.
  const std::size_t rows = from.size() * per_coefficient;
  const auto out = std::make_shared_for_overwrite<Word[]>(rows);
  const bool wraps = std::has_single_bit(Q_ks);
  const math::Modulus<std::uint64_t> modulus(wraps ? 2 : Q_ks);
  backend::parallel_with_progress(from.size(), threads, progress, [&](std::size_t i) {
    math::PrivateStream stream("errors of a key-switching key");
    math::WipedVector<std::int32_t> errors(per_coefficient);
    error.sample(stream, errors.span());
    const std::uint64_t secret = residue(from[i], Q_ks);
    std::vector<Word> a(rows_at_once * to.size());
    const std::size_t first = i * per_coefficient;
    for (std::size_t begin = 0; begin < per_coefficient; begin += rows_at_once) {
      const std::size_t count = std::min(rows_at_once, per_coefficient - begin);
      math::expand_uniform_rows<Word>(seed, first + begin, Q_ks,
                                      {a.data(), count, to.size(), to.size()});
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t k = begin + r;
        using Wide = unsigned __int128;
        const Wide sum =
            Wide{lwe_mask<Word>(std::span(a).subspan(r * to.size(), to.size()), to, Q_ks)} +
            Wide{factors[k]} * secret + residue(errors[k], Q_ks);
        out[first + k] = static_cast<Word>(wraps ? static_cast<std::uint64_t>(sum) & (Q_ks - 1)
                                                 : modulus.reduce_wide(sum));
      }
    }
  });
  return WordArray(out, out.get(), rows, sizeof(Word));
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
