// The numbers that a ciphertext's order of steps follows from, on the host.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/contract/slice.h"
#include "backend/cuda/kernels/walk.h"

namespace whorl::backend::cuda {

/// These are the numbers of a key by AP or automorphisms. `rules` point into the vectors.
struct WalkNumbers {
  std::vector<CoefficientKeys> keys;
  std::vector<std::uint16_t> logarithms, inverses;
  std::variant<DigitRules, AutomorphismRules> rules;
  std::uint32_t start_move = 1;  ///< Walks::start_move
  std::uint32_t most = 0;        ///< steps of a ciphertext
};

namespace walk_rules_detail {

inline DigitRules digit_rules(const RotationShape& shape) {
  DigitRules rules;
  rules.n = shape.n;
  rules.N = shape.N;
  rules.base = shape.group;
  for (std::uint64_t weight = shape.unit; weight < 2ULL * shape.N; weight *= shape.group)
    rules.weights[rules.places++] = static_cast<std::uint32_t>(weight);
  return rules;
}

inline AutomorphismRules automorphism_rules(const RotationShape& shape, WalkNumbers& out) {
  // Powers of 5 and of 5^-1 modulo 2N; the order of 5 is N/2.
  const std::uint32_t N = shape.N, mask = 2 * N - 1;
  std::uint32_t fifth = 5;
  while ((fifth * 5 & mask) != 1) fifth = fifth * 5 & mask;
  out.logarithms.resize(2 * std::size_t{N});
  for (std::uint32_t k = 0, power = 1; k < N / 2; ++k, power = power * 5 & mask)
    out.logarithms[power] = static_cast<std::uint16_t>(k);
  for (std::uint32_t k = 0, power = fifth; k < shape.group; ++k, power = power * fifth & mask)
    out.inverses.push_back(static_cast<std::uint16_t>(power));
  out.start_move = (0u - fifth) & mask;
  out.inverses.push_back(static_cast<std::uint16_t>(out.start_move));
  AutomorphismRules rules;
  rules.n = shape.n;
  rules.N = N;
  rules.window = shape.group;
  rules.first_row = static_cast<std::uint32_t>(shape.first_row.back());
  rules.rows =
      static_cast<std::uint32_t>((shape.row_count - shape.first_row.back()) / shape.automorphisms);
  return rules;
}

}  // namespace walk_rules_detail

/// `ranges`: the first LWE coefficient of each run of equal gadgets. RefusedError where numbers of
/// rows or coefficients are too large for a step's 32 and 16 bits.
inline WalkNumbers walk_numbers(const RotationShape& shape, std::span<const std::uint32_t> ranges) {
  const auto bounded = [](std::size_t value, std::size_t most, const char* what) {
    if (value > most)
      throw RefusedError("cuda: there is no kernel for a blind-rotation key with " +
                         std::to_string(value) + " " + what + ", which may be " +
                         std::to_string(most));
  };
  bounded(shape.row_count, std::numeric_limits<std::uint32_t>::max(), "rows");
  bounded(ranges.size(), 0xffff, "runs of gadgets");
  bounded(shape.n, AutomorphismRules::none, "LWE coefficients");
  WalkNumbers out;
  std::size_t range = 0;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    while (range + 1 < ranges.size() && ranges[range + 1] <= i) ++range;
    out.keys.push_back({static_cast<std::uint32_t>(shape.first_row[i]),
                        static_cast<std::uint16_t>(range),
                        static_cast<std::uint16_t>(2 * shape.gadgets[i].digits())});
  }
  if (shape.kind == RotationKind::ap) {
    DigitRules rules = walk_rules_detail::digit_rules(shape);
    rules.keys = out.keys.data();
    out.most = rules.most();
    out.rules = rules;
  } else {
    AutomorphismRules rules = walk_rules_detail::automorphism_rules(shape, out);
    rules.keys = out.keys.data();
    rules.logarithms = out.logarithms.data();
    rules.inverses = out.inverses.data();
    out.most = rules.most();
    out.rules = rules;
  }
  return out;
}

}  // namespace whorl::backend::cuda
