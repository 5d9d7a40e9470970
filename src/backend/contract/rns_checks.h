// Checks of shapes that the entries of RnsOps share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ring/rns_plan.h"
#include "whorl/error.h"

namespace whorl::backend {

/// Returns B for an array of (rows, B, N).
inline std::size_t batch_of(const char* what, std::size_t size, std::size_t rows, std::uint32_t N) {
  if (rows == 0) throw ShapeError(std::string(what) + ": there is no part");
  if (size % (rows * N) != 0)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) + " residues are not " +
                     std::to_string(rows) + " rows of a batch of polynomials of " +
                     std::to_string(N));
  return size / (rows * N);
}

inline void check_rows(const char* what, std::size_t size, std::size_t rows, std::size_t batch,
                       std::uint32_t N) {
  if (size != rows * batch * N)
    throw ShapeError(std::string(what) + " has " + std::to_string(size) +
                     " residues; it must have " + std::to_string(rows) + " rows of " +
                     std::to_string(batch) + " polynomials of " + std::to_string(N));
}

/// Whether a factor is one polynomial for all of a batch. ParameterError for a period that it
/// cannot have; ShapeError unless it is one, or one for each.
inline bool is_one_factor(const char* what, std::size_t size, std::size_t rows, std::size_t batch,
                          std::uint32_t N, unsigned log_repeats) {
  const auto log_N = static_cast<unsigned>(std::bit_width(N) - 1);
  if (log_repeats == 1 || log_repeats > log_N)
    throw ParameterError(std::string(what) + ": log_repeats = " + std::to_string(log_repeats) +
                         " is neither 0 nor in 2 … log2(N) = " + std::to_string(log_N));
  const std::uint32_t stored = N >> log_repeats;
  if (size == rows * stored) return true;
  check_rows(what, size, rows, batch, stored);
  return false;
}

template <class Word>
void check_exponent(const char* what, const ring::RnsPlan<Word>& plan, std::uint32_t g) {
  if (g % 2 == 0 || g >= 2 * plan.N())
    throw ParameterError(std::string(what) + ": g = " + std::to_string(g) +
                         " is not odd and below 2N = " + std::to_string(2 * plan.N()));
}

/// ParameterError unless `part` is a part of `whole`.
inline void check_part(const char* what, const ring::Basis& part, const char* of,
                       const ring::Basis& whole) {
  if (!whole.includes(part))
    throw ParameterError(std::string(what) + ": primes " + (part - whole).describe() +
                         " are not among those of " + of + ", " + whole.describe());
}

}  // namespace whorl::backend
