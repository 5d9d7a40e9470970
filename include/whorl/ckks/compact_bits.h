// Bits of lanes as a client sends them where they shall be short: in coefficients, at level 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "whorl/ckks/parameters.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::ckks {

/// Vectors of encrypted bits under parameters whose bootstraps are made for them
/// (BootstrapLiteral::bits): several vectors share a coefficient, and a coefficient takes two
/// bytes. Client::encrypt_bits makes them, and Lanes::take_in brings them into lanes by one
/// bootstrap. docs/lanes.md has the encryption, and how large its error is.
struct CompactBits {
  Parameters parameters;
  KeyId key_id;
  std::size_t count = 0;     ///< of vectors
  std::uint64_t length = 1;  ///< how many bits a vector has
  /// c_1 of the ring ciphertexts is expanded from it.
  Seed seed;
  /// c_0 in parts of 2^-16 of the modulus, at the coefficients that hold bits: words of 2 bytes,
  /// (numbers, slots).
  WordArray data;
  /// Shape of the array of vectors, row-major; no value means (count,).
  std::optional<Shape> shape{};

  /// Bytes of words and seed, as they are sent, without the frame.
  std::size_t bytes() const { return data.bytes() + seed.size(); }
};

}  // namespace whorl::ckks
