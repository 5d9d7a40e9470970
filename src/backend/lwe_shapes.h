// What LWE entries of the contract can take, on every backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "whorl/error.h"

namespace whorl::backend {

/// Moduli of two or more; centred, sums of `row` rounding errors of up to from/2 must fit 63 bits.
inline void check_modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row,
                                 bool centre) {
  if (from < 2 || to < 2)
    throw ParameterError("modulus_switch: moduli " + std::to_string(from) + " and " +
                         std::to_string(to) + " must be at least 2");
  if (centre && row > 1 && from / 2 > (UINT64_MAX >> 1) / (row - 1))
    throw ParameterError("modulus_switch, centred: rounding errors of " + std::to_string(row - 1) +
                         " elements modulo " + std::to_string(from) +
                         " may add up to 2^63 or more");
}

}  // namespace whorl::backend
