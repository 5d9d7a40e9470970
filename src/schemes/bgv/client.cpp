#include "whorl/bgv/client.h"

#include <algorithm>

#include "lattice/rlwe/public_key.h"
#include "lattice/rlwe/secret.h"
#include "math/memory.h"
#include "math/random.h"
#include "math/text.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/encoder.h"
#include "schemes/bgv/request.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

struct SecretCoefficients {
  math::SecretVector<std::int32_t> values;
};

SecretKey SecretKey::generate(const Parameters& parameters) {
  KeyId id;
  math::random_bytes(id);
  return {parameters, id,
          std::make_shared<SecretCoefficients>(
              SecretCoefficients{rlwe::random_ternary_secret(parameters.N())})};
}

SecretKey SecretKey::from_coefficients(const Parameters& parameters, const KeyId& key_id,
                                       std::span<const std::int32_t> coefficients) {
  return {parameters, key_id,
          std::make_shared<SecretCoefficients>(
              SecretCoefficients{rlwe::ternary_secret(parameters.N(), coefficients)})};
}

std::span<const std::int32_t> SecretKey::coefficients() const { return held().values.span(); }

struct Client::State {
  explicit State(const SecretKey& key)
      : account(key.parameters()),
        encoder(key.parameters()),
        secret(any_plan_of(key.parameters()), key.coefficients(),
               key.parameters().literal().sigma) {}

  Account account;
  Encoder encoder;
  rlwe::Secret secret;
};

namespace {

/// The basis of `limbs` primes of the chain.
ring::Basis basis_of(unsigned limbs) { return ring::Basis::range(0, limbs); }

void check_owner(const SecretKey& key, const Ciphertexts& c) {
  whorl::check_owner(c.parameters, c.key_id, "client", key.parameters(), key.key_id());
  const CiphertextInfo& i = c.info;
  Account::check(key.parameters(), i);
  check_words(c, std::size_t{i.parts} * i.limbs * key.parameters().N());
}

/// What of a batch its residues are.
rlwe::HostBatch residues_of(const Ciphertexts& c) {
  return {basis_of(c.info.limbs), c.info.parts, c.info.count, c.data};
}

/// Writes row i of `values` as coefficients.
rlwe::Encode encoding(const Encoder& encoder, std::span<const std::int64_t> values,
                      const Rows& rows, Packing packing) {
  return [&encoder, values, rows, packing](std::size_t i, std::span<std::int64_t> coefficients) {
    encoder.encode(rows.of(values, i), packing, coefficients);
  };
}

}  // namespace

Client::Client(SecretKey key)
    : KeyHolder(std::move(key)), state_(math::with_memory_for("a client", [this] {
        return std::make_shared<const State>(secret_key());
      })) {}

Ciphertexts Client::encrypt(std::span<const std::int64_t> values, Packing packing,
                            std::size_t length, const Progress& progress) const {
  const Parameters& p = parameters();
  state_->encoder.check(packing);
  const Rows rows = state_->encoder.rows(values.size(), length, packing);
  const Seed seed = math::random_seed();
  const Account& account = state_->account;
  return math::with_memory_for("fresh ciphertexts", [&]() -> Ciphertexts {
    return {p, key_id(), account.fresh_secret(packing, rows.count(), rows.kept()),
            state_->secret.encrypt(basis_of(p.limbs()), account.divisor(), seed, rows.count(),
                                   encoding(state_->encoder, values, rows, packing), progress),
            seed};
  });
}

std::vector<std::uint64_t> Client::decrypt(const Ciphertexts& c, bool allow_spent,
                                           const Progress& progress) const {
  check_owner(secret_key(), c);
  state_->encoder.check(c.info.packing);
  const Account& account = state_->account;
  if (!allow_spent) account.check_decrypts(c.info);
  return math::with_memory_for("decrypted values", [&] {
    return state_->secret.phases_modulo(
        residues_of(c), account.divisor(), account.inverse(c.info.factor),
        [&](std::size_t, std::span<std::uint64_t> message) {
          state_->encoder.decode(c.info.packing, message);
        },
        progress);
  });
}

std::vector<double> Client::noise_budget(const Ciphertexts& c, const Progress& progress) const {
  check_owner(secret_key(), c);
  std::vector<double> out = math::with_memory_for(
      "noise budgets", [&] { return state_->secret.log2_phases(residues_of(c), progress); });
  for (double& x : out) x = parameters().log2_Q(c.info.limbs) - 1 - std::max(0.0, x);
  return out;
}

PublicKey Client::public_key() const {
  const Parameters& p = parameters();
  const Seed seed = math::random_seed();
  return math::with_memory_for("a public key", [&]() -> PublicKey {
    return {p, key_id(), seed,
            state_->secret.public_key_body(basis_of(p.limbs()), state_->account.divisor(), seed)};
  });
}

Ciphertexts encrypt(const PublicKey& key, std::span<const std::int64_t> values, Packing packing,
                    std::size_t length, const Progress& progress) {
  const Parameters& p = key.parameters;
  const Account account(p);
  const Encoder encoder(p);
  encoder.check(packing);
  const Rows rows = encoder.rows(values.size(), length, packing);
  return math::with_memory_for("fresh ciphertexts", [&]() -> Ciphertexts {
    const rlwe::PublicKey to(any_plan_of(p), basis_of(p.limbs()), key.seed, key.b,
                             p.literal().sigma);
    return {p, key.key_id, account.fresh_public(packing, rows.count(), rows.kept()),
            to.encrypt(account.divisor(), rows.count(), encoding(encoder, values, rows, packing),
                       progress),
            std::nullopt};
  });
}

EvaluationKeys Client::evaluation_keys(const KeyRequest& request, unsigned threads,
                                       const Progress& progress) const {
  const Parameters& p = parameters();
  return math::with_memory_for("evaluation keys", [&] {
    EvaluationKeys out{p, key_id(), {}};
    for (rlwe::SwitchKeyData& key : state_->secret.switch_keys(
             keys_of(p, request), state_->account.divisor(), threads, progress))
      out.keys.push_back({key.g, key.power, key.seed, std::move(key.b)});
    return out;
  });
}

}  // namespace whorl::bgv
