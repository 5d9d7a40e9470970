#include "schemes/ckks/server_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "math/memory.h"
#include "math/modulus.h"
#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/encoder.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

using Complex = std::complex<double>;

/// What is known of numbers: the largest absolute value, between which numbers the real parts lie,
/// and whether there are no other parts.
struct Extent {
  double most = 0;
  Bounds ends = 0;
  bool real = true;
};

/// Takes one pass. EncodingError for a number that is not finite.
Extent extent_of(std::span<const Complex> values) {
  // Squares are compared where doubles hold them: absolute values take longer than the encoding.
  double most = 0, low = values[0].real(), high = low;
  std::size_t finite = 0, imaginary = 0;
  for (const Complex& z : values) {
    const double square = z.real() * z.real() + z.imag() * z.imag();
    finite += static_cast<std::size_t>(square <= std::numeric_limits<double>::max());
    imaginary += static_cast<std::size_t>(z.imag() != 0);
    most = std::max(most, square);
    low = std::min(low, z.real());
    high = std::max(high, z.real());
  }
  if (finite == values.size() && most >= 0x1p-900)
    return {std::sqrt(most), {low, high}, imaginary == 0};
  most = 0;
  for (const Complex& z : values) {
    if (!std::isfinite(z.real()) || !std::isfinite(z.imag()))
      throw EncodingError("values: the number at index " + std::to_string(&z - values.data()) +
                          " is not finite");
    most = std::max(most, std::abs(z));
  }
  return {most, {low, high}, imaginary == 0};
}

/// ShapeError unless rows of `length` numbers are the parts of vectors like those of `a`, which
/// take `each` ciphertexts, or one number for each vector.
void check_vectors(const CiphertextInfo& a, std::span<const Complex> values, std::uint64_t length,
                   std::size_t each) {
  if (values.size() == 1) return;
  if (values.size() == length) Account::check_lengths(a.vector, length);
  for (std::size_t i = 0; length == 1 && i < values.size(); ++i)
    if (values[i] != values[i - i % each])
      throw ShapeError("plaintext: number " + std::to_string(i) + " differs from number " +
                       std::to_string(i - i % each) + ", but both meet one vector of " +
                       std::to_string(a.vector) + " values, which takes " + std::to_string(each) +
                       " ciphertexts: give each number so many times");
}

void check_fits(double most, double scale) {
  if (most * scale >= 0x1p61)
    throw EncodingError("values: the largest, " + math::text_of(most) + ", times the scale 2^" +
                        math::text_of(std::log2(scale)) +
                        " is above 2^61: make the values smaller, and multiply the result by an "
                        "integer, which is exact and takes no level");
}

}  // namespace

namespace {

using KeysByKind = std::map<SwitchKind, rlwe::Keys>;

KeysByKind keys_for(const EvaluationKeys& data,
                    const std::shared_ptr<const rlwe::Evaluator>& evaluator,
                    const std::shared_ptr<run::KeyBudget>& budget) {
  const ParameterLiteral& p = data.parameters.literal();
  // Those that operations look for are there, if need be without any key.
  std::set<SwitchKind> kinds{{}, {SwitchRole::to_sparse}, {SwitchRole::from_sparse}};
  if (p.bootstrap) kinds.insert(slots_to_coeffs_kind(p));
  for (const RingSwitchKey& key : data.keys) kinds.insert(key.kind);
  KeysByKind out;
  for (const SwitchKind kind : kinds)
    out.try_emplace(kind, evaluator, keys_of_kind(data.keys, kind, layout_of(p, kind)), budget);
  return out;
}

KeysByKind open_keys(const Parameters& parameters,
                     const std::shared_ptr<const rlwe::Evaluator>& evaluator) {
  const ParameterLiteral& p = parameters.literal();
  KeysByKind out;
  const auto open = [&](SwitchKind kind) { out.try_emplace(kind, evaluator, layout_of(p, kind)); };
  open({});
  for (unsigned level = 0; level <= parameters.top(); ++level) open({SwitchRole::low, level});
  if (p.bootstrap)
    for (const SwitchRole role : {SwitchRole::to_sparse, SwitchRole::from_sparse}) open({role});
  return out;
}

}  // namespace

ServerState::ServerState(const EvaluationKeys& data, std::shared_ptr<const run::SessionState> on)
    : RingServerState(data, std::move(on)),
      keys_by_kind(keys_for(data, evaluator, session->budget)),
      account(parameters),
      constants(make_constants()) {}

ServerState::ServerState(const Parameters& of)
    : RingServerState(of),
      keys_by_kind(open_keys(of, evaluator)),
      account(parameters),
      constants(make_constants()) {}

std::size_t ServerState::most() const {
  const auto sparse = keys_by_kind.find({SwitchRole::from_sparse});
  if (sparse == keys_by_kind.end() || !sparse->second.has(1, 1)) return evaluator->most();
  constexpr std::size_t babies = 16, giants = 1;  // of a map in CoeffsToSlots
  return evaluator->most(rlwe::Evaluator::rows_of_map(
      layout_of(parameters.literal(), {}), evaluator->level(parameters.limbs()), babies, giants));
}

const rlwe::Keys& ServerState::keys_of(SwitchKind kind) const {
  const auto found = keys_by_kind.find(kind);
  if (found == keys_by_kind.end())
    throw MissingKeyError("a linear map was encoded for keys of level " +
                          std::to_string(kind.level) +
                          " and below, which this server does not have: encode it on this one");
  return found->second;
}

SwitchKind ServerState::low_kind(std::uint64_t of, std::span<const std::int64_t> rotations,
                                 unsigned level) const {
  for (auto each = keys_by_kind.lower_bound({SwitchRole::low, level});
       each != keys_by_kind.end() && each->first.role == SwitchRole::low; ++each)
    if (each->second.is_open() || std::ranges::all_of(rotations, [&](std::int64_t slots) {
          return held_rotation(of, slots, each->first).has_value();
        }))
      return each->first;
  std::string list;
  for (const std::int64_t slots : rotations)
    list += (list.empty() ? "" : ", ") + std::to_string(slots);
  throw MissingKeyError("a linear map at level " + std::to_string(level) +
                        " has no keys of low levels: ask the client for low_rotations={" +
                        std::to_string(level) + ": [" + list + "]}");
}

Array ServerState::array(Info info, rlwe::Array residues) {
  Array out;
  out.info_ = std::move(info);
  out.residues_ = std::make_shared<const rlwe::Array>(std::move(residues));
  return out;
}

ServerState::Constants ServerState::make_constants() const {
  const ring::Basis basis = evaluator->level(parameters.limbs());
  // A dry run looks at no words.
  const std::size_t N = parameters.N(), words = keys.is_open() ? 0 : 2 * basis.size() * N;
  const rlwe::Array zero =
      evaluator->upload(parameters.word_bytes() == 4 ? WordArray(std::vector<std::uint32_t>(words))
                                                     : WordArray(std::vector<std::uint64_t>(words)),
                        {2, basis, 1, rlwe::Form::evaluation});
  // X^(N/2), exactly: of a transform of equal values the others are 0.
  const Complex i(0, 1);
  Constants out;
  out.imaginary_plain = evaluator->interpolate({&i, 1}, 1, 1, basis);
  out.imaginary = evaluator->add_plain(zero, out.imaginary_plain);
  return out;
}

std::vector<std::uint64_t> ServerState::residues_of(double number, unsigned level) const {
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(std::nearbyint(number)), &exponent);
  const int shift = std::max(0, exponent - 53);
  const auto head = static_cast<std::uint64_t>(std::ldexp(mantissa, exponent - shift));
  std::vector<std::uint64_t> out;
  for (const unsigned i : parameters.primes(level)) {
    const math::Modulus<std::uint64_t> q(parameters.literal().chain[i]);
    const std::uint64_t size = q.mul(q.reduce(head), q.pow(2, static_cast<std::uint64_t>(shift)));
    out.push_back(number < 0 && size != 0 ? q.value() - size : size);
  }
  return out;
}

void ServerState::check_packed(const char* what, const Array& a) const {
  check(a);
  if (a.info_.packing == Packing::coefficients)
    throw EncodingError(std::string(what) +
                        ": the values are coefficients, and must be packed in slots");
}

void ServerState::check_alone(const char* what, const Array& a) const {
  check_packed(what, a);
  if (a.info_.vector != 0)
    throw ShapeError(std::string(what) + ": vectors of " + std::to_string(a.info_.vector) +
                     " values take " + std::to_string(a.info_.each(parameters.N())) +
                     " ciphertexts of N/2 = " + std::to_string(parameters.slots()) +
                     " values each, and no operation moves values from one to another");
}

void ServerState::check_slots(const char* what, const Array& a) const {
  check_alone(what, a);
  if (a.info_.length != a.info_.slots())
    throw ShapeError(
        std::string(what) + ": a vector of " + std::to_string(a.info_.length) +
        " values has no period of its own, as its length is no power of two; encrypt it with "
        "zeros behind, as " +
        std::to_string(a.info_.slots()) + " values");
}

rlwe::Array ServerState::prepared(const Array& a, const Preparation& by) const {
  rlwe::Array out = residues(a);
  if (!by.by.is_one()) {
    std::vector<std::uint64_t> factors;
    for (const unsigned i : parameters.primes(a.info_.level)) {
      const math::Modulus<std::uint64_t> q(parameters.literal().chain[i]);
      factors.push_back(q.mul(q.reduce(by.by.head), q.pow(2, by.by.shift)));
    }
    out = evaluator->scale(out, factors);
  }
  return by.level == a.info_.level ? out : divided(out, by.level);
}

Array ServerState::lower(const Array& a, unsigned level, double times) const {
  const Account::One to = account.lower(a.info_, level, times);
  return fleet->together([&] { return array(to.result, prepared(a, to.a)); });
}

Array ServerState::add(const Array& a, const Array& b, bool subtract) const {
  check(a);
  check(b);
  check_counts(a.info_.count, b.info_.count, "ciphertexts");
  const Account::Two sum = account.add(a.info_, b.info_, subtract);
  return fleet->together([&] {
    const rlwe::Array x = prepared(a, sum.a), y = prepared(b, sum.b);
    return array(sum.result, subtract ? evaluator->sub(x, y) : evaluator->add(x, y));
  });
}

Array ServerState::relinearised(const Array& a) const {
  if (a.info_.parts == 2) return a;
  return array(account.relinearise(a.info_),
               evaluator->relinearise(residues(a), keys, no_plain_modulus));
}

Array ServerState::rescaled(const Array& a) const {
  const Info info = account.rescale(a.info_);
  return array(info, divided(residues(a), info.level));
}

Array ServerState::multiply(const Array& a, const Array& b, const Finish& finish) const {
  check(a);
  check(b);
  check_counts(a.info_.count, b.info_.count, "ciphertexts");
  // What would be refused at the end is refused before the work.
  if (finish.rescaled) Account::check_level(std::min(a.info_.level, b.info_.level));
  const Account::Two product = account.multiply(a.info_, b.info_, &a == &b);
  if (finish.rescaled) static_cast<void>(account.rescale(product.result));
  return fleet->together([&] {
    const rlwe::Array x = prepared(a, product.a), y = &a == &b ? x : prepared(b, product.b);
    if (finish.relinearised) return relinearised_product(product.result, x, y, {}, finish.rescaled);
    Array out = array(product.result, evaluator->tensor(x, y));
    return finish.rescaled ? rescaled(out) : out;
  });
}

Array ServerState::product_plus(const Array& a, const Array& b, const Array* added) const {
  if (!added) return multiply(a, b, {.relinearised = false, .rescaled = false});
  check(a);
  check(b);
  check(*added);
  check_counts(a.info_.count, b.info_.count, "ciphertexts");
  const Account::Two factors = account.multiply(a.info_, b.info_, &a == &b);
  const Account::Two sum = account.add(factors.result, added->info_);
  const bool as_they_are = sum.a.is_nothing(factors.result.level) &&
                           sum.b.is_nothing(added->info_.level) &&
                           factors.result.count == added->info_.count;
  return fleet->together([&] {
    const rlwe::Array x = prepared(a, factors.a), y = &a == &b ? x : prepared(b, factors.b);
    if (!as_they_are) return add(array(factors.result, evaluator->tensor(x, y)), *added, false);
    return array(sum.result, evaluator->tensor(x, y, {.added = &residues(*added)}));
  });
}

Array ServerState::double_angle(const Array& a, Doubling by, const Encoded* less) const {
  check(a);
  const Account::Two square = account.multiply(a.info_, a.info_, true);
  const Info info = account.double_angle(square.result, by);
  std::vector<std::uint64_t> less_1;
  if (!less) less_1 = residues_of(-info.scale, info.level);
  Array out = fleet->together([&] {
    const rlwe::Array x = prepared(a, square.a);
    return relinearised_product(info, x, x, {by == Doubling::of_residues, less_1}, true);
  });
  if (by == Doubling::of_scale) out = with_info(out, account.with_canonical_scale(out.info_));
  return less ? add(out, *less) : out;
}

Array ServerState::relinearised_product(const Info& product, const rlwe::Array& a,
                                        const rlwe::Array& b,
                                        const rlwe::Evaluator::ProductEnd& end,
                                        bool rescaled) const {
  const Info two = account.relinearise(product), info = rescaled ? account.rescale(two) : two;
  return array(info, evaluator->relinearised_product(a, b, end, keys, account.basis(info.level),
                                                     no_plain_modulus));
}

Array ServerState::relinearised_and_rescaled(const Array& a) const {
  const Info info = account.rescale(account.relinearise(a.info_));
  return array(
      info, evaluator->relinearise(residues(a), keys, account.basis(info.level), no_plain_modulus));
}

std::optional<std::uint32_t> ServerState::held_rotation(std::uint64_t of, std::int64_t slots,
                                                        SwitchKind kind) const {
  const auto period = static_cast<std::int64_t>(of);
  const std::int64_t least = ((slots % period) + period) % period;
  // A vector that is repeated turns by any number that is congruent.
  for (const std::int64_t distance : {least, least - period, slots}) {
    const std::uint32_t g = rotation_exponent(parameters.N(), distance);
    if (g == 1 || keys_of(kind).holds(g, 1)) return g;
  }
  return std::nullopt;
}

std::uint32_t ServerState::rotation(std::uint64_t of, std::int64_t slots, SwitchKind kind) const {
  if (const auto g = held_rotation(of, slots, kind)) return *g;
  const auto period = static_cast<std::int64_t>(of);
  if (keys_of(kind).is_open())
    return rotation_exponent(
        parameters.N(), std::abs(slots) < period ? slots : ((slots % period) + period) % period);
  if (kind.role == SwitchRole::low)
    throw MissingKeyError("rotation by " + std::to_string(slots) +
                          " at low levels has no key: ask the client for bootstrap=[" +
                          std::to_string(of) + "]");
  throw MissingKeyError("rotation by " + std::to_string(slots) +
                        " has no key: ask the client for rotations=[" + std::to_string(slots) +
                        "]");
}

std::vector<Array> ServerState::automorphisms(const Array& a,
                                              std::span<const std::uint32_t> gs) const {
  return fleet->together([&] {
    const Array two = relinearised(a);
    const auto turned = evaluator->automorphisms(residues(two), gs, keys, no_plain_modulus);
    const Info info = account.automorphism(two.info_);
    return images_of(two, gs, turned, [&](const rlwe::Array& x) { return array(info, x); });
  });
}

Account::Plain ServerState::known_of(const Info& a, std::span<const Complex> values,
                                     std::size_t of_each, double scale) const {
  if (values.empty()) throw ShapeError("values: no value is given");
  const bool coefficients = a.packing == Packing::coefficients;
  const Extent extent = extent_of(values);
  const Packing packing = coefficients  ? Packing::coefficients
                          : extent.real ? Packing::real
                                        : Packing::complex;
  if (coefficients && !extent.real)
    throw EncodingError("values: coefficients are real numbers, and one has an imaginary part");
  const std::size_t length =
      vector_length(values.size(), of_each, values.size(), coefficients, parameters.N());
  const std::size_t count = values.size() / length;
  if (!coefficients && length > parameters.slots())
    throw ShapeError("values: a row of " + std::to_string(length) +
                     " values is longer than a ciphertext, which holds N/2 = " +
                     std::to_string(parameters.slots()) + ": give a row for each ciphertext");
  if (!coefficients) Account::check_lengths(a.length, length);
  check_counts(a.count, count, "plaintexts");
  if (a.vector != 0) check_vectors(a, values, length, a.each(parameters.N()));
  return {count,  scale,   account.bound_of(extent.most, length, packing),
          length, packing, packing == Packing::real ? extent.ends : Bounds(extent.most)};
}

ServerState::Encoded ServerState::encoded(const Info& a, std::span<const Complex> values,
                                          std::size_t of_each, double scale, unsigned level) const {
  const Account::Plain known = known_of(a, values, of_each, scale);
  check_fits(known.values.most(), scale);
  return {plaintexts(values, known.length, known.packing, scale, account.basis(level)), known};
}

rlwe::Array ServerState::plaintexts(std::span<const Complex> values, std::size_t length,
                                    Packing packing, double scale, const ring::Basis& basis) const {
  const std::size_t count = values.size() / length;
  return math::with_memory_for("plaintexts", [&] {
    if (packing == Packing::coefficients) {
      const std::size_t N = parameters.N();
      std::vector<double> polynomials(count * N);
      for (std::size_t i = 0; i < values.size(); ++i)
        polynomials[i / length * N + i % length] = values[i].real();
      return evaluator->lift(polynomials, scale, basis);
    }
    const std::size_t period = std::bit_ceil(length);
    if (period == length) return evaluator->interpolate(values, period, scale, basis);
    std::vector<Complex> padded;
    padded.reserve(count * period);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const Complex> row = values.subspan(i * length, length),
                                     again = row.first(period - length);
      padded.insert(padded.end(), row.begin(), row.end());
      padded.insert(padded.end(), again.begin(), again.end());
    }
    return evaluator->interpolate(padded, period, scale, basis);
  });
}

std::vector<rlwe::Array> ServerState::factors(std::span<const Complex> values, double most,
                                              std::size_t period, double scale,
                                              const ring::Basis& basis) const {
  check_fits(most, scale);
  return math::with_memory_for(
      "plaintexts", [&] { return evaluator->interpolate_by_period(values, period, scale, basis); });
}

rlwe::Array ServerState::factor(std::span<const Complex> values, double scale,
                                const ring::Basis& basis) const {
  return factors(values, extent_of(values).most, values.size(), scale, basis)[0];
}

Array ServerState::add(const Array& a, std::span<const Complex> values, std::size_t length,
                       bool subtract) const {
  check(a);
  const double scale = a.info_.scale;
  const Account::Plain known = known_of(a.info_, values, length, scale);
  const Info info = account.add_plain(a.info_, known, subtract);
  // Plaintexts hold 61 bits. At the scale of a product that was not rescaled there are more: the
  // lowest are 0, which changes numbers by less than doubles are rounded.
  int of_values = 0, of_scale = 0;
  std::frexp(known.values.most(), &of_values);
  std::frexp(scale, &of_scale);
  const int zeros = std::max(0, of_values + of_scale - 61);
  const rlwe::Array plain = plaintexts(values, known.length, known.packing,
                                       std::ldexp(scale, -zeros), account.basis(info.level));
  return fleet->again([&] {
    const rlwe::Array m =
        zeros == 0 ? plain : evaluator->scale(plain, residues_of(std::ldexp(1, zeros), info.level));
    return array(info, subtract ? evaluator->sub_plain(residues(a), m)
                                : evaluator->add_plain(residues(a), m));
  });
}

Array ServerState::multiply_plain(const Array& a, std::span<const Complex> values,
                                  std::size_t length, bool rescale) const {
  check(a);
  if (rescale) Account::check_level(a.info_.level);
  return multiply_plain(
      a, encoded(a.info_, values, length, account.plain_scale(a.info_), a.info_.level), rescale);
}

Array ServerState::multiply_plain(const Array& a, const Encoded& m, bool rescale) const {
  const Info info = account.multiply_plain(a.info_, m.known);
  if (rescale) static_cast<void>(account.rescale(info));
  return fleet->together([&] {
    const Array out = array(info, evaluator->multiply_plain(residues(a), m.residues));
    return rescale ? rescaled(out) : out;
  });
}

Array ServerState::add(const Array& a, const Encoded& m) const {
  const Info info = account.add_plain(a.info_, m.known);
  return fleet->again([&] { return array(info, evaluator->add_plain(residues(a), m.residues)); });
}

Array ServerState::add_scalar(const Array& a, Complex value) const {
  check(a);
  const bool coefficients = a.info_.packing == Packing::coefficients;
  if (coefficients && value.imag() != 0)
    throw EncodingError("values: coefficients are real numbers, and one has an imaginary part");
  const double scale = a.info_.scale, most = extent_of(std::span(&value, 1)).most;
  Account::Plain known = account.constant(value.real(), scale, a.info_.packing);
  if (value.imag() != 0.0)
    known = {1, scale, account.bound_of(most, 1, Packing::complex), 1, Packing::complex, most};
  // It fits the modulus then, so that it may be larger than what a plaintext of numbers holds.
  const Info info = account.add_plain(a.info_, known);
  return fleet->again(
      [&] { return array(info, with_constant(residues(a), 1, value, scale, info.level)); });
}

Array ServerState::multiply_add(const Array& a, std::int64_t by, double value) const {
  check(a);
  const Info product = account.multiply_integer(a.info_, by);
  const Info info =
      account.add_plain(product, account.constant(value, product.scale, product.packing));
  return fleet->again([&] {
    return array(
        info, with_constant(residues(a), static_cast<double>(by), value, info.scale, info.level));
  });
}

Array ServerState::reaching(const Array& a, unsigned level) const {
  if (residues(a).basis().includes(account.basis(level))) return a;
  const Account::One to = account.lower(a.info_, level);
  return array(to.result, prepared(a, to.a));
}

Array ServerState::restricted(const Array& a, unsigned level) const {
  check(a);
  if (a.info_.level == level) return a;
  return fleet->again([&] {
    const Array reached = reaching(a, level);
    if (reached.info_.level == level) return reached;  // a division brought it there
    return array(account.restrict(reached.info_, level),
                 evaluator->restrict(residues(reached), account.basis(level)));
  });
}

Array ServerState::sum_of_multiples(std::span<const Array> arrays,
                                    std::span<const std::int64_t> weights, double constant) const {
  std::vector<Info> known;
  std::vector<rlwe::Array> operands;
  for (const Array& a : arrays) {
    check(a);
    known.push_back(a.info_);
    operands.push_back(residues(a));
  }
  const Info info = account.sum_of_multiples(known, weights, constant);
  std::vector<std::vector<std::uint64_t>> residues;
  for (const std::int64_t by : weights)
    residues.push_back(residues_of(static_cast<double>(by), info.level));
  const std::vector<std::uint64_t> added = residues_of(constant * info.scale, info.level);
  return fleet->again([&] {
    return array(info,
                 evaluator->combination(operands, residues, added, account.basis(info.level)));
  });
}

Array ServerState::linear_combination(std::span<const Array> arrays,
                                      std::span<const double> coefficients, double constant,
                                      unsigned level, bool rescale) const {
  const double scale = parameters.scale(level), product = scale * scale;
  return fleet->together([&] {
    std::vector<rlwe::Array> operands;
    std::vector<std::vector<std::uint64_t>> weights;
    std::vector<Account::Weighted> known;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Array a = reaching(arrays[i], level);
      const double by = product / a.info_.scale;
      operands.push_back(residues(a));
      weights.push_back(residues_of(coefficients[i] * by, level));
      known.push_back({a.info_, account.constant(coefficients[i], by, a.info_.packing)});
    }
    const Info sum = account.combination(known, constant, level);
    const Array out =
        array(sum, evaluator->combination(operands, weights, residues_of(constant * product, level),
                                          account.basis(level)));
    return rescale ? rescaled(out) : out;
  });
}

Array ServerState::linear_combination(std::span<const Array> arrays,
                                      std::span<const std::vector<Complex>> coefficients,
                                      std::size_t length, unsigned level, bool rescale) const {
  const double scale = parameters.scale(level), product = scale * scale;
  return fleet->together([&] {
    std::vector<rlwe::Array> operands, plains;
    std::vector<Account::Weighted> known;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Array a = reaching(arrays[i], level);
      const Encoded m = encoded(a.info_, coefficients[i], length, product / a.info_.scale, level);
      operands.push_back(residues(a));
      plains.push_back(m.residues);
      known.push_back({a.info_, m.known, true});
    }
    const Info sum = account.combination(known, 0, level);
    const Array out =
        array(sum, evaluator->sum_of_products(operands, plains, account.basis(level)));
    return rescale ? rescaled(out) : out;
  });
}

rlwe::Array ServerState::with_constant(const rlwe::Array& a, double by, Complex value, double scale,
                                       unsigned level) const {
  const ring::Basis& basis = account.basis(level);
  const std::vector<std::uint64_t> real = residues_of(value.real() * scale, level);
  std::vector<rlwe::Array> arrays{a};
  std::vector<std::vector<std::uint64_t>> weights{residues_of(by, level)};
  const double i = std::nearbyint(value.imag() * scale);
  if (i == 0) return evaluator->combination(arrays, weights, real, basis);
  const std::vector<std::uint64_t> imaginary = residues_of(i, level);
  if (a.parts() != constants.imaginary.parts())
    return evaluator->add(
        evaluator->combination(arrays, weights, real, basis),
        evaluator->combination({&constants.imaginary, 1}, {&imaginary, 1}, basis));
  arrays.push_back(constants.imaginary);
  weights.push_back(imaginary);
  return evaluator->combination(arrays, weights, real, basis);
}

}  // namespace whorl::ckks
