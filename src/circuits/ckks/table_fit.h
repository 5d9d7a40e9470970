// Functions of whole numbers as polynomials of the exponential that bootstraps for bits make
// (docs/lanes-integers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "circuits/ckks/bit_fit.h"

namespace whorl::ckks {

/// A function of m = 0 … M - 1, of z = exp(2πi·(m + 1/2)/M): its values are constant + Re A(z) +
/// Im B(z). A and B have real coefficients of z^n, n = 0 … M - 1, of which the first is 0; a
/// polynomial without others is empty.
struct TablePolynomial {
  double constant = 0;
  std::vector<double> cosines, sines;  ///< of A and of B
  double lost = 0;                     ///< what doubles change at most

  /// Its value for t = (m + 1/2)/M, in clear.
  double operator()(double t) const;
};

/// The mean of Fejér of the function with these entries, M of them, a power of two: on the circle
/// it has their values at the M points, and slope 0 there (Fejér, Math. Ann. 58, 1904; as an
/// interpolation: Jackson 1930). So an error e of m leaves about e² of an error.
TablePolynomial table_polynomial(std::span<const std::int64_t> entries);

/// How far off its values may be: of all of it, and of A and B, which are evaluated each for
/// itself.
struct TableSlopes {
  BitSlopes all, cosines, sines;
};
TableSlopes slopes_of(const TablePolynomial& table, std::size_t entries);

}  // namespace whorl::ckks
