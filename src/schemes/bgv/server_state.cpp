#include "schemes/bgv/server_state.h"

#include <algorithm>

#include "math/memory.h"
#include "math/modulus.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

ServerState::ServerState(const EvaluationKeys& data, std::shared_ptr<const run::SessionState> on)
    : RingServerState(data, std::move(on)),
      keys(evaluator, keys_of_kind(data.keys, {}), session->budget),
      account(parameters),
      encoder(parameters) {}

ServerState::ServerState(const Parameters& of)
    : RingServerState(of),
      keys(evaluator, rlwe::usual_layout(of.limbs(), of.special(), of.literal().digit_limbs)),
      account(parameters),
      encoder(parameters) {}

Array ServerState::array(Info info, rlwe::Array residues) const {
  Array out;
  out.info_ = std::move(info);
  out.budget_ = account.budget(out.info_);
  out.each_ = out.info_.each(parameters.N());
  out.residues_ = std::make_shared<const rlwe::Array>(std::move(residues));
  out.server_ = weak_from_this();
  return out;
}

void ServerState::check_packing(Packing a, Packing b) {
  if (a != b) throw EncodingError("one batch is packed in slots, the other in coefficients");
}

void ServerState::check_repeats(const Array& a, std::size_t each) const {
  if (a.info_.rest != Rest::same || a.each_ != 1 || a.info_.count == 1 || each == 1) return;
  if (a.repeats_ % each != 0)
    throw ShapeError("a batch of " + std::to_string(a.info_.count) +
                     " sums of values meets vectors of " + std::to_string(each) +
                     " ciphertexts each: take each sum " + std::to_string(each) +
                     " times in sequence first");
}

void ServerState::check_pair(const Array& a, const Array& b) const {
  check(a);
  check(b);
  account.check_lengths(a.info_, b.info_);
  check_repeats(a, b.each_);
  check_repeats(b, a.each_);
  check_counts(a.info_.count, b.info_.count, "ciphertexts");
  check_packing(a.info_.packing, b.info_.packing);
}

void ServerState::check_pair(const Array& a, const Plaintexts& b) const {
  check(a);
  check(b);
  account.check_lengths(a.info_, b.storage_->known());
  check_repeats(a, b.each());
  check_counts(a.info_.count, b.count(), "plaintexts");
  check_packing(a.info_.packing, b.packing());
}

void ServerState::check_slots(const Array& a) const {
  check(a);
  if (a.info_.packing != Packing::slots)
    throw EncodingError(
        "rotate: the values are packed as coefficients, and only values in slots can be rotated");
  account.rotate(a.info_);  // refuses vectors over several ciphertexts
}

std::string ServerState::rotations_held() const {
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

std::uint32_t ServerState::rotation(std::int64_t columns) const {
  const std::uint32_t g = rotation_exponent(parameters.N(), columns);
  if (g == 1 || keys.has(g, 1)) return g;
  throw MissingKeyError("rotation by " + std::to_string(columns) +
                        " has no key: ask the client for rotations=[" + std::to_string(columns) +
                        "]; " + rotations_held());
}

rlwe::Array ServerState::prepared(const Array& a, const Preparation& by) const {
  rlwe::Array out = residues(a);
  if (keys.is_open())  // integers that match factors are no sums of the circuit
    return by.limbs == a.info_.limbs ? out : evaluator->restrict(out, evaluator->level(by.limbs));
  if (by.before != 1) out = evaluator->scale(out, by.before);
  for (unsigned limbs = a.info_.limbs; limbs > by.limbs; --limbs)
    out = evaluator->divide(out, evaluator->level(limbs - 1), account.divisor());
  if (by.after != 1) out = evaluator->scale(out, by.after);
  return out;
}

Array ServerState::with_zeros(const Array& a) const {
  if (!account.has_remains(a.info_)) return a;
  const std::size_t length = static_cast<std::size_t>(a.info_.length);
  const std::size_t vectors = a.each_ == 1 ? 1 : a.info_.count / a.each_;
  const Coefficients ones(vectors * length, 1);
  return multiply_plain(a, encoded_for(a, ones, length, 1));
}

Array ServerState::add(const Array& first, const Array& second, bool subtract) const {
  check_pair(first, second);
  const Array a = beside(first, second.info_), b = beside(second, first.info_);
  const Account::Two sum = account.add(a.info_, b.info_);
  return fleet->together([&] {
    const rlwe::Array x = prepared(a, sum.a), y = prepared(b, sum.b);
    return array(sum.result, subtract ? evaluator->sub(x, y) : evaluator->add(x, y));
  });
}

std::vector<Array> ServerState::automorphisms(const Array& x,
                                              std::span<const std::uint32_t> gs) const {
  return fleet->together([&] {
    const Array a = with_zeros(x);
    const Array two = a.info_.parts > 2 ? relinearised(a.info_, residues(a)) : a;
    const auto turned = evaluator->automorphisms(residues(two), gs, keys, account.divisor());
    const Info info = account.rotate(two.info_);
    return images_of(two, gs, turned, [&](const rlwe::Array& each) { return array(info, each); });
  });
}

Array ServerState::brought_to(const Array& a, const Account::One& to) const {
  if (to.result.limbs == a.info_.limbs) return a;
  return fleet->together([&] { return array(to.result, prepared(a, to.a)); });
}

ServerState::Encoded ServerState::encode(std::span<const std::int64_t> values, const Rows& rows,
                                         Packing packing) const {
  const std::size_t N = parameters.N();
  Coefficients out =
      math::with_memory_for("plaintexts", [&] { return Coefficients(rows.count() * N); });
  const bool any = keys.is_open() && packing == Packing::slots;
  for (std::size_t r = 0; r < rows.count() && !any; ++r)
    encoder.encode(rows.of(values, r), packing, {out.data() + r * N, N});
  return {std::move(out), packing == Packing::slots ? rows.kept() : 0, any};
}

Plaintexts ServerState::plaintexts(rlwe::Array residues, Encoded encoded, Packing packing) const {
  auto storage = std::make_shared<Plaintexts::Storage>();
  storage->residues = std::move(residues);
  storage->packing = packing;
  storage->length = encoded.length;
  Coefficients& m = encoded.coefficients;
  const std::size_t N = parameters.N();
  storage->any = encoded.any;
  if (encoded.any) storage->norm = account.largest_norm();
  for (std::size_t at = 0; at < m.size() && !encoded.any; at += N)
    storage->norm = std::max(storage->norm, log2_norm({m.data() + at, N}));
  storage->coefficients = std::move(m);
  Plaintexts out;
  out.storage_ = std::move(storage);
  return out;
}

Plaintexts ServerState::plaintexts(Encoded m, Packing packing, const ring::Basis& basis) const {
  rlwe::Array residues = evaluator->lift(m.coefficients, basis);
  return plaintexts(std::move(residues), std::move(m), packing);
}

Plaintexts ServerState::factor(std::span<const std::int64_t> slots) const {
  encoder.check(Packing::slots);
  Encoded m =
      encode(slots, encoder.rows(slots.size(), parameters.N(), Packing::slots), Packing::slots);
  const ring::Basis basis = evaluator->level(parameters.limbs()) | evaluator->special();
  rlwe::Array residues = m.any ? evaluator->lift(m.coefficients, basis)
                               : evaluator->lift_by_period(m.coefficients, basis);
  return plaintexts(std::move(residues), std::move(m), Packing::slots);
}

Plaintexts ServerState::plaintexts_for(const Array& a, Encoded m, std::uint64_t factor) const {
  m.coefficients = account.with_factor(std::move(m.coefficients), factor);
  return plaintexts(std::move(m), a.info_.packing, evaluator->level(a.info_.limbs));
}

Plaintexts ServerState::encoded_for(const Array& a, std::span<const std::int64_t> values,
                                    std::size_t length, std::uint64_t factor) const {
  const Rows rows = encoder.rows(values.size(), length, a.info_.packing);
  account.check_lengths(a.info_, {rows.count(), 0, rows.kept()});
  check_repeats(a, rows.each);
  check_counts(a.info_.count, rows.count(), "plaintexts");
  return plaintexts_for(a, encode(values, rows, a.info_.packing), factor);
}

rlwe::Array ServerState::residues(const Plaintexts& m) const {
  const rlwe::Array& there = m.storage_->residues;
  if (!evaluator->is_lost(there)) return there;
  const auto& coefficients = m.storage_->coefficients;
  return there.shape().log_repeats == 0 ? evaluator->lift(coefficients, there.basis())
                                        : evaluator->lift_by_period(coefficients, there.basis());
}

Array ServerState::add_encoded(const Array& x, const Plaintexts& m, bool subtract) const {
  const Array a = beside(x, m.storage_->known());
  return fleet->again([&] {
    const rlwe::Array &to = residues(a), plain = residues(m);
    return array(account.add_plain(a.info_, m.storage_->known()),
                 subtract ? evaluator->sub_plain(to, plain) : evaluator->add_plain(to, plain));
  });
}

Array ServerState::add(const Array& a, const Plaintexts& m, bool subtract) const {
  check_pair(a, m);
  if (a.info_.factor == 1) return add_encoded(a, m, subtract);
  Encoded anew{m.storage_->coefficients, m.length(), m.storage_->any};
  return add_encoded(a, plaintexts_for(a, std::move(anew), a.info_.factor), subtract);
}

Array ServerState::add(const Array& a, std::span<const std::int64_t> values, std::size_t length,
                       bool subtract) const {
  check(a);
  return add_encoded(a, encoded_for(a, values, length, a.info_.factor), subtract);
}

Array ServerState::add_scalar(const Array& a, std::int64_t value) const {
  if (account.has_zeros(a.info_)) {
    const Plaintexts m = plaintexts_for(a, beside_zeros(a, value), a.info_.factor);
    return fleet->again([&] {
      return array(account.add_constant(a.info_, m.storage_->norm),
                   evaluator->add_plain(residues(a), residues(m)));
    });
  }
  // A constant polynomial is the same number modulo each prime, in every place.
  const Coefficients constant = account.with_factor({value}, a.info_.factor);
  const std::vector<std::uint64_t> one(a.info_.limbs, 1);
  std::vector<std::uint64_t> each;
  for (unsigned i = 0; i < a.info_.limbs; ++i)
    each.push_back(
        math::Modulus<std::uint64_t>(parameters.literal().chain[i]).from_signed(constant[0]));
  const rlwe::Array& x = residues(a);
  return fleet->again([&] {
    return array(account.add_constant(a.info_, log2_norm(constant)),
                 evaluator->combination({&x, 1}, {&one, 1}, each, x.basis()));
  });
}

ServerState::Encoded ServerState::beside_zeros(const Array& a, std::int64_t value) const {
  const std::size_t N = parameters.N();
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

Array ServerState::multiply_plain(const Array& x, const Plaintexts& m) const {
  const Array a = beside(x, m.storage_->known());
  return fleet->again([&] {
    return array(account.multiply_plain(a.info_, m.storage_->known()),
                 evaluator->multiply_plain(residues(a), residues(m)));
  });
}

}  // namespace whorl::bgv
