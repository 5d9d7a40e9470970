// How often something happens that was counted.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

namespace whorl::test {

/// P(X <= k) of a binomial distribution.
inline double binomial_below(std::size_t k, std::size_t trials, double p) {
  double sum = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    const double log = std::lgamma(trials + 1.0) - std::lgamma(i + 1.0) -
                       std::lgamma(static_cast<double>(trials - i) + 1.0) +
                       static_cast<double>(i) * std::log(p) +
                       static_cast<double>(trials - i) * std::log1p(-p);
    sum += std::exp(log);
  }
  return sum;
}

/// The interval of Clopper and Pearson (1934) for `count` of `trials`, of confidence 1 - alpha.
inline std::pair<double, double> clopper_pearson(std::size_t count, std::size_t trials,
                                                 double alpha) {
  const auto where = [&](const auto& above) {
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (above(middle) ? high : low) = middle;
    }
    return low;
  };
  const double least = count == 0 ? 0 : where([&](double p) {
    return 1 - binomial_below(count - 1, trials, p) > alpha / 2;
  });
  return {least, where([&](double p) { return binomial_below(count, trials, p) < alpha / 2; })};
}

}  // namespace whorl::test
