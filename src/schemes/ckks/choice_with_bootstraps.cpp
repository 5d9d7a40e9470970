// The choice of primes with bootstraps, whose levels lie above those of users.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lattice/security.h"
#include "math/primes.h"
#include "math/text.h"
#include "schemes/ckks/checks.h"
#include "schemes/ckks/choice.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

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

/// Bits over the scale from which the modulus is raised, with coefficients_last.
unsigned raised_bits(const Requirements& r) {
  return r.coefficients_last ? static_cast<unsigned>(std::ceil(ratio_of(r))) + 1 : 0;
}

/// Bits of level 0, at least: with coefficients_last the modulus is raised from there.
unsigned least_of_level_0(const Requirements& r) {
  return std::max(static_cast<unsigned>(std::ceil(bits_of_level_0(r))),
                  r.scale_bits + raised_bits(r));
}

/// Patterns of all sizes of primes. Those with the smallest level 0 come first, of them those with
/// the fewest limbs at the top level, and then those that miss least. None misses by more than a
/// bit, if there are such.
std::vector<Pattern> patterns_for(const Requirements& r) {
  // The levels of the maps to coefficients are as those of users, below them or above.
  const unsigned depth = r.depth + BootstrapLiteral().slots_to_coeffs, least = least_of_level_0(r);
  if (r.word_bits == 64) {
    Pattern out{r.scale_bits, std::min(least, 59u), 1, {}, 0};
    for (unsigned l = 0; l <= depth; ++l) out.levels.push_back({1, l});
    return {out};
  }
  std::vector<Pattern> all;
  // Primes are some part of a bit smaller than their sizes, so that level 0 may need a few more.
  for (unsigned more = 0; more < 8; ++more) {
    const std::size_t before = all.size();
    // Two primes are the scale of bootstrapping's sine, which wants 58 bits.
    for (unsigned main_bits = 30; main_bits >= 29; --main_bits)
      for (unsigned terminal_bits = 25; terminal_bits < main_bits; ++terminal_bits)
        all.push_back(pattern_of(main_bits, terminal_bits, least + more, r.scale_bits, depth));
    std::ranges::stable_sort(
        all.begin() + static_cast<std::ptrdiff_t>(before), all.end(), {},
        [](const Pattern& p) { return std::pair(p.mains() + p.terminals, p.deviation); });
  }
  const auto near = [](const Pattern& p) { return p.deviation <= 1; };
  if (std::ranges::any_of(all, near)) std::erase_if(all, std::not_fn(near));
  return all;
}

/// The levels of bootstrapping, above those of users: a scale of two primes for the sine, of one
/// with 64-bit words. Terminal primes are larger than the maps to slots need, so they come back
/// there.
void add_bootstrap(Pattern& p, const BootstrapLiteral& b, unsigned word_bits) {
  for (unsigned i = 0; i < b.sine() + b.coeffs_to_slots; ++i) {
    LevelPrimes level = p.levels.back();
    const bool terminal = word_bits == 32 && i >= b.sine() && level.terminals < p.terminals;
    level.terminals += terminal ? 1 : 0;
    level.mains += word_bits == 64 || terminal ? 1 : 2;
    p.levels.push_back(level);
  }
}

/// The primes include those for bootstrapping. All keys are modulo all primes, so P is only as
/// large as digits need, and the others may be smaller by some part of a bit.
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
    add(main_bound(pattern.main_bits, r.word_bits, p.digit_limbs) - fewer_bits, mains);
  }
  if (r.coefficients_last) {
    const double room = log2_of_level_0(p) - r.scale_bits;
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

}  // namespace

std::optional<Parameters> choose_with_bootstraps(const Requirements& r, std::string& why) {
  const auto make = [&](const Pattern& pattern, std::uint32_t N, unsigned dnum,
                        double fewer_bits) -> std::optional<ParameterLiteral> {
    ParameterLiteral literal;
    try {
      literal = bootstrapped_literal(r, pattern, N, dnum, fewer_bits);
    } catch (const ParameterError& error) {  // too few primes of that size
      why = error.what();
      return std::nullopt;
    }
    const double log2_QP =
        math::log2_of_product(literal.chain) + math::log2_of_product(literal.special);
    const lattice::SecurityBound security =
        lattice::estimate_security(N, log2_QP, literal.sigma, lattice::SecretKind::ternary);
    if (security.bits >= 128) return literal;
    why = "N = " + std::to_string(N) + " with log2 QP = " + math::text_of(log2_QP) +
          ": the estimated security is " + lattice::describe(security) +
          ", but 128 bits are needed";
    return std::nullopt;
  };
  const unsigned fewest = r.dnum ? r.dnum : usual_digits, most = std::max(16u, fewest);
  constexpr double most_fewer_bits = 0.15;
  const auto first_that_serves = [&](const Pattern& pattern,
                                     std::uint32_t N) -> std::optional<ParameterLiteral> {
    // Either the most digits have the least QP, or the longest ones with smaller primes.
    Pattern whole = pattern;
    BootstrapLiteral shape;
    shape.arcsine = r.arcsine;
    add_bootstrap(whole, shape, r.word_bits);
    const unsigned longest = (whole.mains() + whole.terminals) / long_digit;
    if (!make(pattern, N, most, most_fewer_bits) &&
        !make(pattern, N, std::clamp(longest, fewest, most), most_fewer_bits))
      return std::nullopt;
    for (unsigned dnum = fewest; dnum <= most; ++dnum)
      for (const double fewer_bits : {0.0, 0.05, 0.1, most_fewer_bits}) {
        auto literal = make(pattern, N, dnum, fewer_bits);
        // Terminal primes are a part of a bit smaller than their sizes.
        const double needed = std::max(bits_of_level_0(r), r.scale_bits + raised_bits(r) - 0.25);
        if (literal && log2_of_level_0(*literal) >= needed) return literal;
        if (literal) why = "no primes were found for level 0";
      }
    return std::nullopt;
  };
  const std::vector<Pattern> patterns = patterns_for(r);
  // A chain with a bootstrap has more bits than are secure in smaller rings.
  const std::uint32_t least = r.N ? r.N : std::max(1u << 16, std::bit_ceil(2 * r.slots));
  for (std::uint32_t N = least; N <= (r.N ? r.N : 1u << 17); N *= 2)
    for (const Pattern& pattern : patterns) {
      std::optional<ParameterLiteral> literal = first_that_serves(pattern, N);
      // Scales of a long chain may grow on the way up; then the sine's last one has room for a
      // smaller ratio only.
      while (literal) {
        try {
          const Parameters found = Parameters::create(*literal, true);
          if (found.security_bits() >= 128) return found;
          why = "N = " + std::to_string(N) +
                ": the key to the sparse secret is not known to have 128 bits of security";
          break;
        } catch (const ParameterError& error) {
          why = error.what();
          if (why.starts_with(rules.prefix)) why.erase(0, rules.prefix.size());
        }
        if ((literal->bootstrap->log2_ratio -= 0.5) < least_log2_ratio) literal.reset();
      }
    }
  return std::nullopt;
}

}  // namespace whorl::ckks
