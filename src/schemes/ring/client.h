// What the clients of BGV and CKKS do alike: secret keys, public keys, and encryption under both.
// Parameters have N(), and a literal with the primes of `chain` and `special`, digit_limbs, sigma.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lattice/rlwe/public_key.h"
#include "lattice/rlwe/secret.h"
#include "math/memory.h"
#include "math/random.h"
#include "math/secret.h"
#include "schemes/owner.h"
#include "schemes/ring/derived.h"
#include "whorl/ring_keys.h"
#include "whorl/secret_key.h"

namespace whorl {

struct RingSecret {
  math::SecretVector<std::int32_t> values;
};

template <class Parameters>
std::span<const std::int32_t> RingSecretKey<Parameters>::coefficients() const {
  return this->held().values.span();
}

template <class Parameters>
RingSecretKey<Parameters> RingSecretKey<Parameters>::generate(const Parameters& parameters) {
  KeyId id;
  math::random_bytes(id);
  return {parameters, id,
          std::make_shared<RingSecret>(
              RingSecret{lattice::rlwe::random_ternary_secret(parameters.N())})};
}

template <class Parameters>
RingSecretKey<Parameters> RingSecretKey<Parameters>::from_coefficients(
    const Parameters& parameters, const KeyId& key_id, std::span<const std::int32_t> coefficients) {
  return {parameters, key_id,
          std::make_shared<RingSecret>(
              RingSecret{lattice::rlwe::ternary_secret(parameters.N(), coefficients)})};
}

/// What a client is made of.
template <class Account, class Encoder>
struct RingClientState {
  explicit RingClientState(const auto& key)
      : account(key.parameters()),
        encoder(key.parameters()),
        secret(any_plan_of(key.parameters()), key.coefficients(),
               key.parameters().literal().sigma) {}

  Account account;
  Encoder encoder;
  lattice::rlwe::Secret secret;
};

template <class Parameters, class State>
RingClient<Parameters, State>::RingClient(RingSecretKey<Parameters> key)
    : KeyHolder<Parameters, RingSecretKey<Parameters>>(std::move(key)),
      state_(math::with_memory_for(
          "a client", [this] { return std::make_shared<const State>(this->secret_key()); })) {}

/// A secret key, and the same modulo each prime.
template <class Parameters>
struct HeldKey {
  const RingSecretKey<Parameters>& key;
  const lattice::rlwe::Secret& secret;
};
template <class Parameters>
HeldKey(const RingSecretKey<Parameters>&, const lattice::rlwe::Secret&) -> HeldKey<Parameters>;

/// The primes of fresh ciphertexts, and what errors are multiples of.
struct FreshRing {
  ring::Basis basis;
  std::uint64_t divisor = 1;
};

/// Encrypts info.count messages. The result has a seed, as its key is a secret one.
template <class Ciphertexts, class Parameters, class Info>
Ciphertexts encrypt_messages(const HeldKey<Parameters>& with, const Info& info,
                             const FreshRing& fresh, const lattice::rlwe::Encode& encode,
                             const Progress& progress) {
  const Seed seed = math::random_seed();
  return math::with_memory_for("fresh ciphertexts", [&]() -> Ciphertexts {
    return {with.key.parameters(), with.key.key_id(), info,
            with.secret.encrypt(fresh.basis, fresh.divisor, seed, info.count, encode, progress),
            seed};
  });
}
/// The same under a public key, without a seed.
template <class Ciphertexts, class Parameters, class Info>
Ciphertexts encrypt_messages(const RingPublicKey<Parameters>& with, const Info& info,
                             const FreshRing& fresh, const lattice::rlwe::Encode& encode,
                             const Progress& progress) {
  const Parameters& p = with.parameters;
  return math::with_memory_for("fresh ciphertexts", [&]() -> Ciphertexts {
    const lattice::rlwe::PublicKey to(any_plan_of(p), fresh.basis, with.seed, with.b,
                                      p.literal().sigma);
    return {p, with.key_id, info, to.encrypt(fresh.divisor, info.count, encode, progress),
            std::nullopt};
  });
}

template <class Parameters>
RingPublicKey<Parameters> public_key_of(const HeldKey<Parameters>& of, const FreshRing& fresh) {
  const Seed seed = math::random_seed();
  return math::with_memory_for("a public key", [&]() -> RingPublicKey<Parameters> {
    return {of.key.parameters(), of.key.key_id(), seed,
            of.secret.public_key_body(fresh.basis, fresh.divisor, seed)};
  });
}

/// The keys that make(list) adds to a list.
template <class Parameters, class Make>
RingEvaluationKeys<Parameters> evaluation_keys_of(const RingSecretKey<Parameters>& of,
                                                  const Make& make) {
  return math::with_memory_for("evaluation keys", [&] {
    RingEvaluationKeys<Parameters> out{of.parameters(), of.key_id(), {}};
    make(out.keys);
    return out;
  });
}

/// ParameterMismatchError, KeyMismatchError, RangeError or ShapeError unless these can be
/// ciphertexts of the key.
template <class Account, class Parameters, class Ciphertexts>
void check_ciphertexts(const RingSecretKey<Parameters>& key, const Ciphertexts& c) {
  check_owner(c.parameters, c.key_id, "client", key.parameters(), key.key_id());
  Account::check(key.parameters(), c.info);
  check_words(c);
}

}  // namespace whorl
