// What the clients of all schemes share: the handle of a secret key, that of the schemes over RNS
// rings, and the base classes of clients.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "whorl/common.h"

namespace whorl {

/// A secret key's parameters, its label, and its coefficients in locked memory, wiped on
/// destruction. Copies share the memory.
template <class Parameters, class Coefficients>
class SecretKeyHandle {
 public:
  const Parameters& parameters() const { return parameters_; }
  const KeyId& key_id() const { return key_id_; }

 protected:
  SecretKeyHandle(const Parameters& parameters, const KeyId& key_id,
                  std::shared_ptr<const Coefficients> coefficients)
      : parameters_(parameters), key_id_(key_id), coefficients_(std::move(coefficients)) {}
  const Coefficients& held() const { return *coefficients_; }

 private:
  Parameters parameters_;
  KeyId key_id_;
  std::shared_ptr<const Coefficients> coefficients_;
};

/// The secret key of a scheme over RNS rings: a uniform ternary secret.
template <class Parameters>
class RingSecretKey : public SecretKeyHandle<Parameters, struct RingSecret> {
 public:
  std::span<const std::int32_t> coefficients() const;
  static RingSecretKey generate(const Parameters& parameters);
  /// Rebuilds a key from its N coefficients in -1 … 1 (a loader's job), else RangeError.
  static RingSecretKey from_coefficients(const Parameters& parameters, const KeyId& key_id,
                                         std::span<const std::int32_t> coefficients);

 private:
  using SecretKeyHandle<Parameters, RingSecret>::SecretKeyHandle;
};

/// The base class of every scheme's Client: an object that holds one secret key.
template <class Parameters, class SecretKey>
class KeyHolder {
 public:
  /// Generates a key.
  explicit KeyHolder(const Parameters& parameters) : key_(SecretKey::generate(parameters)) {}
  explicit KeyHolder(SecretKey key) : key_(std::move(key)) {}

  const Parameters& parameters() const { return key_.parameters(); }
  const KeyId& key_id() const { return key_.key_id(); }
  const SecretKey& secret_key() const { return key_; }

 private:
  SecretKey key_;
};

/// The base class of the clients of schemes over RNS rings. Users do not see its `State`.
template <class Parameters, class State>
class RingClient : public KeyHolder<Parameters, RingSecretKey<Parameters>> {
 public:
  /// Generates a key. (OpenFHE: KeyGen; Lattigo: KeyGenerator.GenSecretKeyNew.)
  explicit RingClient(const Parameters& parameters)
      : RingClient(RingSecretKey<Parameters>::generate(parameters)) {}
  explicit RingClient(RingSecretKey<Parameters> key);

 protected:
  std::shared_ptr<const State> state_;
};

}  // namespace whorl
