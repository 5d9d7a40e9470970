// Puts LWE ciphertexts into the coefficients of ring ciphertexts on a server's devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/contract/lwe.h"
#include "bridges/packing.h"
#include "lattice/lwe/array.h"
#include "lattice/rlwe/keys.h"
#include "schemes/ckks/server_state.h"
#include "whorl/bridges/lanes.h"
#include "whorl/ckks/server.h"

namespace whorl::bridges {

/// Numbers that vectors of LWE ciphertexts become: weights.size() vectors each, one after the
/// other, times the weights, and `half` added.
struct LweNumbers {
  std::size_t first = 0, vectors = 0;  ///< of a batch: the first, and how many
  std::uint32_t lanes = 1;             ///< ciphertexts of a vector, a power of two
  std::vector<std::uint64_t> weights = {1};
  std::uint64_t half = 0;

  /// Ring ciphertexts, of two numbers each.
  std::size_t rings() const {
    const std::size_t each = 2 * weights.size();
    return (vectors + each - 1) / each;
  }
};
/// The rows of a batch of LWE ciphertexts that each piece says, in memory of its lane.
using LweRows = std::function<std::vector<lattice::lwe::Rows>(std::span<const run::Piece> pieces)>;

/// What columns a_1 … a_n, b of LWE ciphertexts are multiplied by, for both parts.
using PackingFactors = std::array<std::vector<lattice::rlwe::Array>, 2>;

/// The ring that LWE ciphertexts are packed into, and the keys for it.
struct PackingKeys {
  std::uint32_t dimension = 0;  ///< of the ring that keys are in
  std::vector<std::uint64_t> primes;
  ring::Basis basis;  ///< of these primes among the evaluator's
  Seed seed;
  WordArray b;  ///< LweInputKeys::b, or CompressionKeys::b
};

/// Puts keys on the evaluator's devices. ShapeError for another number of words than the LWE
/// parameters make it, RangeError for residues out of range.
PackingFactors packing_factors(const lattice::rlwe::Evaluator& evaluator, const PackingKeys& keys,
                               const binfhe::Parameters& lwe, const Progress& progress);
std::size_t bytes_of(const PackingFactors& factors);

/// b·factor - sum_j a_j·K_j of LWE ciphertexts that are so many numbers, over the keys' basis.
/// `rows` and `numbers` are as Packer::packed has them.
lattice::rlwe::Array packed_over(const lattice::rlwe::Evaluator& evaluator,
                                 const PackingFactors& factors, const binfhe::Parameters& lwe,
                                 const std::vector<std::uint64_t>& primes, const ring::Basis& basis,
                                 const LweNumbers& numbers, const LweRows& rows);

class Packer {
 public:
  /// Errors as of LweInput.
  Packer(const ckks::Server& server, const LweInputKeys& keys, const Progress& progress);

  const Packing& packing() const { return packing_; }
  std::size_t bytes() const { return bytes_of(factors_); }

  /// Ring ciphertexts of level 0. Lane i of numbers 2c and 2c + 1 is in ciphertext c, as a part of
  /// the modulus: the coefficients of X^(gap·bitrev(i)) and X^(gap·(lanes + bitrev(i))), where gap
  /// is N/(2·lanes).
  lattice::rlwe::Array packed(const LweNumbers& numbers, const LweRows& rows) const;

 private:
  using State = ckks::Access::State;

  const State& state() const { return ckks::Access::of(server_); }

  ckks::Server server_;
  binfhe::Parameters lwe_;
  Packing packing_;
  PackingFactors factors_;
  std::shared_ptr<const lattice::rlwe::Key> out_of_subring_;
};

}  // namespace whorl::bridges
