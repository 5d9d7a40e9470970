// The polynomial of CKKS bootstrapping: a cosine near the integers (docs/adr/0005).
#pragma once

#include "whorl/circuits/polynomials.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// cos(2π(t - 1/4)/2^doublings + π/2) for |t| < range as a polynomial in t/range (one doubling:
/// without π/2). Chebyshev's basis: by weighted least squares on values and slopes at the integers,
/// for t = I + m/r, where |m| <= 1 and r = 2^log2_ratio. Monomial basis: Taylor's series at 0.
Polynomial cosine_polynomial(const BootstrapLiteral& shape);

/// The largest error of sine_factor()·y from m, for all |I| <= most and |m| <= 1: y is the
/// polynomial, whose angle was doubled.
double error_of_sine(const BootstrapLiteral& shape, const Polynomial& cosine, unsigned most);

}  // namespace whorl::ckks
