#include "schemes/bgv/noise.h"

#include <algorithm>
#include <cmath>

#include "schemes/ring/account.h"

namespace whorl::bgv {

namespace {

// A polynomial of independent coefficients of variance V has values of variance N·V at a root,
// close to complex Gaussian. So many deviations bound one such value, a product of two and of three
// (Gentry, Halevi, Smart, CRYPTO 2012, appendix A.5), but with probability 2^-52, 2^-43 and 2^-45;
// coefficients pass the bounds much more rarely still (docs/bgv-noise.md).
const double deviations[] = {0, std::log2(6.0), std::log2(16.0), std::log2(40.0)};

/// E[s^2] = 2/3 of a uniform ternary secret.
const double log2_secret = 0.5 * std::log2(2.0 / 3.0);

}  // namespace

NoiseModel::NoiseModel(const Parameters& parameters) : parameters_(parameters) {
  for (unsigned parts = 0; parts <= max_parts; ++parts) rounding_.push_back(rounding_of(parts));
  for (unsigned limbs = 0; limbs <= parameters.limbs(); ++limbs)
    key_switch_.push_back(key_switch_of(limbs));
}

double NoiseModel::plaintext() const {
  return std::log2(static_cast<double>(parameters_.N())) +
         std::log2(static_cast<double>(parameters_.t())) - 1;
}

double NoiseModel::fresh_secret() const {
  const double log2_N = std::log2(static_cast<double>(parameters_.N()));
  const double error = deviations[1] + 0.5 * log2_N + std::log2(parameters_.literal().sigma) +
                       std::log2(static_cast<double>(parameters_.t()));
  return log2_sum(plaintext(), error);
}

double NoiseModel::fresh_public() const {
  const double log2_N = std::log2(static_cast<double>(parameters_.N()));
  const double sigma = std::log2(parameters_.literal().sigma);
  const double t = std::log2(static_cast<double>(parameters_.t()));
  // e·u and e_1·s, of ternary u and s.
  const double products = 1 + deviations[2] + log2_N + sigma + log2_secret + t;
  return log2_sum(fresh_secret(), products);
}

double NoiseModel::rounding_of(unsigned parts) const {
  const double log2_N = std::log2(static_cast<double>(parameters_.N()));
  // Each part is moved by a polynomial uniform in ±t/2, which meets a power of s. Beyond s^2 the
  // powers' own norm, at most 6·sqrt(2N/3) each, is multiplied.
  const double moved =
      0.5 * log2_N + std::log2(static_cast<double>(parameters_.t())) - 0.5 * std::log2(12.0);
  const double secret = 0.5 * log2_N + log2_secret;
  double sum = deviations[1] + moved;
  for (unsigned k = 1; k < parts; ++k) {
    const double factor = k <= 2 ? deviations[k + 1] : (k + 1) * deviations[1];
    sum = log2_sum(sum, factor + moved + k * secret);
  }
  return sum;
}

double NoiseModel::key_switch_of(unsigned limbs) const {
  const ParameterLiteral& p = parameters_.literal();
  const double log2_N = std::log2(static_cast<double>(p.N));
  double sum = rounding(2);
  for (unsigned first = 0; first < limbs; first += p.digit_limbs) {
    const unsigned end = std::min(limbs, first + p.digit_limbs);
    const double digit = parameters_.log2_Q(end) - parameters_.log2_Q(first);
    // A digit uniform in ±Q_d/2 meets t·e.
    const double error = deviations[2] + log2_N + digit - 0.5 * std::log2(12.0) +
                         std::log2(p.sigma) + std::log2(static_cast<double>(p.t)) -
                         parameters_.log2_P();
    sum = log2_sum(sum, error);
  }
  return sum;
}

double NoiseModel::dropped(double noise, unsigned limbs, unsigned parts) const {
  const double prime = parameters_.log2_Q(limbs) - parameters_.log2_Q(limbs - 1);
  return log2_sum(noise - prime, rounding(parts));
}

double NoiseModel::budget(double noise, unsigned limbs) const {
  return parameters_.log2_Q(limbs) - 1 - noise;
}

double NoiseModel::follow(unsigned depth, double sums, std::vector<Level>* levels) const {
  unsigned limbs = parameters_.limbs();
  double noise = fresh_public();
  for (unsigned level = 0; level < depth; ++level) {
    noise = log2_sum(noise, key_switch(limbs)) + sums;
    const unsigned left = limbs_to_multiply(noise, limbs, 2);
    // Past the first level operands are products, or sums of them.
    if (levels) levels->push_back({limbs, left, level == 0 ? 0 : 2 * fresh_secret(), noise});
    for (; limbs > left; --limbs) noise = dropped(noise, limbs, 2);
    noise = log2_sum(2 * noise, key_switch(limbs));
    if (budget(noise, limbs) < 0) return budget(noise, limbs);
  }
  return budget(log2_sum(noise, key_switch(limbs)) + sums, limbs);
}

double NoiseModel::rated_budget(const Requirements& r) const {
  return follow(r.depth, r.sums, nullptr) - r.plain_products * plaintext();
}

std::vector<NoiseModel::Level> NoiseModel::schedule() const {
  const unsigned depth = parameters_.literal().depth;
  const double reserve = parameters_.literal().plain_products * plaintext();
  std::vector<Level> levels;
  if (depth == 0 || follow(depth, 0, nullptr) < reserve) return levels;
  double low = 0, high = 64;  // of the sums; what `low` gives lasts
  for (int step = 0; step < 16; ++step) {
    const double middle = (low + high) / 2;
    (follow(depth, middle, nullptr) >= reserve ? low : high) = middle;
  }
  follow(depth, low, &levels);
  return levels;
}

unsigned NoiseModel::limbs_to_multiply(double noise, unsigned limbs, unsigned parts) const {
  unsigned best = limbs;
  double most = budget(2 * noise, limbs);
  for (unsigned left = limbs; left > 1;) {
    noise = dropped(noise, left, parts);
    --left;
    const double now = budget(2 * noise, left);
    if (now > most) {
      most = now;
      best = left;
    }
  }
  return best;
}

}  // namespace whorl::bgv
