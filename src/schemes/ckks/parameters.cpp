#include "whorl/ckks/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <string_view>

#include "lattice/security.h"
#include "math/digest.h"
#include "math/primes.h"
#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/named_sets.h"
#include "whorl/error.h"

namespace whorl::ckks {

struct Parameters::State {
  struct Level {
    std::vector<unsigned> primes;
    double log2_Q = 0, ratio = 0, scale = 0;
  };
  ParameterLiteral literal;
  Digest digest;
  std::vector<Level> levels;
  double security = 0, sparse_security = 0, log2_QP = 0, log2_P = 0;
};

unsigned BootstrapLiteral::sine() const {
  return static_cast<unsigned>(std::bit_width(degree)) + doublings + arcsine_levels();
}

unsigned BootstrapLiteral::arcsine_levels() const {
  return static_cast<unsigned>(std::bit_width(arcsine));
}

double BootstrapLiteral::sine_factor() const {
  const double angle = 2 * std::numbers::pi / std::exp2(log2_ratio);
  if (arcsine != 0) return 1 / angle;
  return (1 + angle * angle / (coefficients_last == 0 ? 8 : 12)) / angle;
}

namespace {

/// Of a chain, and so of its digits.
constexpr unsigned most_primes = 80;

[[noreturn]] void reject(const std::string& what) { throw ParameterError("CKKS: " + what); }

void check_range(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value < least || value > most)
    reject(std::string(field) + " = " + std::to_string(value) + " is outside " +
           std::to_string(least) + " … " + std::to_string(most));
}

void check_ring(std::uint32_t N) {
  if (N < 1024 || N > (1u << 17) || !std::has_single_bit(N))
    reject("N = " + std::to_string(N) + " is not a power of two in 2^10 … 2^17");
}

void check_prime(const char* which, std::uint64_t q, std::uint32_t N, bool narrow) {
  const std::uint64_t low = narrow ? 1ULL << 24 : 1ULL << 45, high = 1ULL << (narrow ? 31 : 60);
  if (q < low || q >= high)
    reject(std::string(which) + " prime " + std::to_string(q) + " is outside [2^" +
           (narrow ? "24, 2^31" : "45, 2^60") + "), the range of the chain's first prime");
  if (q % (2ULL * N) != 1 || !math::is_prime(q))
    reject(std::string(which) + " modulus " + std::to_string(q) +
           " is not a prime = 1 mod 2N = " + std::to_string(2ULL * N));
}

void check_levels(const ParameterLiteral& p) {
  check_range("the number of levels", p.levels.size(), 1, 65);
  check_range("terminals", p.terminals, 0, p.chain.size());
  for (std::size_t l = 0; l < p.levels.size(); ++l) {
    const auto [terminals, mains] = p.levels[l];
    const std::string level = "level " + std::to_string(l);
    if (terminals > p.terminals || mains > p.chain.size() - p.terminals || terminals + mains == 0)
      reject(level + " has " + std::to_string(terminals) + " terminal primes of " +
             std::to_string(p.terminals) + " and " + std::to_string(mains) + " others of " +
             std::to_string(p.chain.size() - p.terminals));
  }
}

constexpr double least_log2_ratio = 6;

void check_bootstrap(const ParameterLiteral& p) {
  const BootstrapLiteral& b = *p.bootstrap;
  check_range("bootstrap.weight", b.weight, 8, 192);
  check_range("bootstrap.range", b.range, 2, 64);
  check_range("bootstrap.to_coefficients", b.to_coefficients, 1, 6);
  check_range("bootstrap.to_slots", b.to_slots, 1, 6);
  check_range("bootstrap.degree", b.degree, 3, 127);
  check_range("bootstrap.doublings", b.doublings, 1, 6);
  check_range("bootstrap.series", b.series, 0, 1);
  check_range("bootstrap.arcsine", b.arcsine, 0, 15);
  if (b.arcsine == 1 || (b.arcsine != 0 && b.arcsine % 2 == 0))
    reject("bootstrap.arcsine = " + std::to_string(b.arcsine) +
           " is neither 0 nor an odd degree of 3 … 15");
  check_range("bootstrap.coefficients_last", b.coefficients_last, 0, 1);
  if (!(b.log2_ratio >= least_log2_ratio && b.log2_ratio <= 20))
    reject("bootstrap.log2_ratio = " + math::text_of(b.log2_ratio) + " is outside 6 … 20");
  const unsigned below = b.to_coefficients - b.after_sine();
  if (p.levels.size() <= b.above() + below)
    reject("there are " + std::to_string(p.levels.size()) + " levels; bootstrapping needs " +
           std::to_string(b.above()) + " above those of users, " + std::to_string(below) +
           " to begin from, and level 0");
}

void check(const ParameterLiteral& p) {
  if (p.name.size() > 64)
    reject("name has " + std::to_string(p.name.size()) + " characters, above 64");
  check_ring(p.N);
  check_range("the number of primes in the chain", p.chain.size(), 1, most_primes);
  check_range("the number of special primes", p.special.size(), 1, 48);
  check_range("digit_limbs", p.digit_limbs, 1, p.chain.size());
  const bool narrow = ring_word_bytes(p.chain[0]) == 4;
  for (const std::uint64_t q : p.chain) check_prime("chain", q, p.N, narrow);
  for (const std::uint64_t q : p.special) check_prime("special", q, p.N, narrow);
  std::set<std::uint64_t> seen(p.chain.begin(), p.chain.end());
  seen.insert(p.special.begin(), p.special.end());
  if (seen.size() != p.chain.size() + p.special.size())
    reject("chain and special have the same prime twice");
  if (!(p.sigma >= 0.5 && p.sigma <= 64))
    reject("sigma = " + math::text_of(p.sigma) + " is outside 0.5 … 64");
  if (!(p.log2_scale >= 16 && p.log2_scale <= 58))
    reject("log2_scale = " + math::text_of(p.log2_scale) + " is outside 16 … 58");
  check_levels(p);
  if (p.bootstrap) check_bootstrap(p);
}

Digest digest_of(const ParameterLiteral& p) {
  std::vector<std::uint32_t> levels;
  for (const auto& [terminals, mains] : p.levels) {
    levels.push_back(terminals);
    levels.push_back(mains);
  }
  const Digest plain = math::digest_of(
      std::string_view("whorl ckks parameters 1"), p.N, p.chain.size(), p.chain, p.terminals,
      levels.size(), levels, p.special.size(), p.special, p.digit_limbs,
      std::bit_cast<std::uint64_t>(p.sigma), std::bit_cast<std::uint64_t>(p.log2_scale));
  if (!p.bootstrap) return plain;
  const BootstrapLiteral& b = *p.bootstrap;
  const Digest fitted = math::digest_of(std::string_view("whorl ckks bootstrap 1"), plain, b.weight,
                                        b.range, b.to_coefficients, b.to_slots, b.degree,
                                        b.doublings, std::bit_cast<std::uint64_t>(b.log2_ratio));
  const Digest served =
      b.series == 0 ? fitted
                    : math::digest_of(std::string_view("whorl ckks bootstrap 2"), fitted, b.series);
  if (b.arcsine == 0 && b.coefficients_last == 0) return served;
  return math::digest_of(std::string_view("whorl ckks bootstrap 3"), served, b.arcsine,
                         b.coefficients_last);
}

lattice::SecurityBound security_of(const ParameterLiteral& p) {
  return lattice::estimate_security(
      p.N, math::log2_of_product(p.chain) + math::log2_of_product(p.special), p.sigma,
      lattice::SecretKind::ternary);
}

/// Of the key to the sparse secret, modulo the primes of its layout. Weight 32 was estimated. It
/// bounds larger weights too: they have longer secrets, and more of them. Smaller ones have no
/// bound.
lattice::SecurityBound sparse_security_of(const ParameterLiteral& p, const ring::KeyLayout& of) {
  if (p.bootstrap->weight < 32)
    return {0, false,
            "no sparse secret of weight " + std::to_string(p.bootstrap->weight) +
                " was estimated, only 32, which bounds larger ones"};
  double bits = 0;
  of.rows().for_each([&](unsigned i) {
    bits += std::log2(
        static_cast<double>(i < p.chain.size() ? p.chain[i] : p.special[i - p.chain.size()]));
  });
  return lattice::estimate_security(p.N, bits, p.sigma, lattice::SecretKind::sparse32);
}

// ---- the choice of primes

/// How many primes of each size the levels have.
struct Pattern {
  unsigned main_bits = 0, terminal_bits = 0, terminals = 0;
  std::vector<LevelPrimes> levels;
  int deviation = 0;  ///< the most bits by which a level's modulus misses what it should be

  unsigned mains() const { return std::ranges::max(levels, {}, &LevelPrimes::mains).mains; }
};

/// Primes of together so many bits, or as near to it as can be; not below it by more than one bit
/// if `at_least`.
LevelPrimes nearest(const Pattern& sizes, int bits, bool at_least) {
  constexpr int most_terminals = 5;
  const int main = static_cast<int>(sizes.main_bits),
            terminal = static_cast<int>(sizes.terminal_bits);
  LevelPrimes best;
  int least_miss = bits;
  for (int t = most_terminals; t >= 0; --t)
    for (int m = std::max(0, (bits - t * terminal) / main); m * main + t * terminal < bits + main;
         ++m) {
      const int miss = m * main + t * terminal - bits;
      if ((at_least && miss < -1) || std::abs(miss) >= least_miss) continue;
      least_miss = std::abs(miss);
      best = {static_cast<unsigned>(t), static_cast<unsigned>(m)};
    }
  return best;
}

/// Levels of `least` bits, `step` more, and so on.
Pattern pattern_of(unsigned main_bits, unsigned terminal_bits, unsigned least, unsigned step,
                   unsigned depth) {
  Pattern out{main_bits, terminal_bits, 0, {}, 0};
  const auto bits_of = [&](const LevelPrimes& level) {
    return static_cast<int>(level.mains * main_bits + level.terminals * terminal_bits);
  };
  const LevelPrimes last = nearest(out, static_cast<int>(least), true);
  for (unsigned l = 0; l <= depth; ++l) {
    const int target = bits_of(last) + static_cast<int>(l * step);
    const LevelPrimes level = l == 0 ? last : nearest(out, target, false);
    out.levels.push_back(level);
    out.terminals = std::max(out.terminals, level.terminals);
    out.deviation = std::max(out.deviation, std::abs(bits_of(level) - target));
  }
  return out;
}

/// log2_ratio: where the sine's error and the noise that a larger ratio magnifies are about equal.
/// With coefficients_last noise is larger. With an arcsine of degree n the error is about
/// (2π/2^log2_ratio)^(n + 1)/2^4, here 2^-32. The sine's last scale, 2^log2_ratio/2π times that of
/// users, must stay below 2^59.
double ratio_of(const Requirements& r) {
  if (r.arcsine != 0)
    return std::min(std::max(6.5, 2.65 + 28.0 / (r.arcsine + 1)), 61.0 - r.scale_bits);
  return std::min(r.coefficients_last ? 11.0 : 13.5, 61.0 - r.scale_bits);
}

/// Of all sizes of primes, the fewest limbs at the top level among those that miss by at most one
/// bit; then those that miss least. Level 0 has `least` bits.
Pattern pattern_for(const Requirements& r, unsigned least) {
  // The levels of the maps to coefficients are as those of users, below them or above.
  const unsigned depth = r.depth + (r.bootstrap ? BootstrapLiteral().to_coefficients : 0);
  if (r.word_bits == 64) {
    Pattern out{r.scale_bits, std::min(least, 59u), 1, {}, 0};
    for (unsigned l = 0; l <= depth; ++l) out.levels.push_back({1, l});
    return out;
  }
  std::optional<Pattern> best;
  const auto key = [](const Pattern& p) {
    return std::pair(p.mains() + p.terminals + (p.deviation > 1 ? 100 : 0), p.deviation);
  };
  // Two primes are the scale of bootstrapping's sine, which wants 58 bits.
  for (unsigned main_bits = 30; main_bits >= (r.bootstrap ? 29u : 28u); --main_bits)
    for (unsigned terminal_bits = 25; terminal_bits < main_bits; ++terminal_bits) {
      Pattern p = pattern_of(main_bits, terminal_bits, least, r.scale_bits, depth);
      if (!best || key(p) < key(*best)) best = std::move(p);
    }
  return *best;
}
Pattern pattern_for(const Requirements& r) {
  unsigned least = r.scale_bits + r.value_bits;
  if (r.bootstrap && r.coefficients_last)
    least = std::max(least, r.scale_bits + static_cast<unsigned>(std::ceil(ratio_of(r))) + 1);
  Pattern p = pattern_for(r, least);
  // Primes that are to have 30 bits may have a part of a bit less.
  const bool less = r.word_bits == 32 && p.main_bits == 30 && p.levels[0].mains > 0;
  return less ? pattern_for(r, least + 1) : p;
}

/// The levels of bootstrapping, above those of users: a scale of two primes for the sine, of one
/// with 64-bit words. Terminal primes are larger than the maps to slots need, so they come back
/// there.
void add_bootstrap(Pattern& p, const BootstrapLiteral& b, unsigned word_bits) {
  for (unsigned i = 0; i < b.sine() + b.to_slots; ++i) {
    LevelPrimes level = p.levels.back();
    const bool terminal = word_bits == 32 && i >= b.sine() && level.terminals < p.terminals;
    level.terminals += terminal ? 1 : 0;
    level.mains += word_bits == 64 || terminal ? 1 : 2;
    p.levels.push_back(level);
  }
}

/// Special primes are larger than the chain's by this part of a bit at least.
constexpr double special_ahead = 0.35;
/// P should be 2^3 times a digit, which then adds about as much as the division's rounding. Digits
/// of so many primes leave that with special primes below 2^30; above it butterflies of 32-bit
/// words must reduce fully, at one and a half times the work.
constexpr unsigned long_digit = 8;
double special_bound(unsigned word_bits, unsigned digit_limbs) {
  return word_bits == 64 ? 60 : digit_limbs >= long_digit ? 30 : 31;
}
/// log2 of the bound of the chain's other primes.
double main_bound(const Pattern& pattern, unsigned word_bits, unsigned digit_limbs) {
  return std::min(static_cast<double>(pattern.main_bits),
                  special_bound(word_bits, digit_limbs) - special_ahead);
}

/// With primes for bootstrapping. All keys are modulo all primes, so P is only as large as digits
/// need, and the others may be smaller by some part of a bit.
ParameterLiteral bootstrapped_literal(const Requirements& r, Pattern pattern, std::uint32_t N,
                                      unsigned dnum, double fewer_bits) {
  ParameterLiteral p;
  p.bootstrap.emplace();
  p.bootstrap->coefficients_last = r.coefficients_last ? 1 : 0;
  p.bootstrap->arcsine = r.arcsine;
  p.bootstrap->log2_ratio = ratio_of(r);
  const unsigned users = pattern.mains();
  p.name = "ckks bootstrap " + std::to_string(r.depth) + ", scale 2^" +
           std::to_string(r.scale_bits) + ", N " + std::to_string(N);
  add_bootstrap(pattern, *p.bootstrap, r.word_bits);
  const unsigned mains = pattern.mains(), limbs = mains + pattern.terminals;
  p.N = N;
  p.terminals = pattern.terminals;
  p.levels = pattern.levels;
  p.log2_scale = r.scale_bits;
  p.digit_limbs = (limbs + dnum - 1) / dnum;
  p.chain = math::ntt_primes(pattern.terminal_bits, N, pattern.terminals);
  const auto add = [&](double bits, unsigned count) {
    const auto primes = math::ntt_primes_below(bits, N, count, p.chain);
    p.chain.insert(p.chain.end(), primes.begin(), primes.end());
  };
  if (r.word_bits == 64) {
    constexpr double sine_bits = 59;
    add(pattern.main_bits, users);
    add(sine_bits, mains - users);
  } else {
    add(main_bound(pattern, r.word_bits, p.digit_limbs) - fewer_bits, mains);
  }
  if (r.coefficients_last) {
    double room = -static_cast<double>(r.scale_bits);
    basis_of(p, 0).for_each(
        [&](unsigned i) { room += std::log2(static_cast<double>(p.chain[i])); });
    p.bootstrap->log2_ratio = std::min(p.bootstrap->log2_ratio, std::floor(4 * room) / 4);
  }
  double digit = 0;
  for (unsigned first = 0; first < limbs; first += p.digit_limbs) {
    double bits = 0;
    for (unsigned i = first; i < std::min(first + p.digit_limbs, limbs); ++i)
      bits += std::log2(static_cast<double>(p.chain[i]));
    digit = std::max(digit, bits);
  }
  p.special = math::ntt_primes_below(std::min(digit / p.digit_limbs + special_ahead + 0.05,
                                              special_bound(r.word_bits, p.digit_limbs)),
                                     N, p.digit_limbs);
  return p;
}

ParameterLiteral literal_of(const Requirements& r, const Pattern& pattern, std::uint32_t N) {
  ParameterLiteral p;
  p.name = "ckks depth " + std::to_string(r.depth) + ", scale 2^" + std::to_string(r.scale_bits) +
           ", N " + std::to_string(N);
  p.N = N;
  p.terminals = pattern.terminals;
  p.levels = pattern.levels;
  p.log2_scale = r.scale_bits;
  const unsigned mains = pattern.mains(), limbs = mains + pattern.terminals;
  p.digit_limbs = (limbs + r.dnum - 1) / r.dnum;
  p.special = math::ntt_primes_below(special_bound(r.word_bits, p.digit_limbs), N, p.digit_limbs);
  p.chain = math::ntt_primes(pattern.terminal_bits, N, pattern.terminals);
  const auto others =
      math::ntt_primes_below(main_bound(pattern, r.word_bits, p.digit_limbs), N, mains);
  p.chain.insert(p.chain.end(), others.begin(), others.end());
  return p;
}

void check(const Requirements& r) {
  check_range("depth", r.depth, 0, 64);
  check_range("scale_bits", r.scale_bits, 28, 55);
  check_range("value_bits", r.value_bits, 2, 20);
  check_range("dnum", r.dnum, 1, most_primes);
  if (!r.bootstrap && (r.coefficients_last || r.arcsine != 0))
    reject("coefficients_last and arcsine are of bootstrapping: ask for bootstrap too");
  if (r.word_bits != 32 && r.word_bits != 64)
    reject("word_bits = " + std::to_string(r.word_bits) + " is neither 32 nor 64");
  if (r.word_bits == 64 && r.scale_bits < 46)
    reject("scale_bits = " + std::to_string(r.scale_bits) +
           " is below 46, the least with one prime of 64-bit words a level; 32-bit words take any");
  if (r.N != 0) check_ring(r.N);
  if (r.slots > (1u << 16)) reject("slots = " + std::to_string(r.slots) + " is above 2^16");
  if (r.N != 0 && r.slots > r.N / 2)
    reject("slots = " + std::to_string(r.slots) + " is above N/2 = " + std::to_string(r.N / 2));
}

}  // namespace

Parameters Parameters::create(ParameterLiteral literal, bool allow_insecure) {
  check(literal);
  auto state = std::make_shared<State>();
  state->digest = digest_of(literal);
  const lattice::SecurityBound security = security_of(literal);
  state->security = security.bits;
  state->log2_P = math::log2_of_product(literal.special);
  state->log2_QP = math::log2_of_product(literal.chain) + state->log2_P;
  const std::optional<BootstrapLiteral>& bootstrap = literal.bootstrap;
  const std::size_t depth = literal.levels.size() - 1 - (bootstrap ? bootstrap->above() : 0);
  // Levels of the maps to coefficients, of the sine's result, and of the cosine's.
  const std::size_t result = depth + (bootstrap ? bootstrap->after_sine() : 0),
                    cosine = result + (bootstrap ? bootstrap->arcsine_levels() : 0);
  long double before = 0, scale = std::exp2(static_cast<long double>(literal.log2_scale)), step = 1;
  const auto modulus = [&](std::size_t level) {
    const auto [terminals, mains] = literal.levels[level];
    long double Q = 1;
    for (unsigned i = 0; i < terminals; ++i) Q *= static_cast<long double>(literal.chain[i]);
    for (unsigned i = 0; i < mains; ++i)
      Q *= static_cast<long double>(literal.chain[literal.terminals + i]);
    return Q;
  };
  for (std::size_t l = 0; l < literal.levels.size(); ++l) {
    State::Level level;
    const auto [terminals, mains] = literal.levels[l];
    for (unsigned i = 0; i < terminals; ++i) level.primes.push_back(i);
    for (unsigned i = 0; i < mains; ++i) level.primes.push_back(literal.terminals + i);
    if (l == depth + 1 && result > depth) {
      const long double target = modulus(result + 1) / modulus(result) / 4 /
                                 static_cast<long double>(bootstrap->sine_factor());
      step = std::pow(target / scale, 1 / static_cast<long double>(result - depth));
    }
    if (l == result + 1) scale *= static_cast<long double>(bootstrap->sine_factor());
    const long double Q = modulus(l);
    level.log2_Q = static_cast<double>(std::log2(Q));
    if (l > 0) {
      level.ratio = static_cast<double>(Q / before);
      // Of a cosine's square twice is taken, at half the scale.
      if (bootstrap && l > cosine && l <= cosine + bootstrap->doublings) scale *= 2;
      scale = l > depth && l <= result ? scale * step : std::sqrt(scale * (Q / before));
      if (level.ratio < 65536)
        reject("the modulus of level " + std::to_string(l) + " is 2^" +
               math::text_of(level.log2_Q) + ", less than 2^16 times that of the level below");
    }
    level.scale = static_cast<double>(scale);
    // Values of a sine are at most 1, those of users larger.
    const int most = l > depth ? 61 : 59;
    if (std::log2(level.scale) + 2 > level.log2_Q || std::log2(level.scale) >= most)
      reject("the scale of level " + std::to_string(l) + " is 2^" +
             math::text_of(std::log2(level.scale)) + "; it must be below 2^" +
             std::to_string(most) + " and at most a quarter of the modulus 2^" +
             math::text_of(level.log2_Q));
    before = Q;
    state->levels.push_back(std::move(level));
  }
  if (bootstrap && bootstrap->coefficients_last != 0 &&
      state->levels[0].log2_Q - literal.log2_scale < bootstrap->log2_ratio)
    reject("bootstrap.log2_ratio = " + math::text_of(bootstrap->log2_ratio) +
           " is above the bits of level 0's modulus over the scale, " +
           math::text_of(state->levels[0].log2_Q - literal.log2_scale) +
           ": with coefficients_last values are refreshed at that scale or a larger one");
  if (bootstrap) {
    const ring::KeyLayout layout = layout_of(literal, SwitchRole::to_sparse);
    const lattice::SecurityBound sparse = sparse_security_of(literal, layout);
    state->sparse_security = sparse.bits;
    state->security = std::min(state->security, sparse.bits);
    if (sparse.bits < 128 && !allow_insecure)
      reject("N = " + std::to_string(literal.N) +
             ": the estimated security of the key to the sparse secret of bootstrapping is " +
             lattice::describe(sparse) +
             ", but 128 bits are needed: set allow_insecure to accept this");
  }
  if (state->security < 128 && !allow_insecure)
    reject("N = " + std::to_string(literal.N) + " with log2 QP = " + math::text_of(state->log2_QP) +
           ": the estimated security is " + lattice::describe(security) +
           ", but 128 bits are needed: set allow_insecure to accept this");
  state->literal = std::move(literal);
  return Parameters(std::move(state));
}

Parameters Parameters::choose(const Requirements& r) {
  check(r);
  const Pattern pattern = pattern_for(r);
  std::string why = "no ring was tried";
  const std::uint32_t least = r.N ? r.N : std::max(1024u, std::bit_ceil(2 * r.slots));
  const auto secure = [&](const auto& make) -> std::optional<ParameterLiteral> {
    ParameterLiteral literal;
    try {
      literal = make();
    } catch (const ParameterError& error) {  // too few primes of that size
      why = error.what();
      return std::nullopt;
    }
    const lattice::SecurityBound security = security_of(literal);
    if (security.bits >= 128) return literal;
    why = "N = " + std::to_string(literal.N) + " with log2 QP = " +
          math::text_of(math::log2_of_product(literal.chain) +
                        math::log2_of_product(literal.special)) +
          ": the estimated security is " + lattice::describe(security) +
          ", but 128 bits are needed";
    return std::nullopt;
  };
  // The sparse secret was estimated at N = 2^16.
  const std::uint32_t from = r.N || !r.bootstrap ? least : std::max(least, 1u << 16);
  for (std::uint32_t N = from; N <= (r.N ? r.N : 1u << 17); N *= 2) {
    std::optional<ParameterLiteral> literal;
    if (!r.bootstrap) literal = secure([&] { return literal_of(r, pattern, N); });
    for (unsigned dnum = r.dnum; r.bootstrap && !literal && dnum <= std::max(16u, r.dnum); ++dnum)
      for (const double fewer_bits : {0.0, 0.05, 0.1, 0.15})
        if (!literal)
          literal = secure([&] { return bootstrapped_literal(r, pattern, N, dnum, fewer_bits); });
    // Scales of a long chain may grow on the way up; then the sine's last one has room for a
    // smaller ratio only.
    while (literal) {
      try {
        return create(*literal);
      } catch (const ParameterError& error) {
        why = error.what();
      }
      if (!literal->bootstrap || (literal->bootstrap->log2_ratio -= 0.5) < least_log2_ratio)
        literal.reset();
    }
  }
  reject("no parameters for depth " + std::to_string(r.depth) + " with scale_bits " +
         std::to_string(r.scale_bits) + ": " + why);
}

Parameters Parameters::named(std::string_view name, bool allow_insecure) {
  std::string message = "no parameter set \"" + std::string(name) + "\"; there are:";
  for (const NamedSet& set : named_sets()) {
    message += " \"" + set.name + "\"";
    if (set.name != name) continue;
    ParameterLiteral literal = set.literal();
    literal.name = set.name;
    return create(std::move(literal), allow_insecure);
  }
  throw ParameterError(message);
}

std::vector<std::string> Parameters::names() {
  std::vector<std::string> names;
  for (const NamedSet& set : named_sets()) names.push_back(set.name);
  return names;
}

const ParameterLiteral& Parameters::literal() const { return state_->literal; }
double Parameters::log2_P() const { return state_->log2_P; }
double Parameters::log2_QP() const { return state_->log2_QP; }
double Parameters::security_bits() const { return state_->security; }
const Digest& Parameters::digest() const { return state_->digest; }

namespace {

const BootstrapLiteral& bootstrap_of(const ParameterLiteral& p) {
  if (!p.bootstrap)
    reject("the parameters \"" + p.name +
           "\" have no bootstrapping: take parameters with bootstrap");
  return *p.bootstrap;
}

}  // namespace

unsigned Parameters::least_bootstrap_level() const {
  const BootstrapLiteral& shape = bootstrap_of(literal());
  return shape.to_coefficients - shape.after_sine();
}

double Parameters::sparse_security_bits() const {
  static_cast<void>(bootstrap_of(literal()));
  return state_->sparse_security;
}

double Parameters::log2_failure() const {
  return log2_beyond(literal(), bootstrap_of(literal()).range);
}

// P(S > x) = 1/n! sum_k (-1)^k binomial(n, k) (n/2 - x - k)^n over k < n/2 - x, for the sum S of n
// numbers uniform in ±1/2 (Irwin, Hall, Biometrika 1927).
double log2_beyond(const ParameterLiteral& literal, double range) {
  const int n = static_cast<int>(literal.bootstrap->weight) + 1;
  const long double y = n / 2.0L - (range - 0.5L);
  if (y <= 0) return -std::numeric_limits<double>::infinity();
  long double sum = 0, binomial = 1;
  for (int k = 0; k < y; ++k) {
    sum += (k % 2 == 0 ? 1 : -1) * binomial * std::pow((y - k) / y, static_cast<long double>(n));
    binomial *= static_cast<long double>(n - k) / (k + 1);
  }
  const long double log2_tail =
      std::log2(sum) + n * std::log2(y) -
      std::lgamma(static_cast<long double>(n) + 1) / std::numbers::ln2_v<long double>;
  return std::min(0.0,
                  static_cast<double>(log2_tail) + 1 + std::log2(static_cast<double>(literal.N)));
}

std::int64_t raised_by(const Parameters& p) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(
             std::exp2(p.log2_Q(0) - p.literal().bootstrap->log2_ratio - p.literal().log2_scale)));
}

namespace {

const auto& level_of(const auto& levels, unsigned level) {
  if (level >= levels.size())
    reject("level " + std::to_string(level) + " is above the highest, " +
           std::to_string(levels.size() - 1));
  return levels[level];
}

}  // namespace

const std::vector<unsigned>& Parameters::primes(unsigned level) const {
  return level_of(state_->levels, level).primes;
}
double Parameters::log2_Q(unsigned level) const { return level_of(state_->levels, level).log2_Q; }
double Parameters::scale(unsigned level) const { return level_of(state_->levels, level).scale; }
double Parameters::ratio(unsigned level) const {
  if (level == 0) reject("level 0 has no level below it");
  return level_of(state_->levels, level).ratio;
}

std::string Parameters::describe() const {
  char out[1024];
  std::snprintf(out, sizeof out,
                "N = %u, %u slots, %u level%s above level 0\n"
                "Q: %u primes, %.0f bits; P: %u primes, %.0f bits; %u digits of %u primes\n"
                "scale 2^%.2f at level 0, 2^%.2f at level %u; modulus of level 0: %.0f bits\n"
                "words of %u bits; at least %.0f bits of security\n",
                N(), slots(), depth(), depth() == 1 ? "" : "s", limbs(), log2_QP() - log2_P(),
                special(), log2_P(), digits(), literal().digit_limbs, std::log2(scale(0)),
                std::log2(scale(depth())), depth(), log2_Q(0), 8 * word_bytes(), security_bits());
  std::string text = out;
  if (literal().bootstrap) {
    const BootstrapLiteral& b = *literal().bootstrap;
    std::snprintf(
        out, sizeof out,
        "bootstrapping from level %u and above, slots to coefficients %s: %u level%s to "
        "coefficients, %u for the sine, %u to slots; values are 2^-%g of the modulus\n"
        "sine: %s of degree %u for multiples of the modulus below %u, %u doubling%s, %s\n"
        "sparse secret of weight %u, at least %.0f bits of security; "
        "a refresh fails with a probability of at most 2^%.0f\n",
        least_bootstrap_level(), b.coefficients_last == 0 ? "first" : "last", b.to_coefficients,
        b.to_coefficients == 1 ? "" : "s", b.sine(), b.to_slots, b.log2_ratio,
        b.series == 0 ? "fitted polynomial" : "Taylor's series", b.degree, b.range, b.doublings,
        b.doublings == 1 ? "" : "s",
        b.arcsine == 0 ? "no arcsine" : ("arcsine of degree " + std::to_string(b.arcsine)).c_str(),
        b.weight, sparse_security_bits(), log2_failure());
    text += out;
  }
  return text;
}

}  // namespace whorl::ckks
