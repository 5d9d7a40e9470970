#include "lattice/lwe/tables.h"

#include <algorithm>
#include <limits>

#include "whorl/word_array.h"

namespace whorl::lattice::lwe {

Tables::Tables(std::uint32_t N, std::uint64_t Q, std::size_t tables,
               std::span<const std::uint32_t> index)
    : N_(N), index_(index.begin(), index.end()) {
  if (ring_word_bytes(Q) == 4)
    words_ = std::vector<std::uint32_t>(tables * N);
  else
    words_ = std::vector<std::uint64_t>(tables * N);
}

Tables::Tables(std::uint32_t N, std::uint64_t Q, std::uint64_t value) : Tables(N, Q, 0, {}) {
  constant_ = value;
}

DeviceTables Tables::placed(const backend::Queue& queue) const {
  return std::visit(
      [&]<class Word>(const std::vector<Word>& words) -> DeviceTables {
        return queue.rotation<Word>().place(N_, words, index_);
      },
      words_);
}

template <class Word>
Tables::Used<Word> Tables::used(run::Range range) const {
  Used<Word> out{
      std::get<std::vector<Word>>(words_), std::vector<std::uint32_t>(range.count, 0), {}};
  if (index_.empty()) return out;
  const std::size_t tables = out.vectors.size() / N_;
  std::copy_n(index_.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count,
              out.index.begin());
  if (tables <= range.count) return out;
  // More tables than ciphertexts: the device gets only those that are used.
  constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(tables, unused);
  std::uint32_t next = 0;
  for (std::uint32_t& i : out.index) {
    if (number[i] == unused) {
      number[i] = next++;
      const auto vector = out.vectors.subspan(std::size_t{i} * N_, N_);
      out.own.insert(out.own.end(), vector.begin(), vector.end());
    }
    i = number[i];
  }
  out.vectors = out.own;
  return out;
}

#define WHORL_INSTANTIATE(Word) template Tables::Used<Word> Tables::used(run::Range) const;
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::lattice::lwe
