#include "whorl/ckks/server.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "lattice/rlwe/shapes.h"
#include "math/memory.h"
#include "math/text.h"
#include "schemes/ckks/access.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/encoder.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

std::size_t Array::bytes() const { return residues_ ? residues_->bytes() : 0; }

namespace {

using Complex = std::complex<double>;

std::vector<rlwe::SwitchKeyData> switch_keys(const EvaluationKeys& keys, SwitchRole role) {
  const ParameterLiteral& p = keys.parameters.literal();
  if (role == SwitchRole::low && !p.bootstrap) return {};
  const ring::KeyLayout layout = layout_of(p, role);
  std::vector<rlwe::SwitchKeyData> out;
  for (const RingSwitchKey& key : keys.keys)
    if (key.role == role) out.push_back({key.g, key.power, key.seed, key.b, layout});
  return out;
}

void check_counts(std::size_t a, std::size_t b, const char* of_b) {
  if (a != b && a != 1 && b != 1)
    throw ShapeError("a batch of " + std::to_string(a) + " ciphertexts meets " + std::to_string(b) +
                     " " + of_b + ": the numbers must be equal, or one of them must be 1");
}

void check_power(const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (!std::has_single_bit(value) || value < least || value > most)
    throw ShapeError(std::string(what) + ", " + std::to_string(value) +
                     ", is not a power of two in " + std::to_string(least) + " … " +
                     std::to_string(most));
}

double largest(std::span<const Complex> values) {
  double most = 0;
  for (const Complex& z : values) {
    if (!std::isfinite(z.real()) || !std::isfinite(z.imag()))
      throw EncodingError("values: the number at index " + std::to_string(&z - values.data()) +
                          " is not finite");
    most = std::max(most, std::abs(z));
  }
  return most;
}

/// The largest absolute value. EncodingError if it is too large for a plaintext of that scale.
double largest_at(std::span<const Complex> values, double scale) {
  const double most = largest(values);
  if (most * scale >= 0x1p61)
    throw EncodingError("values: the largest, " + math::text_of(most) + ", times the scale 2^" +
                        math::text_of(std::log2(scale)) +
                        " is above 2^61: make the values smaller, and rescale a product that was "
                        "not rescaled");
  return most;
}

bool is_real(std::span<const Complex> values) {
  return std::ranges::all_of(values, [](const Complex& z) { return z.imag() == 0; });
}

}  // namespace

/// The account says what is to be done, the evaluator does it.
struct Server::State {
  using Info = CiphertextInfo;

  State(const EvaluationKeys& data, const ServerOptions& options)
      : parameters(data.parameters),
        key_id(data.key_id),
        fleet(run::Fleet::open(options.device, {options.threads, {}}, {options.interrupt})),
        names(fleet->names()),
        name(fleet->name()),
        evaluator(rlwe::Evaluator::make(fleet, any_plan_of(parameters))),
        budget(run::budget_of(options.key_cache, options.key_budget)),
        keys(keys_for(data, SwitchRole::usual)),
        low_keys(keys_for(data, SwitchRole::low)),
        to_sparse(keys_for(data, SwitchRole::to_sparse)),
        from_sparse(keys_for(data, SwitchRole::from_sparse)),
        account(parameters),
        encoder(parameters),
        constants(make_constants()) {}
  /// Of a dry run.
  explicit State(const Parameters& of)
      : parameters(of),
        key_id{},
        fleet(run::Fleet::open("cpu", {1, {}}, {})),
        names{"no device: a dry run"},
        name(names[0]),
        evaluator(std::make_shared<const rlwe::Shapes>(fleet, of.N(), of.limbs(), of.special(),
                                                       of.word_bytes())),
        budget(run::budget_of({}, 0)),
        keys(open_keys(SwitchRole::usual)),
        low_keys(open_keys(SwitchRole::low)),
        to_sparse(open_keys(SwitchRole::to_sparse)),
        from_sparse(open_keys(SwitchRole::from_sparse)),
        account(parameters),
        encoder(parameters),
        constants(make_constants()) {}

  Parameters parameters;
  KeyId key_id;
  std::shared_ptr<const run::Fleet> fleet;
  std::vector<std::string> names;
  std::string name;
  std::shared_ptr<const rlwe::Evaluator> evaluator;
  std::shared_ptr<run::KeyBudget> budget;
  rlwe::Keys keys, low_keys, to_sparse, from_sparse;
  Account account;
  Encoder encoder;

  rlwe::Keys keys_for(const EvaluationKeys& data, SwitchRole role) const {
    return {evaluator, switch_keys(data, role), budget};
  }
  rlwe::Keys open_keys(SwitchRole role) const {
    const bool none = role != SwitchRole::usual && !parameters.literal().bootstrap;
    return {evaluator, layout_of(parameters.literal(), none ? SwitchRole::usual : role)};
  }
  const rlwe::Keys& keys_of(SwitchRole role) const {
    switch (role) {
      case SwitchRole::low:
        return low_keys;
      case SwitchRole::to_sparse:
        return to_sparse;
      case SwitchRole::from_sparse:
        return from_sparse;
      case SwitchRole::usual:
        break;
    }
    return keys;
  }

  static constexpr std::uint64_t no_plain_modulus = 1;

  // ---- arrays

  static Array put(Info info, rlwe::Array residues) {
    Array out;
    out.info_ = std::move(info);
    out.residues_ = std::make_shared<const rlwe::Array>(std::move(residues));
    return out;
  }
  static const rlwe::Array& residues(const Array& a) { return *a.residues_; }

  /// i in every slot, at scale 1: a ciphertext of two parts that needs no key, and a plaintext.
  struct Constants {
    rlwe::Array imaginary, imaginary_plain;
  };
  Constants constants;
  Constants make_constants() const {
    const ring::Basis basis = evaluator->level(parameters.limbs());
    // A dry run looks at no words.
    const std::size_t N = parameters.N(), words = keys.is_open() ? 0 : 2 * basis.size() * N;
    const rlwe::Array zero = evaluator->upload(parameters.word_bytes() == 4
                                                   ? WordArray(std::vector<std::uint32_t>(words))
                                                   : WordArray(std::vector<std::uint64_t>(words)),
                                               {2, basis, 1, rlwe::Form::evaluation});
    // X^(N/2) is i in every slot: 5^j = 1 modulo 4.
    std::vector<std::int64_t> monomial(N);
    monomial[N / 2] = 1;
    Constants out;
    out.imaginary_plain = evaluator->lift(monomial, basis);
    out.imaginary = evaluator->add_plain(zero, out.imaginary_plain);
    return out;
  }

  /// The integer next to a number of any size, modulo each prime of a level.
  std::vector<std::uint64_t> residues_of(double number, unsigned level) const {
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

  void check(const Array& a) const {
    if (!a.residues_) throw ShapeError("an empty array was given to a server");
    if (!a.residues_->is_of(*evaluator))
      throw DeviceError("an array of another server was given to " + name);
  }
  void check_packed(const char* what, const Array& a) const {
    check(a);
    if (a.info_.packing == Packing::coefficients)
      throw EncodingError(std::string(what) +
                          ": the values are coefficients, and must be packed in slots");
  }
  void check_slots(const char* what, const Array& a) const {
    check_packed(what, a);
    if (a.info_.length != a.info_.slots())
      throw ShapeError(std::string(what) + ": a vector of " + std::to_string(a.info_.length) +
                       " values has no period of its own; encrypt it with zeros behind, as " +
                       std::to_string(a.info_.slots()) + " values");
  }

  /// An operand, brought to what its account asks for.
  rlwe::Array prepared(const Array& a, const Preparation& by) const {
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
  rlwe::Array divided(const rlwe::Array& a, unsigned level) const {
    return evaluator->divide(a, account.basis(level), no_plain_modulus);
  }

  Array add(const Array& a, const Array& b, bool subtract) const {
    check(a);
    check(b);
    check_counts(a.info_.count, b.info_.count, "ciphertexts");
    const Account::Two sum = account.add(a.info_, b.info_);
    return fleet->together([&] {
      const rlwe::Array x = prepared(a, sum.a), y = prepared(b, sum.b);
      return put(sum.result, subtract ? evaluator->sub(x, y) : evaluator->add(x, y));
    });
  }
  Array relinearised(const Array& a) const {
    if (a.info_.parts == 2) return a;
    return put(account.relinearise(a.info_),
               evaluator->relinearise(residues(a), keys, no_plain_modulus));
  }
  Array rescaled(const Array& a) const {
    const Info info = account.rescale(a.info_);
    return put(info, divided(residues(a), info.level));
  }
  Array product(const Array& a, const Array& b, const Finish& finish) const {
    check(a);
    check(b);
    check_counts(a.info_.count, b.info_.count, "ciphertexts");
    const Account::Two product = account.multiply(a.info_, b.info_);
    // What would be refused at the end is refused before the work.
    if (finish.rescaled) static_cast<void>(account.rescale(product.result));
    return fleet->together([&] {
      const rlwe::Array x = prepared(a, product.a), y = &a == &b ? x : prepared(b, product.b);
      Array out = put(product.result, evaluator->tensor(x, y));
      if (finish.relinearised && finish.rescaled) return relinearised_and_rescaled(out);
      if (finish.relinearised) out = relinearised(out);
      return finish.rescaled ? rescaled(out) : out;
    });
  }
  /// By one division.
  Array relinearised_and_rescaled(const Array& a) const {
    const Info info = account.rescale(account.relinearise(a.info_));
    return put(info, evaluator->relinearise(residues(a), keys, account.basis(info.level),
                                            no_plain_modulus));
  }

  std::uint32_t rotation(std::uint64_t of, std::int64_t slots,
                         SwitchRole role = SwitchRole::usual) const {
    const auto period = static_cast<std::int64_t>(of);
    const std::int64_t least = ((slots % period) + period) % period;
    // A vector that is repeated turns by any number that is congruent.
    for (const std::int64_t distance : {least, least - period, slots}) {
      const std::uint32_t g = rotation_exponent(parameters.N(), distance);
      if (g == 1 || keys_of(role).holds(g, 1)) return g;
    }
    if (keys_of(role).is_open())
      return rotation_exponent(parameters.N(), std::abs(slots) < period ? slots : least);
    if (role == SwitchRole::low)
      throw KeyMismatchError("rotation by " + std::to_string(slots) +
                             " at low levels has no key; ask the client for bootstrap with " +
                             std::to_string(of) + " slots");
    throw KeyMismatchError("rotation by " + std::to_string(slots) +
                           " has no key; ask the client for rotations {" + std::to_string(slots) +
                           "}");
  }
  std::vector<Array> automorphisms(const Array& a, std::span<const std::uint32_t> gs) const {
    return fleet->together([&] {
      const Array two = relinearised(a);
      const auto turned = evaluator->automorphisms(residues(two), gs, keys, no_plain_modulus);
      const Info info = account.automorphism(two.info_);
      std::vector<Array> out;
      out.reserve(gs.size());
      for (std::size_t i = 0; i < gs.size(); ++i)
        out.push_back(gs[i] == 1 ? two : put(info, turned[i]));
      return out;
    });
  }

  // ---- plaintexts

  struct Encoded {
    rlwe::Array residues;
    Account::Plain known;
  };
  /// Numbers at that scale over the primes of `a`'s level.
  Encoded encoded(const Info& a, std::span<const Complex> values, std::size_t of_each,
                  double scale) const {
    const bool coefficients = a.packing == Packing::coefficients;
    const Packing packing = coefficients      ? Packing::coefficients
                            : is_real(values) ? Packing::real
                                              : Packing::complex;
    if (coefficients && !is_real(values))
      throw EncodingError("values: coefficients are real numbers, and one has an imaginary part");
    const std::uint64_t length = encoder.length(values.size(), of_each, packing);
    const std::size_t count = values.size() / length, N = parameters.N();
    if (!coefficients) Account::check_lengths(a.length, length);
    check_counts(a.count, count, "plaintexts");
    const double most = largest_at(values, scale);
    std::vector<std::int64_t> coefficients_of_all =
        math::with_memory_for("plaintexts", [&] { return std::vector<std::int64_t>(count * N); });
    for (std::size_t i = 0; i < count; ++i)
      encoder.encode(values.subspan(i * length, length), packing, scale,
                     {coefficients_of_all.data() + i * N, N});
    return {evaluator->lift(coefficients_of_all, account.basis(a.level)),
            {count, scale, account.bound_of(most, length, packing), length, packing}};
  }
  Array add(const Array& a, std::span<const Complex> values, std::size_t length,
            bool subtract) const {
    check(a);
    const Encoded m = encoded(a.info_, values, length, a.info_.scale);
    const Info info = account.add_plain(a.info_, m.known);
    return fleet->again([&] {
      return put(info, subtract ? evaluator->sub_plain(residues(a), m.residues)
                                : evaluator->add_plain(residues(a), m.residues));
    });
  }
  Array multiply(const Array& a, std::span<const Complex> values, std::size_t length,
                 bool rescale) const {
    check(a);
    const Encoded m = encoded(a.info_, values, length, account.plain_scale(a.info_));
    const Info info = account.multiply_plain(a.info_, m.known);
    if (rescale) static_cast<void>(account.rescale(info));
    return fleet->together([&] {
      const Array out = put(info, evaluator->multiply_plain(residues(a), m.residues));
      return rescale ? rescaled(out) : out;
    });
  }
  /// A real number is an integer at the plaintext's scale.
  Array multiply_real(const Array& a, double value, bool rescale) const {
    const double scale = account.plain_scale(a.info_), by = std::nearbyint(value * scale);
    if (!(std::abs(by) < 0x1p61))
      throw EncodingError("value " + math::text_of(value) + " times the scale 2^" +
                          math::text_of(std::log2(scale)) + " is above 2^61, or not finite");
    const Account::Plain known{1, scale, account.bound_of(std::abs(value), 1, Packing::real), 1,
                               a.info_.packing};
    const Info info = account.multiply_plain(a.info_, known);
    if (rescale) static_cast<void>(account.rescale(info));
    return fleet->together([&] {
      const Array out = put(info, evaluator->scale(residues(a), static_cast<std::int64_t>(by)));
      return rescale ? rescaled(out) : out;
    });
  }
  /// X^(N/2), whose value in every slot is i: 5^j = 1 modulo 4.
  Array multiply_by_i(const Array& a) const {
    if (a.info_.packing == Packing::coefficients)
      throw EncodingError("multiply_by_i: the values are coefficients, which are real");
    Info info = a.info_;
    info.packing = Packing::complex;
    return fleet->again([&] {
      return put(info, evaluator->multiply_plain(residues(a), constants.imaginary_plain));
    });
  }
  /// Its plaintext has one coefficient, or two.
  Array add_scalar(const Array& a, Complex value) const {
    check(a);
    if (a.info_.parts != 2) return add(a, std::span(&value, 1), 1, false);
    const bool coefficients = a.info_.packing == Packing::coefficients;
    if (coefficients && value.imag() != 0)
      throw EncodingError("values: coefficients are real numbers, and one has an imaginary part");
    const double scale = a.info_.scale, most = largest_at(std::span(&value, 1), scale);
    const Packing packing = coefficients          ? Packing::coefficients
                            : value.imag() == 0.0 ? Packing::real
                                                  : Packing::complex;
    const Info info =
        account.add_plain(a.info_, {1, scale, account.bound_of(most, 1, packing), 1, packing});
    return fleet->again(
        [&] { return put(info, with_constant(residues(a), 1, value, scale, info.level)); });
  }
  Array multiply_add(const Array& a, std::int64_t by, double value) const {
    check(a);
    const Info product = account.scale_integer(a.info_, by);
    const Info info = account.add_plain(
        product,
        {1, product.scale, account.bound_of(std::abs(value), 1, Packing::real), 1, Packing::real});
    return fleet->again([&] {
      return put(
          info, with_constant(residues(a), static_cast<double>(by), value, info.scale, info.level));
    });
  }
  /// `a`, with the primes of that level and perhaps more: then it needs no division.
  Array reaching(const Array& a, unsigned level) const {
    if (residues(a).basis().includes(account.basis(level))) return a;
    const Account::One to = account.bring(a.info_, level);
    return put(to.result, prepared(a, to.a));
  }
  /// The operands have two parts.
  Array linear_combination(std::span<const Array> arrays, std::span<const double> coefficients,
                           double constant, unsigned level, bool rescale) const {
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
        known.push_back({a.info_, coefficients[i], by});
      }
      const Info sum = account.combination(known, constant, level);
      const Array out =
          put(sum, evaluator->combination(operands, weights, residues_of(constant * product, level),
                                          account.basis(level)));
      return rescale ? rescaled(out) : out;
    });
  }
  /// The same with rows of `length` numbers for each coefficient, and without a constant.
  Array linear_combination(std::span<const Array> arrays,
                           std::span<const std::vector<Complex>> coefficients, std::size_t length,
                           unsigned level, bool rescale) const {
    const double scale = parameters.scale(level), product = scale * scale;
    return fleet->together([&] {
      std::vector<rlwe::Array> operands, plains;
      std::vector<Account::Weighted> known;
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        const Array a = reaching(arrays[i], level);
        Info of = a.info_;
        of.level = level;
        const Encoded m = encoded(of, coefficients[i], length, product / of.scale);
        of.count = std::max(of.count, m.known.count);
        of.length = std::max(of.length, m.known.length);
        operands.push_back(residues(a));
        plains.push_back(m.residues);
        known.push_back({of, std::exp2(m.known.bound), m.known.scale, true});
      }
      const Info sum = account.combination(known, 0, level);
      const Array out =
          put(sum, evaluator->sum_of_products(operands, plains, account.basis(level)));
      return rescale ? rescaled(out) : out;
    });
  }
  /// by·a + value, for an integer.
  rlwe::Array with_constant(const rlwe::Array& a, double by, Complex value, double scale,
                            unsigned level) const {
    std::vector<rlwe::Array> arrays{a};
    std::vector<std::vector<std::uint64_t>> weights{residues_of(by, level)};
    if (const double i = std::nearbyint(value.imag() * scale); i != 0) {
      arrays.push_back(constants.imaginary);
      weights.push_back(residues_of(i, level));
    }
    return evaluator->combination(arrays, weights, residues_of(value.real() * scale, level),
                                  account.basis(level));
  }
};

Server::Server(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Server::Server(const EvaluationKeys& keys, const ServerOptions& options)
    : state_(math::with_memory_for("a server",
                                   [&] { return std::make_shared<const State>(keys, options); })) {}

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->name; }
const std::vector<std::string>& Server::devices() const { return state_->names; }
unsigned Server::threads() const { return state_->fleet->lane(0)->device().threads(); }
std::vector<FailedDevice> Server::failed_devices() const { return state_->fleet->failed(); }
std::size_t Server::key_bytes() const {
  return state_->keys.bytes() + state_->low_keys.bytes() + state_->to_sparse.bytes() +
         state_->from_sparse.bytes();
}

std::size_t Server::best_batch() const {
  const std::size_t all = state_->fleet->size(), failed = failed_devices().size();
  return state_->evaluator->most() * std::max<std::size_t>(1, all - std::min(all, failed));
}

Array Server::upload(const Ciphertexts& c) const {
  const CiphertextInfo& i = c.info;
  if (c.parameters != state_->parameters)
    throw ParameterMismatchError("ciphertexts under parameters \"" + c.parameters.literal().name +
                                 "\" were given to a server of \"" + parameters().literal().name +
                                 "\"");
  if (c.key_id != state_->key_id)
    throw KeyMismatchError("ciphertexts of key " + math::short_id(c.key_id) +
                           " were given to a server of key " + math::short_id(state_->key_id));
  Account::check(parameters(), i);
  return State::put(i, state_->evaluator->upload(c.data, {i.parts, state_->account.basis(i.level),
                                                          i.count, rlwe::Form::evaluation}));
}
Ciphertexts Server::download(const Array& a) const {
  state_->check(a);
  return {state_->parameters, state_->key_id, a.info_, state_->evaluator->download(*a.residues_),
          std::nullopt};
}

Array Server::add(const Array& a, const Array& b) const { return state_->add(a, b, false); }
Array Server::sub(const Array& a, const Array& b) const { return state_->add(a, b, true); }
Array Server::negate(const Array& a) const {
  state_->check(a);
  return State::put(a.info_, state_->evaluator->negate(*a.residues_));
}
Array Server::multiply(const Array& a, const Array& b, const Finish& finish) const {
  return state_->product(a, b, finish);
}
Array Server::square(const Array& a, const Finish& finish) const {
  return state_->product(a, a, finish);
}
Array Server::relinearise(const Array& a) const {
  state_->check(a);
  return state_->fleet->together([&] { return state_->relinearised(a); });
}
Array Server::rescale(const Array& a) const {
  state_->check(a);
  return state_->fleet->together([&] { return state_->rescaled(a); });
}
Array Server::lower(const Array& a, unsigned level) const {
  state_->check(a);
  return Access::lower(*this, a, level, 1);
}

Array Server::with_bound(const Array& a, double bound) const {
  state_->check(a);
  Array out = a;
  out.info_.bound = state_->account.bounded(a.info_, bound);
  return out;
}

Array Server::with_error(const Array& a, double error) const {
  state_->check(a);
  Array out = a;
  out.info_.error = state_->account.erring(a.info_, error);
  return out;
}

Array Server::add_plain(const Array& a, std::span<const Complex> values, std::size_t length) const {
  return state_->add(a, values, length, false);
}
Array Server::sub_plain(const Array& a, std::span<const Complex> values, std::size_t length) const {
  return state_->add(a, values, length, true);
}
Array Server::multiply_plain(const Array& a, std::span<const Complex> values, std::size_t length,
                             bool rescaled) const {
  return state_->multiply(a, values, length, rescaled);
}
Array Server::add_scalar(const Array& a, Complex value) const {
  return state_->add_scalar(a, value);
}
Array Server::multiply_scalar(const Array& a, Complex value, bool rescaled) const {
  state_->check(a);
  if (value.imag() == 0) return state_->multiply_real(a, value.real(), rescaled);
  return state_->multiply(a, std::span(&value, 1), 1, rescaled);
}
Array Server::multiply_integer(const Array& a, std::int64_t value) const {
  state_->check(a);
  return State::put(state_->account.scale_integer(a.info_, value),
                    state_->evaluator->scale(*a.residues_, value));
}
Array Server::multiply_by_i(const Array& a) const {
  state_->check(a);
  return state_->multiply_by_i(a);
}

Array Server::rotate(const Array& a, std::int64_t slots) const {
  return rotate_many(a, std::span(&slots, 1))[0];
}
std::vector<Array> Server::rotate_many(const Array& a, std::span<const std::int64_t> slots) const {
  state_->check_slots("rotate", a);
  std::vector<std::uint32_t> gs;
  gs.reserve(slots.size());
  for (const std::int64_t distance : slots)
    gs.push_back(state_->rotation(a.info_.slots(), distance));
  return state_->automorphisms(a, gs);
}
Array Server::conjugate(const Array& a) const {
  state_->check(a);
  if (a.info_.packing == Packing::coefficients)
    throw EncodingError("conjugate: the values are coefficients, which are real");
  const std::uint32_t g = 2 * parameters().N() - 1;
  if (!state_->keys.has(g, 1))
    throw KeyMismatchError("conjugation has no key: ask the client for conjugate");
  return state_->automorphisms(a, std::span(&g, 1))[0];
}
Array Server::sum(const Array& a, std::uint64_t period) const {
  state_->check_slots("sum", a);
  check_power("sum: the period", period, 1, a.info_.length);
  if (period == a.info_.length) return a;
  return state_->fleet->together([&] {
    Array sum = state_->relinearised(a);
    for (std::uint64_t step = period; step < a.info_.length; step *= 2)
      sum = add(sum, rotate(sum, static_cast<std::int64_t>(step)));
    sum.info_.length = period;
    return sum;
  });
}
Array Server::replicate(const Array& a, std::uint64_t first, std::uint64_t count) const {
  state_->check_slots("replicate", a);
  const std::uint64_t length = a.info_.length;
  check_power("replicate: the count", count, 1, length);
  if (first >= length || first % count != 0)
    throw ShapeError("replicate: the first value, " + std::to_string(first) +
                     ", is not a multiple of " + std::to_string(count) +
                     ", the count, below the length " + std::to_string(length));
  if (count == length) return a;
  std::vector<Complex> chosen(length);
  std::fill_n(chosen.begin() + static_cast<std::ptrdiff_t>(first), count, 1.0);
  return state_->fleet->together([&] {
    const Array two = state_->relinearised(a);
    Array out = sum(state_->multiply(two, chosen, 0, true), count);
    out.info_.bound = std::min(out.info_.bound, a.info_.bound);
    return out;
  });
}
Array Server::repeat(const Array& a, std::uint64_t length) const {
  state_->check_slots("repeat", a);
  check_power("repeat: the length", length, a.info_.length, parameters().slots());
  Array out = a;
  out.info_.length = length;
  return out;
}

Array Server::take(const Array& a, std::span<const std::uint32_t> indices) const {
  state_->check(a);
  return State::put(state_->account.take(a.info_, indices.size()),
                    state_->evaluator->take(*a.residues_, indices));
}
Array Server::concatenate(std::span<const Array> arrays) const {
  if (arrays.empty()) throw ShapeError("concatenate: no array is given");
  std::vector<CiphertextInfo> infos;
  for (const Array& a : arrays) {
    state_->check(a);
    if (a.info_.parts != arrays[0].info_.parts)
      throw ShapeError("concatenate: the arrays have " + std::to_string(arrays[0].info_.parts) +
                       " and " + std::to_string(a.info_.parts) +
                       " parts, which must be equal: relinearise them first");
    infos.push_back(a.info_);
  }
  const Account::Many all = state_->account.concatenate(infos);
  return state_->fleet->together([&] {
    std::vector<rlwe::Array> each;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      each.push_back(state_->prepared(arrays[i], all.each[i]));
    return State::put(all.result, state_->evaluator->join(each));
  });
}

void Server::synchronise() const { state_->fleet->wait(); }

// ---- dry runs

DryRun::DryRun(const Parameters& parameters)
    : server_(std::make_shared<const Server::State>(parameters)) {}

Array DryRun::fresh(Packing packing, std::size_t count, std::uint64_t length, double bound) const {
  const Server::State& state = *server_.state_;
  const std::uint64_t most =
      packing == Packing::coefficients ? state.parameters.N() : state.parameters.slots();
  if (count == 0 || length == 0 || length > most)
    throw ShapeError("inputs: " + std::to_string(count) + " vectors of " + std::to_string(length) +
                     " values are asked for; there must be one, of 1 … " + std::to_string(most) +
                     " values");
  const CiphertextInfo info = state.account.fresh(packing, count, length, bound, true);
  return Server::State::put(
      info, state.evaluator->upload(
                {}, {info.parts, state.account.basis(info.level), count, rlwe::Form::evaluation}));
}

KeyRequest DryRun::asked() const {
  const Server::State& state = *server_.state_;
  KeyRequest out;
  out.relinearise = 2;
  std::set<std::uint32_t> turns;
  for (const auto& [g, power] : state.keys.sources()) {
    if (g == 1)
      out.relinearise = std::max(out.relinearise, power + 1);
    else if (g == 2 * state.parameters.N() - 1)
      out.conjugate = true;
    else
      turns.insert(g);
  }
  // 5^k for all k: the logarithm of each exponent.
  const auto half = static_cast<std::int64_t>(state.parameters.slots());
  const std::uint64_t modulus = 2 * std::uint64_t{state.parameters.N()};
  std::uint64_t g = 1;
  for (std::int64_t k = 0; k < half && out.rotations.size() < turns.size();
       ++k, g = 5 * g % modulus)
    if (turns.contains(static_cast<std::uint32_t>(g)))
      out.rotations.push_back(2 * k > half ? k - half : k);
  return out;
}

// ---- what circuits see

const run::Fleet& Access::fleet(const Server& s) { return *s.state_->fleet; }
const rlwe::Evaluator& Access::evaluator(const Server& s) { return *s.state_->evaluator; }
const rlwe::Keys& Access::keys(const Server& s, SwitchRole role) { return s.state_->keys_of(role); }
const Account& Access::account(const Server& s) { return s.state_->account; }
void Access::check_packed(const Server& s, const char* what, const Array& a) {
  s.state_->check_packed(what, a);
}
void Access::check_slots(const Server& s, const char* what, const Array& a) {
  s.state_->check_slots(what, a);
}
std::uint32_t Access::rotation(const Server& s, std::uint64_t period, std::int64_t slots,
                               SwitchRole role) {
  return s.state_->rotation(period, slots, role);
}
const rlwe::Array& Access::residues(const Array& a) { return *a.residues_; }
Array Access::put(CiphertextInfo info, rlwe::Array residues) {
  return Server::State::put(std::move(info), std::move(residues));
}
Array Access::lower(const Server& s, const Array& a, unsigned level, double times) {
  const Account::One to = s.state_->account.bring(a.info_, level, times);
  return s.state_->fleet->together(
      [&] { return Server::State::put(to.result, s.state_->prepared(a, to.a)); });
}
Array Access::linear_combination(const Server& s, std::span<const Array> arrays,
                                 std::span<const double> coefficients, double constant,
                                 unsigned level, bool rescale) {
  return s.state_->linear_combination(arrays, coefficients, constant, level, rescale);
}
Array Access::linear_combination(const Server& s, std::span<const Array> arrays,
                                 std::span<const std::vector<Complex>> coefficients,
                                 std::size_t length, unsigned level, bool rescale) {
  return s.state_->linear_combination(arrays, coefficients, length, level, rescale);
}
Array Access::relinearised_and_rescaled(const Server& s, const Array& a) {
  return s.state_->fleet->together([&] { return s.state_->relinearised_and_rescaled(a); });
}
Array Access::multiply_add(const Server& s, const Array& a, std::int64_t by, double value) {
  return s.state_->multiply_add(a, by, value);
}
rlwe::Array Access::encode(const Server& s, std::span<const Complex> values, double scale,
                           const ring::Basis& basis) {
  static_cast<void>(largest_at(values, scale));
  std::vector<std::int64_t> coefficients(s.parameters().N());
  s.state_->encoder.encode(values, Packing::complex, scale, coefficients);
  return s.state_->evaluator->lift(coefficients, basis);
}

}  // namespace whorl::ckks
