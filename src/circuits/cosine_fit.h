// The polynomial of CKKS bootstrapping: a cosine near the integers (docs/adr/0005).
#pragma once

#include <vector>

#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// Coefficients of T_k(t/range) that approximate cos(2π(t - 1/4)/2^doublings + π/2) at t = I + m/r,
/// for |I| < range and |m| <= 1, where r = 2^log2_ratio (one doubling: without π/2). Weighted least
/// squares on values and slopes at the integers.
std::vector<double> fitted_cosine(const BootstrapLiteral& shape);

/// The largest error of sine_factor()·y from m, for all |I| <= most and |m| <= 1: y is the
/// polynomial, whose angle was doubled.
double error_of_sine(const BootstrapLiteral& shape, const std::vector<double>& coefficients,
                     unsigned most);

}  // namespace whorl::ckks
