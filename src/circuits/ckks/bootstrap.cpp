// Bootstrapping of CKKS in four steps. SlotsToCoeffs is a linear map, by which the values become
// coefficients. ModRaise takes them to all primes, which adds multiples of the small modulus.
// CoeffsToSlots, the inverse map, brings the sums back to slots. EvalMod takes the multiples off by
// a sine. With coefficients_last SlotsToCoeffs comes after the others.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <set>
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

using Complex = std::complex<double>;

// Slots are butterflies of coefficients in bit-reversed order. All steps between leave that order,
// so nothing is reversed: coefficients are read in the order in which they were written.

enum class Direction { slots_to_coeffs, coeffs_to_slots };

/// How many of log2(slots) layers of butterflies each of the maps takes, in order of use. The first
/// one wraps around, so that it has half the diagonals; after it come the smaller ones.
std::vector<unsigned> layers_of(std::uint64_t slots, unsigned maps) {
  const auto layers = static_cast<unsigned>(std::bit_width(slots) - 1);
  std::vector<unsigned> out(maps, layers / maps);
  for (unsigned more = layers % maps, i = 0; i < more; ++i) ++out[i == 0 ? 0 : maps - i];
  return out;
}

/// Butterflies of blocks of `block` values.
LinearMap butterflies(std::uint64_t slots, std::uint64_t block, Direction direction) {
  const bool back = direction == Direction::coeffs_to_slots;
  LinearMap map{slots, slots, 0, {}};
  const std::uint64_t half = block / 2;
  std::vector<Complex> roots(half);
  for (std::uint64_t j = 0, power = 1; j < half; ++j, power = 5 * power % (4 * block))
    roots[j] = std::polar(
        1.0, 2 * std::numbers::pi * static_cast<double>(power) / static_cast<double>(4 * block));
  const auto at = [&](std::uint64_t k, std::uint64_t row) -> Complex& {
    auto& diagonal = map.diagonals[static_cast<std::int64_t>(k % slots)];
    diagonal.resize(slots);
    return diagonal[row];
  };
  for (std::uint64_t first = 0; first < slots; first += block)
    for (std::uint64_t j = 0; j < half; ++j) {
      const std::uint64_t low = first + j, high = low + half;
      const Complex w = roots[j], half_back = std::conj(w) * 0.5;
      at(0, low) += back ? 0.5 : 1.0;
      at(half, low) += back ? 0.5 : w;
      at(0, high) -= back ? half_back : w;
      at(slots - half, high) += back ? half_back : 1.0;
    }
  return map;
}

/// first, then second.
LinearMap product(const LinearMap& second, const LinearMap& first) {
  const std::uint64_t n = second.period;
  LinearMap out{n, n, 0, {}};
  for (const auto& [k, a] : second.diagonals)
    for (const auto& [l, b] : first.diagonals) {
      auto& diagonal = out.diagonals[(k + l) % static_cast<std::int64_t>(n)];
      diagonal.resize(n);
      const auto turn = static_cast<std::uint64_t>(k);
      for (std::uint64_t j = 0; j < n; ++j) diagonal[j] += a[j] * b[(j + turn) & (n - 1)];
    }
  return out;
}

/// The map of vectors whose first value counts half.
LinearMap with_half_of_first(LinearMap map) {
  for (auto& [k, values] : map.diagonals)
    values[(map.period - static_cast<std::uint64_t>(k)) % map.period] /= 2;
  return map;
}

/// Blocks of each map's layers, in order of use.
std::vector<std::vector<std::uint64_t>> blocks_of(std::uint64_t slots, unsigned maps,
                                                  Direction direction) {
  const bool back = direction == Direction::coeffs_to_slots;
  std::vector<std::vector<std::uint64_t>> out;
  std::uint64_t next = back ? slots : 2;
  for (const unsigned layers : layers_of(slots, maps)) {
    out.emplace_back();
    for (unsigned i = 0; i < layers; ++i, next = back ? next / 2 : next * 2)
      out.back().push_back(next);
  }
  return out;
}

/// The transform in so many maps, each times `factor`.
std::vector<LinearMap> transform(std::uint64_t slots, unsigned maps, Direction direction,
                                 double factor) {
  std::vector<LinearMap> out;
  for (const auto& blocks : blocks_of(slots, maps, direction)) {
    LinearMap map{slots, slots, 0, {{0, std::vector<Complex>(slots, factor)}}};
    for (const std::uint64_t block : blocks)
      map = product(butterflies(slots, block, direction), map);
    out.push_back(std::move(map));
  }
  return out;
}

/// The diagonals that these maps have.
std::vector<std::set<std::int64_t>> diagonals_of(std::uint64_t slots, unsigned maps,
                                                 Direction direction) {
  std::vector<std::set<std::int64_t>> out;
  for (const auto& blocks : blocks_of(slots, maps, direction)) {
    std::set<std::int64_t> sums{0};
    for (const std::uint64_t block : blocks) {
      std::set<std::int64_t> next;
      for (const std::int64_t k : sums)
        for (const std::uint64_t by : {std::uint64_t{0}, block / 2, slots - block / 2})
          next.insert((k + static_cast<std::int64_t>(by)) % static_cast<std::int64_t>(slots));
      sums = std::move(next);
    }
    out.push_back(std::move(sums));
  }
  return out;
}

/// Rotations whose images are added up, in steps, for the sum of all images that agree with a
/// polynomial of N coefficients where its slots repeat. A step adds up to four images, which are
/// hoisted: two doublings in one take 3 keys in place of 2, and half the transforms.
std::vector<std::vector<std::int64_t>> trace_steps(std::uint64_t slots, std::uint64_t all) {
  std::vector<std::vector<std::int64_t>> out;
  for (std::uint64_t turn = slots, images = 0; turn < all; turn *= images) {
    images = std::min<std::uint64_t>(all / turn, 4);
    out.emplace_back();
    for (std::uint64_t i = 1; i < images; ++i)
      out.back().push_back(static_cast<std::int64_t>(i * turn));
  }
  return out;
}

/// The map of vectors that repeat: behind its results are those divided by i, whose real parts are
/// the imaginary ones.
LinearMap with_imaginary_parts(const LinearMap& map) {
  const auto n = static_cast<std::int64_t>(map.period);
  LinearMap out{2 * map.period, 2 * map.period, 0, {}};
  for (const auto& [k, values] : map.diagonals) {
    std::vector<Complex>& both = out.diagonals[k > n / 2 ? k + n : k];
    both = values;
    for (const Complex& z : values) both.push_back(z * Complex(0, -1));
  }
  return out;
}

/// Whether both take the same keys.
bool turn_alike(const LinearMap& a, const LinearMap& b) {
  const auto rotations = [](const LinearMap& map) {
    std::set<std::int64_t> diagonals;
    for (const auto& [k, values] : map.diagonals) diagonals.insert(k);
    return rotations_of_diagonals(map.period, diagonals);
  };
  return rotations(a) == rotations(b);
}

bool is_odd(const Polynomial& p) {
  for (std::size_t k = 0; k < p.coefficients.size(); k += 2)
    if (p.coefficients[k] != 0) return false;
  return p.degree() >= 3;
}

/// log2 of what an input's scale is multiplied by.
constexpr unsigned input_bits = 6;

/// The same values at `by` times their scale.
Array scaled_up(const Server& server, const Array& x, std::int64_t by) {
  return Access::State::with_scale(server.multiply_integer(x, by), static_cast<double>(by));
}

const BootstrapLiteral& checked_shape(const Parameters& p, std::uint64_t slots) {
  static_cast<void>(p.least_bootstrap_level());  // throws without bootstrapping
  if (!std::has_single_bit(slots) || slots > p.slots())
    throw ShapeError("bootstrap: slots = " + std::to_string(slots) +
                     " is not a power of two in 1 … " + std::to_string(p.slots()));
  return *p.literal().bootstrap;
}

}  // namespace

void request_bootstrap(KeyRequest& request, const Parameters& p, std::uint64_t slots) {
  const BootstrapLiteral& shape = checked_shape(p, slots);
  request.relinearise = std::max(request.relinearise, 3u);
  request.conjugate = true;
  request.sparse = true;
  const auto add = [&](std::vector<std::int64_t>& to, Direction direction, unsigned maps) {
    for (const auto& diagonals : diagonals_of(slots, maps, direction))
      for (const std::int64_t k : rotations_of_diagonals(slots, diagonals)) to.push_back(k);
  };
  add(shape.coefficients_last == 0 ? request.low_rotations[shape.slots_to_coeffs]
                                   : request.rotations,
      Direction::slots_to_coeffs, shape.slots_to_coeffs);
  add(request.rotations, Direction::coeffs_to_slots, shape.coeffs_to_slots);
  for (const auto& step : trace_steps(slots, p.slots()))
    request.rotations.insert(request.rotations.end(), step.begin(), step.end());
}

std::uint64_t EncodedBootstrap::slots() const {
  return EncodedBootstrapAccess::storage(*this).slots;
}
std::size_t EncodedBootstrap::bytes() const {
  const auto& of = EncodedBootstrapAccess::storage(*this);
  std::size_t sum = 0;
  for (const auto* maps : {&of.slots_to_coeffs, &of.real_slots_to_coeffs, &of.coeffs_to_slots})
    for (const EncodedMap& map : *maps) sum += map.bytes();
  if (of.one) sum += of.one.bytes();
  if (of.side_by_side) {
    sum += of.side_by_side->last.bytes();
    for (const auto& [c, turn] : of.side_by_side->turns) sum += turn.residues.bytes();
    for (const auto& less : of.side_by_side->less) sum += less.residues.bytes();
  }
  return sum;
}

EncodedBootstrap encode_bootstrap(const Server& server, std::uint64_t slots,
                                  const Progress& progress, Multiples multiples) {
  const Parameters& p = server.parameters();
  const BootstrapLiteral& shape = checked_shape(p, slots);
  EncodedBootstrapAccess::Storage out;
  out.slots = slots;

  // 1. How many diagonals there are to encode, and who is told.
  std::size_t done = 0, total = 0;
  const auto forward = diagonals_of(slots, shape.slots_to_coeffs, Direction::slots_to_coeffs);
  for (const auto& diagonals : forward) total += diagonals.size();
  if (shape.coefficients_last != 0) total += forward[0].size();  // for real values too
  for (const auto& diagonals :
       diagonals_of(slots, shape.coeffs_to_slots, Direction::coeffs_to_slots))
    total += diagonals.size();
  const auto report = [&] {
    if (progress && !progress(done, total))
      throw InterruptedError("stopped after " + std::to_string(done) + " of " +
                             std::to_string(total) + " diagonals of a bootstrap's maps");
  };
  const auto one_more = [&] {
    ++done;
    report();
  };
  report();

  // Scales go from `log2_scale` to `log2_target`, down from that level, in equal steps.
  const auto encoded = [&](std::vector<LinearMap> maps, unsigned level, double log2_scale,
                           double log2_target, SwitchKind kind) {
    const double step = (log2_target - log2_scale) / static_cast<double>(maps.size());
    std::vector<EncodedMap> each;
    for (const LinearMap& map : maps) {
      each.push_back(
          encode_for(server, map, level, {p.ratio(level) * std::exp2(step), kind}, one_more));
      --level;
    }
    return each;
  };

  // 2. SlotsToCoeffs.
  const double q = p.log2_Q(0), in = q - shape.log2_ratio;
  std::vector<LinearMap> slots_to_coeffs =
      transform(slots, shape.slots_to_coeffs, Direction::slots_to_coeffs, 1);
  if (shape.coefficients_last == 0) {
    out.slots_to_coeffs = encoded(std::move(slots_to_coeffs), shape.slots_to_coeffs,
                                  std::log2(p.scale(shape.slots_to_coeffs)) + input_bits, in,
                                  slots_to_coeffs_kind(p.literal()));
  } else {
    // Values were refreshed as if their scale were 2^in; they are as much larger.
    const double log2_scale = std::log2(p.scale(0)) + std::log2(static_cast<double>(raised_by(p))) -
                              in + std::log2(p.scale(result_level(p)));
    const double log2_target = std::log2(p.scale(p.depth()));
    out.real_slots_to_coeffs =
        encoded({with_half_of_first(slots_to_coeffs[0])}, result_level(p), log2_scale,
                log2_scale + (log2_target - log2_scale) / shape.slots_to_coeffs, {});
    out.slots_to_coeffs =
        encoded(std::move(slots_to_coeffs), result_level(p), log2_scale, log2_target, {});
  }

  // 3. CoeffsToSlots. Coefficients are t = I + m/r, times how many images the trace adds up. The
  // sum of the result and its conjugate is t/range.
  const double factor =
      static_cast<double>(slots) / (static_cast<double>(p.slots()) * 2 * shape.range);
  const unsigned sine_level = result_level(p) + shape.sine();
  std::vector<LinearMap> coeffs_to_slots =
      transform(slots, shape.coeffs_to_slots, Direction::coeffs_to_slots,
                std::pow(factor, 1.0 / shape.coeffs_to_slots));
  const LinearMap last = coeffs_to_slots.back();
  const double log2_sine = std::log2(p.scale(sine_level));
  out.coeffs_to_slots = encoded(std::move(coeffs_to_slots), p.top(), q, log2_sine, {});

  // 4. What the sum of images takes as its plaintext.
  if (slots < p.slots()) {
    std::vector<std::int64_t> one(p.N());
    one[0] = 1;
    out.one = Access::of(server).evaluator->lift_by_period(
        one, basis_of(p, p.top()) | layout_of(p.literal(), {}).special);
  }

  // 5. EvalMod, and its error without noise.
  out.cosine = cosine_polynomial(shape, multiples);
  if (shape.arcsine != 0) out.arcsine = arcsine_polynomial(shape);

  // 6. What real and imaginary parts side by side take.
  const bool arcsine = shape.arcsine != 0;
  const LinearMap both_parts = with_imaginary_parts(last);
  if (slots < p.slots() && turn_alike(last, both_parts) && (arcsine || is_odd(out.cosine))) {
    const double step = (log2_sine - q) / shape.coeffs_to_slots;
    const Access::State& state = Access::of(server);
    CiphertextInfo angles;
    angles.length = 2 * slots;
    const auto encoded_row = [&](double first, const Complex& second, double scale,
                                 unsigned level) {
      std::vector<Complex> row(2 * slots, first);
      std::fill(row.begin() + static_cast<std::ptrdiff_t>(slots), row.end(), second);
      return state.encoded(angles, row, 0, scale, level);
    };
    EncodedBootstrapAccess::Storage::SideBySide both;
    both.last = encode_for(server, both_parts, sine_level + 1,
                           {p.ratio(sine_level + 1) * std::exp2(step)}, [] {});
    const unsigned turned = arcsine ? doubled_level(p) : sine_level;
    Complex f = arcsine ? Complex(0, 1)
                        : std::polar(1.0, std::numbers::pi / 2 / std::exp2(shape.doublings));
    for (const double c : turned_factors(arcsine ? out.arcsine : out.cosine))
      both.turns.emplace(c, encoded_row(c, c * f, p.scale(turned), turned));
    for (unsigned level = doubled_level(p) + shape.doublings; level-- > doubled_level(p);) {
      if (arcsine) break;
      f *= f;
      // The last doubling does not come to its level's scale.
      const double square = p.scale(level + 1) * p.scale(level + 1) / 2 / p.ratio(level + 1);
      both.less.push_back(
          encoded_row(-1, -f, level == doubled_level(p) ? square : p.scale(level), level));
    }
    out.side_by_side = std::move(both);
  }

  // Far from 0 the fit is coarser. Multiples that are beyond once in 2^20 bootstraps would be most
  // of the error that is stated.
  unsigned most = shape.range > 2 ? shape.range - 2 : 1;
  while (most > 1 && log2_beyond(p.literal(), most) < -20) --most;
  out.error = {std::log2(error_of_sine(shape, out.cosine, most)),
               std::log2(deviation_of_sine(shape, out.cosine))};
  return EncodedBootstrapAccess::wrap(std::move(out));
}

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
  return scaled_up(server_, server_.lower(two, level), by);
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

void check_bootstrap(const Server& server, const Array& x) {
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

namespace {

Array refreshed(const Server& server, const Array& given, const EncodedBootstrap& with) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  check_bootstrap(server, given);
  if (given.info().slots() > of.slots)
    throw ShapeError("bootstrap: vectors of " + std::to_string(given.info().slots()) +
                     " slots meet maps that are encoded for " + std::to_string(of.slots));
  // Slots hold vectors repeated, so that a vector is a longer one too.
  const bool longer = given.info().slots() < of.slots;
  const Array x = longer ? Access::State::with_length(given, of.slots) : given;
  const CiphertextInfo& info = x.info();
  const run::Fleet& fleet = *Access::of(server).fleet;
  return fleet.together([&] {
    const BootstrapSteps steps(server, of);
    std::size_t done = 0;
    const auto next = [&] { fleet.stop_if_asked(++done, 6, "steps of a bootstrap"); };
    // 1. To the lowest level.
    const Array lowest = steps.scale_down(x);
    next();
    // 2. SlotsToCoeffs, unless it comes last.
    const rlwe::Array coefficients = steps.slots_to_coeffs(lowest);
    next();
    // 3. ModRaise.
    const rlwe::Array raised = steps.mod_raise(coefficients);
    next();
    // 4. CoeffsToSlots.
    const rlwe::Array slots = steps.coeffs_to_slots(raised, info);
    next();
    // 5. EvalMod of the real and the imaginary parts.
    const Array cosines = steps.eval_mod(steps.real_and_imaginary(slots, info));
    next();
    // 6. EvalMod's end, where the parts are joined; SlotsToCoeffs, if it comes last.
    const Array y = steps.eval_mod_end(cosines, lowest.info());
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
  const run::Fleet& fleet = *Access::of(server).fleet;
  return fleet.together([&] {
    const BootstrapSteps steps(server, of, BootstrapSteps::Parts::apart);
    std::vector<std::uint32_t> first, second;
    for (std::uint32_t i = 0; i < info.count; i += 2) {
      first.push_back(i);
      second.push_back(i + 1);
    }
    const Array both =
        server.add(server.take(x, first), server.multiply_by_i(server.take(x, second)));
    const Array lowest = steps.scale_down(both);
    const rlwe::Array raised = steps.mod_raise(steps.slots_to_coeffs(lowest));
    const CiphertextInfo& pair = both.info();
    const Array cosines =
        steps.eval_mod(steps.real_and_imaginary(steps.coeffs_to_slots(raised, pair), pair));
    // Parts stay in the order of the vectors.
    CiphertextInfo each = lowest.info();
    each.packing = Packing::real;
    each.count = info.count;
    each.bound = info.bound;
    each.low = info.low;
    each.high = info.high;
    return steps.eval_mod_end(cosines, each);
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
