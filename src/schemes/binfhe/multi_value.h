// Several tables of one input by one rotation of a common factor (Carpov, Izabachène, Mollimard,
// "New techniques for multi-value input homomorphic evaluation and applications", CT-RSA 2019).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lattice/lwe/evaluator.h"
#include "schemes/binfhe/derived.h"
#include "whorl/binfhe/lut.h"

namespace whorl::binfhe {

/// The test vector of a table is h·(1 + X + … + X^(N-1))·W(X), up to a constant, where 2h is a
/// sector of the output and W = (1 - X)·t/2h has a coefficient where a message begins: what values
/// rise by there. (1 - X)·(1 + … + X^(N-1)) = 2, since X^N = -1. The rotation of the common factor
/// is multiplied by W after it: the result is a sum of coefficients of the accumulator.
struct MultiValue {
  struct Table {
    std::vector<std::int64_t> weights;  ///< of each of the offsets
    std::uint64_t constant;             ///< added modulo Q
    /// Sum of the squares, and of the absolute values, of the weights.
    double squares = 0, absolute = 0;
  };
  std::uint64_t half;                  ///< h
  std::vector<std::uint32_t> offsets;  ///< coefficients of the accumulator
  std::vector<Table> tables;
};

/// None if outputs differ in their sectors, if a table adds a multiple of its input, or if messages
/// have more than 64 borders. `arbitrary`: the tables are read by two rotations.
std::optional<MultiValue> multi_value(const Parameters& parameters, std::span<const Lut> luts,
                                      bool arbitrary);

/// The work has a result for each table, under that key.
lattice::lwe::Work work_of_multi_value(const Parameters& parameters, std::span<const Lut> luts,
                                       bool arbitrary, MultiValue values, Under under);

}  // namespace whorl::binfhe
