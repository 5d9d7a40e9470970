// The work of each operation on a piece of a batch, which stays on a device or passes through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lattice/lwe/evaluator.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

/// A threshold gate decides whether sum_k weights[k]·bit_k >= threshold in one blind rotation. The
/// sum of k bits of weight 1 takes values 0 … k of `sectors` sectors; it can be decided if those
/// below and those from the threshold on lie in opposite halves of the circle (FHEW's trick for AND
/// and OR; Micciancio and Polyakov 2021, §3 for three and more inputs).
struct GateRule {
  std::string_view name;
  unsigned inputs;
  unsigned threshold;
  bool negated;
  bool doubled;  ///< XOR: twice the sum, p = 4 only
};
const GateRule& rule_of(Gate gate);
/// Sums 0 … threshold-1 and threshold … inputs must fit into half circles of so many sectors.
std::uint64_t least_sectors(const GateRule& rule);

/// "p = 4 with padding", for messages.
std::string describe(Encoding encoding);

/// Work, and what it takes and gives.
struct Plan {
  lattice::lwe::Work work;
  Encoding output;
  bool rotates = true;
  std::size_t memory = 0;  ///< bytes of a device that a ciphertext takes where that is the most
};

/// Of ciphertexts modulo q under the LWE key.
lattice::lwe::Form form_of(const Parameters& parameters);

// Inputs have one encoding, and as many of them come as the operation takes: EncodingError where
// the encoding does not fit it.
Plan plan_gate(const Parameters& parameters, Gate gate, Encoding input,
               std::optional<Encoding> output);
Plan plan_bootstrap(const Parameters& parameters, Encoding input, std::optional<Encoding> output);
/// Inputs: select, a, b.
Plan plan_mux(const Parameters& parameters, Encoding input);
Plan plan_linear(const Parameters& parameters, std::span<const std::int32_t> weights,
                 std::int32_t constant, Encoding input);
/// Tables are checked: of one kind, for these parameters; `index` is empty or of the whole batch.
Plan plan_look_up(const Parameters& parameters, std::span<const Lut> luts,
                  std::span<const std::uint32_t> index);

/// Bytes that a ciphertext takes in the operation that needs the most, without a table of its own.
std::size_t most_memory(const Parameters& parameters);

}  // namespace whorl::binfhe
