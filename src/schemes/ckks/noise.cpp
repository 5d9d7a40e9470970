#include "schemes/ckks/noise.h"

#include <algorithm>
#include <cmath>

namespace whorl::ckks {

double log2_sum(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high + std::log2(1 + std::exp2(low - high));
}

// A polynomial of independent coefficients of variance V has values of variance N·V at a root; the
// secret's are of 2/3·N, those of its k-th power of k!·(2/3·N)^k, as values of a complex Gaussian
// (Gentry, Halevi, Smart, CRYPTO 2012, appendix A.5, uses the same variances for its bounds).
NoiseModel::NoiseModel(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  const double N = p.N, secret = 2.0 / 3.0 * N, sigma = p.sigma;
  const auto deviation = [](double variance) { return 0.5 * std::log2(variance); };
  encoding_ = deviation(N / 12);
  fresh_secret_ = deviation(N * (sigma * sigma + 1.0 / 12));
  fresh_public_ = deviation(N * (sigma * sigma * (1 + 2 * secret) + 1.0 / 12));

  double power = 1, sum = 0;
  rounding_.push_back(deviation(N / 12));  // of no part: not used
  for (unsigned parts = 1; parts <= max_parts; ++parts) {
    sum += power;
    power *= parts * secret;
    rounding_.push_back(deviation(N / 12 * sum));
  }

  for (unsigned level = 0; level <= parameters.top(); ++level) {
    // A digit uniform in ±D/2 meets an error; the division by P rounds.
    const std::vector<unsigned>& primes = parameters.primes(level);
    double sum_of_digits = 0;
    for (unsigned first = 0; first < parameters.limbs(); first += p.digit_limbs) {
      double digit = 0;
      for (const unsigned i : primes)
        if (i >= first && i < first + p.digit_limbs)
          digit += std::log2(static_cast<double>(p.chain[i]));
      if (digit > 0) sum_of_digits += std::exp2(2 * (digit - parameters.log2_P()));
    }
    const double variance = N * N * sigma * sigma / 12 * sum_of_digits;
    key_switch_.push_back(deviation(variance + std::exp2(2 * rounding_[2])));
  }
}

}  // namespace whorl::ckks
