// The client's half: it alone makes, holds and uses secret keys.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/packed.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/common.h"
#include "whorl/secret_key.h"

namespace whorl::binfhe {

/// The two secret keys of a client: the LWE key and the ring key.
class SecretKey : public SecretKeyHandle<Parameters, struct SecretCoefficients> {
 public:
  std::span<const std::int32_t> lwe() const;   ///< n coefficients
  std::span<const std::int32_t> ring() const;  ///< N coefficients
  static SecretKey generate(const Parameters& parameters);
  /// Rebuilds a key from its coefficients (a loader's job): n and N values in the range of their
  /// distributions, else RangeError.
  static SecretKey from_coefficients(const Parameters& parameters, const KeyId& key_id,
                                     std::span<const std::int32_t> lwe,
                                     std::span<const std::int32_t> ring);

 private:
  using SecretKeyHandle::SecretKeyHandle;
};

class Client : public KeyHolder<Parameters, SecretKey> {
 public:
  using KeyHolder::KeyHolder;

  /// Encrypts messages in 0 … p-1, one ciphertext each. EncodingError if a message is not below p,
  /// or if the sectors of the encoding are more than q/256, and more than q/4 or 2N/4. NoiseError
  /// if a fresh ciphertext of this p decrypts to another message with a probability above
  /// `allow_failure`. `progress`, here and in the next two methods, is called during the work and
  /// can stop it (InterruptedError). `under` is the key that they are under: under the ring key
  /// their errors have sigma_ring at Q, so that large sums of them keep little noise; in memory
  /// they take N + 1 words of Q each, and in a file one.
  Ciphertexts encrypt(std::span<const std::uint32_t> messages, Encoding encoding,
                      double allow_failure, Under under, const Progress& progress = {}) const;
  Ciphertexts encrypt(std::span<const std::uint32_t> messages, Encoding encoding = {},
                      double allow_failure = allowed_failure, const Progress& progress = {}) const {
    return encrypt(messages, encoding, allow_failure, Under::lwe, progress);
  }
  Ciphertexts encrypt(std::initializer_list<std::uint32_t> messages, Encoding encoding = {},
                      double allow_failure = allowed_failure, Under under = Under::lwe) const {
    return encrypt(std::span(messages.begin(), messages.size()), encoding, allow_failure, under);
  }
  /// Messages in 0 … p-1. If a message has overflowed into its padding bit, it is reduced modulo p.
  /// KeyMismatchError or ParameterMismatchError if the ciphertexts have another key or other
  /// parameters.
  std::vector<std::uint32_t> decrypt(const Ciphertexts& ciphertexts,
                                     const Progress& progress = {}) const;
  /// The error of each ciphertext, phase - m·q/sectors in (-q/2, q/2], where m is the message that
  /// is expected; at Q where they are under the ring key. EncodingError if a message is not below
  /// p, or with padding not below 2p: p and more are those whose padding bit is set. Errors are as
  /// secret as the key.
  std::vector<std::int64_t> noise(const Ciphertexts& ciphertexts,
                                  std::span<const std::uint32_t> messages,
                                  const Progress& progress = {}) const;
  std::vector<std::int64_t> noise(const Ciphertexts& ciphertexts,
                                  std::initializer_list<std::uint32_t> messages) const {
    return noise(ciphertexts, std::span(messages.begin(), messages.size()));
  }
  /// Generates the keys that a server needs, on `threads` threads (0: all cores; at most 1024, else
  /// ParameterError).
  EvaluationKeys evaluation_keys(unsigned threads = 0, const Progress& progress = {}) const;

  /// Returns a key for those who may only encrypt.
  PublicKey public_key() const;
  /// What decrypt() and noise() do, of messages in coefficients; errors are in units of their
  /// modulus.
  std::vector<std::uint32_t> decrypt(const PackedCiphertexts& packed,
                                     const Progress& progress = {}) const;
  std::vector<std::int64_t> noise(const PackedCiphertexts& packed,
                                  std::span<const std::uint32_t> messages,
                                  const Progress& progress = {}) const;
};

/// Encrypts messages in 0 … p-1 with a public key, N in each ring ciphertext: modulo Q, (b·u + e_0
/// + m, a·u + e_1) with u ternary and errors of sigma_ring (Lyubashevsky, Peikert, Regev, EUROCRYPT
/// 2010; for TFHE: Joye, CT-RSA 2024). The errors of an encryption are larger than those of
/// Client::encrypt, and counted (docs/noise.md). EncodingError and NoiseError as of that method.
PackedCiphertexts encrypt(const PublicKey& key, std::span<const std::uint32_t> messages,
                          Encoding encoding = {}, double allow_failure = allowed_failure,
                          const Progress& progress = {});

}  // namespace whorl::binfhe
