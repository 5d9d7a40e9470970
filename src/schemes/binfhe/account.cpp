#include "schemes/binfhe/account.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <vector>

#include "lattice/lwe/noise.h"
#include "lattice/lwe/uniform.h"
#include "math/text.h"
#include "schemes/binfhe/named_sets.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

/// Failures of an operation under some parameters with some p.
using Failure = std::function<double(const Parameters&, const NoiseEstimate&, Encoding)>;

constexpr double never_log2 = 0;  ///< of what cannot be done at all: it always fails

using math::power_of_two_above;

/// What a bootstrap costs, roughly: words that its transforms touch, and those of its key.
double cost_of(const Parameters& parameters) {
  const double polynomials =
      parameters.rotation_transforms() + 2 * static_cast<double>(parameters.rotation_key_rows());
  return polynomials * parameters.N() * ring_word_bytes(parameters.Q());
}

/// One of those that docs/start-here.md teaches first, or else the cheapest named set, of 128 bits
/// if there is one, under which the operation fails rarely enough.
std::optional<Parameters> set_that_serves(Encoding encoding, const Failure& failure_log2,
                                          double allowed_log2) {
  std::optional<Parameters> best;
  const auto rank = [](const Parameters& p) {
    const bool taught = p.name() == "W128_P64" || p.name() == "W128_P128";
    return std::tuple(!taught, p.security().bits() < 128, cost_of(p));
  };
  for (const ParameterLiteral& literal : named_sets()) {
    const Parameters candidate = Parameters::create(literal, true);
    if (candidate.security().bits() < 100) continue;  // toys
    if (failure_log2(candidate, candidate.noise(), encoding) > allowed_log2) continue;
    if (!best || rank(candidate) < rank(*best)) best = candidate;
  }
  return best;
}

[[noreturn]] void refuse_failure(const std::string& operation, const Parameters& parameters,
                                 const NoiseEstimate& estimate, Encoding encoding,
                                 const Failure& failure_log2, double allowed_log2) {
  const double found = failure_log2(parameters, estimate, encoding);
  std::string message = operation + " with " + describe(encoding) + " under " + named(parameters) +
                        " fails with a probability of " + power_of_two_above(found) +
                        ", which is above the " + power_of_two_above(allowed_log2) +
                        " that is allowed.";
  std::optional<std::uint32_t> p;
  // Among large moduli only powers of two are looked at.
  const auto below = [](std::uint32_t above) {
    return above > 4096 ? std::bit_floor(above - 1) : above - 1;
  };
  for (std::uint32_t smaller = below(encoding.p); smaller >= 2 && !p; smaller = below(smaller))
    if (failure_log2(parameters, estimate, {smaller, encoding.padding}) <= allowed_log2)
      p = smaller;
  const auto set = set_that_serves(encoding, failure_log2, allowed_log2);
  if (p) message += " p = " + std::to_string(*p) + " would serve";
  if (set) {
    message += (p ? ", or the set " : " The set ") + set->name() + (p ? "" : " would serve");
    if (set->security().bits() < 128) message += " (it needs allow_insecure=True)";
  }
  if (p || set) message += ".";
  throw NoiseError(message + " allow_failure=2**" + std::to_string(std::lround(std::ceil(found))) +
                   " accepts it.");
}

/// Whether ciphertexts of the set carry the encoding at all.
bool carries(const Parameters& parameters, Encoding encoding) {
  return encoding.p >= 2 && encoding.sectors() <= most_sectors(parameters);
}
/// Whether one rotation takes it.
bool rotates(const Parameters& parameters, Encoding encoding, std::uint32_t step = 1) {
  return encoding.p >= 2 && encoding.sectors() <= most_rotated_sectors(parameters, step);
}

double fresh_variance(const Parameters& parameters, Under under) {
  const ParameterLiteral& literal = parameters.literal();
  const double sigma = under == Under::lwe ? literal.sigma_lwe : literal.sigma_ring;
  return sigma * sigma;
}

// (b·u + e_0 + m, a·u + e_1) with b = e - a·s has the error e·u + e_0 + e_1·s, of which each
// coefficient is a sum of N products of e and u, N of e_1 and s, and e_0; u is ternary.
double public_variance(const Parameters& parameters) {
  const double variance = fresh_variance(parameters, Under::ring);
  const double ternary = lattice::secret_mean_square(lattice::SecretKind::ternary, 0);
  return variance * (1 + parameters.N() * (ternary + ring_mean_square(parameters)));
}

/// Returns how often a result with this noise decrypts wrongly.
double failure_of_output(const Parameters& parameters, const NoiseEstimate& estimate,
                         Encoding encoding, double noise, Under under) {
  const double unit =
      under == Under::lwe ? estimate.refreshed : unit_of_noise(parameters, Under::ring);
  return decryption_failure_log2(parameters, noise * unit, encoding, 0, under);
}

}  // namespace

double unit_of_noise(const Parameters& parameters, Under under) {
  const auto of = under == Under::lwe ? &NoiseEstimate::refreshed : &NoiseEstimate::blind_rotation;
  return std::max(parameters.noise(Transform::ntt).*of, parameters.noise(Transform::fft).*of);
}

double fresh_noise(const Parameters& parameters, Under under) {
  return fresh_variance(parameters, under) / unit_of_noise(parameters, under);
}

double public_noise(const Parameters& parameters) {
  return public_variance(parameters) / unit_of_noise(parameters, Under::ring);
}

double least_noise(const Parameters& parameters, Under under) {
  return std::min(1.0, fresh_noise(parameters, under));
}

double encoding_offset(const Parameters& parameters, Encoding encoding, Under under) {
  const bool exact = modulus_of(parameters, under) % encoding.sectors() == 0;
  return exact ? 0 : 0.5 / std::sqrt(unit_of_noise(parameters, under));
}

void check_under_lwe_key(const std::string& what, Under under) {
  if (under != Under::lwe)
    throw KeyMismatchError(what + " takes ciphertexts under the LWE key, and these are " +
                           describe(under) + ": to_lwe_key switches them");
}

void check_noise(const Ciphertexts& ciphertexts) {
  const double noise = ciphertexts.noise;
  if (noise == 1) return;  // of most
  const auto refuse = [noise](const std::string& least) {
    throw RangeError("the noise " + math::text_of(noise) + " is not a finite number of at least " +
                     least);
  };
  if (!(noise >= 0 && std::isfinite(noise))) refuse("0");
  if (noise != 0) {
    const double least = least_noise(ciphertexts.parameters, ciphertexts.under);
    if (noise < least) refuse(math::text_of(least) + ", which an encryption has");
    return;
  }
  with_words(ciphertexts, [&](const auto& words) {
    for (std::size_t i = 0; i < ciphertexts.count; ++i) {
      const auto mask = std::span(words).subspan(i * ciphertexts.row(), ciphertexts.dimension());
      if (std::any_of(mask.begin(), mask.end(), [](auto word) { return word != 0; }))
        throw RangeError("noise: 0, but ciphertext " + std::to_string(i) +
                         " has a mask, so that it has errors");
    }
  });
}

void check_words(const Ciphertexts& c) {
  const std::size_t unused = c.is_wide() ? c.data.size() : c.wide.size();
  if (unused != 0)
    throw ShapeError(std::string(c.is_wide() ? "data" : "wide") + " has " + std::to_string(unused) +
                     " words; ciphertexts " + describe(c.under) + " modulo " +
                     std::to_string(c.modulus()) + " have theirs in " +
                     (c.is_wide() ? "wide" : "data"));
  with_words(c, [&](const auto& words) {
    if (words.size() / c.row() != c.count || words.size() % c.row() != 0)
      throw ShapeError(std::to_string(c.count) + " ciphertexts need " +
                       std::to_string(c.count * c.row()) + " words, not " +
                       std::to_string(words.size()));
  });
}

void check_numbers(const Ciphertexts& c) {
  if (c.seed && !c.numbers.empty() && c.numbers.size() != c.count)
    throw ShapeError("numbers names " + std::to_string(c.numbers.size()) +
                     " ciphertexts of a seed's batch; it must name " + std::to_string(c.count));
}

void check_mask(const Ciphertexts& c, std::size_t i) {
  with_words(c, [&]<class Word>(const std::vector<Word>& words) {
    std::vector<Word> expected(c.dimension());
    lattice::lwe::ciphertext_uniform<Word>(*c.seed, c.numbers.empty() ? i : c.numbers[i],
                                           c.modulus(), expected);
    if (!std::equal(expected.begin(), expected.end(), words.data() + i * c.row()))
      throw MismatchError("seed: the a of ciphertext " + std::to_string(i) +
                          " does not come from the seed; whoever changes data must clear seed");
  });
}

void check_allowed(double allow_failure) {
  if (!(allow_failure > 0 && allow_failure <= 1))
    throw ParameterError("allow_failure = " + math::text_of(allow_failure) +
                         ": must be a probability above 0 and at most 1");
}

namespace {

/// NoiseError if ciphertexts whose errors have the variance `variance_of` a set decrypt wrongly
/// more often than `allow_failure`.
void check_encryption(const char* decryption, const Parameters& parameters, Encoding encoding,
                      double allow_failure, Under under,
                      const std::function<double(const Parameters&)>& variance_of) {
  check_allowed(allow_failure);
  const double allowed_log2 = std::log2(allow_failure);
  const auto failure_log2 = [&](const Parameters& of, const NoiseEstimate&, Encoding with) {
    return carries(of, with) ? decryption_failure_log2(of, variance_of(of), with, 0, under)
                             : never_log2;
  };
  if (failure_log2(parameters, {}, encoding) <= allowed_log2) return;
  refuse_failure(decryption, parameters, {}, encoding, failure_log2, allowed_log2);
}

}  // namespace

void check_fresh(const Parameters& parameters, Encoding encoding, double allow_failure,
                 Under under) {
  check_encryption("decryption of a fresh ciphertext", parameters, encoding, allow_failure, under,
                   [under](const Parameters& of) { return fresh_variance(of, under); });
}

void check_public(const Parameters& parameters, Encoding encoding, double allow_failure) {
  check_encryption("decryption of what a public key encrypts", parameters, encoding, allow_failure,
                   Under::ring, public_variance);
}

Account::Account(const Parameters& parameters, Transform transform, double allow_failure)
    : parameters_(parameters),
      estimate_(parameters.noise(transform)),
      allow_failure_(allow_failure) {
  check_allowed(allow_failure);
  allow_failure_log2_ = std::log2(allow_failure);
  estimate_.refreshed = unit_of_noise(parameters);
  const double to_q = static_cast<double>(parameters.q()) / static_cast<double>(parameters.Q());
  const double at_Q = unit_of_noise(parameters, Under::ring);
  fresh_ = {fresh_noise(parameters), fresh_noise(parameters, Under::ring)};
  constant_ = {std::min(1.0, estimate_.constant / estimate_.refreshed),
               std::min(1.0, estimate_.rotation_constant / at_Q)};
  // Of what was switched the rotation's errors may be the larger part.
  constant_[0] = std::max(constant_[0], constant_[1]);
  mux_ = 1 + to_q * to_q * estimate_.blind_rotation / estimate_.refreshed;
  rotation_ = to_q * to_q * at_Q / estimate_.refreshed;
}

double Account::of_coefficients(double squares, double absolute, Under under) const {
  const double constant = constant_[index(Under::ring)];
  const double rotations = (1 - constant) * squares + constant * absolute * absolute;
  return std::max(bootstrapped(),
                  under == Under::ring ? rotations : 1 + rotation_ * (rotations - 1));
}

void Account::refuse(const std::string& operation, Encoding encoding,
                     const Failure& failure_log2) const {
  refuse_failure(operation, parameters_, estimate_, encoding, failure_log2, allow_failure_log2_);
}

double Account::check_decision(std::string_view name, double weight, Encoding input,
                               std::uint64_t least, double margin_sectors, double noise) const {
  const double found = gate_failure_log2(parameters_, estimate_, weight * noise, margin_sectors);
  if (allows(found)) return found;
  const double of_margin = margin_sectors / static_cast<double>(input.sectors());
  refuse(std::string(name), input,
         [&](const Parameters& under, const NoiseEstimate& estimate, Encoding with) {
           if (!rotates(under, with) || with.sectors() < least || with.sectors() % 2 != 0)
             return never_log2;
           return gate_failure_log2(under, estimate, weight * noise,
                                    of_margin * static_cast<double>(with.sectors()));
         });
}

void Account::check_output(Encoding output, Under under) const {
  check_decryption("decryption of a bootstrapped ciphertext", output, bootstrapped(), under);
}

double Account::check_gate(Gate gate, Encoding input, Encoding output, double noise,
                           Under under) const {
  const GateRule& rule = rule_of(gate);
  // XOR takes twice the sum: four times its variance, and a margin of q/4.
  const double sectors = rule.doubled ? 2 : static_cast<double>(input.sectors());
  const double failure_log2 =
      check_decision(rule.name, rule.doubled ? 4 : 1, input, least_sectors(rule), sectors, noise);
  check_output(output, under);
  return failure_log2;
}

double Account::check_bootstrap(Encoding input, Encoding output, double noise, Under under) const {
  const double failure_log2 =
      check_decision("bootstrap", 1, input, 2, static_cast<double>(input.sectors()), noise);
  check_output(output, under);
  return failure_log2;
}

double Account::check_mux(Encoding encoding, double noise, Under under) const {
  // Either of two ANDs; the result has the noise of two rotations.
  const auto ands = [&](const Parameters& of, const NoiseEstimate& estimate, Encoding with) {
    return 1 + gate_failure_log2(of, estimate, noise, static_cast<double>(with.sectors()));
  };
  const auto failure_log2 = [&](const Parameters& of, const NoiseEstimate& estimate,
                                Encoding with) {
    if (!rotates(of, with) || with.sectors() < 4 || with.sectors() % 2 != 0) return never_log2;
    return std::min(never_log2,
                    std::max(ands(of, estimate, with),
                             failure_of_output(of, estimate, with, of_mux(under), under)));
  };
  if (!allows(failure_log2(parameters_, estimate_, encoding)))
    refuse("mux", encoding, failure_log2);
  return std::min(never_log2, ands(parameters_, estimate_, encoding));
}

namespace {

Failure failure_of(const Reading& reading, double noise) {
  return [=](const Parameters& under, const NoiseEstimate& estimate, Encoding with) {
    if (!rotates(under, with, reading.step) ||
        (reading.arbitrary && with.p > under.N() / (4 * reading.step)))
      return never_log2;
    return std::min(never_log2, lut_failure_log2(under, estimate, with, reading, noise));
  };
}

}  // namespace

bool Account::looks_up(const Lut& lut, const Reading& reading, double noise, double result,
                       Under under) const {
  return allows(failure_of(reading, noise)(parameters_, estimate_, lut.input())) &&
         allows(decryption_failure_log2(lut.output(), result, under));
}

double Account::check_look_up(const Lut& lut, const Reading& reading, double noise, double result,
                              Under under) const {
  const Failure failure_log2 = failure_of(reading, noise);
  const double found = failure_log2(parameters_, estimate_, lut.input());
  if (!allows(found)) {
    std::string operation =
        reading.arbitrary ? "a table of two rotations" : "a table of one rotation";
    if (reading.step > 1)
      operation += ", which up to " + std::to_string(reading.step) +
                   " tables share (fewer share it with less noise of rounding),";
    refuse(operation, lut.input(), failure_log2);
  }
  if (result > bootstrapped())
    check_decryption("decryption of a table's output that keeps its input's noise", lut.output(),
                     result, under);
  else
    check_output(lut.output(), under);
  return found;
}

Bound Account::bound(const Lut& lut, const Looked& input) const {
  return bound_of(lut, input.reading, std::max(input.noise, bootstrapped()), allow_failure_,
                  input.range, input.promise.most_off());
}

void Account::check_approximate(std::span<const Lut> luts, const Looked& input,
                                std::optional<std::uint32_t> within) const {
  if (allows(never_log2)) return;
  const double noise = input.noise;
  // No table has to be looked at if neither is worse than what tables state.
  if (!within && noise <= bootstrapped() && allow_failure_ >= allowed_failure &&
      input.reading.step == 1 && input.promise.most_off() == 0)
    return;
  for (const Lut& lut : luts) {
    if (lut.exact()) continue;
    const std::uint32_t bound = this->bound(lut, input).output,
                        most = within.value_or(lut.error_bound());
    if (bound <= most) continue;
    throw NoiseError(
        "a table that is not exact, " +
        (input.reading.step > 1
             ? "by a rotation that up to " + std::to_string(input.reading.step) + " tables share, "
             : std::string()) +
        "on an input whose noise has " + math::text_of(noise) +
        " times the variance of a bootstrapped one" +
        (input.promise.most_off() > 0
             ? " and whose messages are known within " + math::text_of(input.promise.most_off())
             : std::string()) +
        ", with " + describe(lut.input()) + " under " + named(parameters_) +
        " gives values that are off by up to " + std::to_string(bound) + " but for " +
        power_of_two_above(allow_failure_log2_) + ", which is above the " + std::to_string(most) +
        " that " + (within ? "is" : "its error_bound says is") + " allowed. within=" +
        std::to_string(bound) + " accepts it; bootstrapped inputs have less noise.");
  }
}

double Account::approximate_failure_log2(std::span<const Lut> luts, const Looked& input,
                                         std::optional<std::uint32_t> within) const {
  const double noise = std::max(input.noise, bootstrapped());
  double refused = -1000, passes = allow_failure_log2_;
  while (passes - refused > 0.01) {
    const double middle = (refused + passes) / 2;
    const bool all = std::all_of(luts.begin(), luts.end(), [&](const Lut& lut) {
      return lut.exact() || bound_of(lut, input.reading, noise, std::exp2(middle), input.range,
                                     input.promise.most_off())
                                    .output <= within.value_or(lut.error_bound());
    });
    (all ? passes : refused) = middle;
  }
  return passes;
}

double Account::decryption_failure_log2(Encoding encoding, double noise, Under under) const {
  return failure_of_output(parameters_, estimate_, encoding, noise, under);
}

FlooredErrors Account::check_floorings(const std::string& operation, Encoding input, double noise,
                                       const MakeFloorings& floorings,
                                       const FlooringsFailure& fails) const {
  // This holds of another set, too: inputs are mostly encryptions, whose errors do not depend on
  // the set.
  const double variance = noise * estimate_.refreshed;
  const auto errors = [&](const Parameters& under, const NoiseEstimate& estimate, Encoding with) {
    return errors_of(under, estimate, floorings(under, with), variance);
  };
  const auto failure_log2 = [&](const Parameters& under, const NoiseEstimate& estimate,
                                Encoding with) {
    if (!takes_large(under, with) || rotation_method(under.literal()).odd()) return never_log2;
    return std::min(never_log2, fails(errors(under, estimate, with)));
  };
  if (!allows(failure_log2(parameters_, estimate_, input))) refuse(operation, input, failure_log2);
  return errors(parameters_, estimate_, input);
}

Allowed Account::check_floor(Encoding input, unsigned bits, double noise) const {
  const auto floorings = [bits](const Parameters& under, Encoding with) {
    return floor_steps(under, with, bits);
  };
  const FlooredErrors errors =
      check_floorings("eval_floor", input, noise, floorings,
                      [](const FlooredErrors& found) { return found.failure_log2; });
  return {errors.failure_log2, {std::max(least(Under::lwe), errors.result / estimate_.refreshed)}};
}

Allowed Account::check_sign(Encoding input, Encoding output, double noise) const {
  const FlooredErrors errors =
      check_floorings("eval_sign", input, noise, sign_steps, sign_failure_log2);
  const Floorings floorings = sign_steps(parameters_, input);
  const double variance =
      bootstrap_variance(parameters_, estimate_, parameters_.q(), floorings.end_key);
  const double of_unit = std::max(bootstrapped(), variance / estimate_.refreshed);
  check_decryption("decryption of a sign", output, of_unit, Under::lwe);
  return {sign_failure_log2(errors), {of_unit}};
}

Allowed Account::check_decomposition(Encoding input, double noise) const {
  // Each digit is decided upon by the next flooring, or by decryption, which bears as much.
  const FlooredErrors errors =
      check_floorings("eval_decomp", input, noise, sign_steps, sign_failure_log2);
  std::vector<double> digits = errors.dropped;
  digits.push_back(errors.result);
  for (double& digit : digits) digit = std::max(least(Under::lwe), digit / estimate_.refreshed);
  return {sign_failure_log2(errors), digits};
}

void Account::check_sum(Encoding encoding, double noise, Under under) const {
  check_decryption("decryption of this weighted sum", encoding, noise, under);
}

void Account::check_key_switch(Encoding encoding, double noise) const {
  check_decryption("decryption behind a key switch", encoding, noise, Under::lwe);
}

void Account::check_decryption(const std::string& operation, Encoding encoding, double noise,
                               Under under) const {
  const auto failure_log2 = [&](const Parameters& of, const NoiseEstimate& estimate,
                                Encoding with) {
    return carries(of, with) ? failure_of_output(of, estimate, with, noise, under) : never_log2;
  };
  if (!allows(failure_log2(parameters_, estimate_, encoding)))
    refuse(operation, encoding, failure_log2);
}

}  // namespace whorl::binfhe
