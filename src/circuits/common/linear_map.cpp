#include "circuits/common/linear_map.h"

#include <bit>

namespace whorl::circuits {

namespace rlwe = lattice::rlwe;

Steps Steps::of(std::size_t count) {
  if (count <= 4) return {count, 1};
  const std::size_t babies = std::size_t{1} << ((std::bit_width(count - 1) + 1) / 2);
  return {babies, (count + babies - 1) / babies};
}

std::vector<rlwe::Array> apply(const rlwe::Evaluator& evaluator, const rlwe::Array& x,
                               std::span<const LinearMap> maps, const rlwe::Keys& keys,
                               std::uint64_t t) {
  if (maps.empty() || maps[0].giants.size() > 1)
    return evaluator.linear_maps(x, maps, keys, x.basis(), t);
  std::vector<rlwe::Array> out;
  for (const LinearMap& map : maps) {  // what needs no key is not divided at all
    std::vector<rlwe::Evaluator::Term> terms;
    for (std::size_t b = 0; b < map.babies.size(); ++b)
      if (rlwe::Array plain = map.plain(0, b)) terms.push_back({map.babies[b], std::move(plain)});
    out.push_back(evaluator.weighted_sum(x, terms, keys, t));
  }
  return out;
}

}  // namespace whorl::circuits
