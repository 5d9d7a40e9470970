// Bootstrapping of CKKS in four steps. SlotsToCoeffs is a linear map, by which the values become
// coefficients. ModRaise takes them to all primes, which adds multiples of the small modulus.
// CoeffsToSlots, the inverse map, brings the sums back to slots. EvalMod takes the multiples off by
// a sine. With coefficients_last SlotsToCoeffs comes after the others.
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/cosine_fit.h"
#include "circuits/ckks/maps.h"
#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

/// The same values at `by` times their scale.
Array scaled_up(const Server& server, const Array& x, std::int64_t by) {
  return Access::State::with_scale(server.multiply_integer(x, by), static_cast<double>(by));
}

}  // namespace

rlwe::Array BootstrapSteps::through(rlwe::Array x, std::span<const EncodedMap> maps) const {
  for (const EncodedMap& map : maps) x = mapped(server_, x, map);
  return x;
}

rlwe::Array BootstrapSteps::switched(const rlwe::Array& x, SwitchRole role) const {
  return evaluator_.key_switch(x, state_.keys_of({role}).get(1, 1), State::no_plain_modulus);
}

rlwe::Array BootstrapSteps::image(const rlwe::Array& x, std::uint32_t g) const {
  return evaluator_.automorphisms(x, std::span(&g, 1), state_.keys, State::no_plain_modulus)[0];
}

Array BootstrapSteps::scale_down(const Array& x) const {
  const unsigned level = p_.least_bootstrap_level();
  const std::int64_t by = last() ? raised_by(p_) : 1 << input_bits;
  const Array two = server_.relinearise(x);
  if (two.info().level > level) return state_.lower(two, level, static_cast<double>(by));
  if (shape_.bits == 0) return scaled_up(server_, server_.lower(two, level), by);
  // Numbers of bits have a multiple of the level's scale already.
  const auto above = static_cast<std::int64_t>(std::round(two.info().scale / p_.scale(level)));
  if (above < 1 || by % above != 0)
    throw ParameterError("numbers of bits at the lowest level for a refresh have " +
                         std::to_string(above) + " times its scale, which must divide " +
                         std::to_string(by) + "; give them at a level above");
  return scaled_up(server_, two, by / above);
}

rlwe::Array BootstrapSteps::slots_to_coeffs(const Array& lowest) const {
  const rlwe::Array& x = State::residues(lowest);
  return last() ? x : through(x, with_.slots_to_coeffs);
}

rlwe::Array BootstrapSteps::mod_raise(const rlwe::Array& coefficients) const {
  rlwe::Array x = switched(coefficients, SwitchRole::to_sparse);
  x = evaluator_.extend(x, account_.basis(p_.top()), ring::Lift::exact);
  x = switched(x, SwitchRole::from_sparse);
  for (const auto& step : trace_steps(with_.slots, p_.slots())) {
    rlwe::Evaluator::LinearMap sum{{1}, {1}, [&](std::size_t, std::size_t) { return with_.one; }};
    for (const std::int64_t k : step) sum.babies.push_back(state_.rotation(p_.slots(), k));
    x = evaluator_.linear_map(x, sum, state_.keys, x.basis(), State::no_plain_modulus);
  }
  return x;
}

rlwe::Array BootstrapSteps::coeffs_to_slots(const rlwe::Array& raised,
                                            const CiphertextInfo& info) const {
  const std::span<const EncodedMap> maps = with_.coeffs_to_slots;
  if (!side_by_side(info)) return through(raised, maps);
  return mapped(server_, through(raised, maps.first(maps.size() - 1)), with_.side_by_side->last);
}

Array BootstrapSteps::real_and_imaginary(const rlwe::Array& slots,
                                         const CiphertextInfo& info) const {
  const auto around_center = [&](const Array& t) {
    return server_.with_bound(server_.add_scalar(t, -cosine_center / shape_.range), 1);
  };
  const auto parts = [&](std::size_t count, rlwe::Array t) {
    return State::array(account_.coeffs_to_slots(info, count), std::move(t));
  };
  const rlwe::Array conjugate = image(slots, conjugation_exponent(p_));
  const Array real = parts(info.count, evaluator_.add(slots, conjugate));
  if (info.packing == Packing::real) return around_center(real);
  if (side_by_side(info)) return around_center(State::with_length(real, 2 * with_.slots));
  // conj(z) - z is -2i times the imaginary part.
  const Array imaginary =
      server_.multiply_by_i(parts(info.count, evaluator_.sub(conjugate, slots)));
  const std::array<rlwe::Array, 2> both{State::residues(real), State::residues(imaginary)};
  return around_center(parts(2 * info.count, evaluator_.interleave(both)));
}

Array BootstrapSteps::cosine(const Array& angles) const {
  const Array y = turns_cosine(angles)
                      ? evaluate_turned(server_, angles, turned(angles), with_.cosine)
                      : evaluate(server_, angles, with_.cosine);
  // A polynomial that has a smaller degree than it may takes fewer levels.
  return server_.lower(server_.with_bound(y, 1), doubled_level(p_) + shape_.doublings);
}

Array BootstrapSteps::double_angle(const Array& cosine) const {
  const Storage::Encoded* less = nullptr;
  if (turns_cosine(cosine)) {
    const unsigned before = doubled_level(p_) + shape_.doublings - cosine.info().level;
    less = &with_.side_by_side->less.at(before);
  }
  return server_.with_bound(state_.double_angle(cosine, Doubling::of_scale, less), 1);
}

Array BootstrapSteps::eval_mod(const Array& angles) const {
  Array y = cosine(angles);
  for (unsigned d = 1; d < shape_.doublings; ++d) y = double_angle(y);
  return y;
}

Array BootstrapSteps::sines(const Array& cosines, const CiphertextInfo& lowest) const {
  const bool both = are_side_by_side(cosines);
  const auto joined = [&](const Array& y) {
    if (lowest.packing == Packing::real) return y;
    if (both) return with_sum_of_halves(y);
    std::vector<std::uint32_t> real(lowest.count), imaginary(lowest.count);
    for (std::uint32_t i = 0; i < lowest.count; ++i) {
      real[i] = 2 * i;
      imaginary[i] = 2 * i + 1;
    }
    return server_.add(server_.take(y, real), server_.multiply_by_i(server_.take(y, imaginary)));
  };
  if (with_.arcsine.coefficients.empty()) {
    const std::complex<double> one =
        lowest.packing == Packing::real ? 1 : std::complex<double>(1, 1);
    if (both)
      return joined(state_.add(State::with_scale(server_.square(cosines), 0.5),
                               with_.side_by_side->less.back()));
    const Array square = server_.square(cosines, {.relinearised = false, .rescaled = false});
    // At half the scale y² stands for 2y².
    return server_.add_scalar(
        state_.relinearised_and_rescaled(joined(State::with_scale(square, 0.5))), -one);
  }
  const Array sine = double_angle(cosines);
  const Array y = both ? evaluate_turned(server_, sine, turned(sine), with_.arcsine)
                       : evaluate(server_, sine, with_.arcsine);
  return joined(server_.lower(server_.with_bound(y, 1), result_level(p_)));
}

Turned BootstrapSteps::turned(const Array& x) const {
  return [&](double c) { return state_.multiply_plain(x, with_.side_by_side->turns.at(c), true); };
}

Array BootstrapSteps::with_sum_of_halves(const Array& y) const {
  const rlwe::Array& x = State::residues(y);
  const std::uint32_t g = state_.rotation(p_.slots(), static_cast<std::int64_t>(with_.slots));
  return State::with_length(
      State::array(account_.automorphism(y.info()), evaluator_.add(x, image(x, g))), with_.slots);
}

Array BootstrapSteps::eval_mod_end(const Array& cosines, const CiphertextInfo& lowest) const {
  rlwe::Array y = State::residues(sines(cosines, lowest));
  if (last()) {
    const bool real = lowest.packing == Packing::real;
    y = through(y, real ? with_.real_slots_to_coeffs : std::span(with_.slots_to_coeffs).first(1));
    y = through(y, std::span(with_.slots_to_coeffs).subspan(1));
    // Coefficient n - k of a real vector's message is minus coefficient k, of n; so the slots are
    // twice the real part of what coefficients below n/2 give, less the first coefficient.
    if (real) y = evaluator_.add(y, image(y, conjugation_exponent(p_)));
  }
  return State::array(account_.bootstrap(lowest, with_.error), y);
}

void check_refresh(const Server& server, const Array& x) {
  const CiphertextInfo& info = x.info();
  const Access::State& state = Access::of(server);
  state.check_packed("bootstrap", x);
  static_cast<void>(checked_shape(server.parameters(), info.slots()));
  for (const SwitchRole role : {SwitchRole::to_sparse, SwitchRole::from_sparse})
    if (!state.keys_of({role}).has(1, 1))
      throw MissingKeyError(
          "bootstrapping has no key for the sparse secret: ask the client for bootstrap=[" +
          std::to_string(info.slots()) + "]");
  const double most = info.bounds().most();
  if (most > 1 + 0x1p-20)
    throw EncodingError("bootstrap: values of up to " + math::text_of(most) +
                        " are above 1; multiply by a smaller number first, or state a smaller "
                        "bound that is known with with_bound");
  const unsigned least = server.parameters().least_bootstrap_level();
  if (info.level < least)
    throw NoiseError("bootstrap: a ciphertext of level " + std::to_string(info.level) +
                     " is below level " + std::to_string(least) +
                     ", from which slots can be moved to coefficients: refresh it earlier");
}

void check_bootstrap(const Server& server, const Array& x) {
  check_refresh(server, x);
  if (const unsigned bits = server.parameters().literal().bootstrap->bits; bits != 0)
    throw ParameterError("bootstrap: these parameters refresh bits, " + std::to_string(bits) +
                         " in a coefficient, and no real numbers: use lanes, or parameters with "
                         "bootstrap.bits = 0");
}

rlwe::Array BootstrapSteps::raise(const Array& lowest, const CiphertextInfo& info,
                                  const std::function<void()>& next) const {
  // 2. SlotsToCoeffs, unless it comes last.
  const rlwe::Array coefficients = slots_to_coeffs(lowest);
  next();
  // 3. ModRaise.
  const rlwe::Array raised = mod_raise(coefficients);
  next();
  // 4. CoeffsToSlots.
  rlwe::Array out = coeffs_to_slots(raised, info);
  next();
  return out;
}

namespace {

/// All steps, of vectors of the maps' slots; `pairs`: of the real vectors whose pairs these are,
/// and which come out.
Array through_steps(const Server& server, const EncodedBootstrapAccess::Storage& of, const Array& x,
                    const CiphertextInfo* pairs = nullptr) {
  const run::Fleet& fleet = *Access::of(server).fleet;
  const CiphertextInfo& info = x.info();
  const BootstrapSteps steps(server, of,
                             pairs ? BootstrapSteps::Parts::apart : BootstrapSteps::Parts::joined);
  std::size_t done = 0;
  const auto next = [&] { fleet.stop_if_asked(++done, 6, "steps of a bootstrap"); };
  // 1. To the lowest level.
  const Array lowest = steps.scale_down(x);
  next();
  const rlwe::Array slots = steps.raise(lowest, info, next);
  // 5. EvalMod of the real and the imaginary parts.
  const Array cosines = steps.eval_mod(steps.real_and_imaginary(slots, info));
  next();
  // 6. EvalMod's end, where the parts are joined; SlotsToCoeffs, if it comes last.
  return steps.eval_mod_end(cosines,
                            pairs ? Account::of_pairs(lowest.info(), *pairs) : lowest.info());
}

Array refreshed(const Server& server, const Array& given, const EncodedBootstrap& with) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  check_bootstrap(server, given);
  if (given.info().slots() > of.slots)
    throw ShapeError("bootstrap: vectors of " + std::to_string(given.info().slots()) +
                     " slots meet maps that are encoded for " + std::to_string(of.slots));
  // Slots hold vectors repeated, so that a vector is a longer one too.
  const bool longer = given.info().slots() < of.slots;
  const Array x = longer ? Access::State::with_length(given, of.slots) : given;
  return Access::of(server).fleet->together([&] {
    const Array y = through_steps(server, of, x);
    return longer ? Access::State::with_length(y, given.info().length) : y;
  });
}

/// `y`, the bootstrap of x, plus the bootstrap of what it lacks of x, which is multiplied by 2^bits
/// for that; one level lower.
Array corrected(const Server& server, const Array& x, const Array& y, const EncodedBootstrap& with,
                unsigned bits) {
  const Access::State& state = Access::of(server);
  const auto by = static_cast<std::int64_t>(std::uint64_t{1} << bits);
  const unsigned level = y.info().level;
  // 1. The difference, times 2^bits.
  const Array difference = server.multiply_integer(server.sub(x, y), by);
  // 2. Its bootstrap.
  const Array remainder = state.bootstrap_remainder(x, y, difference, bits);
  const Array low = server.lower(refreshed(server, remainder, with), level);
  // 3. The sum, at 2^bits times the scale; the error of y is among the values of `low`.
  const Array high = scaled_up(server, state.beside_remainder(y), by);
  const Array sum = server.add(high, state.with_scale(low, static_cast<double>(by)));
  return state.narrowed(server.lower(sum, level - 1), x.info().bounds());
}

}  // namespace

Array paired(const Server& server, const Array& x) {
  std::vector<std::uint32_t> first, second;
  for (std::uint32_t i = 0; i < x.info().count; i += 2) {
    first.push_back(i);
    second.push_back(i + 1);
  }
  return server.add(server.take(x, first), server.multiply_by_i(server.take(x, second)));
}

Array bootstrap_pairs(const Server& server, const Array& x, const EncodedBootstrap& with) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  check_bootstrap(server, x);
  const CiphertextInfo& info = x.info();
  if (info.packing != Packing::real || info.count % 2 != 0 || info.slots() != of.slots)
    throw ShapeError("bootstrap: " + std::to_string(info.count) + " vectors of " +
                     std::to_string(info.slots()) + " slots are no pairs of real ones of " +
                     std::to_string(of.slots));
  if (server.parameters().literal().bootstrap->coefficients_last != 0)
    throw ParameterError("bootstrap: pairs want parameters with coefficients_last = 0");
  return Access::of(server).fleet->together([&] {
    // Parts stay in the order of the vectors.
    return through_steps(server, of, paired(server, x), &info);
  });
}

Array bootstrap(const Server& server, const Array& x, const EncodedBootstrap& with,
                unsigned iterations) {
  if (iterations < 1 || iterations > 4)
    throw ParameterError("bootstrap: iterations = " + std::to_string(iterations) +
                         " is outside 1 … 4");
  const unsigned depth = server.parameters().depth();
  if (iterations > depth + 1)
    throw NoiseError("bootstrap: " + std::to_string(iterations) + " iterations end " +
                     std::to_string(iterations - 1) + " levels below a refresh, whose level is " +
                     std::to_string(depth));
  const Access::State& state = Access::of(server);
  Array y = refreshed(server, x, with);
  for (unsigned i = 1; i < iterations; ++i) {
    const unsigned bits = state.account.remainder_bits(y.info(), i + 1);
    y = state.fleet->together([&] { return corrected(server, x, y, with, bits); });
  }
  return y;
}

}  // namespace whorl::ckks
