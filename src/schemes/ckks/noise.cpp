#include "schemes/ckks/noise.h"

#include <cmath>

#include "math/primes.h"
#include "schemes/ckks/derived.h"
#include "schemes/ring/account.h"

namespace whorl::ckks {

namespace {

double deviation(double variance) { return 0.5 * std::log2(variance); }

/// What key switching over those primes of its layout adds, where the division by P rounds with
/// that variance.
double key_switch_of(const ParameterLiteral& p, const ring::KeyLayout& layout,
                     const ring::Basis& basis, double rounding) {
  std::vector<std::uint64_t> special;
  layout.special.for_each([&](unsigned i) { special.push_back(p.special[i - p.chain.size()]); });
  const double log2_P = math::log2_of_product(special);
  // A digit uniform in ±D/2 meets an error.
  double sum_of_digits = 0;
  for (const ring::Basis& each : layout.digits) {
    double digit = 0;
    (each & basis).for_each([&](unsigned i) {
      digit += std::log2(static_cast<double>(p.chain[i]));
    });
    if (digit > 0) sum_of_digits += std::exp2(2 * (digit - log2_P));
  }
  const double N = p.N;
  return deviation(N * N * p.sigma * p.sigma / 12 * sum_of_digits + rounding);
}

}  // namespace

// A polynomial of independent coefficients of variance V has values of variance N·V at a root; the
// secret's are of 2/3·N, as values of a complex Gaussian (Gentry, Halevi, Smart, CRYPTO 2012,
// appendix A.5, uses the same variances for its bounds).
NoiseModel::NoiseModel(const Parameters& parameters) : parameters_(parameters) {
  const ParameterLiteral& p = parameters.literal();
  const double N = p.N, secret = 2.0 / 3.0 * N, sigma = p.sigma;
  encoding_ = deviation(N / 12);
  fresh_secret_ = deviation(N * (sigma * sigma + 1.0 / 12));
  fresh_public_ = deviation(N * (sigma * sigma * (1 + 2 * secret) + 1.0 / 12));

  // |s|² of a slot is distributed exponentially, so that the largest one of N/2 slots is about
  // ln(N/2) times the mean. Powers of it, which parts from the third one on meet, are so much
  // larger than their means that the worst slot of a key is stated.
  rounding_.push_back(deviation(N / 12));  // of no part: not used
  double power = 1, sum = 0;
  const double worst = secret * std::log(N / 2);
  for (unsigned parts = 1; parts <= max_parts; ++parts, power *= worst) {
    sum += power;
    rounding_.push_back(deviation(N / 12 * (parts == 2 ? 1 + secret : sum)));
  }

  const double rounding = std::exp2(2 * rounding_[2]);
  const ring::KeyLayout usual = layout_of(p, {});
  for (unsigned level = 0; level <= parameters.top(); ++level)
    key_switch_.push_back(key_switch_of(p, usual, basis_of(parameters, level), rounding));
  if (!p.bootstrap) return;
  const ring::Basis least = basis_of(parameters, 0);
  low_key_switch_ = key_switch_of(p, layout_of(p, slots_to_coeffs_kind(p)), least, rounding);
  // The rounding meets the sparse secret.
  to_sparse_key_switch_ = key_switch_of(p, layout_of(p, {SwitchRole::to_sparse}), least,
                                        N / 12 * (1 + p.bootstrap->weight));
}

double NoiseModel::key_switch(unsigned level, SwitchKind kind) const {
  if (kind.role == SwitchRole::usual) return key_switch(level);
  const ParameterLiteral& p = parameters_.literal();
  return key_switch_of(p, layout_of(p, kind), basis_of(p, level), std::exp2(2 * rounding_[2]));
}

}  // namespace whorl::ckks
