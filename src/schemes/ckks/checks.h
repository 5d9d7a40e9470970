// What CKKS parameters, given or chosen, must keep to.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "whorl/error.h"

namespace whorl::ckks {

/// A chain, and so each of its digits, has at most so many primes.
inline constexpr unsigned most_primes = 80;
inline constexpr unsigned most_special = 48;
inline constexpr double least_log2_ratio = 6;

inline constexpr std::string_view error_prefix = "CKKS: ";
[[noreturn]] inline void reject(const std::string& what) {
  throw ParameterError(std::string(error_prefix) + what);
}

inline void check_range(const char* field, std::uint64_t value, std::uint64_t least,
                        std::uint64_t most) {
  if (value < least || value > most)
    reject(std::string(field) + " = " + std::to_string(value) + " is outside " +
           std::to_string(least) + " … " + std::to_string(most));
}

inline void check_ring(std::uint32_t N) {
  if (N < 1024 || N > (1u << 17) || !std::has_single_bit(N))
    reject("N = " + std::to_string(N) + " is not a power of two in 2^10 … 2^17");
}

}  // namespace whorl::ckks
