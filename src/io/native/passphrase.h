// Wrapping secrets under a passphrase: Argon2id (RFC 9106) gives a key, XChaCha20-Poly1305
// encrypts and authenticates.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "io/bytes.h"
#include "math/secret.h"
#include "whorl/io_secret.h"

namespace whorl::io {

/// The values that unwrapping needs besides the passphrase. They are stored unencrypted.
struct WrapHeader {
  static constexpr std::size_t encoded_bytes = 64;

  KdfCost cost;
  std::array<std::uint8_t, 16> salt;
  std::array<std::uint8_t, 24> nonce;
};

inline constexpr std::size_t wrap_tag_bytes = 16;

/// A header with fresh salt and nonce.
WrapHeader make_wrap_header(const KdfCost& cost);
void encode_wrap_header(const WrapHeader& header, ByteWriter& out);
/// FormatError for another algorithm, or a cost below the least that Argon2id accepts;
/// OversizedError for a cost above `limit`.
WrapHeader decode_wrap_header(ByteReader& in, const KdfCost& limit);

/// The ciphertext and its tag; `associated` is authenticated with it. PassphraseError for an empty
/// passphrase, which would protect nothing; OutOfMemoryError.
std::vector<std::uint8_t> wrap(ByteSpan secret, std::string_view passphrase,
                               const WrapHeader& header, ByteSpan associated);
/// PassphraseError if the passphrase is wrong, or if the wrapped or the associated bytes were
/// changed.
math::SecretVector<std::uint8_t> unwrap(ByteSpan wrapped, std::string_view passphrase,
                                        const WrapHeader& header, ByteSpan associated);

}  // namespace whorl::io
