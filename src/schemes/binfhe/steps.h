// Steps that the plans of several operations have, and the memory that they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lattice/lwe/evaluator.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

using lattice::lwe::Rows;
using lattice::lwe::Stages;
using lattice::lwe::Tables;
using Operands = std::span<const Rows* const>;

/// What a Work returns.
std::vector<Rows> one(Rows rows);

/// Phase offset in Z_2N that puts sums from `threshold` on into [0, N): -(threshold - 1/2)
/// sectors.
std::uint64_t threshold_offset(const Parameters& parameters, unsigned threshold, Encoding encoding);

/// rounding_centre if something is rounded at all, else 0.
unsigned centre_of(const Parameters& parameters, std::uint64_t from, std::uint64_t to);

/// Ciphertexts modulo q as exponents modulo `to`: 2N, or N.
Rows to_exponents(const Parameters& parameters, const Stages& stages, Rows rows, std::uint64_t to,
                  std::uint64_t offset);

/// The same as multiples of `step`, a power of two, with the phase offset 0.
Rows to_multiples(const Parameters& parameters, const Stages& stages, Rows rows, std::uint64_t to,
                  std::uint32_t step);

/// LWE modulo Q under the ring key -> LWE modulo `modulus` under the LWE key. Key switching is done
/// in the words of Q_ks.
Rows to_lwe_key(const Parameters& parameters, const Stages& stages, const Rows& extracted,
                std::uint64_t modulus);

/// What rotations take: rows modulo q under the LWE key. Those under the ring key are switched.
Rows to_rotate(const Parameters& parameters, const Stages& stages, Rows rows);
/// What becomes of extracts: they stay under the ring key, or are switched to the LWE key modulo q.
Rows result_of(const Parameters& parameters, const Stages& stages, Rows extracted, Under under);

/// Rounds to 2N and decides. Bits: 1 where the phase plus `offset` lies in [0, N) (0 there if
/// negated). The test vector is the constant polynomial of value half, half an output sector: its
/// extract is ±half, plus half.
class Decision {
 public:
  /// EncodingError if the parameters do not carry `output`.
  Decision(const Parameters& parameters, std::uint64_t offset, bool negated, Encoding output);
  Rows operator()(const Stages& stages, Rows lwe, run::Range range) const;

 private:
  Parameters parameters_;
  std::uint64_t offset_, half_;
  std::shared_ptr<const Tables> tables_;
};

/// What an operation does with a ciphertext, as far as its memory is concerned.
struct Footprint {
  std::size_t inputs = 1;
  Under under = Under::lwe;  ///< inputs
  bool rotates = true;
  bool keeps_extract = false;  ///< of one rotation during the next
  bool own_table = false;      ///< a test vector for every ciphertext, at worst
  std::size_t kept = 0;        ///< ciphertexts that wait for the end
};
/// Bytes of device memory that one ciphertext takes where the stages need the most.
std::size_t memory_of(const Parameters& parameters, const Footprint& footprint);

}  // namespace whorl::binfhe
