// The ChaCha20 keystream in bulk, for the expansion of public seeds (docs/adr/0002-keystream.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace whorl::math {

/// A piece of the keystreams of many nonces under one key.
struct KeystreamRows {
  uint64_t first_nonce;  ///< of row 0; row r has nonce first_nonce + r
  size_t count;          ///< of rows
  uint64_t first_block;  ///< of the piece in each row's keystream; blocks have 64 bytes
  size_t bytes;          ///< of the piece, in each row
  uint64_t mask;         ///< and-ed with each little-endian 64-bit word of the keystream
};

/// Writes row r to out + r * stride. The keystream is Bernstein's original ChaCha20 ("ChaCha, a
/// variant of Salsa20", 2008): 256-bit key, 64-bit nonce and 64-bit block counter, little endian.
///
/// Serves public values only: neither the key nor the output is wiped, from registers nor memory.
void keystream_rows(const std::array<uint8_t, 32>& key, const KeystreamRows& rows, size_t stride,
                    uint8_t* out);

}  // namespace whorl::math
