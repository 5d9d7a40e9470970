// The client's half: it alone makes, holds and uses secret keys.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/common.h"
#include "whorl/secret_key.h"

namespace whorl::bgv {

/// A uniform ternary secret.
class SecretKey : public SecretKeyHandle<Parameters, struct SecretCoefficients> {
 public:
  std::span<const std::int32_t> coefficients() const;
  static SecretKey generate(const Parameters& parameters);
  /// Rebuilds a key from its N coefficients in -1 … 1 (a loader's job), else RangeError.
  static SecretKey from_coefficients(const Parameters& parameters, const KeyId& key_id,
                                     std::span<const std::int32_t> coefficients);

 private:
  using SecretKeyHandle::SecretKeyHandle;
};

class Client : public KeyHolder<Parameters, SecretKey> {
 public:
  /// Generates a key.
  explicit Client(const Parameters& parameters) : Client(SecretKey::generate(parameters)) {}
  explicit Client(SecretKey key);

  /// Encrypts vectors of `length` values each, taken modulo t (negative ones too), zeros behind
  /// them; vectors of more than N values take several ciphertexts each. Length 0 stands for N where
  /// values are a whole number of rows of N, and else for all of them: encrypt({1, 2, 3}) gives one
  /// ciphertext. ShapeError for no values, or no whole number of vectors; EncodingError for slots
  /// that the parameters do not have.
  /// This and the next two report their progress, and stop if told to (InterruptedError).
  Ciphertexts encrypt(std::span<const std::int64_t> values, Packing packing = Packing::slots,
                      std::size_t length = 0, const Progress& progress = {}) const;
  Ciphertexts encrypt(std::initializer_list<std::int64_t> values, Packing packing = Packing::slots,
                      std::size_t length = 0) const {
    return encrypt(std::span(values.begin(), values.size()), packing, length);
  }
  /// Values in 0 … t-1, N for each ciphertext, also where vectors are shorter or end before.
  /// KeyMismatchError or ParameterMismatchError for others' ciphertexts, RangeError or ShapeError
  /// for what none can be. NoiseError where the bound that the ciphertexts carry leaves no budget,
  /// as the values may be wrong then. With `allow_spent` they are decrypted all the same:
  /// noise_budget, which is measured, says more.
  std::vector<std::uint64_t> decrypt(const Ciphertexts& ciphertexts, bool allow_spent = false,
                                     const Progress& progress = {}) const;
  /// log2(Q/2) - log2 of the largest coefficient of the noise, measured, for each ciphertext: bits
  /// that are left. Exact while positive; near 0 where decryption fails.
  std::vector<double> noise_budget(const Ciphertexts& ciphertexts,
                                   const Progress& progress = {}) const;

  PublicKey public_key() const;
  /// Generates the keys that a server needs, on `threads` threads (0: all cores; at most 1024, else
  /// ParameterError).
  EvaluationKeys evaluation_keys(const KeyRequest& request, unsigned threads = 0,
                                 const Progress& progress = {}) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The same under a public key: for those who may only encrypt.
Ciphertexts encrypt(const PublicKey& key, std::span<const std::int64_t> values,
                    Packing packing = Packing::slots, std::size_t length = 0,
                    const Progress& progress = {});
inline Ciphertexts encrypt(const PublicKey& key, std::initializer_list<std::int64_t> values,
                           Packing packing = Packing::slots, std::size_t length = 0) {
  return encrypt(key, std::span(values.begin(), values.size()), packing, length);
}

}  // namespace whorl::bgv
