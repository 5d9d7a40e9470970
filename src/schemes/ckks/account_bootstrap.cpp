// The facts about a CKKS ciphertext in a bootstrap. docs/ckks-noise.md derives the errors.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"

namespace whorl::ckks {

Account::Info Account::coeffs_to_slots(const Info& refreshed, std::size_t count) const {
  Info out = without_error(with_log2_bound(refreshed, 0));
  out.packing = Packing::real;
  out.count = count;
  out.parts = 2;
  out.level = result_level(parameters_) + parameters_.literal().bootstrap->sine();
  return automorphism(with_canonical_scale(out));
}

Account::Info Account::of_pairs(const Info& pairs, const Info& each) {
  Info out = each;
  out.parts = pairs.parts;
  out.level = pairs.level;
  out.scale = pairs.scale;
  out.error = pairs.error;
  return out;
}

std::vector<double> Account::errors_after_mod_raise(double log2_more, Roundings of) const {
  const BootstrapLiteral& shape = *parameters_.literal().bootstrap;
  const unsigned result = result_level(parameters_), doubled = doubled_level(parameters_),
                 argument = result + shape.sine();
  const double r = shape.log2_ratio;
  const auto rounding = [&](unsigned level) {
    return noise_.key_switch(level) - std::log2(parameters_.scale(level)) + log2_more;
  };
  // Powers of the polynomial and squares of its result are rounded at their levels. Each doubling
  // of an angle that follows multiplies an error by up to 4. The last one has the last rounding.
  double of_polynomial = log2_negligible;
  for (unsigned level = result + 1; level < argument; ++level) {
    const unsigned later = level < doubled ? 0 : std::min(level - doubled, shape.doublings);
    const double here = rounding(level) + 2 + 1.8 * later + r - std::log2(2 * std::numbers::pi);
    of_polynomial =
        of == Roundings::all ? log2_sum(of_polynomial, here) : std::max(of_polynomial, here);
  }
  return {rounding(argument) + 1 + std::log2(static_cast<double>(shape.range)) + r, of_polynomial,
          rounding(result)};
}

// With SlotsToCoeffs first, coefficients hold the values from the lowest levels on, and a slot's
// error is sqrt(N) of a coefficient's. With it last, the sine's values are coefficients of the
// message, of which a slot is a sum. All terms are relative to values of size 1.
Account::Info Account::bootstrap(const Info& a, const SineError& sine, Roundings of) const {
  const BootstrapLiteral& shape = *parameters_.literal().bootstrap;
  const double log2_N = std::log2(static_cast<double>(parameters_.N())), r = shape.log2_ratio,
               q = parameters_.log2_Q(0);
  const double raised =
      log2_sum(noise_.to_sparse_key_switch(), noise_.key_switch(parameters_.top()));
  const unsigned depth = parameters_.depth(), result = result_level(parameters_);
  Info out = a;
  out.parts = 2;
  out.level = depth;
  out.scale = parameters_.scale(depth);
  std::vector<double> errors;
  const double log2_slots = std::log2(static_cast<double>(a.slots()));
  if (result == depth) {
    errors = errors_after_mod_raise(0, of);
    errors.push_back(noise_.low_key_switch() + 1 - log2_N / 2 - (q - r));
    errors.push_back(raised - log2_N / 2 - q + r);
    errors.push_back(sine.fit);
  } else {
    errors = errors_after_mod_raise(log2_slots / 2, of);
    // The coefficients of the vector's slots are left.
    const double kept = (log2_slots + 1 - log2_N) / 2;
    errors.push_back(raised - q + r + kept);
    // What a map rounds is added up by those after it.
    for (unsigned level = depth; level < result; ++level)
      errors.push_back(noise_.key_switch(level) + 1 - std::log2(parameters_.scale(level)) +
                       log2_slots / 2 * (level - depth) / (result - depth));
    errors.push_back(sine.fit + log2_slots / 2);
  }
  // The halves of a ciphertext that holds real and imaginary parts side by side are added.
  if (a.packing == Packing::complex && a.slots() < parameters_.slots())
    errors.push_back(errors_after_mod_raise(0, of).back() + (result == depth ? 0 : log2_slots / 2));
  errors.push_back(sine.straightness);
  for (const double error : errors) out.error = log2_sum(out.error, error);
  return fits("bootstrap", out);
}

Account::Info Account::bootstrap_remainder(const Info& x, const Info& bootstrapped,
                                           const Info& difference, unsigned bits) const {
  Info out = with_log2_bound(difference, 0);
  out.error = add(x, without_error(bootstrapped)).result.error + bits;
  return out;
}

}  // namespace whorl::ckks
