// The client's half: it alone makes, holds and uses secret keys.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/common.h"
#include "whorl/secret_key.h"

namespace whorl::bgv {

using SecretKey = RingSecretKey<Parameters>;

struct DecryptOptions {
  /// Decrypts also where the noise bound leaves no budget, so that values may be wrong;
  /// Client::noise_budget measures what is really left.
  bool allow_spent = false;
  /// Whether the result has the N values of each ciphertext, also those behind a vector's values.
  bool all_slots = false;
  Progress progress = {};
};

class Client : public RingClient<Parameters, struct ClientState> {
 public:
  using RingClient::RingClient;

  /// Encrypts vectors of `length` values each. Values may be negative; they are reduced modulo t. A
  /// vector of fewer than N values is filled with zeros, and one of more than N values takes
  /// several ciphertexts. With length 0 the vectors have N values if the number of values is a
  /// multiple of N. Otherwise all values are one vector; so encrypt({1, 2, 3}) gives one
  /// ciphertext. ShapeError if there are no values, if they are not a whole number of vectors, or
  /// if `length` is above N with coefficients. EncodingError for slots if the parameters have none.
  /// `progress`, here and in the next two methods, is called during the work and can stop it
  /// (InterruptedError).
  Ciphertexts encrypt(std::span<const std::int64_t> values, Packing packing = Packing::slots,
                      std::size_t length = 0, const Progress& progress = {}) const;
  Ciphertexts encrypt(std::initializer_list<std::int64_t> values, Packing packing = Packing::slots,
                      std::size_t length = 0) const {
    return encrypt(std::span(values.begin(), values.size()), packing, length);
  }
  /// The values of each vector, in 0 … t-1. KeyMismatchError or ParameterMismatchError if the
  /// ciphertexts have another key or other parameters. RangeError or ShapeError if their info or
  /// data is not that of any ciphertext. NoiseError if the noise bound in their info leaves no
  /// budget, because values may be wrong then.
  std::vector<std::uint64_t> decrypt(const Ciphertexts& ciphertexts,
                                     const DecryptOptions& options = {}) const;
  /// Measures how many bits of noise budget are left in each ciphertext: log2(Q/2) minus log2 of
  /// the largest coefficient of the noise. The result is exact while it is positive, and near 0 if
  /// decryption fails. It is as secret as the key.
  std::vector<double> noise_budget(const Ciphertexts& ciphertexts,
                                   const Progress& progress = {}) const;

  PublicKey public_key() const;
  /// Generates the keys that a server needs, on `threads` threads (0: all cores; at most 1024, else
  /// ParameterError).
  EvaluationKeys evaluation_keys(const KeyRequest& request, unsigned threads = 0,
                                 const Progress& progress = {}) const;
};

/// Encrypts under a public key, with the arguments and errors of Client::encrypt.
Ciphertexts encrypt(const PublicKey& key, std::span<const std::int64_t> values,
                    Packing packing = Packing::slots, std::size_t length = 0,
                    const Progress& progress = {});
inline Ciphertexts encrypt(const PublicKey& key, std::initializer_list<std::int64_t> values,
                           Packing packing = Packing::slots, std::size_t length = 0) {
  return encrypt(key, std::span(values.begin(), values.size()), packing, length);
}

}  // namespace whorl::bgv
