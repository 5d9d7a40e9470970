// The work of each operation on a piece of a batch, which stays on a device or passes through it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lattice/lwe/evaluator.h"
#include "schemes/binfhe/gates.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

/// Work, and what it takes and gives.
struct Plan {
  lattice::lwe::Work work;
  Encoding output;
  Under under = Under::lwe;  ///< results
  bool rotates = true;
  std::size_t memory = 0;  ///< bytes of a device that a ciphertext takes where that is the most
  double failure_log2 = -HUGE_VAL;  ///< log2 of the probability that a rotation decides wrongly
};

/// The keys that the inputs and the results of an operation are under.
struct Sides {
  Under in = Under::lwe, out = Under::lwe;
};

/// Returns the form of ciphertexts modulo q under the LWE key, or modulo Q under the ring key.
lattice::lwe::Form form_of(const Parameters& parameters, Under under = Under::lwe);

// Inputs have one encoding, and as many of them come as the operation takes: EncodingError where
// the encoding does not fit it.
Plan plan_gate(const Parameters& parameters, Gate gate, Encoding input,
               std::optional<Encoding> output, Sides sides = {});
Plan plan_bootstrap(const Parameters& parameters, Encoding input, std::optional<Encoding> output,
                    Sides sides = {});
/// Inputs: select, a, b.
Plan plan_mux(const Parameters& parameters, Encoding input, Sides sides = {});
/// Where a constant that is added sits, modulo the number of sectors.
std::uint64_t shift_of(std::int32_t constant, Encoding encoding, const Parameters& parameters,
                       Under under);
Plan plan_linear(const Parameters& parameters, std::span<const std::int32_t> weights,
                 std::int32_t constant, Encoding input, Under under = Under::lwe);
/// Tables are checked: of one kind, for these parameters; `index` is empty or of the whole batch.
Plan plan_apply(const Parameters& parameters, std::span<const Lut> luts,
                std::span<const std::uint32_t> index, Sides sides = {});
/// From the ring key to the LWE key.
Plan plan_key_switch(const Parameters& parameters, Encoding input);

/// Bytes that a ciphertext takes in the operation that needs the most, without a table of its own.
std::size_t most_memory(const Parameters& parameters);

}  // namespace whorl::binfhe
