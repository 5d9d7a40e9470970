// Messages in the coefficients of ring ciphertexts: what a public key encrypts, and results that
// are sent in few bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/common.h"
#include "whorl/ring_keys.h"

namespace whorl::binfhe {

/// A public key: an encryption of 0 under the ring key modulo Q. Client::public_key makes it.
using PublicKey = RingPublicKey<Parameters>;
/// Variance of the errors of what it encrypts, as Ciphertexts::noise has it (docs/noise.md).
double noise_of(const PublicKey& key);

/// `count` messages, N in each ring ciphertext (c_0, c_1) under the ring key: c_0 + c_1·s has
/// m_i·modulus/sectors + e_i as coefficient i mod N of ciphertext i / N. unpack() makes LWE
/// ciphertexts of those modulo Q.
struct PackedCiphertexts {
  Parameters parameters;
  KeyId key_id;
  Encoding encoding;
  std::size_t count = 0;
  /// The modulus is 2^log2_modulus, as compressed results have it; 0: it is Q, as public keys
  /// encrypt.
  unsigned log2_modulus = 0;
  /// Each ring ciphertext has all N coefficients of c_1, then those of c_0 that hold messages.
  std::vector<std::uint64_t> data{};
  /// Shape of the array of messages, row-major; no value means (count,).
  std::optional<Shape> shape{};
  /// Messages lie in 0 … largest; no value: they may be anything below p.
  std::optional<std::uint32_t> largest{};
  /// The range is as that of Ciphertexts.
  std::optional<MessageRange> range{};

  std::uint64_t modulus() const {
    return log2_modulus == 0 ? parameters.Q() : std::uint64_t{1} << log2_modulus;
  }
  /// Bits of a word in files.
  unsigned word_bits() const;
  std::size_t rings() const { return (count + parameters.N() - 1) / parameters.N(); }
  /// How many words `data` must have.
  std::size_t words() const { return rings() * parameters.N() + count; }
  /// Bytes of all words, as they are sent, without the frame.
  std::size_t bytes() const { return (words() * word_bits() + 7) / 8; }
};

/// Each message as an LWE ciphertext under the ring key, on `threads` threads (0: all cores; at
/// most 1024, else ParameterError). Their noise is that of encryptions under a public key.
/// EncodingError for compressed results, whose modulus has lost what tables need; ShapeError or
/// RangeError for words that are not such ciphertexts.
Ciphertexts unpack(const PackedCiphertexts& packed, unsigned threads = 0);

}  // namespace whorl::binfhe
