// The facts about a CKKS ciphertext in iterations that correct an error: the further iterations of
// a bootstrap (META-BTS: Bae, Cheon, Cho, Kim, Kim, CCS 2022), and Goldschmidt's inverse; and in
// functions of several steps.
#include <algorithm>
#include <cmath>
#include <string>

#include "math/text.h"
#include "schemes/ckks/account.h"
#include "whorl/error.h"

namespace whorl::ckks {

unsigned Account::remainder_bits(const Info& bootstrapped, unsigned number) const {
  // Eight deviations of the error stay below 1; an integer of 2^25 is left of the scale. The error
  // becomes 2^-bits times what it was, and an integer of so many bits less than the scale is
  // rounded: half of the difference makes both equal.
  constexpr double margin = 3, least = 26;
  const double error = bootstrapped.error, log2_scale = std::log2(bootstrapped.scale);
  const double bits =
      std::floor(std::min({-error - margin, log2_scale - least, (log2_scale + 1 + error) / 2}));
  // The sum of both bootstraps is rounded on the way down to the next level.
  const double lowering = noise_.rounding(2) - std::log2(parameters_.scale(bootstrapped.level - 1));
  const double after = log2_sum(log2_sum(error - bits, bits - log2_scale - 1), lowering);
  if (bits < 2 || after > error - 1)
    throw NoiseError("bootstrap: with iteration " + std::to_string(number) +
                     " the error would be 2^" + math::text_of(after) + " after 2^" +
                     math::text_of(error) +
                     ", less than a bit better: take parameters with a larger scale than 2^" +
                     math::text_of(log2_scale));
  return static_cast<unsigned>(bits);
}

double Account::goldschmidt_residual(const Info& y, const Goldschmidt& of) {
  const double residual = of.residual + of.most * std::exp2(y.error);
  if (!(residual < 1))
    throw NoiseError("inverse: values up to " + math::text_of(of.most) + " times an error of 2^" +
                     math::text_of(y.error) +
                     " of the first polynomial are too much; its "
                     "residual is " +
                     math::text_of(of.residual) +
                     ", and the steps want less than 1: take a larger scale or a smaller interval");
  return residual;
}

Account::Info Account::goldschmidt_end(Info y, const Goldschmidt& of, double residual) {
  const double powers = std::exp2(of.steps);
  // What is left of the first error is what e^(2^steps) has more than without it.
  const double left = (std::pow(residual, powers) - std::pow(of.residual, powers)) / of.least;
  y.error = std::log2(std::exp2(y.error) + left);
  return y;
}

Account::Info Account::with_more_error(Info y, double error) {
  y.error = std::log2(std::exp2(y.error) + error);
  return y;
}

}  // namespace whorl::ckks
