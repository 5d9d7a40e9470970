// Secret keys as frames: small coefficients, wrapped under a passphrase. Nothing that loads or
// writes what is public includes this.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "io/native/codec.h"
#include "io/native/passphrase.h"
#include "math/secret.h"
#include "whorl/io_secret.h"

namespace whorl::io {

/// The codec of a scheme's secret key has:
///   static constexpr FrameKind kind;
///   static std::size_t coefficients(const Parameters& parameters);
///   static … parts(const Key& key);  // spans of i32, one behind the other
///   static Key make(const Parameters&, const KeyId&, std::span<const std::int32_t> coefficients);
template <class Key>
struct SecretCodec;

using Coefficients = std::span<const std::int32_t>;

/// Writes the frame of coefficients behind what `out` has gathered.
void write_wrapped(Sink& sink, FrameType type, const Digest& parameters, const KeyId& key_id,
                   PayloadWriter& out, std::span<const Coefficients> parts,
                   std::string_view passphrase, const KdfCost& cost);

/// The coefficients at the reader's place of the frame `bytes`; nothing is behind them.
math::SecretVector<std::int32_t> read_wrapped(PayloadReader& in, ByteSpan bytes, std::size_t count,
                                              std::string_view passphrase, const KdfCost& limit);

/// What whorl/io_secret.h offers, at a cost of the caller's.
template <class Key>
Bytes dump_secret(const Key& key, std::string_view passphrase, const KdfCost& cost);

}  // namespace whorl::io
