#include "whorl/bgv/server.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "math/memory.h"
#include "math/text.h"
#include "schemes/bgv/server_state.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl {

template class RingArray<bgv::CiphertextInfo>;
template class RingServer<bgv::Parameters, bgv::CiphertextInfo, bgv::ServerState>;

}  // namespace whorl

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

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

Array Server::upload(const Ciphertexts& c) const {
  const CiphertextInfo& i = c.info;
  check_owner(c.parameters, c.key_id, "server", parameters(), key_id());
  state().encoder.check(i.packing);
  Account::check(parameters(), i);
  const ring::Basis basis = state().evaluator->level(i.limbs);
  return state().array(
      i, state().evaluator->upload(c.data, {i.parts, basis, i.count, rlwe::Form::evaluation}));
}

Array Server::add(const Array& a, const Array& b) const { return state().add(a, b, false); }
Array Server::sub(const Array& a, const Array& b) const { return state().add(a, b, true); }
Array Server::negate(const Array& a) const {
  state().check(a);
  return state().array(a.info_, state().evaluator->negate(*a.residues_));
}

Plaintexts Server::encode(std::span<const std::int64_t> values, Packing packing,
                          std::size_t length) const {
  state().encoder.check(packing);
  const Rows rows = state().encoder.rows(values.size(), length, packing);
  return state().plaintexts(state().encode(values, rows, packing), packing,
                            state().evaluator->level(parameters().limbs()));
}
Array Server::add_plain(const Array& a, std::span<const std::int64_t> values,
                        std::size_t length) const {
  return state().add(a, values, length, false);
}
Array Server::sub_plain(const Array& a, std::span<const std::int64_t> values,
                        std::size_t length) const {
  return state().add(a, values, length, true);
}
Array Server::multiply_plain(const Array& a, std::span<const std::int64_t> values,
                             std::size_t length) const {
  state().check(a);
  return state().multiply_plain(a, state().encoded_for(a, values, length, 1));
}
Array Server::add_plain(const Array& a, const Plaintexts& b) const {
  return state().add(a, b, false);
}
Array Server::sub_plain(const Array& a, const Plaintexts& b) const {
  return state().add(a, b, true);
}
Array Server::multiply_plain(const Array& a, const Plaintexts& b) const {
  state().check_pair(a, b);
  return state().multiply_plain(a, b);
}
Array Server::add_scalar(const Array& a, std::int64_t value) const {
  state().check(a);
  return state().add_scalar(a, state().account.residue(value));
}
Array Server::multiply_scalar(const Array& a, std::int64_t value) const {
  state().check(a);
  const std::int64_t by = state().account.residue(value);
  return state().array(state().account.scale(a.info_, by),
                       state().evaluator->scale(*a.residues_, by));
}

Array Server::multiply(const Array& a, const Array& b, bool relinearised) const {
  state().check_pair(a, b);
  const Array x = state().beside(a, b.info_), y = state().beside(b, a.info_);
  const Account::Two product = state().account.multiply(x.info_, y.info_);
  return state().fleet->together([&] {
    // Operands that are one array make a square, whose residues are prepared once.
    const rlwe::Array first = state().prepared(x, product.a),
                      second = &a == &b ? first : state().prepared(y, product.b);
    if (!relinearised)
      return state().array(product.result, state().evaluator->tensor(first, second));
    return state().array(
        state().account.relinearise(product.result),
        state().evaluator->relinearised_product(first, second, {}, state().keys, first.basis(),
                                                state().account.divisor()));
  });
}
Array Server::square(const Array& a, bool relinearised) const {
  return multiply(a, a, relinearised);
}
Array Server::relinearise(const Array& a) const {
  state().check(a);
  if (a.info_.parts == 2) return a;
  return state().fleet->together([&] { return state().relinearised(a.info_, *a.residues_); });
}

std::vector<Array> Server::rotate_many(const Array& a,
                                       std::span<const std::int64_t> columns) const {
  state().check_slots(a);
  std::vector<std::uint32_t> gs;
  gs.reserve(columns.size());
  for (const std::int64_t c : columns) gs.push_back(state().rotation(c));
  return state().automorphisms(a, gs);
}
Array Server::rotate(const Array& a, std::int64_t columns) const {
  state().check_slots(a);
  return state().automorphism(a, state().rotation(columns));
}
Array Server::swap_rows(const Array& a) const {
  state().check_slots(a);
  const std::uint32_t g = 2 * parameters().N() - 1;
  if (!state().keys.has(g, 1))
    throw MissingKeyError("the exchange of rows has no key: ask the client for swap_rows=True; " +
                          state().rotations_held());
  return state().automorphism(a, g);
}
Array Server::inner_sum(const Array& a, std::uint32_t columns) const {
  state().check(a);
  if (!std::has_single_bit(columns) || columns > parameters().N() / 2)
    throw ParameterError(
        "inner_sum: columns = " + std::to_string(columns) +
        " is not a power of two of at most N/2 = " + std::to_string(parameters().N() / 2));
  return state().fleet->together([&] {
    Array sum = columns == 1 ? a : state().with_zeros(a);
    for (std::uint32_t step = 1; step < columns; step *= 2) sum = add(sum, rotate(sum, step));
    return sum;
  });
}

Array Server::take(const Array& a, std::span<const std::uint32_t> indices) const {
  state().check(a);
  check_whole(indices, a.each());
  Array out =
      state().array(taken(a.info_, indices.size()), state().evaluator->take(*a.residues_, indices));
  out.repeats_ = repeats_of(indices);
  return out;
}
Plaintexts Server::take(const Plaintexts& a, std::span<const std::uint32_t> indices) const {
  state().check(a);
  check_whole(indices, a.each());
  rlwe::Array residues =
      state().fleet->again([&] { return state().evaluator->take(state().residues(a), indices); });
  const std::size_t N = parameters().N();
  ServerState::Coefficients m;
  math::with_memory_for("plaintexts", [&] { m.reserve(indices.size() * N); });
  for (const std::uint32_t i : indices) {
    const auto first = a.storage_->coefficients.begin() + static_cast<std::ptrdiff_t>(i * N);
    m.insert(m.end(), first, first + static_cast<std::ptrdiff_t>(N));
  }
  return state().plaintexts(std::move(residues), {std::move(m), a.length(), a.storage_->any},
                            a.packing());
}
Array Server::concatenate(std::span<const Array> given) const {
  if (given.empty()) throw ShapeError("concatenate: no array is given");
  std::vector<Array> arrays(given.begin(), given.end());
  for (const Array& a : arrays) {
    state().check(a);
    ServerState::check_packing(a.info_.packing, arrays[0].info_.packing);
    if (a.info_.parts != arrays[0].info_.parts)
      throw ShapeError("concatenate: the arrays have " + std::to_string(arrays[0].info_.parts) +
                       " and " + std::to_string(a.info_.parts) +
                       " parts, which must be equal: relinearise them first");
  }
  if (arrays.size() == 1) return arrays[0];
  for (Array& a : arrays)
    if (std::ranges::any_of(
            given, [&](const Array& b) { return state().account.needs_zeros(a.info_, b.info_); }))
      a = state().with_zeros(a);
  const std::size_t each_most = std::ranges::max(arrays, {}, &Array::each_).each_;
  std::vector<CiphertextInfo> infos;
  for (const Array& a : arrays) {
    state().check_repeats(a, each_most);
    if (a.info_.count % each_most != 0)
      throw ShapeError("concatenate: a batch of " + std::to_string(a.info_.count) +
                       " ciphertexts is joined with vectors of " + std::to_string(each_most) +
                       " ciphertexts each");
    infos.push_back(a.info_);
  }
  const Account::Many all = state().account.concatenate(infos);
  return state().fleet->together([&] {
    std::vector<rlwe::Array> each;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      each.push_back(state().prepared(arrays[i], all.each[i]));
    return state().array(all.result, state().evaluator->join(each));
  });
}

Array Server::mod_switch(const Array& a, unsigned limbs) const {
  state().check(a);
  if (limbs < 1 || limbs > a.info_.limbs)
    throw ParameterError("mod_switch: limbs = " + std::to_string(limbs) + " is outside 1 … " +
                         std::to_string(a.info_.limbs));
  return state().brought_to(a, state().account.mod_switch(a.info_, limbs));
}
Array Server::shrink(const Array& a, double spare_bits) const {
  state().check(a);
  return state().brought_to(a, state().account.shrink(a.info_, spare_bits));
}

// ---- operators

Server Server::of(const Array& a) {
  if (!a.residues_) throw ShapeError("an operator was given an empty array");
  const auto state = std::static_pointer_cast<const ServerState>(a.server_.lock());
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

}  // namespace whorl::bgv
