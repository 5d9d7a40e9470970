// Public keys, encryption with them, and decryption of messages in coefficients.
#include <algorithm>
#include <bit>
#include <string>

#include "lattice/lwe/keys.h"
#include "lattice/rlwe/public_key.h"
#include "lattice/rlwe/secret.h"
#include "math/memory.h"
#include "math/modulus.h"
#include "math/random.h"
#include "ring/host/transforms.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/packed.h"
#include "schemes/owner.h"
#include "whorl/binfhe/client.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace rlwe = lattice::rlwe;

namespace {

const ring::Basis only_prime = ring::Basis::range(0, 1);
constexpr std::uint64_t no_plain_modulus = 1;

void check(const SecretKey& key, const PackedCiphertexts& packed) {
  check_owner(packed.parameters, packed.key_id, "client", key.parameters(), key.key_id());
  check_packed(packed);
}

/// Calls body(i, phase) for each message.
template <class Body>
void each_phase(const SecretKey& key, const PackedCiphertexts& packed, const Progress& progress,
                const Body& body) {
  constexpr std::size_t period = 1024;
  const std::uint64_t modulus = packed.modulus();
  const std::size_t N = packed.parameters.N();
  std::vector<std::uint64_t> row(N + 1);
  for (std::size_t i = 0; i < packed.count; ++i) {
    if (i % period == 0 && progress && !progress(i, packed.count))
      throw InterruptedError("stopped after " + std::to_string(i) + " of " +
                             std::to_string(packed.count) + " messages");
    extract(packed, i, row);
    const std::uint64_t mask = lattice::lwe_mask<std::uint64_t>(
        std::span<const std::uint64_t>(row).first(N), key.ring(), modulus);
    const std::uint64_t sum = row[N] + modulus - mask;
    body(i, sum - (modulus & (0 - (1 - ((sum - modulus) >> 63)))));
  }
}

/// Coefficients of the ring ciphertexts (2, count, N), as PackedCiphertexts have them.
template <class Word>
std::vector<std::uint64_t> coefficients(const ring::RnsPlan<Word>& plan,
                                        const std::vector<ring::HostNtt<Word>>& ntts,
                                        std::span<const Word> words, std::size_t messages) {
  const std::size_t N = plan.N(), rings = words.size() / (2 * N);
  std::vector<std::uint64_t> out;
  out.reserve(rings * N + messages);
  std::vector<Word> c(N);
  for (std::size_t r = 0; r < rings; ++r) {
    ntts[0].inverse(words.subspan((rings + r) * N, N), c);
    out.insert(out.end(), c.begin(), c.end());
    ntts[0].inverse(words.subspan(r * N, N), c);
    const std::size_t some = std::min(N, messages - r * N);
    out.insert(out.end(), c.begin(), c.begin() + static_cast<std::ptrdiff_t>(some));
  }
  return out;
}

}  // namespace

PublicKey Client::public_key() const {
  const Parameters& p = parameters();
  return math::with_memory_for("a public key", [&]() -> PublicKey {
    const Seed seed = math::random_seed();
    const rlwe::Secret secret(ring_plan(p), secret_key().ring(), p.literal().sigma_ring);
    return {p, key_id(), seed, secret.public_key_body(only_prime, no_plain_modulus, seed)};
  });
}

PackedCiphertexts encrypt(const PublicKey& key, std::span<const std::uint32_t> messages,
                          Encoding encoding, double allow_failure, const Progress& progress) {
  const Parameters& p = key.parameters;
  check_encoding(p, encoding);
  check_values(messages, encoding.p);
  check_public(p, encoding, allow_failure);
  return math::with_memory_for("fresh ciphertexts", [&] {
    PackedCiphertexts out{p, key.key_id, encoding, messages.size()};
    const rlwe::AnyPlan plan = ring_plan(p);
    const rlwe::PublicKey with(plan, only_prime, key.seed, key.b, p.literal().sigma_ring);
    const SecretEncoder encode_message(encoding, p.Q());
    const std::size_t N = p.N();
    const WordArray words = with.encrypt(
        no_plain_modulus, out.rings(),
        [&](std::size_t ring, std::span<std::int64_t> coefficient) {
          std::ranges::fill(coefficient, 0);
          const std::size_t first = ring * N, some = std::min(N, messages.size() - first);
          for (std::size_t i = 0; i < some; ++i)
            coefficient[i] = static_cast<std::int64_t>(encode_message(messages[first + i]));
        },
        progress);
    std::visit(
        [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& of) {
          out.data =
              coefficients<Word>(*of, ring::host_ntts<Word>(of), words.as<Word>(), out.count);
        },
        plan);
    return out;
  });
}

std::vector<std::uint32_t> Client::decrypt(const PackedCiphertexts& packed,
                                           const Progress& progress) const {
  check(secret_key(), packed);
  const SecretDecoder decode(packed.encoding, packed.modulus());
  const std::uint32_t p = packed.encoding.p, keep = packed.encoding.padding ? p : 0;
  std::vector<std::uint32_t> out(packed.count);
  each_phase(secret_key(), packed, progress, [&](std::size_t i, std::uint64_t phase) {
    std::uint64_t message = decode(phase);
    message -= keep & math::mask_of<std::uint64_t>(message >= p);
    out[i] = static_cast<std::uint32_t>(message);
  });
  return out;
}

std::vector<std::int64_t> Client::noise(const PackedCiphertexts& packed,
                                        std::span<const std::uint32_t> messages,
                                        const Progress& progress) const {
  check(secret_key(), packed);
  if (messages.size() != packed.count)
    throw ShapeError(std::to_string(messages.size()) + " messages for " +
                     std::to_string(packed.count) + " packed ones");
  check_values(messages, packed.encoding.sectors(), packed.encoding.padding ? "2p" : "p");
  const std::uint64_t modulus = packed.modulus();
  const SecretEncoder encode_message(packed.encoding, modulus);
  std::vector<std::int64_t> out(packed.count);
  each_phase(secret_key(), packed, progress, [&](std::size_t i, std::uint64_t phase) {
    const std::uint64_t encoded = encode_message(messages[i]), sum = phase + modulus - encoded,
                        error = sum - (modulus & (0 - (1 - ((sum - modulus) >> 63))));
    out[i] = static_cast<std::int64_t>(error - (modulus & (0 - (((modulus / 2) - error) >> 63))));
  });
  return out;
}

}  // namespace whorl::binfhe
