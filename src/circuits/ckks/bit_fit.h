// The functions of bootstraps that are made for bits (docs/lanes.md): an exponential, which takes
// multiples of the modulus off, and polynomials of it that are bits.
#pragma once

#include <vector>

#include "whorl/circuits/ckks/polynomials.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// exp(2πi·t/2^doublings) as sum_k c_k·i^k·T_k(t/range): the c_k of the shape's degree, by least
/// squares over all t that a secret of the shape's weight can give.
Polynomial exponential_polynomial(const BootstrapLiteral& shape);

/// The largest distance of its power 2^doublings from exp(2πi·t), for all these t.
double error_of_exponential(const BootstrapLiteral& shape, const Polynomial& exponential);

/// Coefficients of polynomials of z = exp(2πi·t), of which bits are 1/2 - Im p(z).
using BitPolynomials = std::vector<std::vector<double>>;

/// Polynomials of z = exp(2πi·(m + 1/2)/2^k), m = 0 … 2^k - 1: bit j of m is 1/2 - Im p_j(z). On
/// the circle they are Fejér's means of the bit as it repeats, so that each has its exact values
/// and slope 0 at all m (Fejér, Math. Ann. 58, 1904; as an interpolation: Jackson 1930). Real
/// coefficients of z^n, where n = 1, 3, 5 … times 2^(k-1-j).
BitPolynomials bit_polynomials(unsigned bits);
/// One of degree 2^bits - 1, of a single bit with large errors: t = (m + 1/2 + e)/2 for m = 0
/// and 1. It goes from one value to the other as steeply as can be, and is as flat at e = 0: all
/// its derivatives up to the degree are 0 there.
std::vector<double> step_polynomial(unsigned bits);
/// The largest error of its bit where |e| is at most `off`.
double error_of_step(unsigned bits, double off);

/// How far off bits of such polynomials may be.
struct BitSlopes {
  double curvature = 0;  ///< times the square of an error of m
  double root = 0;       ///< times an error of z
  double sum = 0;        ///< of absolute coefficients
};
const BitSlopes& slopes_of_bits(unsigned bits);
/// Those of the step; its curvature is not what its error follows.
BitSlopes slopes_of_step(unsigned bits);

}  // namespace whorl::ckks
