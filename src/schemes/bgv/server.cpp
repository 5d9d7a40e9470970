#include "whorl/bgv/server.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "backend/block_cache.h"
#include "backend/ops.h"
#include "lattice/rns_rlwe.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/encoder.h"
#include "schemes/bgv/noise.h"
#include "whorl/error.h"

namespace whorl::bgv {

/// Residues (parts, limbs, count, N), perhaps with more behind them.
struct Array::Storage {
  std::shared_ptr<const void> server;  ///< keeps the device alive
  backend::Buffer<std::uint32_t> narrow;
  backend::Buffer<std::uint64_t> wide;
};

std::size_t Array::bytes() const {
  return storage_ ? storage_->narrow.size() * 4 + storage_->wide.size() * 8 : 0;
}

namespace {

/// What the sizes of a plaintext's coefficients add up to bounds its canonical norm.
double log2_norm(std::span<const std::int64_t> coefficients) {
  double sum = 0;
  for (const std::int64_t x : coefficients) sum += std::abs(static_cast<double>(x));
  return std::log2(std::max(sum, 1.0));
}

/// Units alpha, beta with alpha·a = beta·b mod t that leave alpha·x + beta·y the least noise, for x
/// and y of log2 `noise_a` and `noise_b`: steps of the extended Euclidean algorithm.
struct Factors {
  std::int64_t alpha, beta;
  double noise;
};
Factors least_factors(std::uint64_t a, std::uint64_t b, double noise_a, double noise_b,
                      const math::Modulus<std::uint64_t>& t) {
  const auto with = [&](std::int64_t alpha, std::int64_t beta) {
    const auto size = [](std::int64_t x) { return std::log2(std::abs(static_cast<double>(x))); };
    return Factors{alpha, beta, log2_sum(noise_a + size(alpha), noise_b + size(beta))};
  };
  // s·ratio = r mod t at each step.
  const std::uint64_t ratio = t.mul(a, t.inverse(b));
  std::int64_t r0 = static_cast<std::int64_t>(t.value()), r1 = static_cast<std::int64_t>(ratio);
  std::int64_t s0 = 0, s1 = 1;
  Factors best = with(1, t.centred(ratio));
  while (r1 != 0) {
    // A composite t has steps that are no units.
    if (std::gcd(s1, static_cast<std::int64_t>(t.value())) == 1)
      if (const Factors now = with(s1, r1); now.noise < best.noise) best = now;
    const std::int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    s0 = std::exchange(s1, s0 - quotient * s1);
  }
  return best;
}

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(const EvaluationKeys& keys, const ServerOptions& options)
      : parameters(keys.parameters),
        key_id(keys.key_id),
        device(backend::make_device(options.device, {options.threads, options.interrupt,
                                                     backend::BlindRotation::automatic})),
        name(device->name()),
        model(parameters),
        schedule(model.schedule()),
        encoder(parameters),
        t(parameters.t()) {}
  virtual ~State() = default;

  Parameters parameters;
  KeyId key_id;
  std::unique_ptr<const backend::Device> device;
  std::string name;
  NoiseModel model;
  std::vector<NoiseModel::Level> schedule;
  Encoder encoder;
  math::Modulus<std::uint64_t> t;
  std::size_t key_bytes = 0;
  /// What downloads are written to: fresh pages cost more than the copy.
  std::shared_ptr<backend::BlockCache> host_memory = std::make_shared<backend::BlockCache>();

  using Coefficients = std::vector<std::int64_t>;

  // What depends on the word.
  virtual Array upload(const Ciphertexts&) const = 0;
  virtual Ciphertexts download(const Array&) const = 0;
  virtual Array combine(const Array& a, const Array& b, bool subtract) const = 0;
  virtual Array scale(const Array& a, std::int64_t by, std::uint64_t factor) const = 0;
  virtual Array add_polynomials(const Array& a, const Coefficients& m) const = 0;
  virtual Array multiply_polynomials(const Array& a, const Coefficients& m) const = 0;
  virtual Array tensor(const Array& a, const Array& b) const = 0;
  virtual Array relinearise(Array a) const = 0;
  virtual std::vector<Array> automorphisms(const Array& a,
                                           std::span<const std::uint32_t> gs) const = 0;
  virtual Array drop_limb(const Array& a) const = 0;

  void set_budget(Array& a) const { a.budget_ = model.budget(a.info_.noise, a.info_.limbs); }
  static const CiphertextInfo& info(const Array& a) { return a.info_; }

  void check(const Array& a) const {
    if (!a.storage_) throw ShapeError("an empty array was given to a server");
    if (a.storage_->server.get() != this)
      throw DeviceError("an array of another server was given to " + name);
  }
  void check_pair(const Array& a, const Array& b) const {
    check(a);
    check(b);
    if (a.info_.count != b.info_.count)
      throw ShapeError("batches of " + std::to_string(a.info_.count) + " and " +
                       std::to_string(b.info_.count) + " ciphertexts");
    if (a.info_.packing != b.info_.packing)
      throw EncodingError("one batch is packed in slots, the other in coefficients");
  }
  /// Copies all but the residues.
  Array like(const Array& a) const {
    Array out;
    out.info_ = a.info_;
    return out;
  }

  Array to_limbs(Array a, unsigned limbs) const {
    while (a.info_.limbs > limbs) a = drop_limb(a);
    return a;
  }
  /// a and b with the same limbs and factor, for addition.
  std::pair<Array, Array> aligned(const Array& a, const Array& b) const {
    const unsigned limbs = std::min(a.info_.limbs, b.info_.limbs);
    std::pair<Array, Array> out{a, b};
    const bool first_is_higher = a.info_.limbs > b.info_.limbs;
    Array &high = first_is_higher ? out.first : out.second,
          &low = first_is_higher ? out.second : out.first;
    if (high.info_.limbs > limbs) {
      // A factor multiplied in before primes are dropped costs no noise but what drops leave of it:
      // done where that is less than what two factors afterwards cost.
      const std::uint64_t without = factor_after(high.info_.factor, high.info_.limbs, limbs);
      const std::uint64_t by = t.mul(low.info_.factor, t.inverse(without));
      const std::int64_t scalar = t.centred(by);
      double early = high.info_.noise + std::log2(std::abs(static_cast<double>(scalar))),
             late = high.info_.noise;
      for (unsigned l = high.info_.limbs; l > limbs; --l) {
        early = model.dropped(early, l, high.info_.parts);
        late = model.dropped(late, l, high.info_.parts);
      }
      const Factors after = least_factors(without, low.info_.factor, late, low.info_.noise, t);
      if (by != 1 && log2_sum(early, low.info_.noise) <= after.noise)
        high = scale(high, scalar, t.mul(high.info_.factor, by));
      high = to_limbs(std::move(high), limbs);
    }
    if (out.first.info_.factor == out.second.info_.factor) return out;
    const Factors f = least_factors(out.first.info_.factor, out.second.info_.factor,
                                    out.first.info_.noise, out.second.info_.noise, t);
    const std::uint64_t factor = t.mul(t.from_signed(f.alpha), out.first.info_.factor);
    // By 1 there is nothing to do.
    if (f.alpha != 1) out.first = scale(out.first, f.alpha, factor);
    if (f.beta != 1) out.second = scale(out.second, f.beta, factor);
    return out;
  }
  /// Of a ciphertext that loses its limbs from `limbs` down to `left`.
  std::uint64_t factor_after(std::uint64_t factor, unsigned limbs, unsigned left) const {
    for (; limbs > left; --limbs)
      factor = t.mul(factor, t.inverse(t.reduce(parameters.literal().chain[limbs - 1])));
    return factor;
  }

  Coefficients encode(const Array& a, std::span<const std::int64_t> values,
                      std::uint64_t factor) const {
    const std::size_t N = parameters.N(), rows = encoder.rows(values.size());
    if (rows != 1 && rows != a.info_.count)
      throw ShapeError(std::to_string(rows) + " plaintexts for " + std::to_string(a.info_.count) +
                       " ciphertexts; one, or one each");
    Coefficients out(rows * N);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::span<std::int64_t> to{out.data() + r * N, N};
      encoder.encode(values.subspan(r * N, N), a.info_.packing, to);
      if (factor != 1)
        for (std::int64_t& x : to) x = t.centred(t.mul(t.from_signed(x), factor));
    }
    return out;
  }

  /// Limbs that `a` is better multiplied with: those of the schedule while it keeps to it.
  unsigned limbs_to_multiply(const Array& a) const {
    const CiphertextInfo& i = a.info_;
    if (i.parts == 2)
      for (const NoiseModel::Level& level : schedule)
        if (level.limbs == i.limbs && level.least <= i.noise && i.noise <= level.most)
          return level.left;
    return model.limbs_to_multiply(i.noise, i.limbs, i.parts);
  }
  /// a and b with the limbs that their product is to have.
  std::pair<Array, Array> reduced(const Array& a, const Array& b) const {
    const unsigned of_a = limbs_to_multiply(a), of_b = limbs_to_multiply(b),
                   limbs = std::min(of_a, of_b);
    if (of_a == of_b) return {to_limbs(a, limbs), to_limbs(b, limbs)};
    if (of_a < of_b) {
      auto [y, x] = reduced(b, a);
      return {std::move(x), std::move(y)};
    }
    // a loses more than it would by itself: it takes the factor of b where that is free, so that
    // products by a and by others like b have one factor.
    Array y = to_limbs(b, limbs);
    const std::uint64_t by =
        t.mul(y.info_.factor, t.inverse(factor_after(a.info_.factor, a.info_.limbs, limbs)));
    const std::int64_t scalar = t.centred(by);
    double scaled = a.info_.noise + std::log2(std::abs(static_cast<double>(scalar))),
           plain = a.info_.noise;
    for (unsigned l = a.info_.limbs; l > limbs; --l) {
      scaled = model.dropped(scaled, l, a.info_.parts);
      plain = model.dropped(plain, l, a.info_.parts);
    }
    if (by == 1 || scaled > plain + 0.5) return {to_limbs(a, limbs), std::move(y)};
    return {to_limbs(scale(a, scalar, t.mul(a.info_.factor, by)), limbs), std::move(y)};
  }
};

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
          *tables, lattice::key_rows<Word>(*plan, key.seed, key.b.as<Word>()));
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

  static const Buffer& buffer(const Array& a) {
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
  Array finish(Array out, Buffer residues) const {
    auto storage = std::make_shared<Array::Storage>();
    storage->server = this->shared_from_this();
    if constexpr (sizeof(Word) == 4)
      storage->narrow = std::move(residues);
    else
      storage->wide = std::move(residues);
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

  /// Residues (limbs, count, N) of integer polynomials, in evaluation form.
  Buffer plain(const Array& a, const Coefficients& m) const {
    const std::size_t N = plan->N(), count = a.info_.count, rows = m.size() / N;
    std::vector<Word> residues(part_size(a.info_));
    for (unsigned l = 0; l < a.info_.limbs; ++l)
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t* const from = m.data() + (rows == 1 ? 0 : i) * N;
        Word* const to = residues.data() + (l * count + i) * N;
        for (std::size_t j = 0; j < N; ++j) to[j] = plan->moduli()[l].from_signed(from[j]);
      }
    Buffer out = device->allocate<Word>(residues.size());
    device->upload<Word>(residues, out.slice());
    device->rns_ntt(*tables, a.info_.limbs, false, 1, out.slice());
    return out;
  }
  double plain_norm(const Coefficients& m) const {
    double most = 0;
    for (std::size_t at = 0; at < m.size(); at += plan->N())
      most = std::max(most, log2_norm({m.data() + at, plan->N()}));
    return most;
  }

  Array add_polynomials(const Array& a, const Coefficients& m) const override {
    const Buffer p = plain(a, m);
    const std::size_t size = part_size(a.info_);
    Buffer to = device->allocate<Word>(all(a).size);
    device->add(moduli(a.info_.limbs, 1), part(a, 0), p.slice(), to.slice().part(0, size));
    if (a.info_.parts > 1) {
      const auto rest = moduli(a.info_.limbs, a.info_.parts - 1);
      device->mul_scalar(rest, buffer(a).slice().part(size, (a.info_.parts - 1) * size),
                         std::vector<Word>(rest.size(), 1),
                         to.slice().part(size, (a.info_.parts - 1) * size));
    }
    Array out = like(a);
    out.info_.noise = log2_sum(a.info_.noise, plain_norm(m));
    return finish(std::move(out), std::move(to));
  }

  Array multiply_polynomials(const Array& a, const Coefficients& m) const override {
    const Buffer p = plain(a, m);
    Buffer to = device->allocate<Word>(all(a).size);
    device->tensor(*tables, a.info_.limbs, a.info_.parts, all(a), 1, p.slice(), to.slice());
    Array out = like(a);
    out.info_.noise += plain_norm(m);
    return finish(std::move(out), std::move(to));
  }

  Array tensor(const Array& a, const Array& b) const override {
    const unsigned parts = a.info_.parts + b.info_.parts - 1;
    if (parts > max_parts)
      throw ShapeError("a product of " + std::to_string(parts) + " parts; at most " +
                       std::to_string(max_parts) + ": relinearise before");
    Buffer to = device->allocate<Word>(parts * part_size(a.info_));
    device->tensor(*tables, a.info_.limbs, a.info_.parts, all(a), b.info_.parts, all(b),
                   to.slice());
    Array out = like(a);
    out.info_.parts = parts;
    out.info_.factor = t.mul(a.info_.factor, b.info_.factor);
    out.info_.noise = a.info_.noise + b.info_.noise;
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
    // A product that nobody else has is brought back in its own place; its end stays unused.
    const bool own = a.storage_.use_count() == 1;
    Buffer to = own ? buffer(a) : device->allocate<Word>(2 * size);
    if (!own) {
      const auto both = moduli(a.info_.limbs, 2);
      device->mul_scalar(both, buffer(a).slice().part(0, 2 * size),
                         std::vector<Word>(both.size(), 1), to.slice());
    }
    Array out = like(a);
    out.info_.parts = 2;
    for (unsigned power = 2; power < a.info_.parts; ++power) {
      const Buffer digits = decompose(a, part(a, power));
      const Buffer switched = product(a, digits, key(1, power), 1);
      device->mod_down(*tables, a.info_.limbs, 2, 2, switched.slice(),
                       to.slice().part(0, 2 * size));
      out.info_.noise = log2_sum(out.info_.noise, model.key_switch(a.info_.limbs));
    }
    return finish(std::move(out), std::move(to));
  }

  std::vector<Array> automorphisms(const Array& a,
                                   std::span<const std::uint32_t> gs) const override {
    for (const std::uint32_t g : gs)
      if (g != 1) key(g, 1);
    const std::size_t size = part_size(a.info_);
    const auto primes = moduli(a.info_.limbs, 1);
    std::optional<Buffer> digits;
    std::vector<Array> outs;
    for (const std::uint32_t g : gs) {
      if (g == 1) {
        outs.push_back(a);
        continue;
      }
      if (!digits) digits = decompose(a, part(a, 1));
      Buffer to = device->allocate<Word>(2 * size);
      device->automorphism(primes, plan->N(), g, true, part(a, 0), to.slice().part(0, size));
      const Buffer switched = product(a, *digits, key(g, 1), g);
      device->mod_down(*tables, a.info_.limbs, 2, 1, switched.slice(), to.slice());
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
  state_->check_pair(a, b);
  const auto [x, y] = state_->aligned(a, b);
  return state_->combine(x, y, false);
}
Array Server::sub(const Array& a, const Array& b) const {
  state_->check_pair(a, b);
  const auto [x, y] = state_->aligned(a, b);
  return state_->combine(x, y, true);
}
Array Server::negate(const Array& a) const {
  state_->check(a);
  return state_->scale(a, -1, a.info().factor);
}

Array Server::add_plain(const Array& a, std::span<const std::int64_t> values) const {
  state_->check(a);
  return state_->add_polynomials(a, state_->encode(a, values, a.info().factor));
}
Array Server::sub_plain(const Array& a, std::span<const std::int64_t> values) const {
  state_->check(a);
  return state_->add_polynomials(a, state_->encode(a, values, state_->t.neg(a.info().factor)));
}
Array Server::multiply_plain(const Array& a, std::span<const std::int64_t> values) const {
  state_->check(a);
  return state_->multiply_polynomials(a, state_->encode(a, values, 1));
}
Array Server::add_scalar(const Array& a, std::int64_t value) const {
  state_->check(a);
  // The same in all slots is a constant polynomial.
  State::Coefficients m(parameters().N());
  m[0] = state_->t.centred(state_->t.mul(state_->t.from_signed(value), a.info().factor));
  return state_->add_polynomials(a, m);
}
Array Server::multiply_scalar(const Array& a, std::int64_t value) const {
  state_->check(a);
  return state_->scale(a, state_->t.centred(state_->t.from_signed(value)), a.info().factor);
}

Array Server::multiply(const Array& a, const Array& b, bool relinearised) const {
  state_->check_pair(a, b);
  const auto [x, y] = state_->reduced(a, b);
  Array product = state_->tensor(x, y);
  return relinearised ? state_->relinearise(std::move(product)) : product;
}
Array Server::square(const Array& a, bool relinearised) const {
  state_->check(a);
  const Array x = state_->to_limbs(a, state_->limbs_to_multiply(a));
  Array product = state_->tensor(x, x);
  return relinearised ? state_->relinearise(std::move(product)) : product;
}
Array Server::relinearise(const Array& a) const {
  state_->check(a);
  return state_->relinearise(a);
}

std::vector<Array> Server::rotate_many(const Array& a,
                                       std::span<const std::int64_t> columns) const {
  state_->check(a);
  if (a.info().packing != Packing::slots)
    throw EncodingError("rotation of values packed as coefficients");
  std::vector<std::uint32_t> gs;
  for (const std::int64_t c : columns) gs.push_back(rotation_exponent(parameters().N(), c));
  return state_->automorphisms(state_->relinearise(a), gs);
}
Array Server::rotate(const Array& a, std::int64_t columns) const {
  return rotate_many(a, std::span(&columns, 1))[0];
}
Array Server::swap_rows(const Array& a) const {
  state_->check(a);
  if (a.info().packing != Packing::slots)
    throw EncodingError("rotation of values packed as coefficients");
  const std::uint32_t g = 2 * parameters().N() - 1;
  return state_->automorphisms(state_->relinearise(a), std::span(&g, 1))[0];
}
Array Server::inner_sum(const Array& a, std::uint32_t columns) const {
  state_->check(a);
  if (!std::has_single_bit(columns) || columns > parameters().N() / 2)
    throw ParameterError(
        "inner_sum over " + std::to_string(columns) +
        " columns: a power of two up to N/2 = " + std::to_string(parameters().N() / 2));
  Array sum = a;
  for (std::uint32_t step = 1; step < columns; step *= 2) sum = add(sum, rotate(sum, step));
  return sum;
}

Array Server::mod_switch(const Array& a, unsigned limbs) const {
  state_->check(a);
  if (limbs < 1 || limbs > a.info().limbs)
    throw ParameterError("mod_switch to " + std::to_string(limbs) + " limbs: 1 … " +
                         std::to_string(a.info().limbs));
  return state_->to_limbs(a, limbs);
}
Array Server::shrink(const Array& a, double spare_bits) const {
  state_->check(a);
  Array out = a;
  while (out.info().limbs > 1) {
    const CiphertextInfo& i = out.info();
    const double noise = state_->model.dropped(i.noise, i.limbs, i.parts);
    if (state_->model.budget(noise, i.limbs - 1) < spare_bits) break;
    out = state_->drop_limb(out);
  }
  return out;
}

void Server::synchronise() const { state_->device->wait(); }

}  // namespace whorl::bgv
