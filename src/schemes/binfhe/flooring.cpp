#include "schemes/binfhe/flooring.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "lattice/lwe/noise.h"
#include "schemes/binfhe/derived.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

constexpr std::uint64_t beta = large_sector / 2;

/// The key for the smallest moduli that still serves this one.
std::size_t key_for(const Parameters& parameters, std::uint64_t modulus) {
  std::size_t key = 0;
  for (const SmallModulusGadget& gadget : parameters.literal().small_modulus_gadgets)
    if (modulus <= (std::uint64_t{1} << gadget.log_modulus)) ++key;
  return key;
}

}  // namespace

bool takes_large(const Parameters& parameters, Encoding encoding) {
  const std::uint64_t sectors = encoding.sectors();
  return encoding.p >= 2 && std::has_single_bit(sectors) &&
         sectors <= parameters.q() / large_sector;
}

void check_large(const char* operation, const Parameters& parameters, Encoding encoding) {
  if (rotation_method(parameters.literal()).odd())
    throw ParameterError("rotation.kind of " + named(parameters) + ": " + operation +
                         " needs exponents that are not rounded, and automorphisms take odd ones");
  if (!takes_large(parameters, encoding))
    throw EncodingError(std::string(operation) + " takes messages of which p" +
                        (encoding.padding ? ", with its padding bit," : "") +
                        " is a power of two in 2 … " +
                        std::to_string(parameters.q() / large_sector) + " of " + named(parameters) +
                        ", not p = " + std::to_string(encoding.p));
}

void check_floor(const char* operation, const Parameters& parameters, Encoding encoding,
                 unsigned bits) {
  check_large(operation, parameters, encoding);
  const auto most = static_cast<unsigned>(std::bit_width(encoding.p) - 2);
  if (most == 0)
    throw EncodingError(std::string(operation) + ": messages modulo " + std::to_string(encoding.p) +
                        " have no bit to round away; take p >= 4");
  if (bits < 1 || bits > most)
    throw EncodingError(std::string(operation) + ": round_bits = " + std::to_string(bits) +
                        " is not in 1 … " + std::to_string(most) + ", of messages modulo " +
                        std::to_string(encoding.p));
}

unsigned most_floor_bits(const Parameters& parameters) {
  return static_cast<unsigned>(std::bit_width(2ULL * parameters.N() / large_sector) - 1);
}

Floorings floor_steps(const Parameters& parameters, Encoding encoding, unsigned bits) {
  Floorings out{encoding.sectors() * large_sector, {}, 0, 0};
  std::uint64_t modulus = out.start;
  while (bits > 0) {
    const unsigned now = std::min(bits, most_floor_bits(parameters));
    out.steps.push_back({modulus, large_sector << now, key_for(parameters, modulus)});
    bits -= now;
    if (bits > 0) modulus >>= now;
  }
  out.end = modulus;
  out.end_key = key_for(parameters, modulus);
  return out;
}

Floorings sign_steps(const Parameters& parameters, Encoding encoding) {
  const std::uint64_t two_n = 2ULL * parameters.N();
  Floorings out{encoding.sectors() * large_sector, {}, 0, 0};
  std::uint64_t modulus = out.start;
  while (modulus > two_n) {
    out.steps.push_back({modulus, two_n, key_for(parameters, modulus)});
    modulus >>= most_floor_bits(parameters);
  }
  out.end = modulus;
  out.end_key = key_for(parameters, modulus);
  return out;
}

Encoding floored(Encoding encoding, unsigned bits) {
  return {encoding.p >> bits, encoding.padding};
}

std::vector<Encoding> digit_encodings(const Parameters& parameters, Encoding encoding) {
  const Floorings floorings = sign_steps(parameters, encoding);
  std::vector<Encoding> out(floorings.steps.size(), {1U << most_floor_bits(parameters), false});
  out.push_back({static_cast<std::uint32_t>(floorings.end / large_sector), false});
  return out;
}

double bootstrap_variance(const Parameters& parameters, const NoiseEstimate& estimate,
                          std::uint64_t modulus, std::size_t key) {
  const auto to = static_cast<double>(modulus);
  const double of_Q = to / static_cast<double>(parameters.Q()),
               of_Q_ks = to / static_cast<double>(parameters.Q_ks());
  const double rotation =
      key == 0 ? estimate.blind_rotation : estimate.small_modulus_rotations.at(key - 1);
  return of_Q * of_Q * rotation +
         of_Q_ks * of_Q_ks * (estimate.switch_to_ks + estimate.key_switch) +
         rounding_variance(parameters.literal(), parameters.Q_ks(), modulus);
}

FlooredErrors errors_of(const Parameters& parameters, const NoiseEstimate& estimate,
                        const Floorings& floorings, double variance) {
  const auto at = [](double of, std::uint64_t from, std::uint64_t to) {
    const double ratio = static_cast<double>(to) / static_cast<double>(from);
    return of * ratio * ratio;
  };
  const auto switched = [&](double of, std::uint64_t from, std::uint64_t to) {
    return at(of, from, to) + rounding_variance(parameters.literal(), from, to);
  };
  FlooredErrors out{-HUGE_VAL, 0, switched(variance, parameters.q(), floorings.start), {}};
  for (std::size_t k = 0; k < floorings.steps.size(); ++k) {
    const auto [modulus, small, key] = floorings.steps[k];
    out.dropped.push_back(at(out.at_end, small, parameters.q()));
    const double one = bootstrap_variance(parameters, estimate, modulus, key);
    // The first rotation sees the input's error. The second sees that of the first besides, and
    // removes both with what it finds.
    out.failure_log2 = lattice::sum_log2(out.failure_log2, lattice::failure_log2(beta, out.at_end));
    out.failure_log2 =
        lattice::sum_log2(out.failure_log2, lattice::failure_log2(beta, out.at_end + one));
    const std::uint64_t next =
        k + 1 < floorings.steps.size() ? floorings.steps[k + 1].modulus : floorings.end;
    out.at_end = switched(one, modulus, next);
  }
  out.result = at(out.at_end, floorings.end, parameters.q());
  return out;
}

double sign_failure_log2(const FlooredErrors& errors) {
  return lattice::sum_log2(errors.failure_log2, lattice::failure_log2(beta, errors.at_end));
}

double Parameters::sign_failure_log2(std::uint32_t p, Transform transform) const {
  const Encoding encoding{p, false};
  if (!takes_large(*this, encoding) || rotation_method(literal()).odd()) return 0;
  const NoiseEstimate estimate = noise(transform);
  return std::min(0.0, binfhe::sign_failure_log2(errors_of(
                           *this, estimate, sign_steps(*this, encoding), estimate.fresh)));
}

double Parameters::floor_failure_log2(std::uint32_t p, unsigned round_bits,
                                      Transform transform) const {
  const Encoding encoding{p, false};
  if (!takes_large(*this, encoding) || rotation_method(literal()).odd() || round_bits < 1 ||
      round_bits + 1 >= static_cast<unsigned>(std::bit_width(p)))
    return 0;
  const NoiseEstimate estimate = noise(transform);
  const Floorings floorings = floor_steps(*this, encoding, round_bits);
  return std::min(0.0, errors_of(*this, estimate, floorings, estimate.fresh).failure_log2);
}

}  // namespace whorl::binfhe
