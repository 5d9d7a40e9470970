// Bootstrapping of CKKS: slots to coefficients, a larger modulus, coefficients to slots, and a sine
// that takes the multiples of the small modulus off.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks_maps.h"
#include "circuits/cosine_fit.h"
#include "math/text.h"
#include "schemes/ckks/access.h"
#include "schemes/ckks/derived.h"
#include "whorl/circuits/bootstrap.h"
#include "whorl/circuits/polynomials.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

using Complex = std::complex<double>;

// Slots are butterflies of coefficients in bit-reversed order. All steps between leave that order,
// so nothing is reversed: coefficients are read in the order in which they were written.

/// How many of log2(slots) layers of butterflies each of the maps takes, in order of use. The first
/// one wraps around, so that it has half the diagonals; after it come the smaller ones.
std::vector<unsigned> layers_of(std::uint64_t slots, unsigned maps) {
  const auto layers = static_cast<unsigned>(std::bit_width(slots) - 1);
  std::vector<unsigned> out(maps, layers / maps);
  for (unsigned more = layers % maps, i = 0; i < more; ++i) ++out[i == 0 ? 0 : maps - i];
  return out;
}

/// Butterflies of blocks of `block` values, from coefficients to slots or back.
LinearMap butterflies(std::uint64_t slots, std::uint64_t block, bool back) {
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

/// Blocks of each map's layers, in order of use.
std::vector<std::vector<std::uint64_t>> blocks_of(std::uint64_t slots, unsigned maps, bool back) {
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
std::vector<LinearMap> transform(std::uint64_t slots, unsigned maps, bool back, double factor) {
  std::vector<LinearMap> out;
  for (const auto& blocks : blocks_of(slots, maps, back)) {
    LinearMap map{slots, slots, 0, {{0, std::vector<Complex>(slots, factor)}}};
    for (const std::uint64_t block : blocks) map = product(butterflies(slots, block, back), map);
    out.push_back(std::move(map));
  }
  return out;
}

/// The diagonals that these maps have.
std::vector<std::set<std::int64_t>> diagonals_of(std::uint64_t slots, unsigned maps, bool back) {
  std::vector<std::set<std::int64_t>> out;
  for (const auto& blocks : blocks_of(slots, maps, back)) {
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

const BootstrapLiteral& checked_shape(const Parameters& p, std::uint64_t slots) {
  if (!p.literal().bootstrap)
    throw ParameterError("the parameters \"" + p.literal().name +
                         "\" have no bootstrapping: take parameters with bootstrap");
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
  const auto add = [&](std::vector<std::int64_t>& to, bool back, unsigned maps) {
    for (const auto& diagonals : diagonals_of(slots, maps, back))
      for (const std::int64_t k : rotations_of_diagonals(slots, diagonals)) to.push_back(k);
  };
  add(request.low_rotations, false, shape.to_coefficients);
  add(request.rotations, true, shape.to_slots);
  for (std::uint64_t k = slots; k < p.slots(); k *= 2)
    request.rotations.push_back(static_cast<std::int64_t>(k));
}

struct EncodedBootstrap::Storage {
  std::uint64_t slots = 1;
  std::vector<EncodedMap> to_coefficients, to_slots;
  Polynomial cosine;
  double log2_error = 0;  ///< of the sine
};

struct EncodedBootstrapAccess {
  using Storage = EncodedBootstrap::Storage;
  static EncodedBootstrap wrap(Storage storage) {
    EncodedBootstrap out;
    out.storage_ = std::make_shared<const Storage>(std::move(storage));
    return out;
  }
  static const Storage& storage(const EncodedBootstrap& of) {
    if (!of.storage_) throw ShapeError("a bootstrap that is not encoded was given");
    return *of.storage_;
  }
};

std::uint64_t EncodedBootstrap::slots() const {
  return EncodedBootstrapAccess::storage(*this).slots;
}
std::size_t EncodedBootstrap::bytes() const {
  const auto& of = EncodedBootstrapAccess::storage(*this);
  std::size_t sum = 0;
  for (const auto* maps : {&of.to_coefficients, &of.to_slots})
    for (const EncodedMap& map : *maps) sum += map.bytes();
  return sum;
}

EncodedBootstrap encode_bootstrap(const Server& server, std::uint64_t slots) {
  const Parameters& p = server.parameters();
  const BootstrapLiteral& shape = checked_shape(p, slots);
  EncodedBootstrapAccess::Storage out;
  out.slots = slots;

  // From `log2_scale` to `log2_target`, down from that level, in equal steps.
  const auto encoded = [&](std::vector<LinearMap> maps, unsigned level, double log2_scale,
                           double log2_target, SwitchRole role) {
    const double step = (log2_target - log2_scale) / static_cast<double>(maps.size());
    std::vector<EncodedMap> each;
    for (const LinearMap& map : maps) {
      each.push_back(encode_for(server, map, level, p.ratio(level) * std::exp2(step), role));
      --level;
    }
    return each;
  };
  const double q = p.log2_Q(0), in = q - shape.log2_ratio;
  out.to_coefficients =
      encoded(transform(slots, shape.to_coefficients, false, 1), shape.to_coefficients,
              std::log2(p.scale(shape.to_coefficients)), in, SwitchRole::low);
  // Coefficients are t = I + m/r, times how many images the trace adds up. The sum of the result
  // and its conjugate is t/range.
  const double factor =
      static_cast<double>(slots) / (static_cast<double>(p.slots()) * 2 * shape.range);
  const unsigned sine_level = p.depth() + shape.sine();
  out.to_slots =
      encoded(transform(slots, shape.to_slots, true, std::pow(factor, 1.0 / shape.to_slots)),
              p.top(), q, std::log2(p.scale(sine_level)), SwitchRole::usual);
  out.cosine = {fitted_cosine(shape), Polynomial::Basis::chebyshev, -1, 1};
  out.log2_error = std::log2(
      error_of_sine(shape, out.cosine.coefficients, shape.range > 2 ? shape.range - 2 : 1));
  return EncodedBootstrapAccess::wrap(std::move(out));
}

namespace {

/// The steps between residues, of which the account knows nothing.
struct Steps {
  const Server& server;
  const EncodedBootstrapAccess::Storage& with;
  const rlwe::Evaluator& evaluator = Access::evaluator(server);
  const Account& account = Access::account(server);

  rlwe::Array through(rlwe::Array x, const std::vector<EncodedMap>& maps) const {
    for (const EncodedMap& map : maps) x = mapped(server, x, map);
    return x;
  }
  const rlwe::Key& key(SwitchRole role) const {
    const rlwe::Keys& keys = Access::keys(server, role);
    if (!keys.has(1, 1))
      throw KeyMismatchError(
          "bootstrapping has no key for the sparse secret; ask the client for bootstrap with " +
          std::to_string(with.slots) + " slots");
    return keys.get(1, 1);
  }
  /// To all primes, under the sparse secret, for which few multiples of the modulus are added.
  rlwe::Array raised(const rlwe::Array& x) const {
    const rlwe::Array sparse = evaluator.key_switch(x, key(SwitchRole::to_sparse), 1);
    const ring::Basis& top = account.basis(server.parameters().top());
    return evaluator.key_switch(evaluator.extend(sparse, top, ring::Lift::exact),
                                key(SwitchRole::from_sparse), 1);
  }
  /// The sum of the images that agree with x where its slots repeat.
  rlwe::Array trace(rlwe::Array x) const {
    for (std::uint64_t k = with.slots; k < server.parameters().slots(); k *= 2)
      x = evaluator.add(x, image(x, Access::rotation(server, server.parameters().slots(),
                                                     static_cast<std::int64_t>(k))));
    return x;
  }
  rlwe::Array image(const rlwe::Array& x, std::uint32_t g) const {
    return evaluator.automorphisms(x, std::span(&g, 1), Access::keys(server), 1)[0];
  }
};

/// cos(2π(t - 1/4)), that is sin(2πt), of t/range; its angle is doubled at the end.
Array sine(const Server& server, const Array& x, const Polynomial& cosine, unsigned doublings) {
  Array y = server.with_bound(evaluate(server, x, cosine), 1);
  for (unsigned d = 0; d < doublings; ++d)
    y = server.with_bound(server.add_scalar(server.multiply_integer(server.square(y), 2), -1.0), 1);
  return y;
}

}  // namespace

Array bootstrap(const Server& server, const Array& x, const EncodedBootstrap& with) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  const Parameters& p = server.parameters();
  const BootstrapLiteral& shape = checked_shape(p, of.slots);
  Access::check_packed(server, "bootstrap", x);
  const CiphertextInfo& info = x.info();
  if (info.slots() != of.slots)
    throw ShapeError("bootstrap: vectors of " + std::to_string(info.slots()) +
                     " slots meet maps that are encoded for " + std::to_string(of.slots));
  if (info.bound > 0x1p-20)
    throw EncodingError("bootstrap: values of up to " + math::text_of(std::exp2(info.bound)) +
                        " are above 1; multiply by a smaller number first, or state a smaller "
                        "bound that is known with with_bound");
  if (info.level < shape.to_coefficients)
    throw NoiseError("bootstrap: a ciphertext of level " + std::to_string(info.level) +
                     " is below level " + std::to_string(shape.to_coefficients) +
                     ", from which slots can be moved to coefficients: refresh it earlier");

  return Access::fleet(server).together([&] {
    const Steps steps{server, of};
    const rlwe::Evaluator& evaluator = steps.evaluator;
    const Array low = server.lower(server.relinearise(x), shape.to_coefficients);
    const rlwe::Array coefficients = steps.through(Access::residues(low), of.to_coefficients);
    const rlwe::Array slots = steps.through(steps.trace(steps.raised(coefficients)), of.to_slots);

    // Twice the real parts, and twice the imaginary ones: i·(conj(z) - z).
    const bool complex = info.packing == Packing::complex;
    const rlwe::Array conjugate = steps.image(slots, 2 * p.N() - 1);
    CiphertextInfo angle = info;
    angle.packing = Packing::real;
    angle.parts = 2;
    angle.level = p.depth() + shape.sine();
    angle.scale = p.scale(angle.level);
    angle.bound = 0;
    angle.error = steps.account.automorphism(angle).error;
    const Array real = Access::put(angle, evaluator.add(slots, conjugate));
    Array angles = real;
    if (complex) {
      const Array imaginary =
          server.multiply_by_i(Access::put(angle, evaluator.sub(conjugate, slots)));
      const std::array<rlwe::Array, 2> both{Access::residues(real), Access::residues(imaginary)};
      angle.count *= 2;
      angles = Access::put(angle, evaluator.join(both));
    }
    const Array values = sine(server, angles, of.cosine, shape.doublings);

    const CiphertextInfo known = steps.account.refreshed(low.info(), of.log2_error);
    CiphertextInfo part = known;
    part.packing = Packing::real;
    part.count = values.info().count;
    const Array all = Access::put(part, Access::residues(values));
    if (!complex) return Access::put(known, Access::residues(all));
    std::vector<std::uint32_t> first, second;
    for (std::uint32_t i = 0; i < info.count; ++i) {
      first.push_back(i);
      second.push_back(static_cast<std::uint32_t>(info.count) + i);
    }
    const Array sum =
        server.add(server.take(all, first), server.multiply_by_i(server.take(all, second)));
    return Access::put(known, Access::residues(sum));
  });
}

}  // namespace whorl::ckks
