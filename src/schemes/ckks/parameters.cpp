#include "whorl/ckks/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "math/digest.h"
#include "math/primes.h"
#include "math/text.h"
#include "schemes/ckks/checks.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/named_sets.h"
#include "whorl/error.h"

namespace whorl::ckks {

struct Parameters::State : Common {
  struct Level {
    std::vector<unsigned> primes;
    double log2_Q = 0, ratio = 0, scale = 0;
  };
  std::vector<Level> levels;
  double sparse_security = 0, log2_QP = 0;
};

const Parameters::State& Parameters::state() const { return static_cast<const State&>(*state_); }

unsigned BootstrapLiteral::sine() const {
  return static_cast<unsigned>(std::bit_width(degree)) + doublings + after_doublings();
}

unsigned BootstrapLiteral::after_doublings() const {
  return bits != 0 ? depth_of_harmonics((1u << bits) - 1)
                   : static_cast<unsigned>(std::bit_width(arcsine));
}

double BootstrapLiteral::sine_factor() const {
  if (bits != 0) return 1;
  const double angle = 2 * std::numbers::pi / std::exp2(log2_ratio);
  if (arcsine != 0) return 1 / angle;
  return (1 + angle * angle / (coefficients_last == 0 ? 8 : 12)) / angle;
}

namespace {

void check_levels(const ParameterLiteral& p) {
  rules.check_range("the number of levels", p.levels.size(), 1, 65);
  rules.check_range("terminals", p.terminals, 0, p.chain.size());
  for (std::size_t l = 0; l < p.levels.size(); ++l) {
    const auto [terminals, mains] = p.levels[l];
    const std::string level = "level " + std::to_string(l);
    if (terminals > p.terminals || mains > p.chain.size() - p.terminals || terminals + mains == 0)
      rules.reject(level + " has " + std::to_string(terminals) + " terminal primes of " +
                   std::to_string(p.terminals) + " and " + std::to_string(mains) + " others of " +
                   std::to_string(p.chain.size() - p.terminals));
  }
}

void check_bootstrap(const ParameterLiteral& p) {
  const BootstrapLiteral& b = *p.bootstrap;
  rules.check_range("bootstrap.weight", b.weight, 8, 192);
  rules.check_range("bootstrap.range", b.range, 2, 64);
  rules.check_range("bootstrap.slots_to_coeffs", b.slots_to_coeffs, 1, 6);
  rules.check_range("bootstrap.coeffs_to_slots", b.coeffs_to_slots, 1, 6);
  rules.check_range("bootstrap.degree", b.degree, 3, 127);
  rules.check_range("bootstrap.doublings", b.doublings, 1, 6);
  rules.check_range("bootstrap.series", b.series, 0, 1);
  rules.check_range("bootstrap.arcsine", b.arcsine, 0, 15);
  if (b.arcsine == 1 || (b.arcsine != 0 && b.arcsine % 2 == 0))
    rules.reject("bootstrap.arcsine = " + std::to_string(b.arcsine) +
                 " is neither 0 nor an odd degree of 3 … 15");
  rules.check_range("bootstrap.coefficients_last", b.coefficients_last, 0, 1);
  rules.check_range("bootstrap.bits", b.bits, 0, most_bits);
  if (b.bits == 0)
    rules.check_real("bootstrap.log2_ratio", b.log2_ratio, least_log2_ratio, 20);
  else if (b.log2_ratio != 0 || b.series != 0 || b.arcsine != 0 || b.coefficients_last != 0)
    rules.reject("bootstrap.bits = " + std::to_string(b.bits) +
                 " wants log2_ratio = series = arcsine = coefficients_last = 0, which are " +
                 math::text_of(b.log2_ratio) + ", " + std::to_string(b.series) + ", " +
                 std::to_string(b.arcsine) + " and " + std::to_string(b.coefficients_last));
  const unsigned below = b.slots_to_coeffs - b.after_sine();
  if (p.levels.size() <= b.above() + below)
    rules.reject("there are " + std::to_string(p.levels.size()) + " levels; bootstrapping needs " +
                 std::to_string(b.above()) + " above those of users, " + std::to_string(below) +
                 " to begin from, and level 0");
}

void check(const ParameterLiteral& p) {
  rules.check(p);
  rules.check_real("log2_scale", p.log2_scale, 16, 58);
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
                                        b.range, b.slots_to_coeffs, b.coeffs_to_slots, b.degree,
                                        b.doublings, std::bit_cast<std::uint64_t>(b.log2_ratio));
  const Digest served =
      b.series == 0 ? fitted
                    : math::digest_of(std::string_view("whorl ckks bootstrap 2"), fitted, b.series);
  if (b.bits != 0)
    return math::digest_of(std::string_view("whorl ckks bootstrap 4"), served, b.bits);
  if (b.arcsine == 0 && b.coefficients_last == 0) return served;
  return math::digest_of(std::string_view("whorl ckks bootstrap 3"), served, b.arcsine,
                         b.coefficients_last);
}

/// Returns the security of the key to the sparse secret, modulo the primes of its layout. Weight 32
/// was estimated. It bounds larger weights too: they have longer secrets, and more of them. Smaller
/// ones have no bound.
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

}  // namespace

Parameters Parameters::create(ParameterLiteral literal, bool allow_insecure) {
  check(literal);
  auto state = std::make_shared<State>();
  state->digest = digest_of(literal);
  state->log2_P = math::log2_of_product(literal.special);
  state->log2_QP = math::log2_of_product(literal.chain) + state->log2_P;
  const lattice::SecurityBound security = lattice::estimate_security(
      literal.N, state->log2_QP, literal.sigma, lattice::SecretKind::ternary);
  state->security = security.bits;
  const std::optional<BootstrapLiteral>& bootstrap = literal.bootstrap;
  const std::size_t depth = literal.levels.size() - 1 - (bootstrap ? bootstrap->above() : 0);
  // Levels of the maps to coefficients, of the sine's result, and of the cosine's.
  const std::size_t result = depth + (bootstrap ? bootstrap->after_sine() : 0),
                    cosine = result + (bootstrap ? bootstrap->after_doublings() : 0);
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
      // A cosine's square is doubled, by half the scale.
      if (bootstrap && bootstrap->bits == 0 && l > cosine && l <= cosine + bootstrap->doublings)
        scale *= 2;
      scale = l > depth && l <= result ? scale * step : std::sqrt(scale * (Q / before));
      if (level.ratio < 65536)
        rules.reject("the modulus of level " + std::to_string(l) + " is 2^" +
                     math::text_of(level.log2_Q) +
                     ", less than 2^16 times that of the level below");
    }
    level.scale = static_cast<double>(scale);
    // Values of a sine are at most 1, those of users larger.
    const int most = l > depth ? 61 : 59;
    if (std::log2(level.scale) + 2 > level.log2_Q || std::log2(level.scale) >= most)
      rules.reject("the scale of level " + std::to_string(l) + " is 2^" +
                   math::text_of(std::log2(level.scale)) + "; it must be below 2^" +
                   std::to_string(most) + " and at most a quarter of the modulus 2^" +
                   math::text_of(level.log2_Q));
    before = Q;
    state->levels.push_back(std::move(level));
  }
  if (bootstrap && bootstrap->coefficients_last != 0 &&
      state->levels[0].log2_Q - literal.log2_scale < bootstrap->log2_ratio)
    rules.reject("bootstrap.log2_ratio = " + math::text_of(bootstrap->log2_ratio) +
                 " is above the bits of level 0's modulus over the scale, " +
                 math::text_of(state->levels[0].log2_Q - literal.log2_scale) +
                 ": with coefficients_last values are refreshed at that scale or a larger one");
  const std::string N = "N = " + std::to_string(literal.N);
  if (bootstrap) {
    const ring::KeyLayout layout = layout_of(literal, {SwitchRole::to_sparse});
    const lattice::SecurityBound sparse = sparse_security_of(literal, layout);
    state->sparse_security = sparse.bits;
    state->security = std::min(state->security, sparse.bits);
    if (!allow_insecure)
      rules.check_security(
          N + ": the estimated security of the key to the sparse secret of bootstrapping", sparse);
  }
  if (!allow_insecure)
    rules.check_security(
        N + " with log2 QP = " + math::text_of(state->log2_QP) + ": the estimated security",
        security);
  state->literal = std::move(literal);
  return Parameters(std::move(state));
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

double Parameters::log2_QP() const { return state().log2_QP; }

namespace {

const BootstrapLiteral& bootstrap_of(const ParameterLiteral& p) {
  if (!p.bootstrap)
    rules.reject("the parameters \"" + p.name +
                 "\" have no bootstrapping: take parameters with bootstrap=True");
  return *p.bootstrap;
}

}  // namespace

unsigned Parameters::least_bootstrap_level() const {
  const BootstrapLiteral& shape = bootstrap_of(literal());
  return shape.slots_to_coeffs - shape.after_sine();
}

double Parameters::sparse_security_bits() const {
  static_cast<void>(bootstrap_of(literal()));
  return state().sparse_security;
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

std::vector<double> scales_to_coefficients(const Parameters& p) {
  const unsigned maps = p.literal().bootstrap->slots_to_coeffs;
  const double last = p.log2_Q(0);
  std::vector<double> out{std::log2(p.scale(maps)) + input_bits};
  for (unsigned left = maps; left-- > 0;) {
    double ratios = 0;
    for (unsigned level = left + 1; level > 0; --level) ratios += std::log2(p.ratio(level));
    const double plaintext = (ratios + last - out.back()) / (left + 1);
    out.push_back(
        std::max(out.back() + plaintext - std::log2(p.ratio(left + 1)), last + 1.5 * left));
  }
  return out;
}

std::int64_t raised_by(const Parameters& p) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(
             std::exp2(p.log2_Q(0) - p.literal().bootstrap->log2_ratio - p.literal().log2_scale)));
}

namespace {

const auto& level_of(const auto& levels, unsigned level) {
  if (level >= levels.size())
    rules.reject("level " + std::to_string(level) + " is above the highest, " +
                 std::to_string(levels.size() - 1));
  return levels[level];
}

}  // namespace

const std::vector<unsigned>& Parameters::primes(unsigned level) const {
  return level_of(state().levels, level).primes;
}
double Parameters::log2_Q(unsigned level) const { return level_of(state().levels, level).log2_Q; }
double Parameters::scale(unsigned level) const { return level_of(state().levels, level).scale; }
double Parameters::ratio(unsigned level) const {
  if (level == 0) rules.reject("level 0 has no level below it");
  return level_of(state().levels, level).ratio;
}

std::string Parameters::describe() const {
  char out[1024];
  std::snprintf(out, sizeof out,
                "N = %u, %u slots, %u level%s above level 0\n"
                "Q: %u primes, %.0f bits; P: %u primes, %.0f bits; %u digits of %u primes\n"
                "scale 2^%.2f at level 0, 2^%.2f at level %u; modulus of level 0: %.0f bits, for "
                "values up to 2^%.1f\n"
                "words of %u bits; at least %s bits of security\n",
                N(), slots(), depth(), depth() == 1 ? "" : "s", limbs(), log2_QP() - log2_P(),
                special(), log2_P(), digits(), literal().digit_limbs, std::log2(scale(0)),
                std::log2(scale(depth())), depth(), log2_Q(0),
                std::floor(10 * (log2_Q(0) - 1 - std::log2(scale(0)))) / 10, 8 * word_bytes(),
                math::bits_below(security_bits()).c_str());
  std::string text = out;
  if (literal().bootstrap) {
    const BootstrapLiteral& b = *literal().bootstrap;
    const std::string failure = std::isinf(log2_failure())
                                    ? "no multiple of the modulus is beyond the range"
                                    : "a refresh fails with a probability of at most " +
                                          math::power_of_two_above(log2_failure());
    const char* function = b.bits == 0 ? "sine" : "exponential";
    const std::string values = b.bits == 0 ? "2^-" + math::text_of(b.log2_ratio)
                                           : std::to_string(b.bits) + " bits",
                      after = b.bits != 0 ? "polynomials of degree " +
                                                std::to_string((1u << b.bits) - 1) + " for bits"
                              : b.arcsine == 0 ? "no arcsine"
                                               : "arcsine of degree " + std::to_string(b.arcsine);
    std::snprintf(
        out, sizeof out,
        "bootstrapping from level %u and above, slots to coefficients %s: %u level%s to "
        "coefficients, %u for the %s, %u to slots; values are %s of the modulus\n"
        "%s: %s of degree %u for multiples of the modulus below %u, %u doubling%s, %s\n"
        "sparse secret of weight %u, at least %s bits of security, by the hybrid attack with meet "
        "in the middle; %s\n",
        least_bootstrap_level(), b.coefficients_last == 0 ? "first" : "last", b.slots_to_coeffs,
        b.slots_to_coeffs == 1 ? "" : "s", b.sine(), function, b.coeffs_to_slots, values.c_str(),
        function, b.series == 0 ? "fitted polynomial" : "Taylor's series", b.degree, b.range,
        b.doublings, b.doublings == 1 ? "" : "s", after.c_str(), b.weight,
        math::bits_below(sparse_security_bits()).c_str(), failure.c_str());
    text += out;
  }
  return text;
}

}  // namespace whorl::ckks
