// Parameters whose bootstraps are made for bits (docs/lanes.md).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "math/primes.h"
#include "schemes/ckks/choice.h"
#include "schemes/ckks/named_sets.h"

namespace whorl::ckks {

namespace {

/// Bits by which scales of EvalMod are above those of users, from the angle down to the last
/// doubling: an error counts the more, the earlier it is made.
constexpr double taper[] = {5, 5, 4, 3, 2, 2, 1, 1};

/// log2 of the ratios of levels, from level 1 on, by which scales become what they should be: with
/// canonical scales the ratio of a level is its scale's square over the scale of the level below.
std::vector<double> ratios_of(const BitSet& set, const BootstrapLiteral& shape, double main,
                              double scale_0) {
  std::vector<double> out;
  double below = scale_0;
  const auto reach = [&](double scale) {
    out.push_back(2 * scale - below);
    below = scale;
  };
  // Slots are moved to coefficients by a prime a level, but for the one where users' levels begin.
  for (unsigned l = 1; l < shape.slots_to_coeffs; ++l) {
    out.push_back(main);
    below = (below + main) / 2;
  }
  for (unsigned l = 0; l <= set.levels; ++l) reach(set.scale_bits);
  for (unsigned l = 0; l < shape.after_doublings(); ++l) reach(set.scale_bits + set.lift);
  const unsigned evaluated = shape.sine() - shape.after_doublings();
  for (unsigned l = evaluated; l-- > 0;)
    reach(set.scale_bits + set.lift + taper[std::min<std::size_t>(l, std::size(taper) - 1)]);
  return out;
}

}  // namespace

ParameterLiteral for_bits(const BitSet& set) {
  ParameterLiteral p;
  BootstrapLiteral shape;
  shape.range = 17;  // no sum of 33 numbers of at most 1/2 is beyond
  shape.bits = set.bits;
  shape.degree = set.degree;
  shape.doublings = set.doublings;
  shape.log2_ratio = 0;
  shape.slots_to_coeffs = set.slots_to_coeffs;
  shape.coeffs_to_slots = set.coeffs_to_slots;
  p.bootstrap = shape;
  p.N = set.N;
  const double main = main_bound(30, 32, long_digit);
  p.log2_scale = std::floor(main - 2);
  const std::vector<double> ratios = ratios_of(set, shape, main, p.log2_scale);

  // The primes of each level: as near to its bits as terminal primes of one size allow.
  double best = 1e9;
  for (double terminal = 25.05; terminal < 29; terminal += 0.05) {
    std::vector<LevelPrimes> levels{{0, 1}};
    double target = main, misses = 0;
    for (const double ratio : ratios) {
      target += ratio;
      LevelPrimes nearest;
      double least = 1e9;
      for (unsigned t = 0; t <= 5; ++t) {
        const double m = std::max(0.0, std::round((target - t * terminal) / main));
        const double miss = std::abs(m * main + t * terminal - target);
        if (miss < least) nearest = {t, static_cast<unsigned>(m)}, least = miss;
      }
      levels.push_back(nearest);
      misses = std::max(misses, least);
    }
    if (misses >= best) continue;
    best = misses;
    p.levels = std::move(levels);
    p.terminals = std::ranges::max(p.levels, {}, &LevelPrimes::terminals).terminals;
    p.chain = math::ntt_primes_below(terminal, p.N, p.terminals);
  }
  // The maps to slots: primes that came and went come back, one a level or two; then new ones.
  const unsigned used = std::ranges::max(p.levels, {}, &LevelPrimes::mains).mains;
  for (unsigned left = shape.coeffs_to_slots; left > 0; --left) {
    LevelPrimes next = p.levels.back();
    const unsigned away = p.terminals - next.terminals + used - std::min(used, next.mains);
    for (unsigned i = 0; i < std::max(1u, (away + left - 1) / left); ++i)
      (next.terminals < p.terminals ? next.terminals : next.mains) += 1;
    p.levels.push_back(next);
  }
  const unsigned mains = p.levels.back().mains, limbs = mains + p.terminals;
  const auto primes = math::ntt_primes_below(main, p.N, mains, p.chain);
  p.chain.insert(p.chain.end(), primes.begin(), primes.end());
  p.digit_limbs = (limbs + set.digits - 1) / set.digits;
  p.special = math::ntt_primes_below(30, p.N, p.digit_limbs);
  return p;
}

}  // namespace whorl::ckks
