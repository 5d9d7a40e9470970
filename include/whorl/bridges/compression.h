// Results of FHEW/TFHE in few bytes: LWE ciphertexts are put into the coefficients of ring
// ciphertexts, whose modulus is then as small as their errors allow. A client decrypts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/packed.h"
#include "whorl/binfhe/server.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::bridges {

/// What a server needs to compress results. They encrypt the LWE key under the ring key, as keys of
/// blind rotations do, modulo Q.
struct CompressionKeys {
  binfhe::Parameters parameters;
  KeyId key_id;
  /// Bodies (n, N), in evaluation form: an encryption of s_j·Q/q' for each coefficient of the LWE
  /// key, where q' is the modulus that ciphertexts are rounded to. The uniform half of row j is
  /// expand_uniform(seed, j).
  Seed seed;
  WordArray b;

  /// Bytes of bodies and seed, as they are sent, without the frame.
  std::size_t bytes() const { return b.bytes() + seed.size(); }
};

/// Copies share what is on the devices. Several threads may call it at once.
class Compressor {
 public:
  /// Puts the keys on the server's devices. ParameterMismatchError or KeyMismatchError for keys of
  /// other parameters or another key, ShapeError or RangeError for keys of a wrong size or with
  /// residues out of range, DeviceError for devices without RNS operations.
  Compressor(const binfhe::Server& server, const CompressionKeys& keys,
             const Progress& progress = {});

  /// The messages of an array under either key, N in a ring ciphertext modulo 2^k: k is the least
  /// with which a message decrypts to another one with a probability of at most 2^failure_log2.
  /// NoiseError if no k has that, and the errors of Server::to_lwe_key.
  binfhe::PackedCiphertexts compress(const binfhe::Array& a, double failure_log2 = -128) const;
  /// Bytes of the keys on each device.
  std::size_t bytes() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bridges
