// What is made once for bootstraps of vectors with some number of slots: the linear maps between
// slots and coefficients, the polynomial, and the keys that both ask for.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks/bit_fit.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/cosine_fit.h"
#include "circuits/ckks/maps.h"
#include "schemes/ckks/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

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

}  // namespace

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

const BootstrapLiteral& checked_shape(const Parameters& p, std::uint64_t slots) {
  static_cast<void>(p.least_bootstrap_level());  // throws without bootstrapping
  if (!std::has_single_bit(slots) || slots > p.slots())
    throw ShapeError("bootstrap: slots = " + std::to_string(slots) +
                     " is not a power of two in 1 … " + std::to_string(p.slots()));
  return *p.literal().bootstrap;
}

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

  // Each map changes the scale by so many bits, from that level down.
  const auto in_steps = [&](const std::vector<LinearMap>& maps, unsigned level,
                            std::span<const double> steps, SwitchKind kind) {
    std::vector<EncodedMap> each;
    for (std::size_t i = 0; i < maps.size(); ++i, --level)
      each.push_back(encode_for(server, maps[i], level,
                                {p.ratio(level) * std::exp2(steps[i]), kind}, one_more));
    return each;
  };
  // Scales go from `log2_scale` to `log2_target` in equal steps.
  const auto encoded = [&](const std::vector<LinearMap>& maps, unsigned level, double log2_scale,
                           double log2_target, SwitchKind kind) {
    const std::vector<double> steps(maps.size(),
                                    (log2_target - log2_scale) / static_cast<double>(maps.size()));
    return in_steps(maps, level, steps, kind);
  };

  // 2. SlotsToCoeffs.
  const double q = p.log2_Q(0), in = q - shape.log2_ratio;
  std::vector<LinearMap> slots_to_coeffs =
      transform(slots, shape.slots_to_coeffs, Direction::slots_to_coeffs, 1);
  const double given = std::log2(p.scale(shape.slots_to_coeffs)) + input_bits;
  if (shape.bits != 0) {
    std::vector<double> steps;
    const std::vector<double> scales = scales_to_coefficients(p);
    for (std::size_t i = 1; i < scales.size(); ++i) steps.push_back(scales[i] - scales[i - 1]);
    out.slots_to_coeffs =
        in_steps(slots_to_coeffs, shape.slots_to_coeffs, steps, slots_to_coeffs_kind(p.literal()));
  } else if (shape.coefficients_last == 0) {
    out.slots_to_coeffs = encoded(slots_to_coeffs, shape.slots_to_coeffs, given, in,
                                  slots_to_coeffs_kind(p.literal()));
  } else {
    // Values were refreshed as if their scale were 2^in; they are as much larger.
    const double log2_scale = std::log2(p.scale(0)) + std::log2(static_cast<double>(raised_by(p))) -
                              in + std::log2(p.scale(result_level(p)));
    const double log2_target = std::log2(p.scale(p.depth()));
    out.real_slots_to_coeffs =
        encoded({with_half_of_first(slots_to_coeffs[0])}, result_level(p), log2_scale,
                log2_scale + (log2_target - log2_scale) / shape.slots_to_coeffs, {});
    out.slots_to_coeffs = encoded(slots_to_coeffs, result_level(p), log2_scale, log2_target, {});
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
  out.coeffs_to_slots = encoded(coeffs_to_slots, p.top(), q, log2_sine, {});

  // 4. What the sum of images takes as its plaintext.
  if (slots < p.slots()) {
    std::vector<std::int64_t> one(p.N());
    one[0] = 1;
    out.one = Access::of(server).evaluator->lift_by_period(
        one, basis_of(p, p.top()) | layout_of(p.literal(), {}).special);
  }

  // 5. EvalMod, and its error without noise.
  if (shape.bits != 0) {
    out.exponential = exponential_polynomial(shape);
    out.exponential_error = error_of_exponential(shape, out.exponential);
    return EncodedBootstrapAccess::wrap(std::move(out));
  }
  out.cosine = cosine_polynomial(shape, multiples);
  if (shape.arcsine != 0) out.arcsine = arcsine_polynomial(shape);

  // 6. What real and imaginary parts side by side take.
  const bool arcsine = shape.arcsine != 0;
  const LinearMap both_parts = with_imaginary_parts(last);
  if (slots < p.slots() && turn_alike(last, both_parts) && (arcsine || is_odd(out.cosine))) {
    const double step = (log2_sine - q) / shape.coeffs_to_slots;
    const Access::State& state = Access::of(server);
    const CiphertextInfo angles = state.account.fresh(Packing::real, 1, 2 * slots, 1, false);
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

}  // namespace whorl::ckks
