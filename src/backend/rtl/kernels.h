// The arithmetic of the model of the core, in doubles: exact, since a product's rounding error is a
// double, too, and a fused multiplication gives it. Values are integers, centred modulo p or a few
// bits larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/rtl/shape.h"
#include "hwy/aligned_allocator.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

/// Aligned memory for `count` of T; OutOfMemoryError says what it was for.
template <class T>
hwy::AlignedFreeUniquePtr<T[]> room(std::size_t count, const char* what) {
  auto out = hwy::AllocateAligned<T>(count);
  if (!out)
    throw OutOfMemoryError("model of the core: the system gave no memory for " +
                           std::to_string(count * sizeof(T)) + " bytes of " + what);
  return out;
}

/// Twiddles and monomials for vectors of `lanes` doubles. A polynomial in evaluation form lies in
/// groups of `lanes` vectors: vector s of group g has locations (g·lanes + k)·lanes + s, lane k.
struct KernelTables {
  KernelTables(unsigned log_N, unsigned lanes);

  unsigned log_N, lanes;
  std::size_t N;
  /// Each twiddle w with w/p: of node i at the level with m nodes at 2·(m + i).
  std::vector<double> roots, inverse_roots;
  /// The levels within a vector: for each group, lanes - 1 pairs of vectors.
  hwy::AlignedFreeUniquePtr<double[]> lane_roots, lane_inverse_roots;
  /// psi^e, e < 2N, centred; 2·brv + 1 of the location at each place.
  std::vector<double> powers;
  hwy::AlignedFreeUniquePtr<std::int64_t[]> exponents;
  /// The location at place i of a polynomial.
  std::size_t location(std::size_t i) const {
    const std::size_t group = i / lanes / lanes, s = i / lanes % lanes, k = i % lanes;
    return (group * lanes + k) * lanes + s;
  }
};

/// What a rotation is made of.
struct KernelShape {
  unsigned L, log_Bg, M, dropped;
  std::int64_t offset;  ///< of the decomposition
  explicit KernelShape(const Shape& shape);
};

/// One ciphertext on its way: acc has a and then b, centred; digits has 2L polynomials.
struct Travelling {
  const std::uint32_t* exponents;
  std::int64_t* acc;
  double* digits;
};

struct Kernels {
  unsigned lanes;
  /// One step of each ciphertext. `key` has, for each vector of places, row, set and column, one
  /// vector of the chunk's words, centred. Exponents of the step begin at `first`; `count` of them.
  void (*step)(const KernelTables& tables, const KernelShape& shape, const double* key,
               std::size_t first, std::size_t count, std::span<Travelling> ciphertexts);
  /// out[k] -= digit·row[k] modulo 2^32.
  void (*subtract_row)(const std::uint32_t* row, std::uint32_t digit, std::size_t count,
                       std::uint32_t* out);
};
/// Those for this processor.
const Kernels& kernels();

}  // namespace whorl::backend::rtl
