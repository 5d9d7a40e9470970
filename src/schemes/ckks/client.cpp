#include "whorl/ckks/client.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <string>
#include <type_traits>

#include "math/memory.h"
#include "math/sampling.h"
#include "math/text.h"
#include "ring/ntt_plan.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/compact_bits.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/encoder.h"
#include "schemes/ckks/noise.h"
#include "schemes/ckks/release.h"
#include "schemes/ring/client.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

struct ClientState : RingClientState<Account, Encoder> {
  explicit ClientState(const SecretKey& key) : RingClientState(key), noise(key.parameters()) {}

  NoiseModel noise;
  mutable Ledger ledger;
  mutable std::atomic<bool> refused = false;  ///< lanes that were far from messages
};

namespace {

using Complex = std::complex<double>;

FreshRing fresh_of(const Account& account) { return {account.basis(account.parameters().depth())}; }

/// The values that ciphertext i of a batch holds, up to the end of its vector.
template <class Value>
std::span<Value> part_of(const CiphertextInfo& info, std::uint32_t N, std::size_t i,
                         std::span<Value> values) {
  const std::size_t each = info.each(N), first = i % each * info.length;
  return values.subspan(i / each * length_of(info) + first,
                        std::min<std::size_t>(info.length, length_of(info) - first));
}

/// `with`: a secret key, or a public one.
template <class Key>
Ciphertexts encrypted(const Key& with, const Account& account, const Encoder& encoder,
                      std::span<const Complex> values, const EncryptOptions& options,
                      Packing packing) {
  const std::uint32_t N = account.parameters().N();
  const std::size_t length = vector_length(values.size(), options.length, values.size(),
                                           packing == Packing::coefficients, N);
  const CiphertextInfo info = account.fresh(packing, values.size() / length, length, options.bound,
                                            std::is_same_v<Key, PublicKey>);
  Encoder::check_values(values, options.bound);
  return encrypt_messages<Ciphertexts>(
      with, info, fresh_of(account),
      [&](std::size_t i, std::span<std::int64_t> coefficients) {
        const std::span<const Complex> part = part_of(info, N, i, values);
        math::WipedVector<Complex> row(info.length);
        const auto rest = std::ranges::copy(part, row.span().begin()).out;
        // The vector's first values come after its end.
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i / info.each(N) * length),
                    info.length - part.size(), rest);
        encoder.encode(row.span(), packing, info.scale, coefficients);
      },
      options.progress);
}

/// f(values as complex numbers), which are wiped.
template <class F>
Ciphertexts with_complex(std::span<const double> values, Packing packing, const F& f) {
  if (packing == Packing::complex)
    throw EncodingError("packing: real numbers are packed as real or as coefficients");
  math::WipedVector<Complex> out(values.size());
  std::ranges::copy(values, out.span().begin());
  return f(std::span<const Complex>(out.span()));
}

Ciphertexts encrypted(const PublicKey& key, std::span<const Complex> values,
                      const EncryptOptions& options, Packing packing) {
  return encrypted(key, Account(key.parameters), Encoder(key.parameters), values, options, packing);
}

/// The batch modulo as few primes as its messages and errors need, with room to spare. Nothing is
/// copied.
rlwe::HostBatch least(const Ciphertexts& c, double log2_largest) {
  const Parameters& p = c.parameters;
  const std::vector<unsigned>& primes = p.primes(c.info.level);
  ring::Basis basis;
  double bits = 0;
  for (std::size_t i = 0; i < primes.size() && bits < log2_largest + 8; ++i) {
    basis.insert(primes[i]);
    bits += std::log2(static_cast<double>(p.literal().chain[primes[i]]));
  }
  return {basis, c.info.parts, c.info.count, c.data, primes.size()};
}

}  // namespace

Ciphertexts Client::encrypt(std::span<const Complex> values, const EncryptOptions& options) const {
  return encrypted(HeldKey{secret_key(), state_->secret}, state_->account, state_->encoder, values,
                   options, Packing::complex);
}
Ciphertexts Client::encrypt(std::span<const double> values, const EncryptOptions& options,
                            Packing packing) const {
  return with_complex(values, packing, [&](std::span<const Complex> numbers) {
    return encrypted(HeldKey{secret_key(), state_->secret}, state_->account, state_->encoder,
                     numbers, options, packing);
  });
}
Ciphertexts encrypt(const PublicKey& key, std::span<const Complex> values,
                    const EncryptOptions& options) {
  return encrypted(key, values, options, Packing::complex);
}
Ciphertexts encrypt(const PublicKey& key, std::span<const double> values,
                    const EncryptOptions& options, Packing packing) {
  return with_complex(values, packing, [&](std::span<const Complex> numbers) {
    return encrypted(key, numbers, options, packing);
  });
}

CompactBits Client::encrypt_bits(std::span<const std::uint8_t> given, std::size_t length,
                                 const Progress& progress) const {
  const Parameters& p = parameters();
  if (length == 0 || given.empty() || given.size() % length != 0)
    throw ShapeError("compact bits: " + std::to_string(given.size()) +
                     " bits are no vectors of length " + std::to_string(length));
  Encoder::check_bits(given);
  const std::size_t count = given.size() / length;
  const CompactLayout as(p, count, length);
  const std::size_t n = as.slots;
  const auto log2_slots = static_cast<unsigned>(std::countr_zero(as.slots));
  /// number(u, i), the coefficient's, or 0 behind the last vector.
  const auto number = [&](std::size_t u, std::size_t i) {
    const std::size_t lane = ring::bit_reverse(static_cast<std::uint32_t>(i), log2_slots);
    // Behind a vector's bits come its first ones once more.
    const std::size_t at = lane < length ? lane : lane - length;
    std::uint64_t m = 0;
    for (unsigned j = 0; j < as.bits && u * as.bits + j < count; ++j)
      m |= std::uint64_t{given[(u * as.bits + j) * length + at]} << j;
    return m;
  };
  return math::with_memory_for("compact bits", [&]() -> CompactBits {
    // 1. (m + 1/2)/2^bits of the modulus, encrypted at level 0.
    const Seed seed = math::random_seed();
    const WordArray both = state_->secret.encrypt(
        as.basis, 1, seed, as.ciphertexts(),
        [&](std::size_t c, std::span<std::int64_t> coefficients) {
          for (std::size_t half = 0; half < 2 && 2 * c + half < as.numbers; ++half)
            for (std::size_t i = 0; i < n; ++i)
              coefficients[as.gap * (half * n + i)] = static_cast<std::int64_t>(
                  static_cast<unsigned __int128>(2 * number(2 * c + half, i) + 1) * as.modulus >>
                  (as.bits + 1));
        },
        progress);
    // 2. c_0 as a polynomial, whose coefficients that hold bits are rounded to words. What is
    // rounded away, and all others, nobody needs.
    const rlwe::HostBatch c_0{
        as.basis, 1, as.ciphertexts(),
        WordArray(both.owner(), both.data(), both.size() / 2, both.word_bytes())};
    const double ratio = std::exp2(compact_word_bits) / static_cast<double>(as.modulus);
    std::vector<std::uint16_t> words(as.numbers * n);
    static_cast<void>(state_->secret.phases_modulo(
        c_0, std::uint64_t{1} << compact_log2_modulus, 1,
        [&](std::size_t c, std::span<std::uint64_t> residues) {
          for (std::size_t half = 0; half < 2 && 2 * c + half < as.numbers; ++half)
            for (std::size_t i = 0; i < n; ++i) {
              constexpr unsigned above = 64 - compact_log2_modulus;
              const auto x =
                  static_cast<std::int64_t>(residues[as.gap * (half * n + i)] << above) >> above;
              // Above 0, so that it is rounded down.
              const double parts = static_cast<double>(x) * ratio + 0x1p16 + 0.5;
              words[(2 * c + half) * n + i] =
                  static_cast<std::uint16_t>(static_cast<std::int64_t>(parts));
            }
        }));
    return {p, key_id(), count, length, seed, WordArray(std::move(words))};
  });
}

namespace {

/// log2 of the most that a coefficient of the phase can be, with 16 deviations of the error.
double log2_largest(const Parameters& p, const CiphertextInfo& i, double flooding) {
  const double error = log2_sum(
      i.error - 0.5 * std::log2(static_cast<double>(p.N())) + std::log2(i.scale), flooding);
  return log2_sum(i.bound + std::log2(i.scale), error + 4);
}

/// The values of each vector; change(phase) may change its coefficients first.
template <class Change>
std::vector<Complex> decoded(const rlwe::Secret& secret, const Encoder& encoder,
                             const Ciphertexts& c, double flooding, const Progress& progress,
                             const Change& change) {
  const std::uint32_t N = c.parameters.N();
  std::vector<Complex> out;
  math::make_room(out, c.info.count / c.info.each(N) * length_of(c.info),
                  [&] { return progress && !progress(0, c.info.count); });
  secret.phases(
      least(c, log2_largest(c.parameters, c.info, flooding)),
      [&](std::size_t i, std::span<double> phase) {
        change(phase);
        encoder.decode(phase, c.info.packing, c.info.scale, part_of(c.info, N, i, std::span(out)));
      },
      progress);
  return out;
}

}  // namespace

std::vector<Complex> Client::decrypt_raw(const Ciphertexts& c, bool allow_spent,
                                         const Progress& progress) const {
  check_ciphertexts<Account>(secret_key(), c);
  if (!allow_spent)
    state_->account.check_decrypts(c.info, "allow_spent=True decrypts nevertheless");
  return math::with_memory_for("decrypted values", [&] {
    return decoded(state_->secret, state_->encoder, c, -1000, progress, [](std::span<double>) {});
  });
}

std::vector<Complex> Client::release(const Ciphertexts& c, const ReleaseOptions& options) const {
  check_ciphertexts<Account>(secret_key(), c);
  if (!(options.queries >= 1 && options.queries <= 0x1p40))
    throw ParameterError("queries = " + math::text_of(options.queries) + " is outside 1 … 2^40");
  if (!(options.bits >= 30 && options.bits <= 128))
    throw ParameterError("bits = " + math::text_of(options.bits) + " is outside 30 … 128");
  if (options.expect) check_expected(*options.expect, c.info);
  // No computation has less than half of what rounding to integers leaves, whatever is stated.
  const double error = std::max(options.expect ? options.expect->error : c.info.error,
                                state_->noise.encoding() - 1 - std::log2(c.info.scale));
  // The squares of the error's coefficients add up to the mean square of its slots (Parseval), so
  // that this is over their L2 norm. docs/ckks-noise.md derives it.
  const double ratio = 0.5 * std::log2(12 * options.queries) + options.bits / 2;
  const double sigma = ratio + error + std::log2(c.info.scale);
  const double in_slots = ratio + 0.5 * std::log2(static_cast<double>(parameters().N()));
  const std::string advice =
      "release makes it 2^" + math::text_of(std::round(10 * in_slots) / 10) +
      " times what it was: take fewer queries or bits, or parameters with a larger scale_bits, and "
      "bootstraps of two iterations if there are any";
  state_->account.check_decrypts(Account::released(c.info, error, error + in_slots),
                                 advice.c_str());
  state_->ledger.spend(c.info.count, options.queries);
  try {
    return math::with_memory_for("released values", [&] {
      std::vector<Complex> out = decoded(state_->secret, state_->encoder, c, sigma,
                                         options.progress, [&](std::span<double> phase) {
                                           math::PrivateStream stream("noise that hides errors");
                                           math::add_gaussian(stream, std::exp2(sigma), phase);
                                         });
      state_->ledger.check_process();  // progress may fork
      return out;
    });
  } catch (...) {
    state_->ledger.give_back(c.info.count, options.queries);
    throw;
  }
}

Released Client::released() const { return state_->ledger.released(); }

void Client::add_released(const Released& elsewhere) const {
  if (!(elsewhere.spent >= 0 && std::isfinite(elsewhere.spent)))
    throw ParameterError("spent = " + math::text_of(elsewhere.spent) +
                         " is not a finite number of at least 0");
  state_->ledger.add(elsewhere);
}

bool Client::serves_lanes() const {
  const std::span<const std::int32_t> secret = secret_key().coefficients();
  math::WipedVector<double> coefficients(secret.size());
  std::ranges::copy(secret, coefficients.span().begin());
  math::WipedVector<Complex> slots(secret.size() / 2);
  state_->encoder.decode(coefficients.span(), Packing::complex, 1, slots.span());
  double most = 0;
  for (const Complex& z : slots.span()) most = std::max(most, std::norm(z));
  // Coefficients are -1, 0 and 1, equally likely.
  return most <= 16 * 2.0 / 3 * static_cast<double>(secret.size());
}

Client lane_client(const Parameters& parameters) {
  while (true)
    if (Client client(parameters); client.serves_lanes()) return client;
}

namespace {

/// Messages of lanes modulo p, at the level at which Lanes::finish leaves them; `usual`: whether
/// the key serves lanes.
std::vector<std::uint8_t> decrypted_lanes(const ClientState& state, const Ciphertexts& c,
                                          unsigned p, bool usual, const Progress& progress) {
  const unsigned level = p == 2 ? 0 : 1;
  const std::string what = p == 2 ? "bits" : "integers";
  if (c.info.packing != Packing::real || c.info.parts != 2 || c.info.level != level ||
      c.info.scale != c.parameters.scale(level))
    throw EncodingError(
        what + " are decrypted of what finish gives: real numbers in two parts, at level " +
        std::to_string(level) + " and its scale; these have " + std::to_string(c.info.parts) +
        " parts, level " + std::to_string(c.info.level) + " and scale 2^" +
        math::text_of(std::log2(c.info.scale)));
  if (!usual)
    throw ParameterError(what +
                         " are decrypted under a key that serves lanes, which lane_client makes; a "
                         "slot of this one is too large");
  const auto check_not_refused = [&] {
    if (state.refused)
      throw NoiseError(
          "lanes of this key were refused before: who chose those ciphertexts may have learned "
          "from it, so make a new key");
  };
  check_not_refused();
  return math::with_memory_for("decrypted lanes", [&] {
    std::vector<Complex> values =
        decoded(state.secret, state.encoder, c, -1000, progress, [](std::span<double>) {});
    std::vector<std::uint8_t> messages(values.size());
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = values[i].real(), whole = std::floor(x + 0.5),
                   message = p == 2 ? std::clamp(whole, 0.0, 1.0) : whole;
      messages[i] = static_cast<std::uint8_t>(static_cast<std::int64_t>(message) & (p - 1));
      worst = std::max(worst, std::abs(x - message));
    }
    math::detail::wipe(values.data(), values.size() * sizeof(Complex));
    check_not_refused();  // another thread may have met some meanwhile
    if (!(worst <= 0.125)) {
      state.refused = true;
      throw NoiseError("a value is farther than 1/8 from " +
                       std::string(p == 2 ? "0 and 1" : "a whole number") +
                       ": it is no result of lanes under this key, or one that went wrong. Tell "
                       "nobody who chooses ciphertexts, and make a new key");
    }
    return messages;
  });
}

}  // namespace

std::vector<std::uint8_t> Client::decrypt_bits(const Ciphertexts& c,
                                               const Progress& progress) const {
  check_ciphertexts<Account>(secret_key(), c);
  return decrypted_lanes(*state_, c, 2, serves_lanes(), progress);
}

std::vector<std::uint8_t> Client::decrypt_integers(const Ciphertexts& c, unsigned p,
                                                   const Progress& progress) const {
  check_ciphertexts<Account>(secret_key(), c);
  const auto& bootstrap = parameters().literal().bootstrap;
  const unsigned most = bootstrap ? 1u << bootstrap->bits : 1;
  if (p < 4 || p > most || !std::has_single_bit(p))
    throw ParameterError(
        "integers modulo " + std::to_string(p) +
        " are none of lanes under these parameters, which have " +
        (most < 4 ? "bits alone" : "p = 4 … " + std::to_string(most) + ", a power of two"));
  return decrypted_lanes(*state_, c, p, serves_lanes(), progress);
}

PublicKey Client::public_key() const {
  return public_key_of(HeldKey{secret_key(), state_->secret}, fresh_of(state_->account));
}

EvaluationKeys Client::evaluation_keys(const KeyRequest& request, unsigned threads,
                                       const Progress& progress) const {
  const Parameters& p = parameters();
  return evaluation_keys_of(secret_key(), [&](std::vector<RingSwitchKey>& keys) {
    const std::vector<KeyName> names = keys_of(p, request);
    std::size_t done = 0, total = 0;  // digits
    for (const KeyName& name : names) total += layout_of(p.literal(), name.kind).digits.size();
    // Each set of keys has a sparse secret of its own, which nobody keeps.
    std::optional<rlwe::Secret> sparse;
    if (request.sparse)
      sparse.emplace(state_->secret.plan(),
                     rlwe::random_sparse_secret(p.N(), p.literal().bootstrap->weight).span(),
                     p.literal().sigma);
    for (const auto& [kind, source] : names) {
      const ring::KeyLayout layout = layout_of(p.literal(), kind);
      const SwitchRole role = kind.role;
      Progress part;
      if (progress)
        part = [&, before = done](std::size_t now, std::size_t) {
          return progress(before + now, total);
        };
      const rlwe::Secret& to = role == SwitchRole::to_sparse ? *sparse : state_->secret;
      const rlwe::Secret* from = role == SwitchRole::to_sparse     ? &state_->secret
                                 : role == SwitchRole::from_sparse ? &*sparse
                                                                   : nullptr;
      rlwe::SwitchKeyData key = to.switch_key(layout, source, 1, threads, part, from);
      keys.push_back({key.g, key.power, key.seed, std::move(key.b), kind});
      done += layout.digits.size();
    }
    if (progress) progress(total, total);
  });
}

}  // namespace whorl::ckks

namespace whorl {

template class RingSecretKey<ckks::Parameters>;
template class RingClient<ckks::Parameters, ckks::ClientState>;

}  // namespace whorl
