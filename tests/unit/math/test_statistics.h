// Chi-square against exact probabilities.
#pragma once

#include "support/test.h"

namespace whorl::math {

/// A value that a chi-square variable of this many degrees of freedom exceeds with probability
/// about 4 * 10^-11: the approximation of Wilson and Hilferty (1931) at z = 6.5. Good to a few
/// percent of that probability's exponent from 3 degrees up.
inline double chi_square_bound(size_t degrees) {
  const double v = 2.0 / (9.0 * static_cast<double>(degrees));
  return static_cast<double>(degrees) * std::pow(1 - v + 6.5 * std::sqrt(v), 3);
}

struct ChiSquare {
  double value = 0;
  size_t degrees = 0;
};

/// Pearson's statistic; neighbouring cells are pooled until they expect at least 50.
inline ChiSquare chi_square(const std::vector<size_t>& counts,
                            const std::vector<double>& probabilities, size_t samples) {
  ChiSquare result;
  double expected = 0;
  double observed = 0;
  double left = static_cast<double>(samples);
  size_t cells = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double here = probabilities[i] * static_cast<double>(samples);
    expected += here;
    observed += static_cast<double>(counts[i]);
    left -= here;
    // What is left behind the last full cell must be able to fill a cell, or joins it.
    if (i + 1 < counts.size() && (expected < 50 || left < 50)) continue;
    result.value += (observed - expected) * (observed - expected) / expected;
    ++cells;
    expected = observed = 0;
  }
  result.degrees = cells - 1;
  return result;
}

}  // namespace whorl::math
