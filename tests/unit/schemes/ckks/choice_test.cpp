// What Parameters::choose takes, beside a search of all patterns of levels that is written anew.
#include "lattice/security.h"
#include "support/test.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {
namespace {

constexpr double margin = 1.0 / 64;

double log2_of(std::uint64_t q) { return std::log2(static_cast<double>(q)); }

std::vector<unsigned> primes_of(const ParameterLiteral& p, const LevelPrimes& level) {
  std::vector<unsigned> primes;
  for (unsigned i = 0; i < level.terminals; ++i) primes.push_back(i);
  for (unsigned i = 0; i < level.mains; ++i) primes.push_back(p.terminals + i);
  return primes;
}

double log2_Q_of(const ParameterLiteral& p, const LevelPrimes& level) {
  double bits = 0;
  for (const unsigned i : primes_of(p, level)) bits += log2_of(p.chain[i]);
  return bits;
}

/// log2 of the scales of all levels.
std::vector<double> scales_of(const ParameterLiteral& p) {
  std::vector<double> scales{p.log2_scale};
  for (std::size_t l = 1; l < p.levels.size(); ++l)
    scales.push_back((scales.back() + log2_Q_of(p, p.levels[l]) - log2_Q_of(p, p.levels[l - 1])) /
                     2);
  return scales;
}

double worst_scale(const ParameterLiteral& p) {
  double worst = 0;
  for (const double scale : scales_of(p)) worst = std::max(worst, std::abs(scale - p.log2_scale));
  return worst;
}

/// Variance of a key switch's error over that of a rounding.
double errors_of(const ParameterLiteral& p) {
  double sum = 0;
  for (std::size_t first = 0; first < p.chain.size(); first += p.digit_limbs) {
    double bits = -math::log2_of_product(p.special);
    for (std::size_t i = first; i < std::min(p.chain.size(), first + p.digit_limbs); ++i)
      bits += log2_of(p.chain[i]);
    sum += std::exp2(2 * bits);
  }
  return 1.5 * p.sigma * p.sigma * sum;
}

/// Time of a key switch at each level, by the transforms, conversions and words of keys that it
/// takes, and the room of keys.
double cost_of(const ParameterLiteral& p) {
  const double K = static_cast<double>(p.special.size()),
               limbs = static_cast<double>(p.chain.size());
  const double butterflies = std::log2(p.N) / 2;
  const bool slow = p.chain[0] < (1ULL << 31) && std::ranges::max(p.special) > (1ULL << 30);
  double work = 0;
  for (const LevelPrimes& level : p.levels) {
    std::set<unsigned> digits;
    for (const unsigned i : primes_of(p, level)) digits.insert(i / p.digit_limbs);
    const double l = level.terminals + level.mains, d = static_cast<double>(digits.size());
    work +=
        (d + 2) * butterflies * (l + (slow ? 1.5 : 1) * K) + l * l / 2 + l * K + 4 * d * (l + K);
  }
  const double digits = std::ceil(limbs / p.digit_limbs);
  return work * std::pow(digits * (limbs + K), 0.25) * (errors_of(p) > 3 ? 1.5 : 1) *
         (1 + worst_scale(p) / 10);
}

/// The largest primes below a bound; none if there are fewer.
std::vector<std::uint64_t> primes_below(double bound, std::uint32_t N, std::size_t count) {
  static std::map<std::tuple<double, std::uint32_t, std::size_t>, std::vector<std::uint64_t>> found;
  const auto [at, added] = found.try_emplace({bound, N, count});
  if (added) try {
      at->second = math::ntt_primes_below(bound, N, count);
    } catch (const ParameterError&) {
    }
  return at->second;
}

/// The cost of a literal of primes of whole bits, if it serves.
std::optional<double> cost_of(const Requirements& r, std::uint32_t N, unsigned main,
                              unsigned terminal, const std::vector<LevelPrimes>& levels,
                              unsigned digit_limbs, double special, double most) {
  ParameterLiteral p;
  p.N = N;
  p.levels = levels;
  p.log2_scale = r.scale_bits;
  p.digit_limbs = digit_limbs;
  p.terminals = std::ranges::max(levels, {}, &LevelPrimes::terminals).terminals;
  const unsigned mains = std::ranges::max(levels, {}, &LevelPrimes::mains).mains;
  p.chain = primes_below(terminal, N, p.terminals);
  for (const std::uint64_t q : primes_below(main, N, mains)) p.chain.push_back(q);
  p.special = primes_below(special, N, digit_limbs);
  if (p.chain.size() != p.terminals + mains || p.special.size() != digit_limbs) return std::nullopt;
  if (math::log2_of_product(p.chain) + math::log2_of_product(p.special) > most ||
      log2_Q_of(p, levels[0]) < 1 + r.scale_bits + r.value_bits + margin || errors_of(p) > 12)
    return std::nullopt;
  try {
    static_cast<void>(Parameters::create(p));
  } catch (const ParameterError&) {
    return std::nullopt;
  }
  return cost_of(p);
}

/// The levels above one, each with the primes that bring its scale nearest to what it should be.
std::optional<std::vector<LevelPrimes>> climb(const LevelPrimes& last, unsigned terminals,
                                              unsigned mains, double terminal, double main,
                                              const Requirements& r) {
  std::vector<LevelPrimes> levels{last};
  double scale = r.scale_bits;
  for (unsigned l = 1; l <= r.depth; ++l) {
    const double below = levels.back().terminals * terminal + levels.back().mains * main;
    double best = std::numeric_limits<double>::infinity(), found = 0;
    LevelPrimes taken;
    for (unsigned t = 0; t <= terminals; ++t)
      for (unsigned m = 0; m <= mains; ++m) {
        const double next = (scale + t * terminal + m * main - below) / 2;
        if (std::abs(next - r.scale_bits) >= best - 1e-9) continue;
        best = std::abs(next - r.scale_bits);
        found = next;
        taken = {t, m};
      }
    if (best > 1) return std::nullopt;
    scale = found;
    levels.push_back(taken);
  }
  return levels;
}

/// The cheapest of all in a ring, of primes of whole bits.
std::optional<double> least_cost(const Requirements& r, std::uint32_t N) {
  std::optional<double> least;
  double most = 0;  // of log2 QP
  for (double bits = 0; bits < 4000; bits += 0.5)
    if (lattice::estimate_security(N, bits, 3.19, lattice::SecretKind::ternary).bits >= 128)
      most = bits;
  const double needed = 1 + r.scale_bits + r.value_bits + margin;
  for (unsigned main = 26; main <= 30; ++main)
    for (unsigned terminal = 25; terminal < main; ++terminal)
      for (unsigned T = 0; T <= 5; ++T)
        for (unsigned M = 0; M * main < most; ++M)
          for (unsigned t = 0; t <= T; ++t)
            for (unsigned m = 0; m <= M && t * terminal + m * main < needed + 32; ++m) {
              if (t * terminal + m * main < needed || T * terminal + M * main > most + 8) continue;
              const auto levels = climb({t, m}, T, M, terminal, main, r);
              if (!levels) continue;
              for (unsigned digit = 1; digit <= T + M; ++digit) {
                if (8 * digit < T + M) continue;
                for (const double special : {30.0, 31.0}) {
                  const auto cost = cost_of(r, N, main, terminal, *levels, digit, special, most);
                  if (cost && (!least || *cost < *least)) least = cost;
                }
              }
            }
  return least;
}

std::string text_of(const Requirements& r) {
  return "depth " + std::to_string(r.depth) + ", scale_bits " + std::to_string(r.scale_bits) +
         ", value_bits " + std::to_string(r.value_bits) + ", word_bits " +
         std::to_string(r.word_bits);
}

void expect_serves(const Requirements& r, const Parameters& p) {
  EXPECT_GE(p.security_bits(), 128);
  EXPECT_EQ(p.depth(), r.depth);
  EXPECT_GE(p.log2_Q(0), 1 + r.scale_bits + r.value_bits + margin);
  EXPECT_LE(errors_of(p.literal()), 12);
  EXPECT_LE(p.digits(), 8u);
}

TEST(CkksChoice, TakesTheSmallestRingAndInItTheLeastCost) {
  for (const unsigned depth : {0u, 1u, 3u, 5u, 6u, 12u, 20u})
    for (const unsigned scale_bits : {28u, 35u, 40u, 55u})
      for (const unsigned value_bits : {2u, 10u}) {
        if (depth > 6 && (scale_bits != 40 || value_bits != 10)) continue;
        Requirements r;
        r.depth = depth;
        r.scale_bits = scale_bits;
        r.value_bits = value_bits;
        SCOPED_TRACE(text_of(r));
        const Parameters p = Parameters::choose(r);
        expect_serves(r, p);
        if (p.N() > 1024) {
          EXPECT_FALSE(least_cost(r, p.N() / 2));
        }
        // The choice weighs scales by the sizes of primes, and not by the primes.
        if (const auto least = least_cost(r, p.N())) {
          EXPECT_LE(cost_of(p.literal()), *least * 1.01);
        }
      }
}

TEST(CkksChoice, RingsThatADigitOrAPatternMoreMakesSmaller) {
  const auto ring = [](unsigned depth, unsigned dnum = 0) {
    return Parameters::choose({.depth = depth, .dnum = dnum}).N();
  };
  EXPECT_EQ(ring(5), 16384u);
  EXPECT_EQ(ring(6), 16384u);
  EXPECT_EQ(ring(6, 3), 32768u);
  EXPECT_EQ(Parameters::choose({.depth = 12, .dnum = 3}).digits(), 3u);
}

TEST(CkksChoice, Level0HoldsWhatIsAskedFor) {
  for (const unsigned word_bits : {32u, 64u})
    for (unsigned scale_bits = word_bits == 64 ? 46 : 28; scale_bits <= 55; ++scale_bits)
      for (const unsigned value_bits : {0u, 2u, 3u, 8u, 10u, 13u, 20u})
        for (const unsigned depth : {0u, 1u, 4u, 9u})
          for (const bool bootstrap : {false, true}) {
            Requirements r;
            r.depth = depth;
            r.scale_bits = scale_bits;
            r.value_bits = value_bits;
            r.word_bits = word_bits;
            r.bootstrap = bootstrap;
            if (bootstrap && (depth != 1 || scale_bits % 5 != 0)) continue;
            SCOPED_TRACE(text_of(r) + (bootstrap ? ", bootstrap" : ""));
            std::optional<Parameters> p;
            const std::string refusal = test::message_of([&] { p = Parameters::choose(r); });
            const unsigned most = word_bits == 32 ? 20 : (bootstrap ? 57 : 58) - scale_bits;
            if (value_bits > most) {
              EXPECT_NE(refusal.find("take value_bits = " + std::to_string(most)),
                        std::string::npos)
                  << refusal;
              continue;
            }
            const unsigned usual = std::min(most, bootstrap ? 8u : 10u);
            if (p) {
              // Where nothing is asked for, a large scale beside bootstraps leaves less room.
              const unsigned least = value_bits != 0                ? value_bits
                                     : bootstrap && scale_bits > 49 ? std::min(2u, usual)
                                                                    : usual;
              EXPECT_GE(p->log2_Q(0), 1 + scale_bits + least + margin);
            } else {  // large scales leave no room for bootstraps
              EXPECT_TRUE(bootstrap && scale_bits + value_bits > 50) << refusal;
            }
          }
}

TEST(CkksChoice, RefusalsSayWhatServes) {
  const auto refusal = [](const Requirements& r) {
    return test::message_of([&] { Parameters::choose(r); });
  };
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(refusal({.depth = 20, .N = 4096}), "N = 65536 with dnum = 2 serves");
  expect(refusal({.depth = 40, .scale_bits = 55, .N = 1024}), "N = 1024 has 128 bits");
  expect(refusal({.depth = 1, .N = 32768, .bootstrap = true}), "; N = 65536 with dnum = ");
  // Neither the ring nor the depth alone.
  expect(refusal({.depth = 60, .scale_bits = 28, .N = 32768, .bootstrap = true}), "; depth = ");
  expect(refusal({.depth = 60, .scale_bits = 28, .N = 32768, .bootstrap = true}), ", N = 131072 ");
  expect(refusal({.depth = 64, .N = 4096}), ", N = 131072 with dnum = ");
  const std::string values = refusal({.depth = 1, .value_bits = 20, .bootstrap = true});
  expect(values, "; value_bits = ");
  EXPECT_EQ(values.find("allow_insecure"), std::string::npos) << values;
  // Bootstraps serve where there is a ring for them.
  expect(refusal({.depth = 60}), "; depth = 57 serves; with bootstrap=True ciphertexts can be");
  const std::string small = refusal({.depth = 20, .N = 4096});
  EXPECT_EQ(small.find("bootstrap=True"), std::string::npos) << small;
}

TEST(CkksChoice, RefusalsNameTheLargestDepth) {
  for (Requirements r : {Requirements{.depth = 60, .scale_bits = 45},
                         Requirements{.depth = 40, .bootstrap = true}}) {
    const std::string message = test::message_of([&] { Parameters::choose(r); });
    const std::size_t at = message.find("; depth = ");
    ASSERT_NE(at, std::string::npos) << message;
    r.depth = static_cast<unsigned>(std::stoul(message.substr(at + 10)));
    EXPECT_NO_THROW(Parameters::choose(r)) << message;
    ++r.depth;
    EXPECT_THROW(Parameters::choose(r), ParameterError) << message;
  }
}

}  // namespace
}  // namespace whorl::ckks
