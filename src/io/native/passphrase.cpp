#include "io/native/passphrase.h"

#include <string>

#include <sodium.h>

#include "math/random.h"

namespace whorl::io {

namespace {

constexpr std::uint32_t algorithm_argon2id = crypto_pwhash_ALG_ARGON2ID13;

static_assert(sizeof(WrapHeader::salt) == crypto_pwhash_SALTBYTES);
static_assert(sizeof(WrapHeader::nonce) == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(kdf_default.passes == crypto_pwhash_OPSLIMIT_MODERATE &&
              kdf_default.memory_bytes == crypto_pwhash_MEMLIMIT_MODERATE);
static_assert(wrap_tag_bytes == crypto_aead_xchacha20poly1305_ietf_ABYTES);

math::SecretVector<std::uint8_t> derive_key(std::string_view passphrase, const WrapHeader& header) {
  math::SecretVector<std::uint8_t> key(crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
  if (crypto_pwhash(key.data(), key.size(), passphrase.data(), passphrase.size(),
                    header.salt.data(), header.cost.passes, header.cost.memory_bytes,
                    crypto_pwhash_ALG_ARGON2ID13) != 0)
    throw OutOfMemoryError("passphrase: deriving its key needs " +
                           std::to_string(header.cost.memory_bytes) +
                           " bytes, which the system did not give");
  return key;
}

}  // namespace

WrapHeader make_wrap_header(const KdfCost& cost) {
  WrapHeader header;
  header.cost = cost;
  math::random_bytes(header.salt);
  math::random_bytes(header.nonce);
  return header;
}

void encode_wrap_header(const WrapHeader& header, ByteWriter& out) {
  out.value(algorithm_argon2id);
  out.zeros(4);
  out.value(header.cost.passes);
  out.value(header.cost.memory_bytes);
  out.bytes(header.salt);
  out.bytes(header.nonce);
}

WrapHeader decode_wrap_header(ByteReader& in, const KdfCost& limit) {
  const auto algorithm = in.value<std::uint32_t>("key derivation");
  if (algorithm != algorithm_argon2id)
    throw FormatError("key derivation: the algorithm is " + std::to_string(algorithm) +
                      "; this build knows " + std::to_string(algorithm_argon2id) +
                      " (Argon2id 1.3)");
  in.zeros(4, "key derivation");
  WrapHeader header;
  header.cost.passes = in.value<std::uint64_t>("key derivation passes");
  header.cost.memory_bytes = in.value<std::uint64_t>("key derivation memory");
  header.salt = in.array<16>("salt");
  header.nonce = in.array<24>("nonce");
  const auto said = [](const KdfCost& cost) {
    return std::to_string(cost.passes) + " passes over " + std::to_string(cost.memory_bytes) +
           " bytes";
  };
  constexpr KdfCost least = {crypto_pwhash_OPSLIMIT_MIN, crypto_pwhash_MEMLIMIT_MIN};
  if (header.cost.passes < least.passes || header.cost.memory_bytes < least.memory_bytes)
    throw FormatError("key derivation: the file asks for " + said(header.cost) +
                      "; it must ask for at least " + said(least));
  if (header.cost.passes > limit.passes || header.cost.memory_bytes > limit.memory_bytes)
    throw OversizedError("key derivation: the file asks for " + said(header.cost) + "; at most " +
                         said(limit) + " are accepted (max_kdf)");
  return header;
}

std::vector<std::uint8_t> wrap(ByteSpan secret, std::string_view passphrase,
                               const WrapHeader& header, ByteSpan associated) {
  if (passphrase.empty()) throw PassphraseError("passphrase: it is empty");
  const auto key = derive_key(passphrase, header);
  std::vector<std::uint8_t> wrapped(secret.size() + wrap_tag_bytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(wrapped.data(), nullptr, secret.data(), secret.size(),
                                             associated.data(), associated.size(), nullptr,
                                             header.nonce.data(), key.data());
  return wrapped;
}

math::SecretVector<std::uint8_t> unwrap(ByteSpan wrapped, std::string_view passphrase,
                                        const WrapHeader& header, ByteSpan associated) {
  if (wrapped.size() < wrap_tag_bytes)
    throw TruncatedError("wrapped key has " + std::to_string(wrapped.size()) +
                         " bytes; it must have at least " + std::to_string(wrap_tag_bytes));
  const auto key = derive_key(passphrase, header);
  math::SecretVector<std::uint8_t> secret(wrapped.size() - wrap_tag_bytes);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          secret.data(), nullptr, nullptr, wrapped.data(), wrapped.size(), associated.data(),
          associated.size(), header.nonce.data(), key.data()) != 0)
    throw PassphraseError("passphrase: it does not open this secret key");
  return secret;
}

}  // namespace whorl::io
