// What CKKS parameters, given or chosen, must keep to.
#pragma once

#include "schemes/ring/parameters.h"

namespace whorl::ckks {

/// A chain, and so each of its digits, has at most so many primes.
inline constexpr unsigned most_primes = 80;
inline constexpr unsigned most_special = 48;
inline constexpr double least_log2_ratio = 6;
/// BootstrapLiteral::bits
inline constexpr unsigned most_bits = 5;

inline constexpr RingRules rules{"CKKS: ", most_primes, most_special, 24};

}  // namespace whorl::ckks
