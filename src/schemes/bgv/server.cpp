#include "whorl/bgv/server.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "math/text.h"
#include "schemes/bgv/access.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/encoder.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

std::size_t Array::bytes() const { return residues_ ? residues_->bytes() : 0; }

struct Plaintexts::Storage {
  rlwe::Array residues;
  Packing packing = Packing::slots;
  std::uint64_t length = 0;                ///< as CiphertextInfo's
  std::vector<std::int64_t> coefficients;  ///< (count, N), centred
  double norm = 0;                         ///< log2, of the largest

  Account::Plain known() const { return {residues.count(), norm, length}; }
};

std::size_t Plaintexts::count() const { return storage_ ? storage_->residues.count() : 0; }
Packing Plaintexts::packing() const { return storage_ ? storage_->packing : Packing::slots; }
std::uint64_t Plaintexts::length() const { return storage_ ? storage_->length : 0; }
std::size_t Plaintexts::each() const {
  if (!storage_) return 1;
  const std::size_t N = storage_->coefficients.size() / storage_->residues.count();
  return CiphertextInfo{.length = storage_->length}.each(static_cast<std::uint32_t>(N));
}
std::size_t Plaintexts::bytes() const { return storage_ ? storage_->residues.bytes() : 0; }

namespace {

std::vector<rlwe::SwitchKeyData> switch_keys(const EvaluationKeys& keys) {
  std::vector<rlwe::SwitchKeyData> out;
  for (const SwitchKeyData& key : keys.keys) out.push_back({key.g, key.power, key.seed, key.b});
  return out;
}

void check_packing(Packing a, Packing b) {
  if (a != b) throw EncodingError("one batch is packed in slots, the other in coefficients");
}
void check_counts(std::size_t a, std::size_t b, const char* of_b) {
  if (a != b && a != 1 && b != 1)
    throw ShapeError("a batch of " + std::to_string(a) + " ciphertexts meets " + std::to_string(b) +
                     " " + of_b + ": the numbers must be equal, or one of them must be 1");
}

/// The largest number of which all runs of equal indices are multiples.
std::size_t repeats_of(std::span<const std::uint32_t> indices) {
  std::size_t repeats = 0;
  for (std::size_t first = 0, next = 0; first < indices.size(); first = next) {
    while (next < indices.size() && indices[next] == indices[first]) ++next;
    repeats = std::gcd(repeats, next - first);
  }
  return repeats;
}

}  // namespace

/// The account says what is to be done, the evaluator does it.
struct Server::State : std::enable_shared_from_this<State> {
  using Info = CiphertextInfo;
  using Coefficients = std::vector<std::int64_t>;

  State(const EvaluationKeys& data, const ServerOptions& options)
      : parameters(data.parameters),
        key_id(data.key_id),
        fleet(run::Fleet::open(options.device, {options.threads, {}}, {options.interrupt})),
        names(fleet->names()),
        name(fleet->name()),
        evaluator(rlwe::Evaluator::make(fleet, any_plan_of(parameters))),
        keys(evaluator, switch_keys(data), run::budget_of(options.key_cache, options.key_budget)),
        account(parameters),
        encoder(parameters) {}

  Parameters parameters;
  KeyId key_id;
  std::shared_ptr<const run::Fleet> fleet;
  std::vector<std::string> names;
  std::string name;
  std::shared_ptr<const rlwe::Evaluator> evaluator;
  rlwe::Keys keys;
  Account account;
  Encoder encoder;

  // ---- arrays

  Array put(Info info, rlwe::Array residues) const {
    Array out;
    out.info_ = std::move(info);
    out.budget_ = account.budget(out.info_);
    out.each_ = out.info_.each(parameters.N());
    out.residues_ = std::make_shared<const rlwe::Array>(std::move(residues));
    out.server_ = weak_from_this();
    return out;
  }
  static const rlwe::Array& residues(const Array& a) { return *a.residues_; }

  void check_mine(const rlwe::Array* a) const {
    if (!a) throw ShapeError("an empty array was given to a server");
    if (!a->is_of(*evaluator)) throw DeviceError("an array of another server was given to " + name);
  }
  void check(const Array& a) const { check_mine(a.residues_.get()); }
  void check(const Plaintexts& a) const {
    check_mine(a.storage_ ? &a.storage_->residues : nullptr);
  }
  /// Of sums, which have one ciphertext each, beside vectors of `each` ciphertexts: which sum meets
  /// which vector is clear only for a single one, and where each comes `each` times.
  void check_repeats(const Array& a, std::size_t each) const {
    if (a.info_.rest != Rest::same || a.each_ != 1 || a.info_.count == 1 || each == 1) return;
    if (a.repeats_ % each != 0)
      throw ShapeError("a batch of " + std::to_string(a.info_.count) +
                       " sums of values meets vectors of " + std::to_string(each) +
                       " ciphertexts each: take each sum " + std::to_string(each) +
                       " times in sequence first");
  }
  void check_pair(const Array& a, const Array& b) const {
    check(a);
    check(b);
    account.check_lengths(a.info_, b.info_);
    check_repeats(a, b.each_);
    check_repeats(b, a.each_);
    check_counts(a.info_.count, b.info_.count, "ciphertexts");
    check_packing(a.info_.packing, b.info_.packing);
  }
  void check_pair(const Array& a, const Plaintexts& b) const {
    check(a);
    check(b);
    account.check_lengths(a.info_, b.storage_->known());
    check_repeats(a, b.each());
    check_counts(a.info_.count, b.count(), "plaintexts");
    check_packing(a.info_.packing, b.packing());
  }
  void check_slots(const Array& a) const {
    check(a);
    if (a.info_.packing != Packing::slots)
      throw EncodingError(
          "rotate: the values are packed as coefficients, and only values in slots can be rotated");
    account.rotate(a.info_);  // refuses vectors over several ciphertexts
  }

  // ---- keys of rotations, named as users ask for them

  std::string rotations_held() const {
    const std::uint32_t N = parameters.N();
    std::string list;
    std::size_t held = 0;
    constexpr std::size_t named = 24;
    std::uint64_t g = 1;
    for (std::uint32_t columns = 1; columns < N / 2; ++columns) {
      g = 3 * g % (2ULL * N);
      if (!keys.has(static_cast<std::uint32_t>(g), 1) || ++held > named) continue;
      const std::int64_t shown = columns > N / 4 ? std::int64_t{columns} - N / 2 : columns;
      list += (list.empty() ? "" : ", ") + std::to_string(shown);
    }
    if (held == 0) return "the keys hold no rotations";
    if (held > named) list += " and " + std::to_string(held - named) + " more";
    return "the keys hold rotations " + list;
  }
  /// KeyMismatchError names the rotation that was asked for, and those that there are.
  std::uint32_t rotation(std::int64_t columns) const {
    const std::uint32_t g = rotation_exponent(parameters.N(), columns);
    if (g == 1 || keys.has(g, 1)) return g;
    throw KeyMismatchError("rotation by " + std::to_string(columns) + " has no key; " +
                           rotations_held());
  }
  std::uint32_t swap() const {
    const std::uint32_t g = 2 * parameters.N() - 1;
    if (keys.has(g, 1)) return g;
    throw KeyMismatchError("the exchange of rows has no key: ask the client for swap_rows; " +
                           rotations_held());
  }

  /// An operand, brought to what its account asks for.
  rlwe::Array prepared(const Array& a, const Preparation& by) const {
    rlwe::Array out = residues(a);
    if (by.before != 1) out = evaluator->scale(out, by.before);
    for (unsigned limbs = a.info_.limbs; limbs > by.limbs; --limbs)
      out = evaluator->divide(out, evaluator->level(limbs - 1), account.divisor());
    if (by.after != 1) out = evaluator->scale(out, by.after);
    return out;
  }

  // ---- vectors

  /// With zeros behind the values, where operations left something else: a product with ones.
  Array with_zeros(const Array& a) const {
    if (!account.has_remains(a.info_)) return a;
    const std::size_t length = static_cast<std::size_t>(a.info_.length);
    const std::size_t vectors = a.each_ == 1 ? 1 : a.info_.count / a.each_;
    const Coefficients ones(vectors * length, 1);
    return multiply(a, encoded_for(a, ones, length, 1));
  }
  /// As an operand beside `b`: longer vectors would take what is behind the values for values.
  template <class Known>
  Array beside(const Array& a, const Known& b) const {
    return account.needs_zeros(a.info_, b) ? with_zeros(a) : a;
  }

  Array add(const Array& first, const Array& second, bool subtract) const {
    check_pair(first, second);
    const Array a = beside(first, second.info_), b = beside(second, first.info_);
    const Account::Two sum = account.add(a.info_, b.info_);
    return fleet->together([&] {
      const rlwe::Array x = prepared(a, sum.a), y = prepared(b, sum.b);
      return put(sum.result, subtract ? evaluator->sub(x, y) : evaluator->add(x, y));
    });
  }
  Array relinearised(const Info& info, const rlwe::Array& a) const {
    return put(account.relinearise(info), evaluator->relinearise(a, keys, account.divisor()));
  }
  Array product(const Account::Two& product, const Array& a, const Array& b,
                bool relinearise) const {
    return fleet->together([&] {
      const rlwe::Array x = prepared(a, product.a), y = &a == &b ? x : prepared(b, product.b);
      rlwe::Array tensor = evaluator->tensor(x, y);
      return relinearise ? relinearised(product.result, tensor)
                         : put(product.result, std::move(tensor));
    });
  }
  std::vector<Array> automorphisms(const Array& x, std::span<const std::uint32_t> gs) const {
    return fleet->together([&] {
      const Array a = with_zeros(x);
      const Array two = a.info_.parts > 2 ? relinearised(a.info_, residues(a)) : a;
      const auto turned = evaluator->automorphisms(residues(two), gs, keys, account.divisor());
      const Info info = account.rotate(two.info_);
      std::vector<Array> out;
      out.reserve(gs.size());
      for (std::size_t i = 0; i < gs.size(); ++i)
        out.push_back(gs[i] == 1 ? two : put(info, turned[i]));
      return out;
    });
  }
  Array automorphism(const Array& a, std::uint32_t g) const {
    return automorphisms(a, std::span(&g, 1))[0];
  }
  Array brought_to(const Array& a, const Account::One& to) const {
    if (to.result.limbs == a.info_.limbs) return a;
    return fleet->together([&] { return put(to.result, prepared(a, to.a)); });
  }

  // ---- plaintexts

  /// Polynomials (count, N), and the values of the vectors that they hold.
  struct Encoded {
    Coefficients coefficients;
    std::uint64_t length = 0;
  };
  Encoded encode(std::span<const std::int64_t> values, const Rows& rows, Packing packing) const {
    const std::size_t N = parameters.N();
    Coefficients out =
        math::with_memory_for("plaintexts", [&] { return Coefficients(rows.count() * N); });
    for (std::size_t r = 0; r < rows.count(); ++r)
      encoder.encode(rows.of(values, r), packing, {out.data() + r * N, N});
    return {std::move(out), packing == Packing::slots ? rows.kept() : 0};
  }
  Plaintexts put(rlwe::Array residues, Encoded encoded, Packing packing) const {
    auto storage = std::make_shared<Plaintexts::Storage>();
    storage->residues = std::move(residues);
    storage->packing = packing;
    storage->length = encoded.length;
    Coefficients& m = encoded.coefficients;
    const std::size_t N = parameters.N();
    for (std::size_t at = 0; at < m.size(); at += N)
      storage->norm = std::max(storage->norm, log2_norm({m.data() + at, N}));
    storage->coefficients = std::move(m);
    Plaintexts out;
    out.storage_ = std::move(storage);
    return out;
  }
  Plaintexts plaintexts(Encoded m, Packing packing, const ring::Basis& basis) const {
    rlwe::Array residues = evaluator->lift(m.coefficients, basis);
    return put(std::move(residues), std::move(m), packing);
  }
  /// For `a` alone: no more limbs than it has, and with its factor if they are to be added.
  Plaintexts plaintexts_for(const Array& a, Encoded m, std::uint64_t factor) const {
    m.coefficients = account.with_factor(std::move(m.coefficients), factor);
    return plaintexts(std::move(m), a.info_.packing, evaluator->level(a.info_.limbs));
  }
  Plaintexts encoded_for(const Array& a, std::span<const std::int64_t> values, std::size_t length,
                         std::uint64_t factor) const {
    const Rows rows = encoder.rows(values.size(), length, a.info_.packing);
    account.check_lengths(a.info_, {rows.count(), 0, rows.kept()});
    check_repeats(a, rows.each);
    check_counts(a.info_.count, rows.count(), "plaintexts");
    return plaintexts_for(a, encode(values, rows, a.info_.packing), factor);
  }

  /// Of the values that the host keeps, if they are lost with a device.
  rlwe::Array residues(const Plaintexts& m) const {
    const rlwe::Array& there = m.storage_->residues;
    return evaluator->is_lost(there) ? evaluator->lift(m.storage_->coefficients, there.basis())
                                     : there;
  }
  /// With plaintexts that have the factor of `a`.
  Array add_encoded(const Array& x, const Plaintexts& m, bool subtract) const {
    const Array a = beside(x, m.storage_->known());
    return fleet->again([&] {
      const rlwe::Array &to = residues(a), plain = residues(m);
      return put(account.add_plain(a.info_, m.storage_->known()),
                 subtract ? evaluator->sub_plain(to, plain) : evaluator->add_plain(to, plain));
    });
  }
  Array add(const Array& a, const Plaintexts& m, bool subtract) const {
    check_pair(a, m);
    if (a.info_.factor == 1) return add_encoded(a, m, subtract);
    Encoded anew{m.storage_->coefficients, m.length()};
    return add_encoded(a, plaintexts_for(a, std::move(anew), a.info_.factor), subtract);
  }
  Array add(const Array& a, std::span<const std::int64_t> values, std::size_t length,
            bool subtract) const {
    check(a);
    return add_encoded(a, encoded_for(a, values, length, a.info_.factor), subtract);
  }
  /// An integer as a plaintext: the constant polynomial, which has it in all slots; or, where zeros
  /// are behind the values, that of the values alone.
  Encoded constant(const Array& a, std::int64_t value) const {
    const std::size_t N = parameters.N();
    if (!account.has_zeros(a.info_)) {
      Encoded out{Coefficients(N), a.info_.length};
      out.coefficients[0] = value;
      return out;
    }
    const Coefficients values(static_cast<std::size_t>(a.info_.length), value);
    Encoded out =
        encode(values, encoder.rows(values.size(), values.size(), Packing::slots), Packing::slots);
    if (a.each_ == 1) return out;
    // Each vector of the batch takes the same few.
    Coefficients& m = out.coefficients;
    const std::size_t of_one = m.size();
    math::with_memory_for("plaintexts", [&] { m.resize(a.info_.count * N); });
    for (std::size_t at = of_one; at < m.size(); at += of_one)
      std::copy_n(m.begin(), of_one, m.begin() + static_cast<std::ptrdiff_t>(at));
    return out;
  }
  Array add_constant(const Array& a, std::int64_t value) const {
    const Plaintexts m = plaintexts_for(a, constant(a, account.residue(value)), a.info_.factor);
    return fleet->again([&] {
      return put(account.add_constant(a.info_, m.storage_->norm),
                 evaluator->add_plain(residues(a), residues(m)));
    });
  }
  Array multiply(const Array& x, const Plaintexts& m) const {
    const Array a = beside(x, m.storage_->known());
    return fleet->again([&] {
      return put(account.multiply_plain(a.info_, m.storage_->known()),
                 evaluator->multiply_plain(residues(a), residues(m)));
    });
  }
};

Server::Server(const EvaluationKeys& keys, const ServerOptions& options)
    : state_(math::with_memory_for("a server",
                                   [&] { return std::make_shared<const State>(keys, options); })) {}

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->name; }
const std::vector<std::string>& Server::devices() const { return state_->names; }
unsigned Server::threads() const { return state_->fleet->lane(0)->device().threads(); }
std::vector<FailedDevice> Server::failed_devices() const { return state_->fleet->failed(); }
std::size_t Server::key_bytes() const { return state_->keys.bytes(); }

Array Server::upload(const Ciphertexts& c) const {
  const CiphertextInfo& i = c.info;
  if (c.parameters != state_->parameters)
    throw ParameterMismatchError("ciphertexts under parameters \"" + c.parameters.literal().name +
                                 "\" were given to a server of \"" + parameters().literal().name +
                                 "\"");
  if (c.key_id != state_->key_id)
    throw KeyMismatchError("ciphertexts of key " + math::short_id(c.key_id) +
                           " were given to a server of key " + math::short_id(state_->key_id));
  state_->encoder.check(i.packing);
  Account::check(parameters(), i);
  const ring::Basis basis = state_->evaluator->level(i.limbs);
  return state_->put(
      i, state_->evaluator->upload(c.data, {i.parts, basis, i.count, rlwe::Form::evaluation}));
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
  return state_->put(a.info_, state_->evaluator->negate(*a.residues_));
}

Plaintexts Server::encode(std::span<const std::int64_t> values, Packing packing,
                          std::size_t length) const {
  state_->encoder.check(packing);
  const Rows rows = state_->encoder.rows(values.size(), length, packing);
  return state_->plaintexts(state_->encode(values, rows, packing), packing,
                            state_->evaluator->level(parameters().limbs()));
}
Array Server::add_plain(const Array& a, std::span<const std::int64_t> values,
                        std::size_t length) const {
  return state_->add(a, values, length, false);
}
Array Server::sub_plain(const Array& a, std::span<const std::int64_t> values,
                        std::size_t length) const {
  return state_->add(a, values, length, true);
}
Array Server::multiply_plain(const Array& a, std::span<const std::int64_t> values,
                             std::size_t length) const {
  state_->check(a);
  return state_->multiply(a, state_->encoded_for(a, values, length, 1));
}
Array Server::add_plain(const Array& a, const Plaintexts& b) const {
  return state_->add(a, b, false);
}
Array Server::sub_plain(const Array& a, const Plaintexts& b) const {
  return state_->add(a, b, true);
}
Array Server::multiply_plain(const Array& a, const Plaintexts& b) const {
  state_->check_pair(a, b);
  return state_->multiply(a, b);
}
Array Server::add_scalar(const Array& a, std::int64_t value) const {
  state_->check(a);
  return state_->add_constant(a, value);
}
Array Server::multiply_scalar(const Array& a, std::int64_t value) const {
  state_->check(a);
  const std::int64_t by = state_->account.residue(value);
  return state_->put(state_->account.scale(a.info_, by),
                     state_->evaluator->scale(*a.residues_, by));
}

Array Server::multiply(const Array& a, const Array& b, bool relinearised) const {
  state_->check_pair(a, b);
  // A square is told by its operands' being one array.
  if (&a == &b)
    return state_->product(state_->account.multiply(a.info_, a.info_), a, a, relinearised);
  const Array x = state_->beside(a, b.info_), y = state_->beside(b, a.info_);
  return state_->product(state_->account.multiply(x.info_, y.info_), x, y, relinearised);
}
Array Server::square(const Array& a, bool relinearised) const {
  return multiply(a, a, relinearised);
}
Array Server::relinearise(const Array& a) const {
  state_->check(a);
  if (a.info_.parts == 2) return a;
  return state_->fleet->together([&] { return state_->relinearised(a.info_, *a.residues_); });
}

std::vector<Array> Server::rotate_many(const Array& a,
                                       std::span<const std::int64_t> columns) const {
  state_->check_slots(a);
  std::vector<std::uint32_t> gs;
  gs.reserve(columns.size());
  for (const std::int64_t c : columns) gs.push_back(state_->rotation(c));
  return state_->automorphisms(a, gs);
}
Array Server::rotate(const Array& a, std::int64_t columns) const {
  state_->check_slots(a);
  return state_->automorphism(a, state_->rotation(columns));
}
Array Server::swap_rows(const Array& a) const {
  state_->check_slots(a);
  return state_->automorphism(a, state_->swap());
}
Array Server::inner_sum(const Array& a, std::uint32_t columns) const {
  state_->check(a);
  if (!std::has_single_bit(columns) || columns > parameters().N() / 2)
    throw ParameterError(
        "inner_sum: columns = " + std::to_string(columns) +
        " is not a power of two of at most N/2 = " + std::to_string(parameters().N() / 2));
  return state_->fleet->together([&] {
    Array sum = columns == 1 ? a : state_->with_zeros(a);
    for (std::uint32_t step = 1; step < columns; step *= 2) sum = add(sum, rotate(sum, step));
    return sum;
  });
}

Array Server::take(const Array& a, std::span<const std::uint32_t> indices) const {
  state_->check(a);
  check_whole(indices, a.each());
  Array taken = state_->put(state_->account.take(a.info_, indices.size()),
                            state_->evaluator->take(*a.residues_, indices));
  taken.repeats_ = repeats_of(indices);
  return taken;
}
Plaintexts Server::take(const Plaintexts& a, std::span<const std::uint32_t> indices) const {
  state_->check(a);
  check_whole(indices, a.each());
  rlwe::Array residues =
      state_->fleet->again([&] { return state_->evaluator->take(state_->residues(a), indices); });
  const std::size_t N = parameters().N();
  State::Coefficients m;
  math::with_memory_for("plaintexts", [&] { m.reserve(indices.size() * N); });
  for (const std::uint32_t i : indices) {
    const auto first = a.storage_->coefficients.begin() + static_cast<std::ptrdiff_t>(i * N);
    m.insert(m.end(), first, first + static_cast<std::ptrdiff_t>(N));
  }
  return state_->put(std::move(residues), {std::move(m), a.length()}, a.packing());
}
Array Server::concatenate(std::span<const Array> given) const {
  if (given.empty()) throw ShapeError("concatenate: no array is given");
  std::vector<Array> arrays(given.begin(), given.end());
  for (const Array& a : arrays) {
    state_->check(a);
    check_packing(a.info_.packing, arrays[0].info_.packing);
    if (a.info_.parts != arrays[0].info_.parts)
      throw ShapeError("concatenate: the arrays have " + std::to_string(arrays[0].info_.parts) +
                       " and " + std::to_string(a.info_.parts) +
                       " parts, which must be equal: relinearise them first");
  }
  if (arrays.size() == 1) return arrays[0];
  for (Array& a : arrays)
    if (std::ranges::any_of(
            given, [&](const Array& b) { return state_->account.needs_zeros(a.info_, b.info_); }))
      a = state_->with_zeros(a);
  const std::size_t each_most = std::ranges::max(arrays, {}, &Array::each_).each_;
  std::vector<CiphertextInfo> infos;
  for (const Array& a : arrays) {
    state_->check_repeats(a, each_most);
    if (a.info_.count % each_most != 0)
      throw ShapeError("concatenate: a batch of " + std::to_string(a.info_.count) +
                       " ciphertexts is joined with vectors of " + std::to_string(each_most) +
                       " ciphertexts each");
    infos.push_back(a.info_);
  }
  const Account::Many all = state_->account.concatenate(infos);
  return state_->fleet->together([&] {
    std::vector<rlwe::Array> each;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      each.push_back(state_->prepared(arrays[i], all.each[i]));
    return state_->put(all.result, state_->evaluator->join(each));
  });
}

Array Server::mod_switch(const Array& a, unsigned limbs) const {
  state_->check(a);
  if (limbs < 1 || limbs > a.info_.limbs)
    throw ParameterError("mod_switch: limbs = " + std::to_string(limbs) + " is outside 1 … " +
                         std::to_string(a.info_.limbs));
  return state_->brought_to(a, state_->account.mod_switch(a.info_, limbs));
}
Array Server::shrink(const Array& a, double spare_bits) const {
  state_->check(a);
  return state_->brought_to(a, state_->account.shrink(a.info_, spare_bits));
}

void Server::synchronise() const { state_->fleet->wait(); }

// ---- operators

Server Server::of(const Array& a) {
  if (!a.residues_) throw ShapeError("an operator was given an empty array");
  const auto state = std::static_pointer_cast<const State>(a.server_.lock());
  if (!state) throw DeviceError("the server of an array is gone, and its operators with it");
  return Server(state);
}

Array operator+(const Array& a, const Array& b) { return Server::of(a).add(a, b); }
Array operator-(const Array& a, const Array& b) { return Server::of(a).sub(a, b); }
Array operator*(const Array& a, const Array& b) { return Server::of(a).multiply(a, b); }
Array operator-(const Array& a) { return Server::of(a).negate(a); }
Array operator+(const Array& a, const Plaintexts& b) { return Server::of(a).add_plain(a, b); }
Array operator-(const Array& a, const Plaintexts& b) { return Server::of(a).sub_plain(a, b); }
Array operator*(const Array& a, const Plaintexts& b) { return Server::of(a).multiply_plain(a, b); }
Array operator+(const Array& a, std::int64_t b) { return Server::of(a).add_scalar(a, b); }
Array operator-(const Array& a, std::int64_t b) {
  const Server server = Server::of(a);
  // Modulo t first: -b of the least integer is none.
  const auto t = static_cast<std::int64_t>(server.parameters().t());
  return server.add_scalar(a, -(b % t));
}
Array operator*(const Array& a, std::int64_t b) { return Server::of(a).multiply_scalar(a, b); }

// ---- what circuits see

const run::Fleet& Access::fleet(const Server& s) { return *s.state_->fleet; }
const rlwe::Evaluator& Access::evaluator(const Server& s) { return *s.state_->evaluator; }
const rlwe::Keys& Access::keys(const Server& s) { return s.state_->keys; }
const Account& Access::account(const Server& s) { return s.state_->account; }
void Access::check_slots(const Server& s, const Array& a) {
  s.state_->check(a);
  if (a.info_.packing != Packing::slots)
    throw EncodingError("the values are packed as coefficients, and must be packed in slots");
}
std::uint32_t Access::rotation(const Server& s, std::int64_t columns) {
  return s.state_->rotation(columns);
}
std::uint32_t Access::swap(const Server& s) { return s.state_->swap(); }
const rlwe::Array& Access::residues(const Array& a) { return *a.residues_; }
rlwe::Array Access::residues(const Server& s, const Plaintexts& m) {
  s.state_->check(m);
  return s.state_->residues(m);
}
Array Access::with_zeros(const Server& s, const Array& a) { return s.state_->with_zeros(a); }
double Access::norm(const Plaintexts& m) { return m.storage_->norm; }
Array Access::put(const Server& s, CiphertextInfo info, rlwe::Array residues) {
  return s.state_->put(std::move(info), std::move(residues));
}
Plaintexts Access::encode(const Server& s, std::span<const std::int64_t> slots) {
  const rlwe::Evaluator& evaluator = *s.state_->evaluator;
  s.state_->encoder.check(Packing::slots);
  const Rows rows = s.state_->encoder.rows(slots.size(), s.parameters().N(), Packing::slots);
  const ring::Basis basis = evaluator.level(s.parameters().limbs()) | evaluator.special();
  return s.state_->plaintexts(s.state_->encode(slots, rows, Packing::slots), Packing::slots, basis);
}

}  // namespace whorl::bgv
