#include "whorl/bgv/client.h"

#include <sodium.h>

#include <algorithm>
#include <cmath>

#include "backend/parallel.h"
#include "lattice/rns_rlwe.h"
#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "ring/host/transforms.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/encoder.h"
#include "schemes/bgv/noise.h"
#include "schemes/bgv/phase.h"
#include "whorl/error.h"

namespace whorl::bgv {

struct SecretKey::State {
  Parameters parameters;
  KeyId key_id;
  math::SecretVector<std::int32_t> coefficients;
};

SecretKey SecretKey::generate(const Parameters& parameters) {
  KeyId id;
  math::random_bytes(id);
  auto state = std::make_shared<State>(
      State{parameters, id, math::SecretVector<std::int32_t>(parameters.N())});
  math::PrivateStream stream("a secret key");
  math::sample_ternary(stream, state->coefficients.span());
  return SecretKey(std::move(state));
}

SecretKey SecretKey::from_coefficients(const Parameters& parameters, const KeyId& key_id,
                                       std::span<const std::int32_t> coefficients) {
  if (coefficients.size() != parameters.N())
    throw ShapeError("a secret key of " + std::to_string(coefficients.size()) +
                     " coefficients where N = " + std::to_string(parameters.N()) + " are due");
  // The whole key is looked at, so that time tells nothing but good or bad.
  std::uint32_t bad = 0;
  for (const std::int32_t x : coefficients)
    bad |= static_cast<std::uint32_t>(x) + 1u > 2u ? 1u : 0u;
  if (bad != 0) throw RangeError("secret key: a coefficient is outside -1 … 1");
  auto state = std::make_shared<State>(
      State{parameters, key_id, math::SecretVector<std::int32_t>(parameters.N())});
  std::copy(coefficients.begin(), coefficients.end(), state->coefficients.begin());
  return SecretKey(std::move(state));
}

const Parameters& SecretKey::parameters() const { return state_->parameters; }
const KeyId& SecretKey::key_id() const { return state_->key_id; }
std::span<const std::int32_t> SecretKey::coefficients() const {
  return state_->coefficients.span();
}

struct Client::State {
  explicit State(const SecretKey& key)
      : error(key.parameters().literal().sigma), encoder(key.parameters()) {
    if (key.parameters().word_bytes() == 4)
      narrow = make<std::uint32_t>(key);
    else
      wide = make<std::uint64_t>(key);
  }
  template <class Word>
  std::unique_ptr<lattice::RnsSecret<Word>> make(const SecretKey& key) const {
    return std::make_unique<lattice::RnsSecret<Word>>(
        plan_of<Word>(key.parameters()), key.coefficients(), key.parameters().t(), error);
  }
  template <class Word>
  const lattice::RnsSecret<Word>& secret() const {
    if constexpr (sizeof(Word) == 4)
      return *narrow;
    else
      return *wide;
  }

  math::GaussianSampler error;
  Encoder encoder;
  std::unique_ptr<lattice::RnsSecret<std::uint32_t>> narrow;
  std::unique_ptr<lattice::RnsSecret<std::uint64_t>> wide;
};

namespace {

void check_owner(const SecretKey& key, const Ciphertexts& c) {
  if (c.parameters != key.parameters())
    throw ParameterMismatchError("ciphertexts under parameters \"" + c.parameters.literal().name +
                                 "\", secret key under \"" + key.parameters().literal().name +
                                 "\"");
  if (c.key_id != key.key_id())
    throw KeyMismatchError("the ciphertexts were not made under this secret key");
  const CiphertextInfo& i = c.info;
  if (i.parts < 2 || i.parts > max_parts || i.limbs < 1 || i.limbs > key.parameters().limbs())
    throw ShapeError("ciphertexts of " + std::to_string(i.parts) + " parts and " +
                     std::to_string(i.limbs) + " limbs; the parameters have " +
                     std::to_string(key.parameters().limbs()) + " limbs");
  check_words(c, std::size_t{i.parts} * i.limbs * key.parameters().N());
  check_factor(i.factor, key.parameters().t());
}

/// One ciphertext of a batch, (parts, limbs, N).
template <class Word>
std::vector<Word> ciphertext_of(const Ciphertexts& c, std::size_t which) {
  const std::size_t N = c.parameters.N(), rows = std::size_t{c.info.parts} * c.info.limbs;
  const std::span<const Word> all = c.data.as<Word>();
  std::vector<Word> out(rows * N);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>((r * c.info.count + which) * N), N,
                out.begin() + static_cast<std::ptrdiff_t>(r * N));
  return out;
}

template <class Word>
std::vector<math::Modulus<Word>> primes_of(const Parameters& parameters, unsigned limbs) {
  std::vector<math::Modulus<Word>> out;
  for (unsigned l = 0; l < limbs; ++l)
    out.emplace_back(static_cast<Word>(parameters.literal().chain[l]));
  return out;
}

template <class Word>
Ciphertexts assemble(const Parameters& parameters, const KeyId& id, Packing packing,
                     std::size_t count, double noise, std::vector<Word> data,
                     std::optional<Seed> seed) {
  return {parameters,
          id,
          {packing, count, 2, parameters.limbs(), 1, noise},
          WordArray(std::move(data)),
          seed};
}

}  // namespace

Client::Client(SecretKey key) : key_(std::move(key)), state_(std::make_shared<State>(key_)) {}

Ciphertexts Client::encrypt(std::span<const std::int64_t> values, Packing packing) const {
  const Parameters& p = parameters();
  state_->encoder.check(packing);
  const std::size_t N = p.N(), count = state_->encoder.rows(values.size());
  const unsigned L = p.limbs();
  const Seed seed = math::random_seed();
  return with_word(p, [&]<class Word>(Word) {
    const lattice::RnsSecret<Word>& secret = state_->secret<Word>();
    std::vector<Word> data(2 * L * count * N);
    backend::parallel_for(count, {backend::available_cores(), {}}, [&](std::size_t i) {
      math::PrivateStream stream("errors of fresh encryptions");
      math::WipedVector<std::int64_t> message(N);
      state_->encoder.encode(values.subspan(i * N, N), packing, message.span());
      std::vector<Word> a(L * N), b(L * N);
      lattice::ciphertext_uniform<Word>(secret.plan(), seed, i, L, a);
      secret.encrypt(L, false, a, message.span(), stream, b);
      for (std::size_t l = 0; l < L; ++l) {
        std::copy_n(b.begin() + static_cast<std::ptrdiff_t>(l * N), N,
                    data.begin() + static_cast<std::ptrdiff_t>((l * count + i) * N));
        std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(l * N), N,
                    data.begin() + static_cast<std::ptrdiff_t>(((L + l) * count + i) * N));
      }
    });
    return assemble<Word>(p, key_id(), packing, count, NoiseModel(p).fresh_secret(),
                          std::move(data), seed);
  });
}

std::vector<std::uint64_t> Client::decrypt(const Ciphertexts& c) const {
  check_owner(key_, c);
  state_->encoder.check(c.info.packing);
  const Parameters& p = parameters();
  const std::size_t N = p.N();
  const math::Modulus<std::uint64_t> t(p.t());
  const std::uint64_t scale = t.inverse(c.info.factor);
  std::vector<std::uint64_t> out(c.info.count * N);
  with_word(p, [&]<class Word>(Word) {
    const PhaseReader<Word> reader(primes_of<Word>(p, c.info.limbs), p.t());
    backend::parallel_for(c.info.count, {backend::available_cores(), {}}, [&](std::size_t i) {
      math::WipedVector<Word> phase(c.info.limbs * N);
      state_->secret<Word>().phase(c.info.limbs, c.info.parts, ciphertext_of<Word>(c, i),
                                   phase.span());
      const std::span<std::uint64_t> to{out.data() + i * N, N};
      reader.modulo_t(phase.span(), N, scale, to);
      state_->encoder.decode(c.info.packing, to);
    });
  });
  return out;
}

std::vector<double> Client::noise_budget(const Ciphertexts& c) const {
  check_owner(key_, c);
  const Parameters& p = parameters();
  std::vector<double> out(c.info.count);
  with_word(p, [&]<class Word>(Word) {
    const PhaseReader<Word> reader(primes_of<Word>(p, c.info.limbs), p.t());
    backend::parallel_for(c.info.count, {backend::available_cores(), {}}, [&](std::size_t i) {
      math::WipedVector<Word> phase(c.info.limbs * p.N());
      state_->secret<Word>().phase(c.info.limbs, c.info.parts, ciphertext_of<Word>(c, i),
                                   phase.span());
      out[i] = p.log2_Q(c.info.limbs) - 1 - std::max(0.0, reader.log2_largest(phase.span(), p.N()));
    });
  });
  return out;
}

PublicKey Client::public_key() const {
  const Parameters& p = parameters();
  const Seed seed = math::random_seed();
  return with_word(p, [&]<class Word>(Word) {
    const lattice::RnsSecret<Word>& secret = state_->secret<Word>();
    std::vector<Word> a(p.limbs() * p.N()), b(a.size());
    lattice::ciphertext_uniform<Word>(secret.plan(), seed, 0, p.limbs(), a);
    math::PrivateStream stream("errors of a public key");
    secret.encrypt(p.limbs(), false, a, {}, stream, b);
    return PublicKey{p, key_id(), seed, WordArray(std::move(b))};
  });
}

Ciphertexts encrypt(const PublicKey& key, std::span<const std::int64_t> values, Packing packing) {
  const Parameters& p = key.parameters;
  const Encoder encoder(p);
  encoder.check(packing);
  const std::size_t N = p.N(), count = encoder.rows(values.size());
  const unsigned L = p.limbs();
  if (key.b.size() != L * N || key.b.word_bytes() != p.word_bytes())
    throw ShapeError("public key of " + std::to_string(key.b.size()) + " words where " +
                     std::to_string(L * N) + " are due");
  const math::GaussianSampler error(p.literal().sigma);
  const auto t = static_cast<std::int64_t>(p.t());
  return with_word(p, [&]<class Word>(Word) {
    const auto plan = plan_of<Word>(p);
    const auto ntts = ring::host_ntts<Word>(plan);
    std::vector<Word> a(L * N), data(2 * L * count * N);
    lattice::ciphertext_uniform<Word>(*plan, key.seed, 0, L, a);
    const std::span<const Word> b = key.b.as<Word>();
    math::PrivateStream stream("encryption under a public key");
    math::WipedVector<std::int32_t> u(N), e0(N), e1(N);
    math::WipedVector<std::int64_t> message(N);
    math::WipedVector<Word> mask(L * N), first(L * N), second(L * N);
    const auto transform = [&](math::WipedVector<Word>& x) {
      for (std::size_t l = 0; l < L; ++l) ntts[l].forward(x.span().subspan(l * N, N));
    };
    for (std::size_t i = 0; i < count; ++i) {
      math::sample_ternary(stream, u.span());
      error.sample(stream, e0.span());
      error.sample(stream, e1.span());
      encoder.encode(values.subspan(i * N, N), packing, message.span());
      for (std::size_t l = 0; l < L; ++l) {
        const math::Modulus<Word>& q = plan->moduli()[l];
        for (std::size_t j = 0; j < N; ++j) {
          mask.span()[l * N + j] = q.from_signed(u[j]);
          first.span()[l * N + j] = q.from_signed(t * e0[j] + message[j]);
          second.span()[l * N + j] = q.from_signed(t * e1[j]);
        }
      }
      transform(mask);
      transform(first);
      transform(second);
      for (std::size_t l = 0; l < L; ++l) {
        const math::Modulus<Word>& q = plan->moduli()[l];
        Word* const c0 = data.data() + (l * count + i) * N;
        Word* const c1 = data.data() + ((L + l) * count + i) * N;
        for (std::size_t j = 0; j < N; ++j) {
          const std::size_t at = l * N + j;
          c0[j] = q.add(q.mul(b[at], mask[at]), first[at]);
          c1[j] = q.add(q.mul(a[at], mask[at]), second[at]);
        }
      }
    }
    return assemble<Word>(p, key.key_id, packing, count, NoiseModel(p).fresh_public(),
                          std::move(data), std::nullopt);
  });
}

namespace {

/// (g, power) of each key of a request, without repetition.
std::vector<std::pair<std::uint32_t, unsigned>> keys_of(const Parameters& p,
                                                        const KeyRequest& request) {
  if (request.relinearise < 2 || request.relinearise > 8)
    throw ParameterError("relinearisation of " + std::to_string(request.relinearise) +
                         " parts; 2 (none) … 8");
  std::vector<std::pair<std::uint32_t, unsigned>> out;
  for (unsigned power = 2; power < request.relinearise; ++power) out.emplace_back(1, power);
  std::vector<std::uint32_t> exponents;
  for (const std::int64_t columns : request.rotations)
    exponents.push_back(rotation_exponent(p.N(), columns));
  if (request.swap_rows) exponents.push_back(2 * p.N() - 1);
  std::sort(exponents.begin(), exponents.end());
  exponents.erase(std::unique(exponents.begin(), exponents.end()), exponents.end());
  for (const std::uint32_t g : exponents)
    if (g != 1) out.emplace_back(g, 1);
  return out;
}

}  // namespace

EvaluationKeys Client::evaluation_keys(const KeyRequest& request, unsigned threads,
                                       const Progress& progress) const {
  const Parameters& p = parameters();
  if (threads == 0) threads = backend::available_cores();
  EvaluationKeys out{p, key_id(), {}};
  const auto wanted = keys_of(p, request);
  const std::size_t total = wanted.size() * p.digits();
  with_word(p, [&]<class Word>(Word) {
    for (const auto& [g, power] : wanted) {
      const Seed seed = math::random_seed();
      std::function<bool(std::size_t, std::size_t)> part;
      if (progress)
        part = [&, before = out.keys.size() * p.digits()](std::size_t done, std::size_t) {
          return progress(before + done, total);
        };
      out.keys.push_back({g, power, seed,
                          state_->secret<Word>().switch_key_bodies(g, power, seed, threads, part)});
    }
  });
  if (progress) progress(total, total);
  return out;
}

std::size_t EvaluationKeys::bytes() const {
  std::size_t sum = 0;
  for (const SwitchKeyData& key : keys) sum += key.b.bytes() + key.seed.size() + 8;
  return sum;
}

std::size_t key_bytes(const Parameters& p, const KeyRequest& request) {
  const std::size_t rows = std::size_t{p.digits()} * (p.limbs() + p.special());
  return keys_of(p, request).size() * (rows * p.N() * p.word_bytes() + std::tuple_size_v<Seed> + 8);
}

}  // namespace whorl::bgv
