#include <algorithm>
#include <bit>
#include <cmath>

#include "lattice/lwe/noise.h"
#include "lattice/security.h"
#include "math/digest.h"
#include "math/primes.h"
#include "math/sampling.h"
#include "math/text.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/named_sets.h"
#include "whorl/error.h"

namespace whorl::binfhe {

struct Parameters::State {
  ParameterLiteral literal;
  Digest digest;
  SecurityEstimate security;
};

namespace {

lattice::SecretKind kind(SecretDistribution distribution) {
  return static_cast<lattice::SecretKind>(distribution);
}
double lwe_mean_square(const ParameterLiteral& p) {
  return lattice::secret_mean_square(kind(p.lwe_secret), p.sigma_lwe, p.rotation.group);
}

[[noreturn]] void refuse(const std::string& field, const std::string& value,
                         const std::string& bound) {
  throw ParameterError(field + " = " + value + ": " + bound);
}
template <class T>
void need(bool ok, const std::string& field, T value, const std::string& bound) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!ok) refuse(field, math::text_of(value), bound);
  } else {
    if (!ok) refuse(field, std::to_string(value), bound);
  }
}

double log2_of(std::uint64_t x) { return std::log2(static_cast<double>(x)); }

void check_rotation(const ParameterLiteral& p) {
  const lattice::lwe::RotationMethod method = rotation_method(p);
  method.check_secret(kind(p.lwe_secret));
  need(p.rotation.kind != RotationKind::block || p.n % p.rotation.group == 0, "n", p.n,
       "must be a multiple of the length of blocks, " + std::to_string(p.rotation.group));
  std::uint32_t covered = 0;
  for (const GadgetRange& range : p.gadget) {
    need(covered % method.coefficients_a_step() == 0, "gadget count", covered,
         "ranges must hold whole groups of " + std::to_string(method.coefficients_a_step()));
    need(!method.raised() || range.digits == 1, "gadget digits", range.digits,
         "must be 1 where the modulus is raised");
    covered += range.count;
  }
  if (!method.raised()) return;
  const std::uint64_t P = p.rotation.raised_by;
  need((P - 1) % (2ULL * p.N) == 0 && math::is_prime(P) && P != p.Q, "rotation.raised_by", P,
       "must be a prime = 1 mod 2N = " + std::to_string(2 * p.N) + ", and not Q");
  need(ring_word_bytes(P) == ring_word_bytes(p.Q), "rotation.raised_by", P,
       "must be below 2^31 if Q is, and otherwise at least 2^31");
}

void check_digits(const ParameterLiteral& p, const std::string& of, std::uint32_t log_base,
                  std::uint32_t digits) {
  const auto bits = static_cast<unsigned>(std::bit_width(p.Q - 1));
  need(log_base >= 1 && log_base <= 30, of + " log_base", log_base, "must be in 1 … 30");
  need(digits >= 1 && digits <= 16, of + " digits", digits, "must be in 1 … 16");
  need(log_base * (digits - 1) < bits, of + " digits", digits,
       "digits of " + std::to_string(log_base) + " bits go beyond Q of " + std::to_string(bits) +
           " bits");
}

void check_small_moduli(const ParameterLiteral& p) {
  need(p.small_modulus_gadgets.size() <= 4, "number of small_modulus_gadgets",
       p.small_modulus_gadgets.size(), "must be at most 4");
  if (p.small_modulus_gadgets.empty()) return;
  need(p.rotation.raised_by == 1, "rotation.raised_by", p.rotation.raised_by,
       "must be 1 where there are small_modulus_gadgets");
  std::uint32_t above = static_cast<std::uint32_t>(std::bit_width(p.q));
  for (const SmallModulusGadget& gadget : p.small_modulus_gadgets) {
    need(
        gadget.log_modulus >= 4 && gadget.log_modulus < above, "small_modulus_gadgets log_modulus",
        gadget.log_modulus,
        "must be in 4 … " + std::to_string(above - 1) + ", below those before it and up to log2 q");
    above = gadget.log_modulus;
    check_digits(p, "small_modulus_gadgets", gadget.log_base, gadget.digits);
  }
}

void check(const ParameterLiteral& p) {
  need(p.name.size() <= 64, "length of name", p.name.size(), "at most 64 characters");
  need(p.source.size() <= 1024, "length of source", p.source.size(), "at most 1024 characters");
  need(p.n >= 16 && p.n <= 4096, "n", p.n, "must be in 16 … 4096");
  need(std::has_single_bit(p.N) && p.N >= 256 && p.N <= 8192, "N", p.N,
       "must be a power of two in 2^8 … 2^13");
  need(std::has_single_bit(p.q) && p.q >= 16 && p.q <= (1ULL << 32), "q", p.q,
       "must be a power of two in 2^4 … 2^32");
  need(p.Q < (1ULL << 60) && p.Q > 2ULL * p.N, "Q", p.Q, "must be above 2N and below 2^60");
  need((p.Q - 1) % (2ULL * p.N) == 0 && math::is_prime(p.Q), "Q", p.Q,
       "must be a prime = 1 mod 2N = " + std::to_string(2 * p.N));
  need(p.Q_ks == p.Q || (std::has_single_bit(p.Q_ks) && p.Q_ks <= (1ULL << 40)), "Q_ks", p.Q_ks,
       "must be a power of two up to 2^40, or Q itself");
  need(std::has_single_bit(p.Q_ks) || word_bytes_for(p.Q_ks) > 2, "Q_ks", p.Q_ks,
       "must be above 2^16 where it is Q itself, since LWE words of 16 bits wrap around");
  need(p.Q_ks >= p.q, "Q_ks", p.Q_ks, "must not be below q = " + std::to_string(p.q));
  need(p.q <= p.Q, "q", p.q, "must not be above Q = " + std::to_string(p.Q));
  need(p.log_B_ks >= 1 && p.log_B_ks <= 16, "log_B_ks", p.log_B_ks, "must be in 1 … 16");
  const auto ks_bits = static_cast<unsigned>(std::bit_width(p.Q_ks - 1));
  const unsigned all_digits = (ks_bits + p.log_B_ks - 1) / p.log_B_ks;
  need(p.ks_digits <= all_digits, "ks_digits", p.ks_digits,
       "at most " + std::to_string(all_digits) + " digits of " + std::to_string(p.log_B_ks) +
           " bits cover Q_ks");
  if (p.key_switch == KeySwitch::table)
    need(p.log_B_ks <= 10, "log_B_ks", p.log_B_ks, "must be at most 10 for a table");
  else
    need(p.key_switch == KeySwitch::product, "key_switch", static_cast<int>(p.key_switch),
         "must be table (0) or product (1)");
  need(!p.gadget.empty() && p.gadget.size() <= 16, "number of gadget ranges", p.gadget.size(),
       "must be in 1 … 16");
  std::uint64_t covered = 0;
  for (const GadgetRange& range : p.gadget) {
    need(range.count >= 1, "gadget count", range.count, "must be at least 1");
    check_digits(p, "gadget", range.log_base, range.digits);
    covered += range.count;
  }
  need(covered == p.n, "sum of gadget counts", covered, "must be n = " + std::to_string(p.n));
  need(p.lwe_secret <= SecretDistribution::block_binary, "lwe_secret",
       static_cast<int>(p.lwe_secret),
       "must be binary (0), ternary (1), gaussian (2) or block_binary (3)");
  check_rotation(p);
  check_small_moduli(p);
  need(p.ring_secret <= SecretDistribution::gaussian, "ring_secret",
       static_cast<int>(p.ring_secret), "must be binary (0), ternary (1) or gaussian (2)");
  for (const auto& [field, sigma] :
       {std::pair{"sigma_lwe", p.sigma_lwe}, std::pair{"sigma_ring", p.sigma_ring}})
    need(sigma >= 0.5 && sigma <= math::GaussianSampler::greatest_sigma, field, sigma,
         "must be in 0.5 … 2^24");
  need(p.transform == Transform::ntt || p.transform == Transform::fft, "transform",
       static_cast<int>(p.transform), "must be ntt (0) or fft (1)");
  need(p.max_p >= 2 && p.max_p <= p.N / 4, "max_p", p.max_p,
       "must be in 2 … N/4 = " + std::to_string(p.N / 4));
}

/// Returns what is one constant under a key in the same rounding: ties.
double rounding_constant(const ParameterLiteral& p, std::uint64_t from, std::uint64_t to) {
  if (to % from == 0 || from % to != 0) return 0;
  const double step = static_cast<double>(to) / static_cast<double>(from);
  // Centred, E[(sum_i (s_i - 1/centre))^2]/n is 1/centre^2, for binary secrets and for blocks.
  const double centre = rounding_centre(p);
  const double mean_square = centre != 0 ? 1 / (centre * centre) : lwe_mean_square(p);
  return lattice::modulus_switch_constant(p.n, mean_square, step);
}

std::vector<lattice::lwe::RotationMethod::Range> rotation_ranges(const ParameterLiteral& p,
                                                                 std::size_t key) {
  std::vector<lattice::lwe::RotationMethod::Range> ranges;
  for (const GadgetRange& range : gadget_ranges(p, key))
    ranges.push_back({ring::Gadget(p.Q, range.log_base, range.digits), range.count});
  return ranges;
}

/// Returns the variance of what becomes exponents, which are multiples of a unit or, where they are
/// odd, next to them: they are rounded to fewer values. Where there is nothing to round, odd ones
/// add all of the secret.
double exponent_variance(const ParameterLiteral& p, std::uint64_t from, std::uint64_t to,
                         std::uint32_t step = 1) {
  const lattice::lwe::RotationMethod method = rotation_method(p);
  if (method.odd() && from < to) return p.n * lwe_mean_square(p);
  const std::uint32_t unit = std::max<std::uint32_t>(method.unit(), step);
  return static_cast<double>(unit) * unit * rounding_variance(p, from, to / unit);
}

Digest digest_of(const ParameterLiteral& p) {
  std::vector<std::uint64_t> fields = {p.n,
                                       p.q,
                                       p.N,
                                       p.Q,
                                       p.Q_ks,
                                       static_cast<std::uint64_t>(p.key_switch),
                                       p.log_B_ks,
                                       p.ks_digits,
                                       static_cast<std::uint64_t>(p.lwe_secret),
                                       static_cast<std::uint64_t>(p.ring_secret),
                                       std::bit_cast<std::uint64_t>(p.sigma_lwe),
                                       std::bit_cast<std::uint64_t>(p.sigma_ring)};
  for (const GadgetRange& range : p.gadget)
    fields.insert(fields.end(), {range.count, range.log_base, range.digits});
  if (p.rotation != Rotation{})
    fields.insert(fields.end(), {static_cast<std::uint64_t>(p.rotation.kind), p.rotation.group,
                                 p.rotation.raised_by});
  if (!p.small_modulus_gadgets.empty())  // a number that no field before it has
    fields.push_back(~std::uint64_t{0} - p.small_modulus_gadgets.size());
  for (const SmallModulusGadget& gadget : p.small_modulus_gadgets)
    fields.insert(fields.end(), {gadget.log_modulus, gadget.log_base, gadget.digits});
  return math::digest_of(fields);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

double ring_mean_square(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  return lattice::secret_mean_square(kind(p.ring_secret), p.sigma_ring);
}

double rounding_variance(const ParameterLiteral& p, std::uint64_t from, std::uint64_t to) {
  if (to % from == 0) return 0;
  const double step = from % to == 0 ? static_cast<double>(to) / static_cast<double>(from) : 0;
  if (const unsigned centre = rounding_centre(p); centre != 0)
    return lattice::centred_modulus_switch_variance(p.n, centre, step);
  return lattice::modulus_switch_variance(p.n, lwe_mean_square(p), step);
}

unsigned rounding_centre(const ParameterLiteral& p) {
  return lattice::secret_centre(kind(p.lwe_secret), p.rotation.group);
}

Parameters Parameters::create(ParameterLiteral literal, bool allow_insecure) {
  check(literal);
  auto state = std::make_shared<State>();
  state->digest = digest_of(literal);
  const lattice::SecurityBound lwe = lattice::estimate_security(
      literal.n, log2_of(literal.Q_ks), literal.sigma_lwe, kind(literal.lwe_secret));
  const lattice::SecurityBound ring = lattice::estimate_security(
      literal.N, log2_of(literal.Q) + log2_of(literal.rotation.raised_by), literal.sigma_ring,
      kind(literal.ring_secret));
  state->security = {lwe.bits, ring.bits};
  if (!allow_insecure && state->security.bits() < 128)
    throw ParameterError((literal.name.empty() ? "the set" : literal.name) +
                         ": the estimated security is " + lattice::describe(lwe) +
                         " for the LWE key and " + lattice::describe(ring) +
                         " for the ring key, but 128 bits are needed: allow_insecure=True "
                         "accepts this");
  state->literal = std::move(literal);
  return Parameters(std::move(state));
}

Parameters Parameters::named(std::string_view name, bool allow_insecure) {
  for (const ParameterLiteral& literal : named_sets())
    if (literal.name == name) return create(literal, allow_insecure);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const ParameterLiteral& literal : named_sets()) {
    // "STD128" is near "openfhe_1_6/STD128".
    const std::string& known = literal.name;
    const std::size_t slash = known.rfind('/');
    const bool same = slash != std::string::npos && known.substr(slash + 1) == name;
    near.emplace_back(same ? 0 : edit_distance(name, known), known);
  }
  std::sort(near.begin(), near.end());
  std::string message = "no parameter set \"" + std::string(name) + "\"; near it:";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, near.size()); ++i)
    message += " \"" + near[i].second + "\"";
  throw ParameterError(message);
}

std::vector<std::string> Parameters::names() {
  std::vector<std::string> names;
  for (const ParameterLiteral& literal : named_sets()) names.push_back(literal.name);
  return names;
}

const ParameterLiteral& Parameters::literal() const { return state_->literal; }
const Digest& Parameters::digest() const { return state_->digest; }
SecurityEstimate Parameters::security() const { return state_->security; }

std::uint32_t Parameters::keys_per_coefficient() const {
  return rotation_method(literal()).keys(N(), kind(literal().lwe_secret));
}
std::size_t Parameters::rotation_key_rows(std::size_t key) const {
  return rotation_shape(*this, literal().transform, key).row_count;
}
std::size_t Parameters::rotation_key_bytes(Transform transform) const {
  std::size_t sum = 0;
  for (std::size_t key = 0; key < rotation_keys(); ++key)
    sum += lattice::lwe::RotationMethod::bytes(rotation_shape(*this, transform, key));
  return sum;
}
std::size_t Parameters::key_switch_key_bytes() const {
  return key_switch_rows() * (n() + 1) * word_bytes_for(Q_ks());
}
double Parameters::rotation_transforms() const {
  return rotation_method(literal()).transforms(n(), N(), rotation_ranges(literal(), 0));
}
std::uint32_t Parameters::key_switch_digits() const { return switch_gadget(*this).digits(); }
std::size_t Parameters::key_switch_rows() const {
  const ring::Gadget gadget = switch_gadget(*this);
  std::size_t rows = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j)
    rows += literal().key_switch == KeySwitch::table ? gadget.bound(j) : 1;
  return N() * rows;
}

ring::Gadget switch_gadget(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  const auto bits = static_cast<unsigned>(std::bit_width(p.Q_ks - 1));
  const unsigned digits = p.ks_digits ? p.ks_digits : (bits + p.log_B_ks - 1) / p.log_B_ks;
  return {p.Q_ks, p.log_B_ks, digits};
}

std::vector<GadgetRange> gadget_ranges(const ParameterLiteral& literal, std::size_t key) {
  if (key == 0) return literal.gadget;
  const SmallModulusGadget& gadget = literal.small_modulus_gadgets.at(key - 1);
  return {{literal.n, gadget.log_base, gadget.digits}};
}

std::vector<ring::Gadget> rotation_gadgets(const Parameters& parameters, std::size_t key) {
  std::vector<ring::Gadget> gadgets;
  for (const GadgetRange& range : gadget_ranges(parameters.literal(), key))
    gadgets.insert(gadgets.end(), range.count,
                   ring::Gadget(parameters.Q(), range.log_base, range.digits));
  return gadgets;
}

lattice::lwe::RotationMethod rotation_method(const ParameterLiteral& literal) {
  const Rotation& rotation = literal.rotation;
  // AP takes residues modulo q apart, as FHEW does, where these are fewer than 2N.
  const std::uint64_t two_n = 2ULL * literal.N;
  const bool by_q = rotation.kind == RotationKind::ap && literal.q < two_n;
  return lattice::lwe::RotationMethod(static_cast<backend::RotationKind>(rotation.kind),
                                      rotation.group, rotation.raised_by,
                                      by_q ? static_cast<std::uint32_t>(two_n / literal.q) : 1);
}

backend::RotationShape rotation_shape(const Parameters& parameters, Transform transform,
                                      std::size_t key) {
  return rotation_method(parameters.literal())
      .shape(parameters.N(), parameters.Q(), kind(parameters.literal().lwe_secret),
             rotation_gadgets(parameters, key),
             transform == Transform::fft ? backend::Arithmetic::fft : backend::Arithmetic::ntt);
}

backend::SwitchShape switch_shape(const Parameters& parameters) {
  return {parameters.N(), parameters.n(), parameters.Q_ks(), switch_gadget(parameters),
          parameters.literal().key_switch == KeySwitch::table};
}

NoiseEstimate Parameters::noise(Transform transform) const {
  const ParameterLiteral& p = literal();
  const double lwe = lwe_mean_square(p);
  const double ring = ring_mean_square(*this);
  double row = p.sigma_ring * p.sigma_ring;
  // The key's spectra are 32-bit integers, but modulo P·Q they are doubles.
  if (transform == Transform::fft && narrow(*this) && p.rotation.raised_by == 1)
    row += lattice::key_spectrum_variance(p.Q, p.N, 32) * (1 + p.N * ring);

  NoiseEstimate out;
  const lattice::lwe::RotationMethod method = rotation_method(p);
  const lattice::lwe::RotationMethod::Noise at{p.n, p.N, p.Q,  keys_per_coefficient(),
                                               row, lwe, ring, transform == Transform::fft};
  const auto of_key = [&](std::size_t key) { return method.variance(at, rotation_ranges(p, key)); };
  out.blind_rotation = of_key(0);
  for (std::size_t key = 1; key < rotation_keys(); ++key)
    out.small_modulus_rotations.push_back(of_key(key));
  const double Q = static_cast<double>(p.Q), Q_ks = static_cast<double>(p.Q_ks),
               q = static_cast<double>(p.q);
  out.switch_to_ks = p.Q_ks == p.Q ? 0 : lattice::modulus_switch_variance(p.N, ring);
  out.key_switch = lattice::key_switch_variance(switch_gadget(*this), p.N, p.sigma_lwe,
                                                p.key_switch == KeySwitch::table, ring);
  out.switch_to_q = rounding_variance(p, p.Q_ks, p.q);
  const double at_ks =
      Q_ks / Q * (Q_ks / Q) * out.blind_rotation + out.switch_to_ks + out.key_switch;
  out.refreshed = q / Q_ks * (q / Q_ks) * at_ks + out.switch_to_q;
  out.rotation_constant = method.constant(at, rotation_ranges(p, 0));
  out.constant = q / Q * (q / Q) * out.rotation_constant +
                 q / Q_ks * (q / Q_ks) *
                     lattice::key_switch_constant(switch_gadget(*this), p.N, p.sigma_lwe,
                                                  p.key_switch == KeySwitch::table, ring) +
                 rounding_constant(p, p.Q_ks, p.q);
  out.fresh = p.sigma_lwe * p.sigma_lwe;
  out.rotation_rounding = exponent_variance(p, p.q, 2ULL * p.N);
  return out;
}

double gate_failure_log2(const Parameters& parameters, const NoiseEstimate& estimate, double noise,
                         double margin_sectors) {
  const double two_n = 2.0 * parameters.N(), scale = two_n / static_cast<double>(parameters.q());
  const double variance = noise * estimate.refreshed * scale * scale + estimate.rotation_rounding;
  return lattice::failure_log2(two_n / (2 * margin_sectors), variance);
}

double lut_failure_log2(const Parameters& parameters, const NoiseEstimate& estimate,
                        Encoding encoding, const Reading& reading, double noise,
                        std::uint32_t sectors_off) {
  // Half a sector is the margin of the message itself, each sector off adds one.
  const double sectors = static_cast<double>(encoding.sectors()) / (2.0 * sectors_off + 1);
  const std::uint64_t across = (reading.arbitrary ? 1ULL : 2ULL) * parameters.N();
  // Borders between sectors are rounded to multiples of the step.
  const double border =
      reading.step > 1 && across / reading.step % encoding.sectors() != 0 ? reading.step / 2.0 : 0;
  if (!reading.arbitrary) {
    if (reading.step == 1) return gate_failure_log2(parameters, estimate, noise, sectors);
    const double two_n = 2.0 * parameters.N(), scale = two_n / static_cast<double>(parameters.q());
    const double variance = noise * estimate.refreshed * scale * scale +
                            exponent_variance(parameters.literal(), parameters.q(),
                                              2ULL * parameters.N(), reading.step);
    return lattice::failure_log2(two_n / (2 * sectors) - border, variance);
  }
  // Both rotations must decide right. The input is rounded to N; the sign that is subtracted from
  // it is a second ciphertext, refreshed and rounded from Q_ks to 2N (Liu, Micciancio, Polyakov
  // 2022, §5: sigma·sqrt(2)).
  const ParameterLiteral& p = parameters.literal();
  const double scale = p.N / static_cast<double>(p.q);
  const std::uint32_t unit = std::max<std::uint32_t>(rotation_method(p).unit(), reading.step);
  const double rounding = exponent_variance(p, p.q, p.N, reading.step);
  const double input = noise * estimate.refreshed * scale * scale + rounding;
  const double to_two_n = 2.0 * p.N / static_cast<double>(p.Q_ks);
  const double Q_ratio = static_cast<double>(p.Q_ks) / static_cast<double>(p.Q);
  const double sign =
      to_two_n * to_two_n *
          (Q_ratio * Q_ratio * estimate.blind_rotation + estimate.switch_to_ks +
           estimate.key_switch) +
      static_cast<double>(unit) * unit * rounding_variance(p, p.Q_ks, 2ULL * p.N / unit);
  const double margin = p.N / (2 * sectors) - border;
  return lattice::sum_log2(lattice::failure_log2(margin, input),
                           lattice::failure_log2(margin, input + sign));
}

double decryption_failure_log2(const Parameters& parameters, double variance, Encoding encoding,
                               std::uint32_t sectors_off, Under under) {
  const double half_sector = static_cast<double>(modulus_of(parameters, under)) /
                             (2 * static_cast<double>(encoding.sectors()));
  return lattice::failure_log2((2.0 * sectors_off + 1) * half_sector, variance);
}

double Parameters::gate_failure_log2(double sum_of_squares, double margin_sectors,
                                     Transform transform) const {
  return binfhe::gate_failure_log2(*this, noise(transform), sum_of_squares, margin_sectors);
}
double Parameters::lut_failure_log2(Encoding encoding, bool arbitrary, Transform transform,
                                    std::uint32_t tables) const {
  if (tables == 0 || tables > N())
    throw RangeError("tables = " + std::to_string(tables) + " is not in 1 … " +
                     std::to_string(N()));
  return binfhe::lut_failure_log2(*this, noise(transform), encoding,
                                  {arbitrary, shared_step(tables)}, 1);
}
double Parameters::fresh_failure_log2(Encoding encoding) const {
  return decryption_failure_log2(*this, literal().sigma_lwe * literal().sigma_lwe, encoding);
}

double Parameters::failure_log2(Transform transform) const {
  double worst = gate_failure_log2(2, 4, transform);
  if (literal().max_p > 4)
    worst = std::max(worst, lut_failure_log2({literal().max_p, literal().padding},
                                             !literal().padding, transform));
  return worst;
}
double Parameters::failure_log2() const { return failure_log2(literal().transform); }

}  // namespace whorl::binfhe
