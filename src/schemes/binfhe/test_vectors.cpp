#include "schemes/binfhe/test_vectors.h"

#include <algorithm>
#include <limits>

#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

std::uint64_t threshold_offset(const Parameters& parameters, unsigned threshold,
                               Encoding encoding) {
  const std::uint64_t sectors = encoding.sectors(), two_n = 2ULL * parameters.N();
  return two_n - ((2 * threshold - 1) * two_n + sectors) / (2 * sectors);
}

template <class Word>
std::vector<Word> test_vectors(const Parameters& parameters, std::span<const Lut> luts) {
  const std::size_t N = parameters.N();
  std::vector<Word> out(luts.size() * N);
  for (std::size_t l = 0; l < luts.size(); ++l) {
    const Lut& lut = luts[l];
    // An arbitrary table spreads all of p over the half circle; its input's top bit is removed
    // first.
    const std::uint64_t across = lut.kind() == LutKind::negacyclic ? 2 * N : N;
    for (std::size_t j = 0; j < N; ++j)
      out[l * N + j] = static_cast<Word>(
          encode(lut.values()[j * lut.input().p / across], lut.output(), parameters.Q()));
  }
  return out;
}
template std::vector<std::uint32_t> test_vectors(const Parameters&, std::span<const Lut>);
template std::vector<std::uint64_t> test_vectors(const Parameters&, std::span<const Lut>);

template <class Word>
PieceTables<Word>::PieceTables(std::span<const Word> all, std::size_t N,
                               std::span<const std::uint32_t> whole, Range range)
    : vectors(all), index(range.count, 0) {
  if (whole.empty()) return;
  std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, index.begin());
  if (all.size() / N <= range.count) return;
  // More tables than ciphertexts: the device gets only those that are used.
  constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(all.size() / N, unused);
  std::uint32_t used = 0;
  for (std::uint32_t& i : index) {
    if (number[i] == unused) {
      number[i] = used++;
      const auto vector = all.subspan(i * N, N);
      own_.insert(own_.end(), vector.begin(), vector.end());
    }
    i = number[i];
  }
  vectors = own_;
}
template struct PieceTables<std::uint32_t>;
template struct PieceTables<std::uint64_t>;

}  // namespace whorl::binfhe
