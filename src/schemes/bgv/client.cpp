#include "whorl/bgv/client.h"

#include <algorithm>
#include <type_traits>

#include "schemes/bgv/account.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/encoder.h"
#include "schemes/ring/client.h"

namespace whorl::bgv {

namespace rlwe = lattice::rlwe;

struct ClientState : RingClientState<Account, Encoder> {
  using RingClientState::RingClientState;
};

namespace {

/// The basis of `limbs` primes of the chain.
ring::Basis basis_of(unsigned limbs) { return ring::Basis::range(0, limbs); }

FreshRing fresh_of(const Account& account, const Parameters& p) {
  return {basis_of(p.limbs()), account.divisor()};
}

/// The residues of a batch.
rlwe::HostBatch residues_of(const Ciphertexts& c) {
  return {basis_of(c.info.limbs), c.info.parts, c.info.count, c.data};
}

/// `with`: a secret key, or a public one.
template <class Key>
Ciphertexts encrypted(const Key& with, const Parameters& p, const Account& account,
                      const Encoder& encoder, std::span<const std::int64_t> values, Packing packing,
                      std::size_t length, const Progress& progress) {
  encoder.check(packing);
  const Rows rows = encoder.rows(values.size(), length, packing);
  const CiphertextInfo info = std::is_same_v<Key, PublicKey>
                                  ? account.fresh_public(packing, rows.count(), rows.kept())
                                  : account.fresh_secret(packing, rows.count(), rows.kept());
  return encrypt_messages<Ciphertexts>(
      with, info, fresh_of(account, p),
      [&](std::size_t i, std::span<std::int64_t> coefficients) {
        encoder.encode(rows.of(values, i), packing, coefficients);
      },
      progress);
}

}  // namespace

Ciphertexts Client::encrypt(std::span<const std::int64_t> values, Packing packing,
                            std::size_t length, const Progress& progress) const {
  return encrypted(HeldKey{secret_key(), state_->secret}, parameters(), state_->account,
                   state_->encoder, values, packing, length, progress);
}

std::vector<std::uint64_t> Client::decrypt(const Ciphertexts& c,
                                           const DecryptOptions& options) const {
  check_ciphertexts<Account>(secret_key(), c);
  state_->encoder.check(c.info.packing);
  const Account& account = state_->account;
  if (!options.allow_spent) account.check_decrypts(c.info);
  return math::with_memory_for("decrypted values", [&] {
    std::vector<std::uint64_t> out = state_->secret.phases_modulo(
        residues_of(c), account.divisor(), account.inverse(c.info.factor),
        [&](std::size_t, std::span<std::uint64_t> message) {
          state_->encoder.decode(c.info.packing, message);
        },
        options.progress);
    if (options.all_slots || c.info.length == 0) return out;
    // A vector's values are the first ones in its slots.
    const std::size_t length = static_cast<std::size_t>(c.info.length),
                      slots = c.info.each(parameters().N()) * parameters().N();
    const std::size_t vectors = out.size() / slots;
    for (std::size_t v = 1; v < vectors; ++v)
      std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(v * slots), length,
                  out.begin() + static_cast<std::ptrdiff_t>(v * length));
    out.resize(vectors * length);
    return out;
  });
}

std::vector<double> Client::noise_budget(const Ciphertexts& c, const Progress& progress) const {
  check_ciphertexts<Account>(secret_key(), c);
  std::vector<double> out = math::with_memory_for(
      "noise budgets", [&] { return state_->secret.log2_phases(residues_of(c), progress); });
  for (double& x : out) x = parameters().log2_Q(c.info.limbs) - 1 - std::max(0.0, x);
  return out;
}

PublicKey Client::public_key() const {
  return public_key_of(HeldKey{secret_key(), state_->secret},
                       fresh_of(state_->account, parameters()));
}

Ciphertexts encrypt(const PublicKey& key, std::span<const std::int64_t> values, Packing packing,
                    std::size_t length, const Progress& progress) {
  const Parameters& p = key.parameters;
  return encrypted(key, p, Account(p), Encoder(p), values, packing, length, progress);
}

EvaluationKeys Client::evaluation_keys(const KeyRequest& request, unsigned threads,
                                       const Progress& progress) const {
  return evaluation_keys_of(secret_key(), [&](std::vector<RingSwitchKey>& keys) {
    for (rlwe::SwitchKeyData& key : state_->secret.switch_keys(
             keys_of(parameters(), request), state_->account.divisor(), threads, progress))
      keys.push_back({key.g, key.power, key.seed, std::move(key.b)});
  });
}

}  // namespace whorl::bgv

namespace whorl {

template class RingSecretKey<bgv::Parameters>;
template class RingClient<bgv::Parameters, bgv::ClientState>;

}  // namespace whorl
