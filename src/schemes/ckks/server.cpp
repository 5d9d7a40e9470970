#include "whorl/ckks/server.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl {

template class RingArray<ckks::CiphertextInfo>;
template class RingServer<ckks::Parameters, ckks::CiphertextInfo, ckks::ServerState>;

}  // namespace whorl

namespace whorl::ckks {

namespace {

using Complex = std::complex<double>;

void check_power(const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (!std::has_single_bit(value) || value < least || value > most)
    throw ShapeError(std::string(what) + ", " + std::to_string(value) +
                     ", is not a power of two in " + std::to_string(least) + " … " +
                     std::to_string(most));
}

/// Returns ones at the values `first` … `first + count - 1` of a vector, among the zeros of all
/// slots.
std::vector<Complex> ones(std::uint64_t slots, std::uint64_t first, std::uint64_t count) {
  std::vector<Complex> out(slots);
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(first), count, 1.0);
  return out;
}

}  // namespace

std::size_t Server::best_batch() const {
  const std::size_t all = state().fleet->size(), failed = failed_devices().size();
  return state().most() * std::max<std::size_t>(1, all - std::min(all, failed));
}

Array Server::upload(const Ciphertexts& c) const {
  const CiphertextInfo& i = c.info;
  check_owner(c.parameters, c.key_id, "server", parameters(), key_id());
  Account::check(parameters(), i);
  return ServerState::array(
      i, state().evaluator->upload(c.data, {i.parts, state().account.basis(i.level), i.count,
                                            lattice::rlwe::Form::evaluation}));
}

Array Server::add(const Array& a, const Array& b) const { return state().add(a, b, false); }
Array Server::sub(const Array& a, const Array& b) const { return state().add(a, b, true); }
Array Server::negate(const Array& a) const {
  state().check(a);
  return ServerState::array(state().account.multiply_integer(a.info_, -1),
                            state().evaluator->negate(*a.residues_));
}
Array Server::multiply(const Array& a, const Array& b, const Finish& finish) const {
  return state().multiply(a, b, finish);
}
Array Server::square(const Array& a, const Finish& finish) const {
  return state().multiply(a, a, finish);
}
Array Server::relinearise(const Array& a) const {
  state().check(a);
  return state().fleet->together([&] { return state().relinearised(a); });
}
Array Server::rescale(const Array& a) const {
  state().check(a);
  return state().fleet->together([&] { return state().rescaled(a); });
}
Array Server::lower(const Array& a, unsigned level) const {
  state().check(a);
  return state().lower(a, level);
}

Array Server::with_bound(const Array& a, const Bounds& bound) const {
  state().check(a);
  return ServerState::with_info(a, state().account.with_bound(a.info_, bound));
}

Array Server::as_vectors(const Array& a, std::uint64_t length) const {
  state().check(a);
  return ServerState::with_info(a, state().account.as_vectors(a.info_, length));
}

Array Server::with_more_error(const Array& a, double error) const {
  state().check(a);
  if (!(error > 0 && std::isfinite(error)))
    throw ParameterError("error: " + math::text_of(error) + " is not positive and finite");
  return ServerState::with_more_error(a, error);
}
Array Server::with_error(const Array& a, double error) const {
  state().check(a);
  return ServerState::with_info(a, state().account.with_error(a.info_, error));
}

Array Server::add_plain(const Array& a, std::span<const Complex> values, std::size_t length) const {
  return state().add(a, values, length, false);
}
Array Server::sub_plain(const Array& a, std::span<const Complex> values, std::size_t length) const {
  return state().add(a, values, length, true);
}
Array Server::multiply_plain(const Array& a, std::span<const Complex> values, std::size_t length,
                             bool rescaled) const {
  return state().multiply_plain(a, values, length, rescaled);
}
Array Server::add_scalar(const Array& a, Complex value) const {
  return state().add_scalar(a, value);
}
Array Server::multiply_scalar(const Array& a, Complex value, bool rescaled) const {
  state().check(a);
  if (value.imag() != 0) return state().multiply_plain(a, std::span(&value, 1), 1, rescaled);
  // A real number is an integer at the plaintext's scale.
  const Account& account = state().account;
  if (rescaled) Account::check_level(a.info_.level);
  const double scale = account.plain_scale(a.info_), by = std::nearbyint(value.real() * scale);
  if (!(std::abs(by) < 0x1p61))
    throw EncodingError("value " + math::text_of(value.real()) + " times the scale 2^" +
                        math::text_of(std::log2(scale)) +
                        " is above 2^61, or not finite: an integer may be larger, and is exact");
  const CiphertextInfo info =
      account.multiply_plain(a.info_, account.constant(value.real(), scale, a.info_.packing));
  if (rescaled) static_cast<void>(account.rescale(info));
  return state().fleet->together([&] {
    const Array out = ServerState::array(
        info, state().evaluator->scale(*a.residues_, static_cast<std::int64_t>(by)));
    return rescaled ? state().rescaled(out) : out;
  });
}
Array Server::multiply_integer(const Array& a, std::int64_t value) const {
  state().check(a);
  return ServerState::array(state().account.multiply_integer(a.info_, value),
                            state().evaluator->scale(*a.residues_, value));
}
Array Server::multiply_by_i(const Array& a) const {
  state().check(a);
  if (a.info_.packing == Packing::coefficients)
    throw EncodingError("multiply_by_i: the values are coefficients, which are real");
  return state().fleet->again([&] {
    return ServerState::array(
        state().account.multiply_by_i(a.info_),
        state().evaluator->multiply_plain(*a.residues_, state().constants.imaginary_plain));
  });
}

Array Server::rotate(const Array& a, std::int64_t slots) const {
  return rotate_many(a, std::span(&slots, 1))[0];
}
std::vector<Array> Server::rotate_many(const Array& a, std::span<const std::int64_t> slots) const {
  state().check_slots("rotate", a);
  std::vector<std::uint32_t> gs;
  gs.reserve(slots.size());
  for (const std::int64_t distance : slots)
    gs.push_back(state().rotation(a.info_.slots(), distance));
  return state().automorphisms(a, gs);
}
Array Server::conjugate(const Array& a) const {
  state().check(a);
  if (a.info_.packing == Packing::coefficients)
    throw EncodingError("conjugate: the values are coefficients, which are real");
  const std::uint32_t g = conjugation_exponent(parameters());
  if (!state().keys.has(g, 1))
    throw MissingKeyError("conjugation has no key: ask the client for conjugate=True");
  return state().automorphisms(a, std::span(&g, 1))[0];
}
Array Server::sum(const Array& a, std::uint64_t period) const {
  state().check_packed("sum", a);
  const std::uint64_t slots = a.info_.slots(), each = a.info_.each(parameters().N()),
                      vector = length_of(a.info_),
                      length = vector - (each - 1) * slots;  // of the last ciphertext
  check_power("sum: the period", period, 1, each == 1 ? length : 1);
  if (each == 1 && period == length) return a;
  if (slots != length && a.info_.level == 0)
    throw NoiseError("sum: the length, " + std::to_string(vector) + ", is no " +
                     (each == 1 ? "power of two" : "multiple of " + std::to_string(slots)) +
                     ", so that a sum takes a level, and the ciphertext is at level 0: take "
                     "parameters with a larger depth, bootstrap before, or encrypt the values with "
                     "zeros behind, as " +
                     std::to_string(each * slots) + " values");
  return state().fleet->together([&] {
    std::vector<Array> all = parts(state().relinearised(a));
    for (Array& part : all) part = ServerState::with_length(std::move(part), slots);
    Array& sum = all.back();
    // Copies behind the values do not count.
    if (slots != length) sum = state().multiply_plain(sum, ones(slots, 0, length), 0, true);
    for (std::size_t part = 0; part + 1 < each; ++part) sum = add(sum, all[part]);
    for (std::uint64_t step = period; step < slots; step *= 2)
      sum = add(sum, rotate(sum, static_cast<std::int64_t>(step)));
    sum = ServerState::with_length(std::move(sum), period);
    if (each == 1 && slots == length) return sum;
    // A sum has `fewest` terms, or one more.
    const auto fewest = static_cast<double>(vector / period),
               most = static_cast<double>((vector + period - 1) / period);
    const Bounds ends = a.info_.bounds();
    return state().narrowed(sum, {std::min(fewest * ends.low, most * ends.low),
                                  std::max(fewest * ends.high, most * ends.high)});
  });
}
std::vector<Array> Server::parts(const Array& a) const {
  state().check(a);
  const std::size_t each = a.info_.each(parameters().N());
  if (each == 1) return {a};
  const CiphertextInfo info = Account::part(a.info_, each);
  std::vector<Array> out;
  for (std::size_t part = 0; part < each; ++part) {
    std::vector<std::uint32_t> indices(info.count);
    for (std::size_t v = 0; v < indices.size(); ++v)
      indices[v] = static_cast<std::uint32_t>(v * each + part);
    out.push_back(ServerState::array(info, state().evaluator->take(*a.residues_, indices)));
  }
  return out;
}
Array Server::replicate(const Array& a, std::uint64_t first, std::uint64_t count) const {
  state().check_alone("replicate", a);
  const std::uint64_t length = a.info_.length, slots = a.info_.slots();
  if (first == 0 && count == length) return a;
  check_power("replicate: the count", count, 1, length);
  if (first + count > length || first % count != 0)
    throw ShapeError("replicate: the first value, " + std::to_string(first) +
                     ", is not a multiple of " + std::to_string(count) +
                     ", the count, with so many values from there to the end of " +
                     std::to_string(length));
  return state().fleet->together([&] {
    const Array whole = ServerState::with_length(state().relinearised(a), slots),
                chosen = state().multiply_plain(whole, ones(slots, first, count), 0, true);
    return state().narrowed(sum(chosen, count), a.info_.bounds());
  });
}
Array Server::repeat(const Array& a, std::uint64_t length) const {
  state().check_alone("repeat", a);
  if (length == a.info_.length) return a;
  if (a.info_.length != a.info_.slots() || length == 0 || length % a.info_.length != 0 ||
      length > parameters().slots())
    throw ShapeError(
        "repeat: " + std::to_string(a.info_.length) + " values cannot be repeated to " +
        std::to_string(length) +
        ": their number must be a power of two, and the length a multiple of it up to " +
        std::to_string(parameters().slots()));
  return ServerState::with_length(a, length);
}

Array Server::take(const Array& a, std::span<const std::uint32_t> indices) const {
  state().check(a);
  check_whole(indices, a.info_.each(parameters().N()));
  return ServerState::array(taken(a.info_, indices.size()),
                            state().evaluator->take(*a.residues_, indices));
}
Array Server::concatenate(std::span<const Array> arrays) const { return joined(arrays, false); }
Array Server::interleave(std::span<const Array> arrays) const { return joined(arrays, true); }
Array Server::joined(std::span<const Array> arrays, bool interleaved) const {
  if (arrays.empty()) throw ShapeError("concatenate: no array is given");
  std::vector<CiphertextInfo> infos;
  for (const Array& a : arrays) {
    state().check(a);
    if (a.info_.parts != arrays[0].info_.parts)
      throw ShapeError("concatenate: the arrays have " + std::to_string(arrays[0].info_.parts) +
                       " and " + std::to_string(a.info_.parts) +
                       " parts, which must be equal: relinearise them first");
    if (interleaved && a.info_.count != arrays[0].info_.count)
      throw ShapeError("interleave: arrays of " + std::to_string(arrays[0].info_.count) + " and " +
                       std::to_string(a.info_.count) + " ciphertexts; their counts must be equal");
    infos.push_back(a.info_);
  }
  const Account::Many all = state().account.concatenate(infos);
  return state().fleet->together([&] {
    std::vector<lattice::rlwe::Array> each;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      each.push_back(state().prepared(arrays[i], all.each[i]));
    const lattice::rlwe::Evaluator& evaluator = *state().evaluator;
    return ServerState::array(all.result,
                              interleaved ? evaluator.interleave(each) : evaluator.join(each));
  });
}

}  // namespace whorl::ckks
