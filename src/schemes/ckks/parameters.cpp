#include "whorl/ckks/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>

#include "lattice/security.h"
#include "math/digest.h"
#include "math/primes.h"
#include "math/text.h"
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
  double security = 0, log2_QP = 0, log2_P = 0;
};

namespace {

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

void check(const ParameterLiteral& p) {
  if (p.name.size() > 64)
    reject("name has " + std::to_string(p.name.size()) + " characters, above 64");
  check_ring(p.N);
  check_range("the number of primes in the chain", p.chain.size(), 1, 80);
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
}

Digest digest_of(const ParameterLiteral& p) {
  std::vector<std::uint32_t> levels;
  for (const auto& [terminals, mains] : p.levels) {
    levels.push_back(terminals);
    levels.push_back(mains);
  }
  return math::digest_of(std::string_view("whorl ckks parameters 1"), p.N, p.chain.size(), p.chain,
                         p.terminals, levels.size(), levels, p.special.size(), p.special,
                         p.digit_limbs, std::bit_cast<std::uint64_t>(p.sigma),
                         std::bit_cast<std::uint64_t>(p.log2_scale));
}

double log2_of(const std::vector<std::uint64_t>& primes) {
  double sum = 0;
  for (const std::uint64_t q : primes) sum += std::log2(static_cast<double>(q));
  return sum;
}

lattice::SecurityBound security_of(const ParameterLiteral& p) {
  return lattice::estimate_security(p.N, log2_of(p.chain) + log2_of(p.special), p.sigma,
                                    lattice::SecretKind::ternary);
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

/// Of all sizes of primes, the fewest limbs at the top level among those that miss by at most one
/// bit; then those that miss least.
Pattern pattern_for(const Requirements& r) {
  const unsigned least = r.scale_bits + r.value_bits;
  if (r.word_bits == 64) {
    Pattern out{r.scale_bits, std::min(least, 59u), 1, {}, 0};
    for (unsigned l = 0; l <= r.depth; ++l) out.levels.push_back({1, l});
    return out;
  }
  std::optional<Pattern> best;
  const auto key = [](const Pattern& p) {
    return std::pair(p.mains() + p.terminals + (p.deviation > 1 ? 100 : 0), p.deviation);
  };
  for (unsigned main_bits = 30; main_bits >= 28; --main_bits)
    for (unsigned terminal_bits = 25; terminal_bits < main_bits; ++terminal_bits) {
      Pattern p = pattern_of(main_bits, terminal_bits, least, r.scale_bits, r.depth);
      if (!best || key(p) < key(*best)) best = std::move(p);
    }
  return *best;
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
  // The special primes are larger than all others: P is above each digit's product.
  const unsigned special_bits = r.word_bits == 64 ? 60 : 31;
  p.special = math::ntt_primes(special_bits, N, p.digit_limbs);
  p.chain = math::ntt_primes(pattern.terminal_bits, N, pattern.terminals);
  const auto others = math::ntt_primes(pattern.main_bits, N, mains);
  p.chain.insert(p.chain.end(), others.begin(), others.end());
  return p;
}

void check(const Requirements& r) {
  check_range("depth", r.depth, 0, 64);
  check_range("scale_bits", r.scale_bits, 28, 55);
  check_range("value_bits", r.value_bits, 2, 20);
  check_range("dnum", r.dnum, 1, 16);
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
  state->log2_P = log2_of(literal.special);
  state->log2_QP = log2_of(literal.chain) + state->log2_P;
  long double before = 0, scale = std::exp2(static_cast<long double>(literal.log2_scale));
  for (std::size_t l = 0; l < literal.levels.size(); ++l) {
    State::Level level;
    const auto [terminals, mains] = literal.levels[l];
    for (unsigned i = 0; i < terminals; ++i) level.primes.push_back(i);
    for (unsigned i = 0; i < mains; ++i) level.primes.push_back(literal.terminals + i);
    long double Q = 1;
    for (const unsigned i : level.primes) Q *= static_cast<long double>(literal.chain[i]);
    level.log2_Q = static_cast<double>(std::log2(Q));
    if (l > 0) {
      level.ratio = static_cast<double>(Q / before);
      scale = std::sqrt(scale * (Q / before));
      if (level.ratio < 65536)
        reject("the modulus of level " + std::to_string(l) + " is 2^" +
               math::text_of(level.log2_Q) + ", less than 2^16 times that of the level below");
    }
    level.scale = static_cast<double>(scale);
    if (std::log2(level.scale) + 2 > level.log2_Q || level.scale >= 0x1p59)
      reject("the scale of level " + std::to_string(l) + " is 2^" +
             math::text_of(std::log2(level.scale)) +
             "; it must be below 2^59 and at most a quarter of the modulus 2^" +
             math::text_of(level.log2_Q));
    before = Q;
    state->levels.push_back(std::move(level));
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
  for (std::uint32_t N = least; N <= (r.N ? r.N : 1u << 17); N *= 2) {
    ParameterLiteral literal;
    try {
      literal = literal_of(r, pattern, N);
    } catch (const ParameterError& error) {  // too few primes of that size
      why = error.what();
      continue;
    }
    const lattice::SecurityBound security = security_of(literal);
    if (security.bits >= 128) return create(std::move(literal));
    why = "N = " + std::to_string(N) +
          " with log2 QP = " + math::text_of(log2_of(literal.chain) + log2_of(literal.special)) +
          ": the estimated security is " + lattice::describe(security) +
          ", but 128 bits are needed";
  }
  reject("no parameters for depth " + std::to_string(r.depth) + " with scale_bits " +
         std::to_string(r.scale_bits) + ": " + why);
}

const ParameterLiteral& Parameters::literal() const { return state_->literal; }
double Parameters::log2_P() const { return state_->log2_P; }
double Parameters::log2_QP() const { return state_->log2_QP; }
double Parameters::security_bits() const { return state_->security; }
const Digest& Parameters::digest() const { return state_->digest; }

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
  char out[512];
  std::snprintf(out, sizeof out,
                "N = %u, %u slots, %u levels above level 0\n"
                "Q: %u primes, %.0f bits; P: %u primes, %.0f bits; %u digits of %u primes\n"
                "scale 2^%.2f at level 0, 2^%.2f at level %u; modulus of level 0: %.0f bits\n"
                "words of %u bits; at least %.0f bits of security\n",
                N(), slots(), depth(), limbs(), log2_QP() - log2_P(), special(), log2_P(), digits(),
                literal().digit_limbs, std::log2(scale(0)), std::log2(scale(depth())), depth(),
                log2_Q(0), 8 * word_bytes(), security_bits());
  return out;
}

}  // namespace whorl::ckks
