// Batches of BGV ciphertexts in the host's memory, and the evaluation keys a server needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "whorl/bgv/parameters.h"
#include "whorl/common.h"
#include "whorl/ring_keys.h"

namespace whorl::bgv {

/// How N values modulo t are placed in a plaintext polynomial.
enum class Packing : std::uint8_t {
  slots = 0,        ///< at the roots, as two rows of N/2: operations act slot by slot
  coefficients = 1  ///< as coefficients: a product is the product of polynomials
};

/// What is in the slots behind the values of a vector.
enum class Rest : std::uint8_t {
  zeros = 0,     ///< zeros, as after encryption of a short vector
  anything = 1,  ///< any values, which operations left there
  same = 2       ///< the vector is a single value, and every slot holds it
};

/// Public facts about a batch of ciphertexts besides its residues.
struct CiphertextInfo {
  Packing packing = Packing::slots;
  std::size_t count = 0;     ///< number of ciphertexts in the batch
  unsigned parts = 2;        ///< number of parts c_k of c_0 + c_1·s + c_2·s^2 + …
  unsigned limbs = 0;        ///< number of primes of the chain that are left
  std::uint64_t factor = 1;  ///< plaintexts are messages times this, modulo t
  double noise = 0;          ///< log2 of a bound of the noise (docs/bgv-noise.md)
  /// Number of values of each vector, packed in slots from the first slot on; 0 stands for N. A
  /// vector of more than N values takes each() ciphertexts of the batch, which follow one another.
  std::uint64_t length = 0;
  Rest rest = Rest::zeros;

  /// How many ciphertexts a vector takes.
  std::size_t each(std::uint32_t N) const {
    return length > N ? static_cast<std::size_t>((length - 1) / N + 1) : 1;
  }
};

using Ciphertexts = RingCiphertexts<Parameters, CiphertextInfo>;

using PublicKey = RingPublicKey<Parameters>;
using EvaluationKeys = RingEvaluationKeys<Parameters>;

/// The evaluation keys that a circuit needs. whorl/circuits/bgv/slots.h adds those for matrices and
/// sums.
struct KeyRequest {
  /// Relinearisation brings ciphertexts of up to this many parts back to two, 2 … 8; 2 makes no
  /// key.
  unsigned relinearise = 3;
  std::vector<std::int64_t> rotations;  ///< columns to rotate rows by, to the left
  bool swap_rows = false;               ///< whether the two rows can be exchanged
};

/// Bytes of the keys that a request asks for, without making them.
std::size_t key_bytes(const Parameters& parameters, const KeyRequest& request);
/// How many switching keys these are.
std::size_t key_count(const Parameters& parameters, const KeyRequest& request);

/// The g for which X -> X^g rotates the rows to the left by `columns`: 3^columns mod 2N, with
/// `columns` taken modulo N/2. (The exchange of rows has g = 2N - 1.)
std::uint32_t rotation_exponent(std::uint32_t N, std::int64_t columns);

using whorl::concatenate, whorl::take;

}  // namespace whorl::bgv
