// Batches of BGV ciphertexts in the host's memory, and the evaluation keys a server needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "whorl/bgv/parameters.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::bgv {

/// How N values modulo t sit in a plaintext polynomial.
enum class Packing : std::uint8_t {
  slots = 0,        ///< values at the roots, as two rows of N/2: operations act slot by slot
  coefficients = 1  ///< values are coefficients: multiplication is that of polynomials
};

/// What the slots hold that are behind the values of a vector.
enum class Rest : std::uint8_t {
  zeros = 0,     ///< as encryption of a short vector leaves them
  anything = 1,  ///< operations left something there
  same = 2       ///< the vector is a single value, and every slot holds it
};

/// What is known of a ciphertext besides its residues; public.
struct CiphertextInfo {
  Packing packing = Packing::slots;
  std::size_t count = 0;     ///< ciphertexts of the batch
  unsigned parts = 2;        ///< c_0 + c_1·s + c_2·s^2 + …
  unsigned limbs = 0;        ///< primes of the chain that are left
  std::uint64_t factor = 1;  ///< plaintexts are messages times this, modulo t
  double noise = 0;          ///< log2 of a bound of the noise (docs/bgv-noise.md)
  /// Values of each vector, packed in slots from the first one on. Where they are more than N,
  /// each vector takes the next each() ciphertexts of the batch. 0: N.
  std::uint64_t length = 0;
  Rest rest = Rest::zeros;

  /// Ciphertexts that a vector takes.
  std::size_t each(std::uint32_t N) const {
    return length > N ? static_cast<std::size_t>((length - 1) / N + 1) : 1;
  }
};

/// A batch: residues (parts, limbs, count, N) in evaluation form, words of 4 or 8 bytes.
struct Ciphertexts {
  Parameters parameters;
  KeyId key_id;
  CiphertextInfo info;
  WordArray data;
  /// Set on fresh encryptions under the secret key only: c_1 is expanded from it, so files carry
  /// the seed and c_0 alone.
  std::optional<Seed> seed;
  /// Of the array that these are, row-major; their product is info.count. None: (count,). Where
  /// vectors take several ciphertexts, the last axis is of those.
  std::optional<Shape> shape{};
  /// Which numbers of the seed's batch these are; empty: all from 0 on. See take().
  std::vector<std::uint32_t> numbers{};
};

/// Those at `indices`, in this order; any may come several times. Fresh ones keep their seed.
/// ShapeError for an index that is not below the count, for none, and for parts of vectors that
/// take several ciphertexts.
Ciphertexts take(const Ciphertexts& ciphertexts, std::span<const std::uint32_t> indices);
/// One batch of all in sequence. Parts of one fresh batch keep its seed. ParameterMismatchError,
/// KeyMismatchError; ShapeError for other packing, parts, limbs, factor, and for none.
Ciphertexts concatenate(std::span<const Ciphertexts* const> batches);

/// Encrypts under the public key: b = -a·s + t·e; a expanded from the seed.
struct PublicKey {
  Parameters parameters;
  KeyId key_id;
  Seed seed;
  WordArray b;  ///< (limbs, N), evaluation form
};

/// Which keys a circuit needs. whorl/circuits/slots.h adds those of matrices and sums.
struct KeyRequest {
  /// Ciphertexts of up to this many parts can be brought back to two; 2: none.
  unsigned relinearise = 3;
  std::vector<std::int64_t> rotations;  ///< of rows, to the left, by so many columns
  bool swap_rows = false;
};

/// A key of hybrid key switching: bodies (digits, limbs + special, N) in evaluation form; the
/// uniform halves are expanded from the seed.
struct SwitchKeyData {
  std::uint32_t g = 1;  ///< from s(X^g) …
  unsigned power = 1;   ///< … to this power
  Seed seed;
  WordArray b;
};

/// What a server gets.
struct EvaluationKeys {
  Parameters parameters;
  KeyId key_id;
  std::vector<SwitchKeyData> keys;
  /// Bytes that travel, without the frame.
  std::size_t bytes() const;
};

/// Bytes of the keys that a request asks for, without making them.
std::size_t key_bytes(const Parameters& parameters, const KeyRequest& request);

/// 3^columns mod 2N, columns taken modulo N/2: X -> X^g rotates the rows to the left by as many
/// columns. The exchange of rows is 2N - 1.
std::uint32_t rotation_exponent(std::uint32_t N, std::int64_t columns);

}  // namespace whorl::bgv
