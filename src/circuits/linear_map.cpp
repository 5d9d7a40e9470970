#include "circuits/linear_map.h"

#include <bit>

namespace whorl::circuits {

namespace rlwe = lattice::rlwe;

Steps Steps::of(std::size_t count) {
  if (count <= 4) return {count, 1};
  const std::size_t babies = std::size_t{1} << ((std::bit_width(count - 1) + 1) / 2);
  return {babies, (count + babies - 1) / babies};
}

namespace {

/// The baby steps of x. An array is empty if no plaintext uses its step.
std::vector<rlwe::Array> babies_of(const rlwe::Evaluator& evaluator, const rlwe::Array& x,
                                   std::span<const std::uint32_t> gs, const rlwe::Keys& keys,
                                   std::uint64_t t) {
  std::vector<std::uint32_t> wanted;
  for (const std::uint32_t g : gs)
    if (g != 0) wanted.push_back(g);
  const std::vector<rlwe::Array> turned = evaluator.automorphisms(x, wanted, keys, t);
  std::vector<rlwe::Array> out;
  auto next = turned.begin();
  for (const std::uint32_t g : gs) out.push_back(g == 0 ? rlwe::Array() : *next++);
  return out;
}

rlwe::Array horner(const rlwe::Evaluator& evaluator, std::span<const rlwe::Array> babies,
                   const LinearMap& map, const rlwe::Keys& keys, std::uint64_t t) {
  rlwe::Array sum;
  const auto add = [&](rlwe::Array term) { sum = sum ? evaluator.add(sum, term) : term; };
  for (std::size_t i = map.giants; i-- > 0;) {
    if (sum) sum = evaluator.automorphisms(sum, std::span(&map.giant, 1), keys, t)[0];
    rlwe::Array inner;
    for (std::size_t b = 0; b < babies.size(); ++b) {
      const rlwe::Array plain = map.plain(i, b);
      if (!plain) continue;
      rlwe::Array term = evaluator.multiply_plain(babies[b], plain);
      inner = inner ? evaluator.add(inner, term) : std::move(term);
    }
    if (inner) add(std::move(inner));
  }
  return sum;
}

}  // namespace

std::vector<rlwe::Array> apply(const rlwe::Evaluator& evaluator, const rlwe::Array& x,
                               std::span<const LinearMap> maps, const rlwe::Keys& keys,
                               std::uint64_t t) {
  std::vector<rlwe::Array> out;
  std::vector<rlwe::Array> babies;
  for (const LinearMap& map : maps) {
    if (map.giants == 1) {
      std::vector<rlwe::Evaluator::Term> terms;
      for (std::size_t b = 0; b < map.babies.size(); ++b)
        if (rlwe::Array plain = map.plain(0, b)) terms.push_back({map.babies[b], std::move(plain)});
      out.push_back(evaluator.weighted_sum(x, terms, keys, t));
      continue;
    }
    if (babies.empty()) babies = babies_of(evaluator, x, map.babies, keys, t);
    out.push_back(horner(evaluator, babies, map, keys, t));
  }
  return out;
}

}  // namespace whorl::circuits
