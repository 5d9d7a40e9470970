// The choice of primes without bootstraps: all patterns of levels, all lengths of digits, ring by
// ring.
#include "schemes/ckks/choice.h"

#include <bit>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "lattice/security.h"
#include "math/primes.h"
#include "math/text.h"
#include "schemes/ckks/checks.h"
#include "schemes/ring/remedy.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

constexpr std::uint32_t largest_ring = 1u << 17;
constexpr double needed_security = 128;
constexpr unsigned least_value_bits = 2;
constexpr double least_size = 25;  ///< log2 of the least bound of a prime
/// One prime of 64-bit words, below the special ones, holds scale and value of so many bits;
/// bootstraps have primes of 59 bits beside it.
constexpr unsigned most_of_one_prime = 58, most_beside_bootstraps = 57;

/// How many primes of each size the levels have.
struct Pattern {
  double main_bits = 0, terminal_bits = 0;
  unsigned mains = 0, terminals = 0;
  std::vector<LevelPrimes> levels;
  double deviation = 0;  ///< the most bits by which a level's scale misses what it should be

  double bits_of(const LevelPrimes& level) const {
    return level.mains * main_bits + level.terminals * terminal_bits;
  }
  /// The primes of together so many bits, or as near to it as these can be. Of equals the fewest.
  LevelPrimes nearest(double bits) const {
    LevelPrimes best;
    for (unsigned t = 0; t <= terminals; ++t) {
      const double rest = std::round((bits - t * terminal_bits) / main_bits);
      const LevelPrimes level{t, static_cast<unsigned>(std::clamp<double>(rest, 0, mains))};
      if (std::abs(bits_of(level) - bits) < std::abs(bits_of(best) - bits)) best = level;
    }
    return best;
  }
  /// Levels above a given one, each such that its scale is as near to what it should be as can be:
  /// the root of that of the level below times what lies between them. False if some scale misses
  /// it by more than `most` bits, or if not all primes are used.
  bool climb(const LevelPrimes& last, unsigned step, unsigned depth, double most) {
    levels = {last};
    double below = bits_of(last), miss = 0;
    bool all_mains = last.mains == mains, all_terminals = last.terminals == terminals;
    for (unsigned l = 1; l <= depth; ++l) {
      const LevelPrimes level = nearest(below + step - miss);
      miss = (miss + bits_of(level) - below - step) / 2;
      deviation = std::max(deviation, std::abs(miss));
      if (deviation > most) return false;
      below = bits_of(level);
      all_mains |= level.mains == mains;
      all_terminals |= level.terminals == terminals;
      levels.push_back(level);
    }
    return all_mains && all_terminals;
  }
};

/// All patterns with up to five terminal primes. A level 0 that is larger than it must be may have
/// a shorter chain above it.
std::vector<Pattern> patterns_for(const Requirements& r, double most_deviation) {
  const double least = bits_of_level_0(r);
  std::vector<Pattern> out;
  if (r.word_bits == 64) {
    // One prime a level; level 0's stays below the special primes.
    const double bits = std::ceil(least) < 60 ? std::ceil(least) : least + 0.1;
    Pattern p{static_cast<double>(r.scale_bits), bits, r.depth, 1, {}, 0};
    for (unsigned l = 0; l <= r.depth; ++l) p.levels.push_back({1, l});
    return {p};
  }
  constexpr unsigned most_terminals = 5, more_bits = 32;
  const auto climb_from = [&](const LevelPrimes& last, double main, double terminal) {
    Pattern p{main, terminal, 0, 0, {}, 0};
    const double bits = p.bits_of(last), top = bits + r.depth * r.scale_bits;
    if (bits < least) return;
    for (p.terminals = last.terminals; p.terminals <= most_terminals; ++p.terminals)
      for (p.mains = std::max<unsigned>(last.mains,
                                        std::max(0.0, (top - p.terminals * terminal - 2) / main));
           p.mains <= std::max<double>(last.mains, top / main + 1); ++p.mains)
        if (Pattern climbed = p; climbed.climb(last, r.scale_bits, r.depth, most_deviation))
          out.push_back(std::move(climbed));
  };
  for (const double main : {30.0, 30 - special_ahead, 29.0, 28.0, 27.0, 26.0})
    for (unsigned t = 0; t <= most_terminals; ++t)
      for (unsigned m = 0; m * main + t * least_size < least + more_bits; ++m) {
        for (double size = least_size; size < main; ++size) climb_from({t, m}, main, size);
        // They are as small as can be; the primes that there are may be smaller than a bound.
        for (const double more : {0.02, 0.25})
          if (const double size = t == 0 ? 0 : (least - m * main) / t + more;
              size > least_size && size < main)
            climb_from({t, m}, main, size);
      }
  return out;
}

/// The primes of a ring, each found once.
class Primes {
 public:
  explicit Primes(std::uint32_t N) : N_(N) {}
  /// The largest below a bound, descending; none if there are fewer.
  std::span<const std::uint64_t> below(double log2_bound, std::size_t count) {
    std::vector<std::uint64_t>& found = found_[log2_bound];
    for (std::size_t more : {std::max<std::size_t>(count, 16), count})
      if (found.size() < count) try {
          found = math::ntt_primes_below(log2_bound, N_, more);
        } catch (const ParameterError&) {
        }
    return std::span(found).first(found.size() < count ? 0 : count);
  }

 private:
  std::uint32_t N_;
  std::map<double, std::vector<std::uint64_t>> found_;
};

/// The largest log2 QP with enough security in a ring.
double most_bits(std::uint32_t N) {
  double low = 0, high = 8192;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    const double bits = lattice::estimate_security(N, middle, ParameterLiteral().sigma,
                                                   lattice::SecretKind::ternary)
                            .bits;
    (bits >= needed_security ? low : high) = middle;
  }
  return low;
}

/// Variance of what key switching adds, N²σ²/12·Σ(digit/P)², over that of a division's rounding,
/// N²/18. The first is what three digits add with a P four times as large, the second with a P
/// twice as large.
constexpr double fine_errors = 3, most_errors = 12;
/// The most digits, if no number is asked for: keys of (d + 1)·l primes are then about as large as
/// those of three digits in the next ring.
constexpr unsigned most_digits = 8;

/// What is best in a ring: the least cost; then scales that miss least, and the largest P. The cost
/// is the work times the fourth root of the keys' words: memory counts a quarter of time. It is
/// half as much again where errors are not fine, and a tenth more for each bit that a scale misses.
using Rank = std::tuple<double, double, double>;

/// Digits of key switching that a level has primes in.
unsigned digits_of(const Pattern& p, const LevelPrimes& level, unsigned digit_limbs) {
  const unsigned of_terminals = (level.terminals + digit_limbs - 1) / digit_limbs,
                 first = std::max(of_terminals, p.terminals / digit_limbs),
                 end = (p.terminals + level.mains + digit_limbs - 1) / digit_limbs;
  return of_terminals + (level.mains == 0 || end < first ? 0 : end - first);
}

/// Work of a key switch, in butterflies for a coefficient, over all levels, as products and
/// rotations do it. With l limbs, d digits and K special primes there are (d + 2)·(l + K)
/// transforms of log2(N)/2 butterflies each, which take one and a half times as long modulo primes
/// above 2^30 in 32-bit words; conversions add l·(l + 2K) products, two of which take a butterfly's
/// time; and d·(l + K) pairs of words of the key are read and multiplied, each in the time of four.
/// (The last two as measured on a CPU: 0.5 and 3.2 with N = 32768.)
double work_of(const Pattern& p, std::uint32_t N, unsigned digit_limbs, bool slow_special) {
  const double K = digit_limbs, butterflies = std::countr_zero(N) / 2.0;
  double work = 0;
  for (const LevelPrimes& level : p.levels) {
    const double l = level.terminals + level.mains, d = digits_of(p, level, digit_limbs);
    work += (d + 2) * (l + K * (slow_special ? 1.5 : 1)) * butterflies + l * (l + 2 * K) / 2 +
            4 * d * (l + K);
  }
  return work;
}

/// The search in one ring.
class Ring {
 public:
  Ring(const Requirements& r, std::uint32_t N) : r_(r), N_(N), primes_(N), most_(most_bits(N)) {}

  const std::optional<ParameterLiteral>& best() const { return best_; }
  /// The most and the least bits of Q·P: those that are secure, and those that were found.
  double most() const { return most_; }
  double least() const { return least_; }

  void consider(const Pattern& p) {
    const unsigned limbs = p.mains + p.terminals;
    if (limbs > most_primes) return;
    const auto with_digits = [&](unsigned digit_limbs) {
      if (digit_limbs > most_special) return;
      // The largest primes, those below 2^30, and such that P is 2^4 times a digit.
      const double terminals = std::min(p.terminals, digit_limbs),
                   more = std::max(0.0, p.terminal_bits - p.main_bits),
                   fitted = p.main_bits + terminals / digit_limbs * more +
                            std::max(4.0 / digit_limbs, special_ahead) + 0.05;
      const double most = r_.word_bits == 64 ? 60 : 31;
      consider(p, digit_limbs, most);
      if (r_.word_bits == 32) consider(p, digit_limbs, 30);
      if (fitted < most) consider(p, digit_limbs, fitted);
    };
    if (r_.dnum != 0) return with_digits((limbs + r_.dnum - 1) / r_.dnum);
    for (unsigned digit_limbs = (limbs + most_digits - 1) / most_digits; digit_limbs <= limbs;
         ++digit_limbs)
      with_digits(digit_limbs);
  }

 private:
  void consider(const Pattern& p, unsigned digit_limbs, double special_bits) {
    const unsigned limbs = p.mains + p.terminals;
    // Primes may be smaller than their bounds by so much.
    constexpr double smaller = 0.5;
    const double bits =
        p.mains * p.main_bits + p.terminals * p.terminal_bits + digit_limbs * special_bits;
    least_ = std::min(least_, bits);
    if (bits - smaller * (limbs + digit_limbs) > most_) return;
    const double keys = (limbs + digit_limbs - 1) / digit_limbs * (limbs + digit_limbs);
    const bool slow_special = r_.word_bits == 32 && special_bits > 30;
    const double cost =
        work_of(p, N_, digit_limbs, slow_special) * std::pow(keys, 0.25) * (1 + p.deviation / 10);
    const auto rank = [&](bool fine, double log2_P) {
      return Rank(cost * (fine ? 1 : 1.5), p.deviation, -log2_P);
    };
    if (best_ && !(rank(true, digit_limbs * special_bits) < rank_)) return;
    const auto terminals = primes_.below(p.terminal_bits, p.terminals);
    const auto mains = primes_.below(p.main_bits, p.mains);
    const auto special = primes_.below(special_bits, digit_limbs);
    if (terminals.size() < p.terminals || mains.size() < p.mains || special.empty()) return;
    if (r_.word_bits == 32 && !terminals.empty() &&
        (terminals.back() < 1u << 24 || (!mains.empty() && mains.back() <= terminals.front())))
      return;
    ParameterLiteral literal;
    literal.chain.assign(terminals.begin(), terminals.end());
    literal.chain.insert(literal.chain.end(), mains.begin(), mains.end());
    if (special.back() <= std::ranges::max(literal.chain)) return;
    literal.special.assign(special.begin(), special.end());
    literal.terminals = p.terminals;
    literal.levels = p.levels;
    if (log2_of_level_0(literal) < bits_of_level_0(r_)) return;
    const double log2_P = math::log2_of_product(literal.special);
    if (log2_P + math::log2_of_product(literal.chain) > most_) return;
    double digits = 0;
    for (unsigned first = 0; first < limbs; first += digit_limbs)
      digits += std::exp2(
          2 * (math::log2_of_product(
                   std::span(literal.chain).subspan(first, std::min(digit_limbs, limbs - first))) -
               log2_P));
    const double errors = 1.5 * literal.sigma * literal.sigma * digits;
    if (r_.dnum == 0 && errors > most_errors) return;
    const Rank found = rank(errors <= fine_errors, log2_P);
    if (best_ && !(found < rank_)) return;
    literal.N = N_;
    literal.digit_limbs = digit_limbs;
    literal.log2_scale = r_.scale_bits;
    literal.name = "ckks depth " + std::to_string(r_.depth) + ", scale 2^" +
                   std::to_string(r_.scale_bits) + ", N " + std::to_string(N_);
    rank_ = found;
    best_ = std::move(literal);
  }

  const Requirements& r_;
  std::uint32_t N_;
  Primes primes_;
  double most_, least_ = std::numeric_limits<double>::infinity();
  Rank rank_;
  std::optional<ParameterLiteral> best_;
};

void check(const Requirements& r) {
  rules.check_range("depth", r.depth, 0, 64);
  rules.check_range("scale_bits", r.scale_bits, 28, 55);
  if (r.value_bits != 0)
    rules.check_range("value_bits", r.value_bits, least_value_bits, Requirements::most_value_bits);
  rules.check_range("dnum", r.dnum, 0, most_primes);
  if (!r.bootstrap && (r.coefficients_last || r.arcsine != 0))
    rules.reject("coefficients_last and arcsine are of bootstrapping: they need bootstrap=True");
  if (r.word_bits != 32 && r.word_bits != 64)
    rules.reject("word_bits = " + std::to_string(r.word_bits) + " is neither 32 nor 64");
  if (r.word_bits == 64 && r.scale_bits < 46)
    rules.reject(
        "scale_bits = " + std::to_string(r.scale_bits) +
        " is below 46, the least with one prime of 64-bit words a level; 32-bit words take any");
  if (r.N != 0) rules.check_ring(r.N);
  if (r.slots > (1u << 16)) rules.reject("slots = " + std::to_string(r.slots) + " is above 2^16");
  if (r.N != 0 && r.slots > r.N / 2)
    rules.reject("slots = " + std::to_string(r.slots) +
                 " is above N/2 = " + std::to_string(r.N / 2));
}

/// log2 of the largest value where none is asked for. Values that are refreshed are at most 1.
unsigned usual_of(const Requirements& r) { return r.bootstrap ? 8 : 10; }

/// "depth 5 with scale_bits 40"
std::string asked(const Requirements& r) {
  std::string text =
      "depth " + std::to_string(r.depth) + " with scale_bits " + std::to_string(r.scale_bits);
  if (r.bootstrap) text += ", value_bits " + std::to_string(r.value_bits) + " and bootstraps";
  return text;
}

/// Fills in all numbers. ParameterError for what no parameters can have.
Requirements completed(Requirements r) {
  check(r);
  if (r.word_bits == 64) {
    const unsigned most = (r.bootstrap ? most_beside_bootstraps : most_of_one_prime) - r.scale_bits;
    if (r.value_bits > most)
      rules.reject("scale_bits = " + std::to_string(r.scale_bits) +
                   " with word_bits = 64 holds values up to 2^" + std::to_string(most) +
                   " at level 0, below value_bits = " + std::to_string(r.value_bits) +
                   ": take value_bits = " + std::to_string(most) + " or fewer scale_bits");
    if (r.value_bits == 0) r.value_bits = std::min(most, usual_of(r));
  }
  if (r.value_bits == 0) r.value_bits = usual_of(r);
  return r;
}

std::optional<Parameters> choose_without_bootstraps(const Requirements& r, std::string& why) {
  const std::uint32_t least = r.N ? r.N : std::max(1024u, std::bit_ceil(2 * r.slots)),
                      most = r.N ? r.N : largest_ring;
  double allowed = 0, found = std::numeric_limits<double>::infinity();
  // A bit is enough for most scales, and three for all.
  for (const double deviation : {1.0, 1.5, 2.0, 3.0}) {
    const std::vector<Pattern> patterns = patterns_for(r, deviation);
    for (std::uint32_t N = least; N <= most; N *= 2) {
      Ring ring(r, N);
      for (const Pattern& pattern : patterns) ring.consider(pattern);
      if (ring.best()) return Parameters::create(*ring.best());
      allowed = ring.most();
      found = std::min(found, ring.least());
    }
  }
  why = std::isinf(found)
            ? "the chain would have more than " + std::to_string(most_primes) + " primes"
            : "N = " + std::to_string(most) + " has 128 bits of security up to log2 QP = " +
                  math::text_of(std::floor(allowed)) + ", and the least that serves is about " +
                  math::text_of(std::ceil(found));
  return std::nullopt;
}

/// If no parameters serve, `why` says what was missing.
std::optional<Parameters> find(const Requirements& r, std::string& why) {
  return r.bootstrap ? choose_with_bootstraps(r, why) : choose_without_bootstraps(r, why);
}

}  // namespace

Parameters Parameters::choose(const Requirements& asked_for) {
  Requirements r = completed(asked_for);
  std::string why, other;
  if (std::optional<Parameters> found = find(r, why)) return *found;
  std::string message = "no parameters for " + asked(r) + ": " + why;
  // Bootstraps leave less room for large values.
  const unsigned least = r.bootstrap ? least_value_bits : r.value_bits;
  for (unsigned bits = r.value_bits - 1; bits + 1 > least; --bits) {
    Requirements fewer = r;
    fewer.value_bits = bits;
    const std::optional<Parameters> found = find(fewer, other);
    if (found && asked_for.value_bits == 0) return *found;
    if (found) rules.reject(message + "; value_bits = " + std::to_string(bits) + " serves");
  }
  std::string remedy =
      remedy_of(r, [&](const Requirements& changed) { return find(changed, other); });
  if (remedy.empty()) remedy = "; no depth and no ring serves";
  Requirements refreshed = asked_for;
  refreshed.depth = 1;
  refreshed.bootstrap = true;
  if (!r.bootstrap && asked_for.value_bits == 0 && find(completed(refreshed), other))
    remedy += "; with bootstrap=True ciphertexts can be refreshed, for computations of any depth";
  rules.reject(message + remedy);
}

}  // namespace whorl::ckks
