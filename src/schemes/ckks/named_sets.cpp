#include "schemes/ckks/named_sets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "math/primes.h"

namespace whorl::ckks {

namespace {

/// A prime a level, as papers count them: L + 1 in the chain and K special ones, together log2_PQ
/// bits. Digits have K primes. The first prime and the special ones have `largest` bits.
ParameterLiteral prime_a_level(std::uint32_t N, unsigned L, unsigned K, double log2_PQ,
                               double largest) {
  ParameterLiteral p;
  p.N = N;
  p.special = math::ntt_primes_below(largest, N, K + 1);
  p.chain = {p.special.back()};
  p.special.pop_back();
  const double rest = log2_PQ - math::log2_of_product(p.special) - math::log2_of_product(p.chain);
  std::vector<std::uint64_t> others;
  for (double bits = rest / L; others.empty() || math::log2_of_product(others) < rest - 0.5;
       bits += 0.01) {
    std::vector<std::uint64_t> taken = p.special;
    taken.push_back(p.chain[0]);
    others = math::ntt_primes_below(bits, N, L, taken);
  }
  p.chain.insert(p.chain.end(), others.begin(), others.end());
  for (unsigned l = 0; l <= L; ++l) p.levels.push_back({0, l + 1});
  p.digit_limbs = K;
  p.log2_scale = std::floor(std::min(rest / L, std::log2(static_cast<double>(p.chain[0])) - 2));
  return p;
}

/// TensorFHE's bootstrap of L = 34 and dnum = 5 (Table VII); the paper does not list the primes.
/// Eight levels of 30 bits are left, and a scale of two primes for the sine.
ParameterLiteral tensorfhe_bootstrap() {
  ParameterLiteral p;
  p.N = 65536;
  p.special = math::ntt_primes_below(31, p.N, 7);
  const auto add = [&](double bits, unsigned count, unsigned a_level) {
    for (const std::uint64_t q : math::ntt_primes_below(bits, p.N, count)) p.chain.push_back(q);
    for (unsigned i = 0; i < count; i += a_level) {
      const unsigned before = p.levels.empty() ? 0 : p.levels.back().mains;
      p.levels.push_back({0, before + a_level});
    }
  };
  add(28, 2, 2);
  add(30, 11, 1);
  add(29, 16, 2);
  add(26, 6, 2);
  p.digit_limbs = 7;
  p.log2_scale = 30;
  p.bootstrap.emplace();
  p.bootstrap->to_slots = 3;
  return p;
}

/// TensorFHE's packed bootstrapping, L = 57 and K = 1 (Table V), with levels that bootstrap. 29
/// levels of 27 bits are left. A special prime of 31 bits is 2^3 times a digit: keys' errors are
/// larger than with others, and a ratio of 2^9 in place of 2^13 is enough.
ParameterLiteral tensorfhe_packed_bootstrap() {
  ParameterLiteral p;
  p.N = 65536;
  p.special = math::ntt_primes_below(31, p.N, 1);
  const auto add = [&](double bits, unsigned count, unsigned a_level) {
    for (const std::uint64_t q : math::ntt_primes_below(bits, p.N, count, p.chain))
      p.chain.push_back(q);
    for (unsigned i = 0; i < count; i += a_level) {
      const unsigned before = p.levels.empty() ? 0 : p.levels.back().mains;
      p.levels.push_back({0, before + a_level});
    }
  };
  add(28.1, 2, 2);
  add(27.65, 32, 1);
  add(28.1, 16, 2);
  add(26.1, 8, 2);
  p.digit_limbs = 1;
  p.log2_scale = 27;
  p.bootstrap.emplace();
  p.bootstrap->log2_ratio = 9;
  return p;
}

}  // namespace

const std::vector<NamedSet>& named_sets() {
  static const std::vector<NamedSet> sets{
      // Security, levels between bootstraps, bits of the worst slot after one.
      {"W128_L13_B20",
       [] { return Parameters::choose({.depth = 13, .dnum = 4, .bootstrap = true}).literal(); }},
      // TensorFHE (Fan and others, HPCA 2023), Tables V, VII and VIII.
      {"tensorfhe/default", [] { return prime_a_level(65536, 44, 1, 1306, 31); }},
      {"tensorfhe/resnet20", [] { return prime_a_level(65536, 29, 1, 840, 31); }},
      {"tensorfhe/logistic", [] { return prime_a_level(65536, 38, 1, 1092, 31); }},
      {"tensorfhe/lstm", [] { return prime_a_level(32768, 25, 1, 728, 31); }},
      {"tensorfhe/packed", [] { return prime_a_level(65536, 57, 1, 1624, 31); }},
      {"tensorfhe/bootstrap", tensorfhe_bootstrap},
      {"tensorfhe/packed-bootstrap", tensorfhe_packed_bootstrap},
      {"tensorfhe/A", [] { return prime_a_level(4096, 1, 2, 108, 27); }},
      {"tensorfhe/B", [] { return prime_a_level(8192, 3, 4, 217, 27.1); }},
      {"tensorfhe/C", [] { return prime_a_level(16384, 7, 8, 437, 27.3); }},
  };
  return sets;
}

}  // namespace whorl::ckks
