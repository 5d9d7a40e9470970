#include "schemes/ckks/named_sets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

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

/// 13 levels are left. The set is older than the search that keeps scales within a bit.
ParameterLiteral slots_to_coefficients_last() {
  ParameterLiteral p;
  p.N = 65536;
  p.terminals = 5;
  p.chain = math::ntt_primes_below(25, p.N, p.terminals);
  const auto mains = math::ntt_primes_below(29.65, p.N, 43, p.chain);
  p.chain.insert(p.chain.end(), mains.begin(), mains.end());
  p.special = math::ntt_primes_below(30, p.N, 10);
  p.digit_limbs = 10;
  p.levels = {{1, 1},  {4, 0},  {3, 2},  {1, 5},  {5, 3},  {3, 6},  {1, 9},  {5, 7},
              {3, 10}, {1, 13}, {5, 11}, {3, 14}, {1, 17}, {5, 15}, {3, 18}, {1, 21},
              {5, 19}, {5, 21}, {5, 23}, {5, 25}, {5, 27}, {5, 29}, {5, 31}, {5, 33},
              {5, 35}, {5, 37}, {5, 39}, {5, 41}, {5, 43}};
  p.log2_scale = 40;
  p.bootstrap.emplace();
  p.bootstrap->log2_ratio = 11;
  p.bootstrap->coefficients_last = 1;
  return p;
}

/// So many primes of a size, of which each level takes `a_level`.
struct Rungs {
  double bits;
  unsigned count, a_level;
};

/// A set that can bootstrap, without terminal primes; `rungs` begin at level 0.
ParameterLiteral of_rungs(std::uint32_t N, const Rungs& special, unsigned digit_limbs,
                          double log2_scale, const BootstrapLiteral& bootstrap,
                          const std::vector<Rungs>& rungs) {
  ParameterLiteral p;
  p.N = N;
  p.special = math::ntt_primes_below(special.bits, N, special.count);
  std::vector<std::uint64_t> taken = p.special;
  for (const auto& [bits, count, a_level] : rungs) {
    const auto found = math::ntt_primes_below(bits, N, count, taken);
    taken.insert(taken.end(), found.begin(), found.end());
    p.chain.insert(p.chain.end(), found.begin(), found.end());
    for (unsigned i = 0; i < count; i += a_level)
      p.levels.push_back({0, a_level + (p.levels.empty() ? 0 : p.levels.back().mains)});
  }
  p.digit_limbs = digit_limbs;
  p.log2_scale = log2_scale;
  p.bootstrap = bootstrap;
  return p;
}

/// TensorFHE's bootstrap of L = 34 and dnum = 5 (Table VII); the paper does not list the primes.
/// Eight levels of 30 bits are left, and a scale of two primes for the sine.
ParameterLiteral tensorfhe_bootstrap() {
  return of_rungs(65536, {31, 7, 7}, 7, 30, {.coeffs_to_slots = 3},
                  {{28, 2, 2}, {30, 11, 1}, {29, 16, 2}, {26, 6, 2}});
}

/// A set of Cheddar's (Choi, Kim, Ahn, ASPLOS 2026; its files parameters/bootparam_*.json): its
/// primes and levels. There the slots are moved to coefficients at the highest three of the users'
/// levels, here at the lowest three; as many are left between.
ParameterLiteral cheddar(double log2_scale, std::vector<std::uint64_t> terminals,
                         const std::vector<std::uint64_t>& mains, std::vector<LevelPrimes> levels) {
  ParameterLiteral p;
  p.N = 65536;
  p.terminals = static_cast<unsigned>(terminals.size());
  p.chain = std::move(terminals);
  p.chain.insert(p.chain.end(), mains.begin(), mains.end());
  p.levels = std::move(levels);
  p.special = {2147352577, 2146959361, 2146041857, 2144468993, 2142502913, 2135818241,
               2135162881, 2135031809, 2134638593, 2132279297, 2130706433, 2130444289};
  p.digit_limbs = 12;
  p.log2_scale = log2_scale;
  p.bootstrap.emplace();
  return p;
}

/// 13 levels are left.
ParameterLiteral cheddar_40() {
  return cheddar(
      40, {30539777, 37224449, 33292289, 32899073},
      {974258177,  1081212929, 1196556289, 993263617,  989986817,  1074266113, 1168900097,
       1010565121, 957349889,  1073872897, 1209139201, 994705409,  998244353,  1073479681,
       1158676481, 1016463361, 964558849,  1071513601, 1193803777, 1004535809, 980156417,
       1070727169, 1175584769, 485621761,  598081537,  498597889,  576716801,  471072769,
       610926593,  486408193,  580780033,  483131393,  604635137,  494534657,  572915713,
       478937089,  608698369,  492175361,  584581121,  1068236801, 1065484289, 1064697857,
       1083703297},
      {{2, 0},  {0, 3},  {4, 1},  {2, 4},  {0, 7},  {4, 5},  {2, 8},  {0, 11}, {4, 9},  {2, 12},
       {0, 15}, {4, 13}, {2, 16}, {0, 19}, {4, 17}, {2, 20}, {0, 23}, {0, 25}, {0, 27}, {0, 29},
       {0, 31}, {0, 33}, {0, 35}, {0, 37}, {0, 39}, {0, 41}, {0, 43}, {2, 43}, {4, 43}});
}

/// 16 levels are left.
ParameterLiteral cheddar_35() {
  return cheddar(35, {30539777, 37224449, 33292289, 32899073, 35389441},
                 {1060765697, 1209139201, 967180289, 1083703297, 1062469633, 950403073,  1202454529,
                  1074266113, 1184366593, 951582721, 1107296257, 1052508161, 975175681,  1173618689,
                  1042415617, 1226309633, 975831041, 1073872897, 1062862849, 962592769,  1188167681,
                  1068236801, 1196556289, 485621761, 598081537,  498597889,  576716801,  471072769,
                  610926593,  486408193,  580780033, 483131393,  604635137,  494534657,  572915713,
                  478937089,  608698369,  492175361, 584581121,  1073479681, 1071513601, 1070727169,
                  1081212929},
                 {{2, 0},  {1, 2},  {0, 4},  {5, 1},  {4, 3},  {3, 5},  {2, 7},  {1, 9},
                  {0, 11}, {5, 8},  {4, 10}, {3, 12}, {2, 14}, {1, 16}, {0, 18}, {5, 15},
                  {4, 17}, {3, 19}, {2, 21}, {1, 23}, {1, 25}, {1, 27}, {1, 29}, {1, 31},
                  {1, 33}, {1, 35}, {1, 37}, {1, 39}, {1, 41}, {1, 43}, {3, 43}, {5, 43}});
}

/// 19 levels are left. Cheddar's first two primes have 20 bits, fewer than Whorl takes: these
/// have 24.
ParameterLiteral cheddar_30() {
  return cheddar(
      30, {}, {19529729,   20054017,   1073872897, 1073479681, 1074266113, 1071513601, 1070727169,
               1081212929, 1068236801, 1083703297, 1065484289, 1085276161, 1064697857, 1086455809,
               1062862849, 1087635457, 1062469633, 1088684033, 1060765697, 1089208321, 1056440321,
               1089601537, 1056178177, 1091043329, 485621761,  598081537,  498597889,  576716801,
               471072769,  610926593,  486408193,  580780033,  483131393,  604635137,  494534657,
               572915713,  478937089,  608698369,  492175361,  584581121,  537133057,  536608769,
               536215553,  539754497,  533463041,  540540929,  540672001,  541327361},
      {{0, 2},  {0, 3},  {0, 4},  {0, 5},  {0, 6},  {0, 7},  {0, 8},  {0, 9},  {0, 10},
       {0, 11}, {0, 12}, {0, 13}, {0, 14}, {0, 15}, {0, 16}, {0, 17}, {0, 18}, {0, 19},
       {0, 20}, {0, 21}, {0, 22}, {0, 23}, {0, 24}, {0, 26}, {0, 28}, {0, 30}, {0, 32},
       {0, 34}, {0, 36}, {0, 38}, {0, 40}, {0, 42}, {0, 44}, {0, 46}, {0, 48}});
}

/// A prime of 64-bit words a level: one of 60 bits, `levels` and `slots_to_coeffs` ones of
/// `scale_bits`, eight of `sine_bits`, four of `coeffs_to_slots_bits`, and special ones of 60 bits.
ParameterLiteral wide(std::uint32_t N, unsigned levels, unsigned slots_to_coeffs,
                      unsigned scale_bits, double sine_bits, double coeffs_to_slots_bits,
                      unsigned special) {
  // The sine's last scale must stay below 2^60.
  const BootstrapLiteral b{.slots_to_coeffs = slots_to_coeffs, .log2_ratio = 60.0 - scale_bits};
  return of_rungs(N, {60, special, special}, special, scale_bits, b,
                  {{60, 1, 1},
                   {scale_bits + 0.01, levels + slots_to_coeffs, 1},  // not below 2^45, the least
                   {sine_bits, b.sine(), 1},
                   {coeffs_to_slots_bits, b.coeffs_to_slots, 1}});
}

/// TensorFHE's packed bootstrapping, L = 57 and K = 1 (Table V), with levels that bootstrap. 29
/// levels of 27 bits are left. A special prime of 31 bits is 2^3 times a digit: keys' errors are
/// larger than with others, and a ratio of 2^9 in place of 2^13 is enough.
ParameterLiteral tensorfhe_packed_bootstrap() {
  return of_rungs(65536, {31, 1, 1}, 1, 27, {.log2_ratio = 9},
                  {{28.1, 2, 2}, {27.65, 32, 1}, {28.1, 16, 2}, {26.1, 8, 2}});
}

/// Returns a set of N = 2^15: a modulus of 50 bits at level 0, one prime of `scale_bits` a level
/// for users and for the two maps to coefficients, two of `sine_bits` for the sine, and two of 25
/// bits for each of the two maps to slots.
ParameterLiteral half_ring(unsigned levels, double scale_bits, double sine_bits, double log2_ratio,
                           unsigned digit_limbs, unsigned special, double special_bits) {
  const BootstrapLiteral b{.slots_to_coeffs = 2, .coeffs_to_slots = 2, .log2_ratio = log2_ratio};
  return of_rungs(32768, {special_bits, special, special}, digit_limbs, scale_bits, b,
                  {{25, 2, 2},
                   {scale_bits, levels + b.slots_to_coeffs, 1},
                   {sine_bits, 2 * b.sine(), 2},
                   {25, 2 * b.coeffs_to_slots, 2}});
}

std::function<ParameterLiteral()> chosen(const Requirements& requirements) {
  return [requirements] { return Parameters::choose(requirements).literal(); };
}

}  // namespace

const std::vector<NamedSet>& named_sets() {
  static const std::vector<NamedSet> sets{
      // Security, levels between bootstraps, bits of the worst slot after one. BITS: the bits that
      // a coefficient holds.
      {"W128_L13_B20", chosen({.depth = 13, .dnum = 4, .bootstrap = true})},
      {"W128_L12_B21", chosen({.depth = 12, .scale_bits = 45, .dnum = 4, .bootstrap = true})},
      {"W128_L16_B16", chosen({.depth = 16, .scale_bits = 35, .dnum = 4, .bootstrap = true})},
      // This one brings slots to coefficients last.
      {"W128_L13_B17", slots_to_coefficients_last},
      // These have an arcsine, in both orders.
      {"W128_L7_B28",
       chosen({.depth = 7, .scale_bits = 50, .dnum = 5, .bootstrap = true, .arcsine = 7})},
      {"W128_L7_B22", chosen({.depth = 7,
                              .scale_bits = 50,
                              .dnum = 5,
                              .bootstrap = true,
                              .coefficients_last = true,
                              .arcsine = 7})},
      // These have N = 2^15 and N = 2^17.
      {"W128_L4_B11", [] { return half_ring(4, 28, 25, 10, 5, 5, 28.3); }},
      {"W128_L36_B19", chosen({.depth = 36, .N = 131072, .dnum = 4, .bootstrap = true})},
      {"W128_L22_B27", chosen({.depth = 22,
                               .scale_bits = 50,
                               .N = 131072,
                               .dnum = 4,
                               .bootstrap = true,
                               .arcsine = 7})},
      // Bits, so many in a coefficient, for lanes; the second one has N = 2^15.
      {"W128_BITS5_L10",
       [] { return for_bits({.scale_bits = 40, .lift = 6, .degree = 15, .doublings = 5}); }},
      {"W128_BITS1_L4",
       [] {
         return for_bits({.N = 32768,
                          .bits = 1,
                          .levels = 4,
                          .scale_bits = 35,
                          .slots_to_coeffs = 2,
                          .coeffs_to_slots = 2});
       }},
      // Cheddar (Choi, Kim, Ahn, ASPLOS 2026).
      {"cheddar/40", cheddar_40},
      {"cheddar/35", cheddar_35},
      {"cheddar/30", cheddar_30},
      // Lattigo 6, circuits/ckks/bootstrapping/default_parameters.go.
      {"lattigo/N16QP1546H192H32", chosen({.depth = 9, .dnum = 5, .bootstrap = true})},
      {"lattigo/N16QP1547H192H32", [] { return wide(65536, 5, 3, 45, 60, 58, 4); }},
      {"lattigo/N16QP1553H192H32",
       chosen({.depth = 14, .scale_bits = 30, .dnum = 5, .bootstrap = true})},
      {"lattigo/N15QP768H192H32", [] { return half_ring(3, 25, 25.5, 9, 3, 3, 26); }},
      {"lattigo/N16QP1767H32768H32", chosen({.depth = 13, .dnum = 5, .bootstrap = true})},
      {"lattigo/N16QP1788H32768H32", [] { return wide(65536, 9, 3, 45, 60, 58, 5); }},
      {"lattigo/N16QP1793H32768H32",
       chosen({.depth = 25, .scale_bits = 30, .dnum = 5, .bootstrap = true})},
      {"lattigo/N15QP880H16384H32", [] { return half_ring(4, 31, 26, 10, 3, 4, 27); }},
      // OpenFHE, examples/simple-real-numbers.cpp and examples/simple-ckks-bootstrapping.cpp; and
      // the latter in the ring that it takes with HEStd_128_classic.
      {"openfhe/simple-real-numbers", chosen({.depth = 1,
                                              .scale_bits = 50,
                                              .value_bits = 7,
                                              .N = 16384,
                                              .dnum = 2,
                                              .word_bits = 64})},
      {"openfhe/simple-ckks-bootstrapping", [] { return wide(4096, 10, 4, 50, 59, 59, 9); }},
      {"openfhe/simple-ckks-bootstrapping-128", [] { return wide(131072, 10, 4, 50, 59, 59, 9); }},
      // TensorFHE (Fan and others, HPCA 2023), Tables V, VII and VIII.
      {"tensorfhe/default", [] { return prime_a_level(65536, 44, 1, 1306, 30); }},
      {"tensorfhe/resnet20", [] { return prime_a_level(65536, 29, 1, 840, 30); }},
      {"tensorfhe/logistic", [] { return prime_a_level(65536, 38, 1, 1092, 30); }},
      {"tensorfhe/lstm", [] { return prime_a_level(32768, 25, 1, 728, 30); }},
      {"tensorfhe/packed", [] { return prime_a_level(65536, 57, 1, 1624, 30); }},
      {"tensorfhe/bootstrap", tensorfhe_bootstrap},
      {"tensorfhe/packed-bootstrap", tensorfhe_packed_bootstrap},
      {"tensorfhe/A", [] { return prime_a_level(4096, 1, 2, 108, 27); }},
      {"tensorfhe/B", [] { return prime_a_level(8192, 3, 4, 217, 27.1); }},
      {"tensorfhe/C", [] { return prime_a_level(16384, 7, 8, 437, 27.3); }},
  };
  return sets;
}

}  // namespace whorl::ckks
