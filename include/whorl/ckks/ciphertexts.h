// Batches of CKKS ciphertexts in the host's memory, and the evaluation keys a server needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "whorl/ckks/parameters.h"
#include "whorl/common.h"
#include "whorl/ring_keys.h"

namespace whorl::ckks {

/// How numbers are placed in a plaintext polynomial. (OpenFHE: SetCKKSDataType, COMPLEX or REAL,
/// and MakeCoefPackedPlaintext, of other schemes; Lattigo: MetaData.IsBatched, false for
/// coefficients.)
enum class Packing : std::uint8_t {
  complex = 0,      ///< in slots: operations act on each complex number
  real = 1,         ///< the same, of real numbers
  coefficients = 2  ///< real numbers as coefficients: a product is the product of polynomials
};

/// Bounds say between which numbers values lie. A number stands for both signs: 5 is -5 … 5.
struct Bounds {
  double low = -1, high = 1;

  Bounds(double most) : low(-most), high(most) {}
  Bounds(double least, double greatest) : low(least), high(greatest) {}
  /// The largest absolute value.
  double most() const { return std::max(std::abs(low), std::abs(high)); }
};

/// Public facts about a batch of ciphertexts besides its residues. (OpenFHE: Ciphertext's GetLevel,
/// GetScalingFactor, GetSlots; Lattigo: rlwe.MetaData.)
struct CiphertextInfo {
  Packing packing = Packing::complex;
  std::size_t count = 0;  ///< number of ciphertexts in the batch
  unsigned parts = 2;     ///< number of parts c_k of c_0 + c_1·s + c_2·s^2 + …
  /// Which primes are left: Parameters::primes. (Lattigo: Level; OpenFHE: GetLevel, from 0
  /// upwards.)
  unsigned level = 0;
  double scale = 1;  ///< plaintexts are messages times this
  /// How many values a ciphertext holds. In slots, they and copies of the first ones behind them,
  /// up to the next power of two, are repeated until all N/2 slots are full: see slots(). A product
  /// of coefficients has those of both, less one.
  std::uint64_t length = 1;
  /// log2 of a bound of the message: of its values in slots, at all complex roots. (Of coefficients
  /// it is log2 of a bound of their sum.)
  double bound = 0;
  /// log2 of the standard deviation of the error of a slot (docs/ckks-noise.md); of coefficients,
  /// log2 of sqrt(N) times that.
  double error = 0;
  /// The values of real vectors lie from `low` to `high`, as far as `bound` does not say more.
  /// Other packings have no such ends.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  /// Values of a vector that takes each() ciphertexts of the batch, which follow one another and
  /// hold N/2 values each; in the last one the vector's first values come after its end. 0: each
  /// ciphertext is a vector of `length` values.
  std::uint64_t vector = 0;

  /// How many ciphertexts a vector takes.
  std::size_t each(std::uint32_t N) const {
    return vector == 0 ? 1 : static_cast<std::size_t>((vector - 1) / (N / 2) + 1);
  }
  /// What `bound`, `low` and `high` say together.
  Bounds bounds() const;
  /// The period of the values in the slots: the least power of two that is not below length.
  std::uint64_t slots() const;
};

/// (OpenFHE: a std::vector of Ciphertext; Lattigo: a slice of rlwe.Ciphertext.)
using Ciphertexts = RingCiphertexts<Parameters, CiphertextInfo>;

using PublicKey = RingPublicKey<Parameters>;
using EvaluationKeys = RingEvaluationKeys<Parameters>;

/// The evaluation keys that a circuit needs. (OpenFHE: EvalMultKeyGen, EvalRotateKeyGen,
/// EvalBootstrapKeyGen; Lattigo: rlwe.MemEvaluationKeySet, GaloisElements.)
struct KeyRequest {
  /// Relinearisation brings ciphertexts of up to this many parts back to two, 2 … 8; 2 makes no
  /// key.
  unsigned relinearise = 3;
  std::vector<std::int64_t> rotations;  ///< slots to rotate by, to the left
  bool conjugate = false;               ///< whether values can be conjugated
  /// Whether there are keys to the sparse secret and back, which request_bootstrap asks for.
  bool sparse = false;
  /// Rotations that linear maps take at a level and below, by that level. Their keys are over the
  /// primes of these levels only, and so they are smaller. request_bootstrap adds some.
  std::map<unsigned, std::vector<std::int64_t>> low_rotations = {};
};

/// Adds the rotations that Server::sum and Server::replicate take of vectors up to `length` values,
/// with any period and count from `period` on. A length counts as the least power of two that is
/// not below it. ShapeError for lengths above 2^24, and unless the period is a power of two.
/// (OpenFHE: EvalSumKeyGen; Lattigo: GaloisElementsForInnerSum, GaloisElementsForReplicate.)
void request_sum(KeyRequest& request, std::uint64_t length, std::uint64_t period = 1);

/// Bytes of the keys that a request asks for, without making them.
std::size_t key_bytes(const Parameters& parameters, const KeyRequest& request);
/// How many switching keys these are.
std::size_t key_count(const Parameters& parameters, const KeyRequest& request);

/// The g for which X -> X^g rotates the slots to the left by `slots`: 5^slots mod 2N, with `slots`
/// taken modulo N/2. (Conjugation has g = 2N - 1. OpenFHE: FindAutomorphismIndex; Lattigo:
/// GaloisElement.)
std::uint32_t rotation_exponent(std::uint32_t N, std::int64_t slots);

using whorl::concatenate, whorl::take;

}  // namespace whorl::ckks
