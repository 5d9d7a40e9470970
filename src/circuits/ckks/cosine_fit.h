// The polynomial of CKKS bootstrapping: a cosine near the integers (docs/adr/0005).
#pragma once

#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/polynomials.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// Around this t the cosine is even or odd.
inline constexpr double cosine_center = 0.25;

/// cos(2π(t - 1/4)/2^doublings + π/2) for |t| < range as an odd polynomial in (t - 1/4)/range; with
/// one doubling, without π/2, as an even one. Chebyshev's basis: by weighted least squares on
/// values and slopes at the integers, for t = I + m/r, where |m| <= 1 and r = 2^log2_ratio; it has
/// all powers where half of them would double the error. Monomial basis: Taylor's series at t =
/// 1/4.
Polynomial cosine_polynomial(const BootstrapLiteral& shape, Multiples of = Multiples::likely);

/// The arcsine's series of shape.arcsine's degree, which is not 0.
Polynomial arcsine_polynomial(const BootstrapLiteral& shape);

/// The largest error of sine_factor()·y from m, for all |I| <= most and |m| <= 1: y is the
/// polynomial, whose angle was doubled, or its arcsine.
double error_of_sine(const BootstrapLiteral& shape, const Polynomial& cosine, unsigned most);

/// The standard deviation of that error for m = 0, over all I as they occur.
double deviation_of_sine(const BootstrapLiteral& shape, const Polynomial& cosine);

}  // namespace whorl::ckks
