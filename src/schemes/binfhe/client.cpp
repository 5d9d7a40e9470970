#include "whorl/binfhe/client.h"

#include <algorithm>
#include <bit>

#include "lattice/lwe/keys.h"
#include "lattice/lwe/rotation_method.h"
#include "lattice/lwe/uniform.h"
#include "math/memory.h"
#include "math/modulus.h"
#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "math/text.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/origin.h"
#include "schemes/owner.h"

namespace whorl::binfhe {

struct SecretCoefficients {
  explicit SecretCoefficients(const ParameterLiteral& p) : lwe(p.n), ring(p.N) {}
  math::SecretVector<std::int32_t> lwe, ring;
};

namespace {

/// `block`: the length of blocks, where there are any.
void sample_secret(SecretDistribution distribution, double sigma, std::uint32_t block,
                   std::span<std::int32_t> out) {
  math::PrivateStream stream("a secret key");
  switch (distribution) {
    case SecretDistribution::binary:
      return math::sample_binary(stream, out);
    case SecretDistribution::ternary:
      return math::sample_ternary(stream, out);
    case SecretDistribution::gaussian:
      return math::GaussianSampler(sigma).sample(stream, out);
    case SecretDistribution::block_binary:
      return math::sample_block_binary(stream, block, out);
  }
}

void check_secret(const char* which, SecretDistribution distribution, double sigma,
                  std::uint32_t block, std::span<const std::int32_t> values, std::size_t size) {
  if (values.size() != size)
    throw ShapeError("the " + std::string(which) + " key has " + std::to_string(values.size()) +
                     " coefficients, but the parameters call for " + std::to_string(size));
  const bool blocks = distribution == SecretDistribution::block_binary;
  const std::int32_t low = blocks || distribution == SecretDistribution::binary ? 0
                           : distribution == SecretDistribution::ternary
                               ? -1
                               : -math::GaussianSampler(sigma).bound();
  const std::int32_t high = distribution == SecretDistribution::gaussian ? -low : 1;
  // The whole key is looked at, so that time tells nothing but good or bad.
  std::uint64_t bad = 0;
  for (std::int64_t value : values)
    bad |= static_cast<std::uint64_t>(value - low) | static_cast<std::uint64_t>(high - value);
  if (bad >> 63)
    throw RangeError(std::string(which) + " key: a coefficient is outside " + std::to_string(low) +
                     " … " + std::to_string(high));
  for (std::size_t i = 0; blocks && i < values.size(); i += block) {
    std::int64_t ones = 0;
    for (std::size_t t = i; t < std::min<std::size_t>(i + block, values.size()); ++t)
      ones += values[t];
    bad |= static_cast<std::uint64_t>(1 - ones);
  }
  if (bad >> 63)
    throw RangeError(std::string(which) + " key: a block of " + std::to_string(block) +
                     " coefficients has more than a single 1");
}

void check_owner(const SecretKey& key, const Ciphertexts& ciphertexts) {
  whorl::check_owner(ciphertexts.parameters, ciphertexts.key_id, "client", key.parameters(),
                     key.key_id());
  check_coarse(key.parameters(), ciphertexts.encoding);
  check_words(ciphertexts);
}

constexpr std::size_t period = 1024;  ///< ciphertexts, of a microsecond or so each

/// Asks the caller every now and then whether to go on.
void report(const Progress& progress, std::size_t done, std::size_t total) {
  if (done % period == 0 && progress && !progress(done, total))
    throw InterruptedError("stopped after " + std::to_string(done) + " of " +
                           std::to_string(total) + " ciphertexts");
}

template <class T>
void room_for_results(std::vector<T>& out, std::size_t count, const Progress& progress) {
  math::make_room(out, count, [&] { return progress && !progress(0, count); });
}

std::span<const std::int32_t> secret_of(const SecretKey& key, Under under) {
  return under == Under::lwe ? key.lwe() : key.ring();
}

/// x mod modulus, a power of two or any below 2^60, without a division.
std::uint64_t reduced(std::uint64_t x, std::uint64_t modulus) {
  if (std::has_single_bit(modulus)) return x & (modulus - 1);
  return math::Modulus<std::uint64_t>(modulus).reduce(x);
}

/// b - <a, s> of ciphertext i, modulo q, or Q under the ring key.
std::uint64_t phase(const SecretKey& key, const Ciphertexts& ciphertexts, std::size_t i) {
  return with_words(ciphertexts, [&]<class Word>(const std::vector<Word>& words) {
    const std::size_t n = ciphertexts.dimension();
    const std::uint64_t modulus = ciphertexts.modulus();
    const std::span<const Word> row{words.data() + i * (n + 1), n + 1};
    const std::uint64_t mask =
        lattice::lwe_mask(row.first(n), secret_of(key, ciphertexts.under), modulus);
    return reduced(row[n] + modulus - mask, modulus);
  });
}

}  // namespace

SecretKey SecretKey::generate(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  KeyId id;
  math::random_bytes(id);
  auto secret = std::make_shared<SecretCoefficients>(p);
  sample_secret(p.lwe_secret, p.sigma_lwe, p.rotation.group, secret->lwe.span());
  sample_secret(p.ring_secret, p.sigma_ring, 1, secret->ring.span());
  return {parameters, id, std::move(secret)};
}

SecretKey SecretKey::from_coefficients(const Parameters& parameters, const KeyId& key_id,
                                       std::span<const std::int32_t> lwe,
                                       std::span<const std::int32_t> ring) {
  const ParameterLiteral& p = parameters.literal();
  check_secret("LWE", p.lwe_secret, p.sigma_lwe, p.rotation.group, lwe, p.n);
  check_secret("ring", p.ring_secret, p.sigma_ring, 1, ring, p.N);
  auto secret = std::make_shared<SecretCoefficients>(p);
  std::copy(lwe.begin(), lwe.end(), secret->lwe.begin());
  std::copy(ring.begin(), ring.end(), secret->ring.begin());
  return {parameters, key_id, std::move(secret)};
}

std::span<const std::int32_t> SecretKey::lwe() const { return held().lwe.span(); }
std::span<const std::int32_t> SecretKey::ring() const { return held().ring.span(); }

Ciphertexts Client::encrypt(std::span<const std::uint32_t> messages, Encoding encoding,
                            double allow_failure, Under under, const Progress& progress) const {
  const Parameters& p = parameters();
  // Messages that are known only nearly are the caller's wish, not an oversight.
  if (allow_failure < 1)
    check_sectors(p, encoding, most_sectors(p), " of ",
                  "; for tables that are not exact allow_failure=1 takes up to " +
                      std::to_string(most_coarse_sectors(p) / (encoding.padding ? 2 : 1)));
  check_coarse(p, encoding);
  check_values(messages, encoding.p);
  check_fresh(p, encoding, allow_failure, under);
  return math::with_memory_for("fresh ciphertexts", [&] {
    Ciphertexts out{p, key_id(), encoding, messages.size(), {}, math::random_seed()};
    out.under = under;
    set_fresh(out, fresh_noise(p, under));
    const std::uint64_t modulus = out.modulus();
    const std::span<const std::int32_t> secret = secret_of(secret_key(), under);
    const std::size_t n = out.dimension(), row_words = out.row();
    math::WipedVector<std::int32_t> errors(std::min(out.count, period));
    math::PrivateStream stream("errors of fresh encryptions");
    const math::GaussianSampler error(under == Under::lwe ? p.literal().sigma_lwe
                                                          : p.literal().sigma_ring);
    const SecretEncoder encode_message(encoding, modulus);
    const std::uint64_t shift = ((std::uint64_t{1} << 32) / modulus + 1) * modulus;
    with_words(out, [&]<class Word>(std::vector<Word>& words) {
      // Filled with zeros and taken from the system piece by piece, as they are made.
      words.reserve(out.count * row_words);
      for (std::size_t i = 0; i < out.count; ++i) {
        if (i % period == 0) {
          report(progress, i, out.count);
          const std::size_t some = std::min(out.count - i, period);
          words.resize((i + some) * row_words);
          error.sample(stream, errors.span().first(some));
        }
        const std::span<Word> row{words.data() + i * row_words, row_words};
        lattice::lwe::ciphertext_uniform<Word>(*out.seed, i, modulus, row.first(n));
        const std::uint64_t mask = lattice::lwe_mask<Word>(row.first(n), secret, modulus);
        // The error plus a multiple of the modulus that makes it positive.
        const std::uint64_t made_positive =
            shift + static_cast<std::uint64_t>(std::int64_t{errors[i % period]});
        row[n] =
            static_cast<Word>(reduced(mask + encode_message(messages[i]) + made_positive, modulus));
      }
    });
    return out;
  });
}

std::vector<std::uint32_t> Client::decrypt(const Ciphertexts& ciphertexts,
                                           const Progress& progress) const {
  check_owner(secret_key(), ciphertexts);
  const SecretDecoder decode(ciphertexts.encoding, ciphertexts.modulus());
  const std::uint32_t p = ciphertexts.encoding.p;
  const std::uint32_t keep = ciphertexts.encoding.padding ? p : 0;  // the padding bit's weight
  std::vector<std::uint32_t> out;
  math::with_memory_for("messages", [&] { room_for_results(out, ciphertexts.count, progress); });
  for (std::size_t i = 0; i < ciphertexts.count; ++i) {
    report(progress, i, ciphertexts.count);
    std::uint64_t message = decode(phase(secret_key(), ciphertexts, i));
    message -= keep & math::mask_of<std::uint64_t>(message >= p);
    out[i] = static_cast<std::uint32_t>(message);
  }
  return out;
}

std::vector<std::int64_t> Client::noise(const Ciphertexts& ciphertexts,
                                        std::span<const std::uint32_t> messages,
                                        const Progress& progress) const {
  check_owner(secret_key(), ciphertexts);
  if (messages.size() != ciphertexts.count)
    throw ShapeError(std::to_string(messages.size()) + " messages for " +
                     std::to_string(ciphertexts.count) + " ciphertexts");
  check_values(messages, ciphertexts.encoding.sectors(), ciphertexts.encoding.padding ? "2p" : "p");
  const std::uint64_t q = ciphertexts.modulus();
  const SecretEncoder encode_message(ciphertexts.encoding, q);
  std::vector<std::int64_t> out;
  math::with_memory_for("errors", [&] { room_for_results(out, ciphertexts.count, progress); });
  for (std::size_t i = 0; i < ciphertexts.count; ++i) {
    report(progress, i, ciphertexts.count);
    const std::uint64_t error =
        reduced(phase(secret_key(), ciphertexts, i) + q - encode_message(messages[i]), q);
    out[i] = static_cast<std::int64_t>(error - (q & (0 - (((q / 2) - error) >> 63))));
  }
  return out;
}

EvaluationKeys Client::evaluation_keys(unsigned threads, const Progress& progress) const {
  const Parameters& p = parameters();
  const ParameterLiteral& literal = p.literal();
  const std::size_t total = std::size_t{p.n()} * p.rotation_keys() + p.N();
  auto part = [&](std::size_t before) -> std::function<bool(std::size_t, std::size_t)> {
    if (!progress) return {};
    return [&progress, before, total](std::size_t done, std::size_t) {
      return progress(before + done, total);
    };
  };
  EvaluationKeys keys{p, key_id(), math::random_seed(), {}, math::random_seed(), {}};
  for (std::size_t k = 1; k < p.rotation_keys(); ++k)
    keys.small_modulus_rotations.push_back({math::random_seed(), {}});
  math::with_memory_for("evaluation keys", [&] {
    const math::GaussianSampler ring_error(literal.sigma_ring), lwe_error(literal.sigma_lwe);
    const auto rotation = [&](std::size_t k, const Seed& seed) {
      const backend::RotationShape shape = rotation_shape(p, literal.transform, k);
      return backend::with_word_bytes(ring_word_bytes(p.Q()), [&]<class Word>(Word) {
        return lattice::lwe::RotationMethod::generate<Word>(shape, secret_key().lwe(),
                                                            secret_key().ring(), ring_error, seed,
                                                            threads, part(k * p.n()));
      });
    };
    keys.rotation_b = rotation(0, keys.rotation_seed);
    for (std::size_t k = 1; k < p.rotation_keys(); ++k) {
      EvaluationKeys::RotationKey& key = keys.small_modulus_rotations[k - 1];
      key.b = rotation(k, key.seed);
    }
    keys.switch_b = lattice::switch_key_bodies(
        secret_key().ring(), secret_key().lwe(), p.Q_ks(), switch_gadget(p),
        literal.key_switch == KeySwitch::table, lwe_error, keys.switch_seed, threads,
        part(p.n() * p.rotation_keys()));
  });
  if (progress) progress(total, total);
  return keys;
}

}  // namespace whorl::binfhe
