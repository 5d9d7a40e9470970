#include "whorl/bgv/server.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "backend/ops.h"
#include "lattice/rlwe/uniform.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/server_state.h"
#include "whorl/error.h"

namespace whorl::bgv {

using backend::together;

std::size_t Array::bytes() const { return storage_ ? storage_->bytes() : 0; }

std::size_t Plaintexts::count() const { return storage_ ? storage_->count : 0; }
Packing Plaintexts::packing() const { return storage_ ? storage_->packing : Packing::slots; }
std::size_t Plaintexts::bytes() const { return storage_ ? storage_->bytes() : 0; }

namespace {

/// What the sizes of a plaintext's coefficients add up to bounds its canonical norm.
double log2_norm(std::span<const std::int64_t> coefficients) {
  double sum = 0;
  for (const std::int64_t x : coefficients) sum += std::abs(static_cast<double>(x));
  return std::log2(std::max(sum, 1.0));
}

}  // namespace

template <class Word>
struct Server::Typed final : Server::State {
  using Plan = ring::RnsPlan<Word>;
  using Buffer = backend::Buffer<Word>;
  using Slice = backend::Slice<Word>;
  using ConstSlice = backend::Slice<const Word>;

  Typed(const EvaluationKeys& data, const ServerOptions& options)
      : State(data, options),
        plan(plan_of<Word>(parameters)),
        tables(device->prepare_rns(plan, parameters.t())) {
    const std::size_t words = std::size_t{plan->digits()} * plan->moduli().size() * plan->N();
    for (const SwitchKeyData& key : data.keys) {
      if (key.b.size() != words || key.b.word_bytes() != sizeof(Word))
        throw ShapeError("evaluation key of " + std::to_string(key.b.size()) + " words where " +
                         std::to_string(words) + " are due");
      if (key.g % 2 == 0 || key.g >= 2 * plan->N() || key.power < 1)
        throw ParameterError("evaluation key for s(X^" + std::to_string(key.g) + ")^" +
                             std::to_string(key.power));
      auto prepared = device->prepare_rns_key(
          *tables, lattice::key_rows<Word>(plan, plan->key_layout(), key.seed, key.b));
      key_bytes += prepared->bytes();
      keys[{key.g, key.power}] = std::move(prepared);
    }
  }

  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const backend::RnsTables<Word>> tables;
  std::map<std::pair<std::uint32_t, unsigned>, std::unique_ptr<const backend::RnsSwitchKey<Word>>>
      keys;

  const backend::RnsSwitchKey<Word>& key(std::uint32_t g, unsigned power) const {
    const auto found = keys.find({g, power});
    if (found != keys.end()) return *found->second;
    if (power > 1)
      throw KeyMismatchError("no relinearisation key for s^" + std::to_string(power) +
                             ": ask the client for relinearise = " + std::to_string(power + 1));
    throw KeyMismatchError("no rotation key for X -> X^" + std::to_string(g) +
                           (g == 2 * plan->N() - 1 ? ", the exchange of rows" : ""));
  }

  template <class Values>
  static const Buffer& buffer(const Values& a) {
    if constexpr (sizeof(Word) == 4)
      return a.storage_->narrow;
    else
      return a.storage_->wide;
  }
  std::size_t part_size(const CiphertextInfo& i) const {
    return std::size_t{i.limbs} * i.count * plan->N();
  }
  ConstSlice all(const Array& a) const {
    return buffer(a).slice().part(0, a.info_.parts * part_size(a.info_));
  }
  ConstSlice part(const Array& a, unsigned k) const {
    return buffer(a).slice().part(k * part_size(a.info_), part_size(a.info_));
  }
  void put(Residues& storage, Buffer residues) const {
    storage.server = this->shared_from_this();
    if constexpr (sizeof(Word) == 4)
      storage.narrow = std::move(residues);
    else
      storage.wide = std::move(residues);
  }
  Array finish(Array out, Buffer residues) const {
    auto storage = std::make_shared<Array::Storage>();
    put(*storage, std::move(residues));
    out.storage_ = std::move(storage);
    set_budget(out);
    return out;
  }
  /// The chain's first `limbs` primes, `parts` times.
  std::vector<math::Modulus<Word>> moduli(unsigned limbs, unsigned parts) const {
    std::vector<math::Modulus<Word>> out;
    for (unsigned k = 0; k < parts; ++k)
      out.insert(out.end(), plan->moduli().begin(), plan->moduli().begin() + limbs);
    return out;
  }

  Array upload(const Ciphertexts& c) const override {
    const CiphertextInfo& i = c.info;
    if (c.parameters != parameters)
      throw ParameterMismatchError("ciphertexts under parameters \"" + c.parameters.literal().name +
                                   "\" were given to a server of \"" + parameters.literal().name +
                                   "\"");
    if (c.key_id != key_id)
      throw KeyMismatchError("ciphertexts of another key were given to this server");
    encoder.check(i.packing);
    plan->check_limbs("upload", i.limbs);
    if (i.parts < 2 || i.parts > max_parts || i.count == 0)
      throw ShapeError("ciphertexts of " + std::to_string(i.parts) + " parts, a batch of " +
                       std::to_string(i.count) + "; 2 … " + std::to_string(max_parts) +
                       " parts, at least one");
    check_factor(i.factor, t.value());
    if (!(i.noise >= 0 && i.noise < 1e6))
      throw RangeError("noise bound 2^" + std::to_string(i.noise) + " is outside 2^0 … 2^(10^6)");
    check_words(c, std::size_t{i.parts} * i.limbs * plan->N());
    const std::span<const Word> words = c.data.as<Word>();
    Buffer to = device->allocate<Word>(words.size());
    device->upload<Word>(words, to.slice());
    if (!device->all_below(moduli(i.limbs, i.parts), std::as_const(to).slice()))
      throw_too_large(words, i);
    Array out;
    out.info_ = i;
    return finish(std::move(out), std::move(to));
  }
  [[noreturn]] void throw_too_large(std::span<const Word> words, const CiphertextInfo& i) const {
    const std::size_t row = i.count * plan->N();
    for (std::size_t at = 0; at < words.size(); ++at)
      if (const Word q = plan->moduli()[at / row % i.limbs].value(); words[at] >= q)
        throw RangeError("residue " + std::to_string(words[at]) + " of row " +
                         std::to_string(at / row) + " is not below its prime " + std::to_string(q));
    throw RangeError("a residue that was not below its prime was changed during the upload");
  }
  Ciphertexts download(const Array& a) const override {
    const ConstSlice from = all(a);
    const auto words = host_memory->template take_array<Word>(from.size, "ciphertexts");
    device->download<Word>(from, {words.get(), from.size});
    return {parameters, key_id, a.info_, WordArray(words, words.get(), from.size, sizeof(Word)),
            std::nullopt};
  }

  Array combine(const Array& a, const Array& b, bool subtract) const override {
    const bool a_longer = a.info_.parts >= b.info_.parts;
    const unsigned common = std::min(a.info_.parts, b.info_.parts),
                   most = std::max(a.info_.parts, b.info_.parts), limbs = a.info_.limbs;
    const std::size_t size = part_size(a.info_);
    Buffer to = device->allocate<Word>(most * size);
    const auto both = moduli(limbs, common);
    const auto head = to.slice().part(0, common * size);
    const auto x = buffer(a).slice().part(0, common * size),
               y = buffer(b).slice().part(0, common * size);
    subtract ? device->sub(both, x, y, head) : device->add(both, x, y, head);
    if (most > common) {
      const auto rest = moduli(limbs, most - common);
      const auto from =
          buffer(a_longer ? a : b).slice().part(common * size, (most - common) * size);
      const auto tail = to.slice().part(common * size, (most - common) * size);
      if (a_longer || !subtract)
        device->mul_scalar(rest, from, std::vector<Word>(rest.size(), 1), tail);
      else
        device->neg(rest, from, tail);
    }
    Array out = like(a);
    out.info_.parts = most;
    out.info_.noise = log2_sum(a.info_.noise, b.info_.noise);
    return finish(std::move(out), std::move(to));
  }

  Array scale(const Array& a, std::int64_t by, std::uint64_t factor) const override {
    const auto primes = moduli(a.info_.limbs, a.info_.parts);
    std::vector<Word> scalars;
    scalars.reserve(primes.size());
    for (const auto& q : primes) scalars.push_back(q.from_signed(by));
    Buffer to = device->allocate<Word>(all(a).size);
    device->mul_scalar(primes, all(a), scalars, to.slice());
    Array out = like(a);
    out.info_.factor = factor;
    out.info_.noise += std::log2(std::max(1.0, std::abs(static_cast<double>(by))));
    return finish(std::move(out), std::move(to));
  }

  Plaintexts prepare(Coefficients m, Packing packing, unsigned limbs) const override {
    std::vector<Word> residues(limbs * m.size());
    for (unsigned l = 0; l < limbs; ++l)
      std::transform(m.begin(), m.end(),
                     residues.begin() + static_cast<std::ptrdiff_t>(l * m.size()),
                     [&](std::int64_t x) { return plan->moduli()[l].from_signed(x); });
    Buffer to = device->allocate<Word>(residues.size());
    device->upload<Word>(residues, to.slice());
    device->rns_ntt(*tables, limbs, false, 1, to.slice());
    return finish(std::move(m), packing, std::move(to));
  }
  Plaintexts finish(Coefficients m, Packing packing, Buffer residues) const {
    const std::size_t N = plan->N();
    auto storage = std::make_shared<Plaintexts::Storage>();
    put(*storage, std::move(residues));
    storage->packing = packing;
    storage->count = m.size() / N;
    for (std::size_t at = 0; at < m.size(); at += N)
      storage->norm = std::max(storage->norm, log2_norm({m.data() + at, N}));
    storage->coefficients = std::move(m);
    Plaintexts out;
    out.storage_ = std::move(storage);
    return out;
  }
  /// The first limbs of plaintexts, which may have more.
  ConstSlice plain(const Plaintexts& m, unsigned limbs) const {
    return buffer(m).slice().part(0, limbs * m.count() * plan->N());
  }

  Array add_polynomials(const Array& single, const Plaintexts& m, bool subtract) const override {
    const std::size_t count = std::max<std::size_t>(single.info_.count, m.count());
    const Array a = spread(single, count);
    const std::size_t size = part_size(a.info_);
    ConstSlice y = plain(m, a.info_.limbs);
    Buffer repeated;
    if (m.count() != count) {
      repeated = device->allocate<Word>(size);
      device->take(a.info_.limbs, plan->N(), std::vector<std::uint32_t>(count, 0), y, 0,
                   repeated.slice());
      y = repeated.slice();
    }
    Buffer to = device->allocate<Word>(all(a).size);
    const auto primes = moduli(a.info_.limbs, 1);
    const Slice first = to.slice().part(0, size);
    subtract ? device->sub(primes, part(a, 0), y, first)
             : device->add(primes, part(a, 0), y, first);
    if (a.info_.parts > 1) {
      const auto rest = moduli(a.info_.limbs, a.info_.parts - 1);
      device->mul_scalar(rest, buffer(a).slice().part(size, (a.info_.parts - 1) * size),
                         std::vector<Word>(rest.size(), 1),
                         to.slice().part(size, (a.info_.parts - 1) * size));
    }
    Array out = like(a);
    out.info_.noise = log2_sum(a.info_.noise, m.storage_->norm);
    return finish(std::move(out), std::move(to));
  }

  Array multiply_polynomials(const Array& a, const Plaintexts& m) const override {
    Array out = like(a);
    out.info_.count = std::max<std::size_t>(a.info_.count, m.count());
    out.info_.noise += m.storage_->norm;
    return finish(std::move(out), tensor(a.info_.limbs, {a.info_.parts, a.info_.count, all(a)},
                                         {1, m.count(), plain(m, a.info_.limbs)}));
  }

  /// Polynomials in the secret, or plaintexts, which are constant ones.
  struct Polynomials {
    unsigned parts;
    std::size_t count;
    ConstSlice residues;
  };
  /// Of equal counts, or one of which is 1.
  Buffer tensor(unsigned limbs, const Polynomials& a, const Polynomials& b) const {
    if (a.count < b.count) return tensor(limbs, b, a);
    Buffer out = device->allocate<Word>((a.parts + b.parts - 1) * limbs * a.count * plan->N());
    device->tensor(*tables, limbs, a.parts, a.residues, b.parts, b.residues, out.slice());
    return out;
  }

  Array tensor(const Array& a, const Array& b) const override {
    const unsigned parts = a.info_.parts + b.info_.parts - 1;
    if (parts > max_parts)
      throw ShapeError("a product of " + std::to_string(parts) + " parts; at most " +
                       std::to_string(max_parts) + ": relinearise before");
    Array out = like(a);
    out.info_.parts = parts;
    out.info_.count = std::max(a.info_.count, b.info_.count);
    out.info_.factor = t.mul(a.info_.factor, b.info_.factor);
    out.info_.noise = a.info_.noise + b.info_.noise;
    return finish(std::move(out), tensor(a.info_.limbs, {a.info_.parts, a.info_.count, all(a)},
                                         {b.info_.parts, b.info_.count, all(b)}));
  }

  Array take(const Array& a, std::span<const std::uint32_t> indices) const override {
    Array out = like(a);
    out.info_.count = indices.size();
    Buffer to = device->allocate<Word>(a.info_.parts * part_size(out.info_));
    device->take(std::size_t{a.info_.parts} * a.info_.limbs, plan->N(), indices, all(a), 0,
                 to.slice());
    return finish(std::move(out), std::move(to));
  }
  Plaintexts take(const Plaintexts& a, std::span<const std::uint32_t> indices) const override {
    const std::size_t N = plan->N(), row = a.count() * N;
    const ConstSlice from = buffer(a).slice();
    Buffer to = device->allocate<Word>(from.size / a.count() * indices.size());
    device->take(from.size / row, plan->N(), indices, from, 0, to.slice());
    Coefficients m;
    m.reserve(indices.size() * N);
    for (const std::uint32_t i : indices) {
      const auto first = a.storage_->coefficients.begin() + static_cast<std::ptrdiff_t>(i * N);
      m.insert(m.end(), first, first + static_cast<std::ptrdiff_t>(N));
    }
    return finish(std::move(m), a.packing(), std::move(to));
  }
  Array join(std::span<const Array> arrays) const override {
    Array out = like(arrays[0]);
    for (const Array& a : arrays.subspan(1)) {
      out.info_.count += a.info_.count;
      out.info_.noise = std::max(out.info_.noise, a.info_.noise);
    }
    Buffer to = device->allocate<Word>(out.info_.parts * part_size(out.info_));
    std::size_t first = 0;
    for (const Array& a : arrays) {
      std::vector<std::uint32_t> every(a.info_.count);
      std::iota(every.begin(), every.end(), 0u);
      device->take(std::size_t{out.info_.parts} * out.info_.limbs, plan->N(), every, all(a), first,
                   to.slice());
      first += every.size();
    }
    return finish(std::move(out), std::move(to));
  }

  Buffer decompose(const Array& a, ConstSlice from) const {
    const unsigned limbs = a.info_.limbs;
    const std::size_t polynomials = a.info_.count * plan->N();
    Buffer digits =
        device->allocate<Word>(plan->digits(limbs) * (limbs + plan->special()) * polynomials);
    device->mod_up(*tables, limbs, from, digits.slice());
    return digits;
  }
  /// (2, limbs + K, count, N).
  Buffer product(const Array& a, const Buffer& digits, const backend::RnsSwitchKey<Word>& with,
                 std::uint32_t g) const {
    const unsigned limbs = a.info_.limbs;
    Buffer out = device->allocate<Word>(2 * (limbs + plan->special()) * a.info_.count * plan->N());
    device->inner_product(with, *tables, limbs, g, digits.slice(), out.slice());
    return out;
  }

  Array relinearise(Array a) const override {
    if (a.info_.parts <= 2) return a;
    const std::size_t size = part_size(a.info_);
    for (unsigned power = 2; power < a.info_.parts; ++power) key(1, power);
    Buffer to = device->allocate<Word>(2 * size);
    ConstSlice sum = buffer(a).slice().part(0, 2 * size);
    Array out = like(a);
    out.info_.parts = 2;
    for (unsigned power = 2; power < a.info_.parts; ++power) {
      const Buffer digits = decompose(a, part(a, power));
      const Buffer switched = product(a, digits, key(1, power), 1);
      device->mod_down(*tables, a.info_.limbs, 2, switched.slice(), sum, 1, to.slice());
      sum = std::as_const(to).slice();
      out.info_.noise = log2_sum(out.info_.noise, model.key_switch(a.info_.limbs));
    }
    return finish(std::move(out), std::move(to));
  }

  std::vector<Array> automorphisms(const Array& a,
                                   std::span<const std::uint32_t> gs) const override {
    for (const std::uint32_t g : gs)
      if (g != 1) key(g, 1);
    std::optional<Buffer> digits;
    std::vector<Array> outs;
    for (const std::uint32_t g : gs) {
      if (g == 1) {
        outs.push_back(a);
        continue;
      }
      if (!digits) digits = decompose(a, part(a, 1));
      Buffer to = device->allocate<Word>(2 * part_size(a.info_));
      const Buffer switched = product(a, *digits, key(g, 1), g);
      device->mod_down(*tables, a.info_.limbs, 2, switched.slice(), part(a, 0), g, to.slice());
      Array out = like(a);
      out.info_.noise = log2_sum(a.info_.noise, model.key_switch(a.info_.limbs));
      outs.push_back(finish(std::move(out), std::move(to)));
    }
    return outs;
  }

  Array drop_limb(const Array& a) const override {
    const unsigned limbs = a.info_.limbs;
    Array out = like(a);
    out.info_.limbs = limbs - 1;
    out.info_.noise = model.dropped(a.info_.noise, limbs, a.info_.parts);
    out.info_.factor = factor_after(a.info_.factor, limbs, limbs - 1);
    Buffer to = device->allocate<Word>(a.info_.parts * part_size(out.info_));
    device->rescale(*tables, limbs, a.info_.parts, all(a), to.slice());
    return finish(std::move(out), std::move(to));
  }
};

Server::Server(const EvaluationKeys& keys, const ServerOptions& options)
    : state_(with_word(keys.parameters, [&]<class Word>(Word) -> std::shared_ptr<const State> {
        return std::make_shared<const Typed<Word>>(keys, options);
      })) {}

const Parameters& Server::parameters() const { return state_->parameters; }
const KeyId& Server::key_id() const { return state_->key_id; }
const std::string& Server::device() const { return state_->name; }
std::size_t Server::key_bytes() const { return state_->key_bytes; }

Array Server::upload(const Ciphertexts& ciphertexts) const { return state_->upload(ciphertexts); }
Ciphertexts Server::download(const Array& a) const {
  state_->check(a);
  return state_->download(a);
}

Array Server::add(const Array& a, const Array& b) const {
  return together(*state_->device, [&] { return state_->add(a, b, false); });
}
Array Server::sub(const Array& a, const Array& b) const {
  return together(*state_->device, [&] { return state_->add(a, b, true); });
}
Array Server::negate(const Array& a) const {
  state_->check(a);
  return state_->scale(a, -1, a.info().factor);
}

Plaintexts Server::encode(std::span<const std::int64_t> values, Packing packing) const {
  state_->encoder.check(packing);
  return state_->prepare(state_->encode(values, packing), packing, parameters().limbs());
}
Array Server::add_plain(const Array& a, std::span<const std::int64_t> values) const {
  return state_->add_polynomials(a, state_->encode_for(a, values, a.info().factor), false);
}
Array Server::sub_plain(const Array& a, std::span<const std::int64_t> values) const {
  return state_->add_polynomials(a, state_->encode_for(a, values, a.info().factor), true);
}
Array Server::multiply_plain(const Array& a, std::span<const std::int64_t> values) const {
  return state_->multiply_polynomials(a, state_->encode_for(a, values, 1));
}
Array Server::add_plain(const Array& a, const Plaintexts& b) const {
  return state_->add(a, b, false);
}
Array Server::sub_plain(const Array& a, const Plaintexts& b) const {
  return state_->add(a, b, true);
}
Array Server::multiply_plain(const Array& a, const Plaintexts& b) const {
  state_->check_pair(a, b);
  return state_->multiply_polynomials(a, b);
}
Array Server::add_scalar(const Array& a, std::int64_t value) const {
  state_->check(a);
  // The same in all slots is a constant polynomial.
  State::Coefficients m(parameters().N());
  m[0] = state_->t.centred(state_->t.from_signed(value));
  return state_->add_polynomials(a, state_->with_factor(std::move(m), a.info().factor, a), false);
}
Array Server::multiply_scalar(const Array& a, std::int64_t value) const {
  state_->check(a);
  return state_->scale(a, state_->t.centred(state_->t.from_signed(value)), a.info().factor);
}

Array Server::multiply(const Array& a, const Array& b, bool relinearised) const {
  state_->check_pair(a, b);
  return together(*state_->device, [&] {
    const auto [x, y] = state_->reduced(a, b);
    Array product = state_->tensor(x, y);
    return relinearised ? state_->relinearise(std::move(product)) : product;
  });
}
Array Server::square(const Array& a, bool relinearised) const {
  state_->check(a);
  return together(*state_->device, [&] {
    const Array x = state_->to_limbs(a, state_->limbs_to_multiply(a));
    Array product = state_->tensor(x, x);
    return relinearised ? state_->relinearise(std::move(product)) : product;
  });
}
Array Server::relinearise(const Array& a) const {
  state_->check(a);
  return together(*state_->device, [&] { return state_->relinearise(a); });
}

std::vector<Array> Server::rotate_many(const Array& a,
                                       std::span<const std::int64_t> columns) const {
  state_->check(a);
  if (a.info().packing != Packing::slots)
    throw EncodingError("rotation of values packed as coefficients");
  std::vector<std::uint32_t> gs;
  for (const std::int64_t c : columns) gs.push_back(rotation_exponent(parameters().N(), c));
  return together(*state_->device,
                  [&] { return state_->automorphisms(state_->relinearise(a), gs); });
}
Array Server::rotate(const Array& a, std::int64_t columns) const {
  return rotate_many(a, std::span(&columns, 1))[0];
}
Array Server::swap_rows(const Array& a) const {
  state_->check(a);
  if (a.info().packing != Packing::slots)
    throw EncodingError("rotation of values packed as coefficients");
  const std::uint32_t g = 2 * parameters().N() - 1;
  return together(*state_->device, [&] {
    return state_->automorphisms(state_->relinearise(a), std::span(&g, 1))[0];
  });
}
Array Server::inner_sum(const Array& a, std::uint32_t columns) const {
  state_->check(a);
  if (!std::has_single_bit(columns) || columns > parameters().N() / 2)
    throw ParameterError(
        "inner_sum over " + std::to_string(columns) +
        " columns: a power of two up to N/2 = " + std::to_string(parameters().N() / 2));
  return together(*state_->device, [&] {
    Array sum = a;
    for (std::uint32_t step = 1; step < columns; step *= 2) sum = add(sum, rotate(sum, step));
    return sum;
  });
}

Array Server::take(const Array& a, std::span<const std::uint32_t> indices) const {
  state_->check(a);
  if (indices.empty()) throw ShapeError("take: no index; arrays are not empty");
  return state_->take(a, indices);
}
Plaintexts Server::take(const Plaintexts& a, std::span<const std::uint32_t> indices) const {
  state_->check(a);
  if (indices.empty()) throw ShapeError("take: no index; arrays are not empty");
  return state_->take(a, indices);
}
Array Server::concatenate(std::span<const Array> arrays) const {
  if (arrays.empty()) throw ShapeError("concatenate: no array");
  for (const Array& a : arrays) {
    state_->check(a);
    State::check_packing(a.info().packing, arrays[0].info().packing);
    if (a.info().parts != arrays[0].info().parts)
      throw ShapeError("concatenate: arrays of " + std::to_string(arrays[0].info().parts) +
                       " and of " + std::to_string(a.info().parts) + " parts: relinearise before");
  }
  return arrays.size() == 1 ? arrays[0] : state_->join(state_->alike(arrays));
}

Array Server::mod_switch(const Array& a, unsigned limbs) const {
  state_->check(a);
  if (limbs < 1 || limbs > a.info().limbs)
    throw ParameterError("mod_switch to " + std::to_string(limbs) + " limbs: 1 … " +
                         std::to_string(a.info().limbs));
  return together(*state_->device, [&] { return state_->to_limbs(a, limbs); });
}
Array Server::shrink(const Array& a, double spare_bits) const {
  state_->check(a);
  return together(*state_->device, [&] {
    Array out = a;
    while (out.info().limbs > 1) {
      const CiphertextInfo& i = out.info();
      const double noise = state_->model.dropped(i.noise, i.limbs, i.parts);
      if (state_->model.budget(noise, i.limbs - 1) < spare_bits) break;
      out = state_->drop_limb(out);
    }
    return out;
  });
}

void Server::synchronise() const { state_->device->wait(); }

}  // namespace whorl::bgv
