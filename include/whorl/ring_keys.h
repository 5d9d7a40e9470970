// What the schemes over RNS rings share: batches of ciphertexts in the host's memory, public keys,
// and keys of hybrid key switching.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl {

/// A batch of ciphertexts: residues (parts, primes that are left, count, N) in evaluation form, in
/// words of 4 or 8 bytes.
template <class Parameters, class Info>
struct RingCiphertexts {
  Parameters parameters;
  KeyId key_id;
  Info info;
  WordArray data;
  /// The seed that c_1 is expanded from, so that files hold the seed and c_0 only. Only fresh
  /// encryptions under the secret key have one. Code that changes `data` must clear it.
  std::optional<Seed> seed;
  /// Shape of the array, row-major; the product of its axes is info.count. No value means (count,).
  /// If a vector takes several ciphertexts, the last axis counts the ciphertexts of a vector.
  std::optional<Shape> shape{};
  /// The seed was drawn for a whole batch: numbers[i] is the place in that batch of ciphertext i.
  /// An empty list means the places 0, 1, 2 …
  std::vector<std::uint32_t> numbers{};
};

/// The ciphertexts at `indices`, in this order; an index may come several times. Fresh ciphertexts
/// keep their seed. ShapeError if an index is not below the count, if there is no index, or if the
/// indices take only a part of a vector that has several ciphertexts.
template <class Parameters, class Info>
RingCiphertexts<Parameters, Info> take(const RingCiphertexts<Parameters, Info>& ciphertexts,
                                       std::span<const std::uint32_t> indices);
/// Joins batches to one, in sequence. Parts of one fresh batch keep its seed. ShapeError if there
/// is no batch, or if packing, parts, the primes that are left, or the messages' factor or scale
/// differ, and for CKKS the length; ParameterMismatchError or KeyMismatchError if parameters or
/// keys differ.
template <class Parameters, class Info>
RingCiphertexts<Parameters, Info> concatenate(
    std::span<const RingCiphertexts<Parameters, Info>* const> batches);
/// The same of a vector or an array of them.
template <class Batches>
auto concatenate(const Batches& batches)
    -> decltype(whorl::concatenate(std::span(std::data(batches), std::size(batches)))) {
  return whorl::concatenate(std::span(std::data(batches), std::size(batches)));
}

/// A public key (b, a), an encryption of 0, where a is expanded from the seed. It only encrypts.
template <class Parameters>
struct RingPublicKey {
  Parameters parameters;
  KeyId key_id;
  Seed seed;
  WordArray b;  ///< (limbs, N), evaluation form
};

/// A role says from what to what a switching key leads, and over which primes.
enum class SwitchRole : std::uint8_t {
  usual = 0,       ///< s(X^g)^power to s, over all primes
  low = 1,         ///< the same over the primes of the lowest levels, for linear maps
  to_sparse = 2,   ///< s to the sparse secret of bootstrapping, over the primes of level 0
  from_sparse = 3  ///< from there to s, over all primes
};

/// All keys of a kind are over the same primes.
struct SwitchKind {
  SwitchRole role = SwitchRole::usual;
  /// Keys of low levels serve ciphertexts up to this level; 0 for other roles.
  unsigned level = 0;
  auto operator<=>(const SwitchKind&) const = default;
};

/// A key of hybrid key switching from s(X^g)^power to s. The bodies b have the shape (digits, limbs
/// + special, N), in evaluation form (fewer primes where the kind says so); the uniform halves are
/// expanded from the seed.
struct RingSwitchKey {
  std::uint32_t g = 1;
  unsigned power = 1;
  Seed seed;
  WordArray b;
  SwitchKind kind = {};
};

/// The keys that a server gets.
template <class Parameters>
struct RingEvaluationKeys {
  Parameters parameters;
  KeyId key_id;
  std::vector<RingSwitchKey> keys;
  /// Bytes of bodies and seeds, as they are sent, without the frame.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const RingSwitchKey& key : keys) sum += key.b.bytes() + key.seed.size() + 8;
    return sum;
  }
};

}  // namespace whorl
