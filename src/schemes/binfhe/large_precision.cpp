#include "schemes/binfhe/large_precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "lattice/lwe/noise.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/steps.h"
#include "whorl/error.h"

namespace whorl::binfhe {

using run::Range;

namespace {

constexpr std::uint64_t beta = large_sector / 2;

/// The key for the smallest moduli that still serves this one.
std::size_t key_for(const Parameters& parameters, std::uint64_t modulus) {
  std::size_t key = 0;
  for (const SmallModulusGadget& gadget : parameters.literal().small_modulus_gadgets)
    if (modulus <= (std::uint64_t{1} << gadget.log_modulus)) ++key;
  return key;
}

/// x·to/from, rounded, for x below 2^60, and `to` and `from` below 2^60 too.
std::uint64_t scaled(std::uint64_t x, std::uint64_t to, std::uint64_t from) {
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{x} * to + from / 2) / from);
}

/// log2(2^a + 2^b).
double add_log2(double a, double b) {
  const double most = std::max(a, b);
  if (std::isinf(most)) return most;
  return most + std::log2(std::exp2(a - most) + std::exp2(b - most));
}

/// Two rotations and what belongs to them, for ciphertexts of `step.modulus`.
class Floor {
 public:
  Floor(const Parameters& parameters, const Flooring& step) : parameters_(parameters), step_(step) {
    const std::uint32_t N = parameters.N();
    const std::uint64_t Q = parameters.Q(), small = step.small, modulus = step.modulus;
    top_ = std::make_shared<const Tables>(N, Q, Q - scaled(Q, small, 4 * modulus));
    // Coefficient j is looked up for phases x = j·small/2N: -small/2 - x in the first quarter of
    // the circle, x in the second. X^N = -1 makes the other half of it.
    rest_ = std::make_shared<const Tables>(
        N, Q, 1, std::span<const std::uint32_t>(), [&](std::size_t, std::uint64_t j) {
          const std::uint64_t part = 2ULL * N * modulus;
          return j < N / 2 ? Q - scaled(Q, small * (N + j), part) : scaled(Q, small * j, part);
        });
  }
  /// Phases are rounded down to multiples of `small`, half a sector below which they count as it.
  Rows operator()(const Stages& stages, const Rows& in, Range range) const {
    const Stages by = stages.with_rotation_key(step_.key);
    const std::int64_t same[] = {1};
    const Rows* input[] = {&in};
    Rows rows = stages.linear(same, input, beta);
    // A quarter of `small` is added in the lower half of Z_small, and subtracted in the upper: the
    // phase modulo `small` lies in its middle half then.
    rows = less(stages, rows, bootstrap(by, rows, *top_, range));
    return less(stages, rows, bootstrap(by, rows, *rest_, range));
  }

 private:
  static Rows less(const Stages& stages, const Rows& a, const Rows& b) {
    const std::int64_t weights[] = {1, -1};
    const Rows* in[] = {&a, &b};
    return stages.linear(weights, in, 0);
  }
  Rows bootstrap(const Stages& stages, const Rows& rows, const Tables& tables, Range range) const {
    // Residues modulo `small` as multiples of modulus/small, and those as exponents: exact.
    const std::int64_t up[] = {static_cast<std::int64_t>(step_.modulus / step_.small)};
    const Rows* in[] = {&rows};
    Rows exponents =
        to_exponents(parameters_, stages, stages.linear(up, in, 0), 2ULL * parameters_.N(), 0);
    return switch_key(parameters_, stages, stages.rotate(exponents, tables, range, 0),
                      step_.modulus);
  }

  Parameters parameters_;
  Flooring step_;
  std::shared_ptr<const Tables> top_, rest_;
};

Rows switched(const Parameters& parameters, const Stages& stages, const Rows& in,
              std::uint64_t to) {
  return stages.modulus_switch(in, to, centred(parameters, in.form().modulus, to));
}

/// All floorings of an operation.
class Loop {
 public:
  Loop(const Parameters& parameters, Floorings floorings)
      : parameters_(parameters), floorings_(std::move(floorings)) {
    for (const Flooring& step : floorings_.steps) floors_.emplace_back(parameters, step);
  }
  const Floorings& floorings() const { return floorings_; }
  /// `each(rows, step)` is called before a step.
  template <class Each>
  Rows operator()(const Stages& stages, const Rows& in, Range range, const Each& each) const {
    Rows rows = switched(parameters_, stages, in, floorings_.start);
    for (std::size_t k = 0; k < floors_.size(); ++k) {
      each(rows, floorings_.steps[k]);
      rows = floors_[k](stages, rows, range);
      const std::uint64_t next =
          k + 1 < floors_.size() ? floorings_.steps[k + 1].modulus : floorings_.end;
      if (next != rows.form().modulus) rows = switched(parameters_, stages, rows, next);
    }
    return rows;
  }
  Rows operator()(const Stages& stages, const Rows& in, Range range) const {
    return (*this)(stages, in, range, [](const Rows&, const Flooring&) {});
  }

 private:
  Parameters parameters_;
  Floorings floorings_;
  std::vector<Floor> floors_;
};

}  // namespace

bool takes_large(const Parameters& parameters, Encoding encoding) {
  const std::uint64_t sectors = encoding.sectors();
  return encoding.p >= 2 && std::has_single_bit(sectors) &&
         sectors <= parameters.q() / large_sector;
}

void check_large(const char* operation, const Parameters& parameters, Encoding encoding) {
  if (rotation_method(parameters.literal()).odd())
    throw ParameterError("rotation.kind of " + parameters.name() + ": " + operation +
                         " needs exponents that are not rounded, and automorphisms take odd ones");
  if (!takes_large(parameters, encoding))
    throw EncodingError(std::string(operation) + " takes messages of which p" +
                        (encoding.padding ? ", with its padding bit," : "") +
                        " is a power of two in 2 … " +
                        std::to_string(parameters.q() / large_sector) + " of " + parameters.name() +
                        ", not p = " + std::to_string(encoding.p));
}

void check_floor(const char* operation, const Parameters& parameters, Encoding encoding,
                 unsigned bits) {
  check_large(operation, parameters, encoding);
  const auto most = static_cast<unsigned>(std::bit_width(encoding.p) - 2);
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

FlooredErrors follow(const Parameters& parameters, const NoiseEstimate& estimate,
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
    out.failure_log2 = add_log2(out.failure_log2, lattice::failure_log2(beta, out.at_end));
    out.failure_log2 = add_log2(out.failure_log2, lattice::failure_log2(beta, out.at_end + one));
    const std::uint64_t next =
        k + 1 < floorings.steps.size() ? floorings.steps[k + 1].modulus : floorings.end;
    out.at_end = switched(one, modulus, next);
  }
  out.result = at(out.at_end, floorings.end, parameters.q());
  return out;
}

double sign_failure_log2(const FlooredErrors& errors) {
  return add_log2(errors.failure_log2, lattice::failure_log2(beta, errors.at_end));
}

double Parameters::sign_failure_log2(std::uint32_t p, Transform transform) const {
  const Encoding encoding{p, false};
  if (!takes_large(*this, encoding)) return 0;
  const NoiseEstimate estimate = noise(transform);
  return std::min(0.0, binfhe::sign_failure_log2(
                           follow(*this, estimate, sign_steps(*this, encoding), estimate.fresh)));
}

Plan plan_floor(const Parameters& parameters, Encoding input, unsigned bits) {
  return {[parameters, loop = Loop(parameters, floor_steps(parameters, input, bits))](
              const Stages& stages, Operands in, Range range) {
            return one(switched(parameters, stages, loop(stages, *in[0], range), parameters.q()));
          },
          floored(input, bits), true, memory_of(parameters, {.kept = 2})};
}

Plan plan_sign(const Parameters& parameters, Encoding input, Encoding output) {
  const Loop loop(parameters, sign_steps(parameters, input));
  return {[parameters, loop, decide = Decision(parameters, 0, true, output)](
              const Stages& stages, Operands in, Range range) {
            const Rows high = loop(stages, *in[0], range);
            const std::int64_t same[] = {1};
            const Rows* rows[] = {&high};
            const Stages by = stages.with_rotation_key(loop.floorings().end_key);
            const Rows decided = decide(by, by.linear(same, rows, beta), range);
            return one(switch_key(parameters, by, decided, parameters.q()));
          },
          output, true, memory_of(parameters, {.kept = 2})};
}

Plan plan_decomposition(const Parameters& parameters, Encoding input) {
  const Loop loop(parameters, sign_steps(parameters, input));
  const std::vector<Encoding> digits = digit_encodings(parameters, input);
  return {[parameters, loop](const Stages& stages, Operands in, Range range) {
            std::vector<Rows> out;
            const std::uint64_t q = parameters.q();
            Rows last = loop(stages, *in[0], range, [&](const Rows& rows, const Flooring& step) {
              const std::int64_t up[] = {static_cast<std::int64_t>(step.modulus / step.small)};
              const Rows* low[] = {&rows};
              out.push_back(stages.modulus_switch(stages.linear(up, low, 0), q, false));
            });
            out.push_back(stages.modulus_switch(std::move(last), q, false));
            return out;
          },
          digits[0], true, memory_of(parameters, {.kept = digits.size() + 2})};
}

}  // namespace whorl::binfhe
