// The numbers that a ciphertext's order of steps follows from, on the host.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cuda/kernels/walk.h"

namespace whorl::backend::cuda {

/// Of a key by AP or automorphisms. `rules` point into the vectors.
struct WalkNumbers {
  std::vector<CoefficientKeys> keys;
  std::vector<std::uint16_t> logarithms, inverses;
  std::variant<DigitRules, AutomorphismRules> rules;
  std::uint32_t start_move = 1;  ///< Walks::start_move
  std::uint32_t most = 0;        ///< steps of a ciphertext
};

/// `ranges`: the first LWE coefficient of each run of equal gadgets. RefusedError where numbers of
/// rows or coefficients are too large for a step's 32 and 16 bits.
WalkNumbers walk_numbers(const RotationShape& shape, std::span<const std::uint32_t> ranges);

}  // namespace whorl::backend::cuda
