// The facts about a CKKS ciphertext in a bootstrap. docs/ckks-noise.md derives the errors.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"

namespace whorl::ckks {

Account::Info Account::coeffs_to_slots(const Info& refreshed, std::size_t count) const {
  Info out = without_error(with_log2_bound(refreshed, 0));
  // An exponential's argument is i times that.
  const bool real = parameters_.literal().bootstrap->bits == 0;
  out.packing = real ? Packing::real : Packing::complex;
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

// docs/lanes.md derives these.
Account::BitNoise Account::bit_noise(unsigned bits, double root, double sum) const {
  const BootstrapLiteral& shape = *parameters_.literal().bootstrap;
  const unsigned doubled = doubled_level(parameters_),
                 argument = doubled + shape.doublings +
                            static_cast<unsigned>(std::bit_width(shape.degree));
  const auto rounding = [&](unsigned level) {
    return noise_.key_switch(level) - std::log2(parameters_.scale(level));
  };
  const double log2_N = std::log2(static_cast<double>(parameters_.N())), q = parameters_.log2_Q(0);
  BitNoise out{log2_negligible, log2_negligible, log2_negligible};
  const auto add = [](double& to, double log2_times, double error) {
    to = log2_sum(to, log2_times + error);
  };
  // 1. To the lowest level and its scale; SlotsToCoeffs and ModRaise, of coefficients; the maps of
  // CoeffsToSlots, of which each scale is above that of the angle's part.
  const unsigned least = parameters_.least_bootstrap_level();
  add(out.turn, 0, rounding(least));
  // A map of l layers of butterflies multiplies the square of a vector's norm by 2^l, all of them
  // together by that of coefficients in slots, N.
  const unsigned maps = shape.slots_to_coeffs,
                 layers = (std::bit_width(parameters_.N()) - 2 + maps - 1) / maps;
  const std::vector<double> scales = scales_to_coefficients(parameters_);
  for (unsigned done = 1; done <= maps; ++done)
    add(out.turn, (layers * (maps - done) - log2_N) / 2 - scales[done], noise_.low_key_switch());
  add(out.turn, -log2_N / 2 - q,
      log2_sum(noise_.to_sparse_key_switch(), noise_.key_switch(parameters_.top())));
  add(out.turn, 1 + std::log2(static_cast<double>(shape.range) * shape.coeffs_to_slots),
      rounding(argument));
  // 2. The polynomial: with w for the angle at the end of the range, a power T_n that is off by e
  // makes exp(i·w·u) off by up to 2·(w/n)²·e, and each of its sums by 3. A doubling squares z.
  const double w = 2 * std::numbers::pi * shape.range / std::exp2(shape.doublings);
  for (unsigned i = 1; argument - i >= doubled + shape.doublings; ++i)
    add(out.root, std::log2(2 * std::pow(w / std::exp2(i), 2) + 3) + shape.doublings,
        rounding(argument - i));
  for (unsigned i = 1; i <= shape.doublings; ++i)
    add(out.root, shape.doublings - i, rounding(doubled + shape.doublings - i));
  // 3. Polynomials for bits (circuits/ckks/harmonics.h): a power z^n, n = 2^i, that is off by e
  // makes them off by root/n·e. What other powers round at a level, what is lowered there for these
  // and for the sums of powers counts as coefficients. Up to eight sums meet the last products.
  // What they and the result round is doubled with its conjugate, a key switch. Of fewer bits than
  // the parameters are made for the result is lowered.
  const unsigned depth = depth_of_harmonics((1u << bits) - 1), lowest = parameters_.depth();
  for (unsigned i = 1; i <= depth; ++i)
    add(out.bit,
        std::log2(i == depth ? 2 : root / std::exp2(i) + 3 * sum + (i + 1 == depth ? 16 : 0)),
        rounding(doubled - i));
  add(out.bit, doubled - depth > lowest ? std::log2(3) : 0, rounding(lowest));
  return out;
}

// A plaintext's coefficients are rounded by 1/12 in the mean square. Behind l layers of butterflies
// values repeat, so that M = 2^(l+1) coefficients are not 0 and one of its values has M/12. A map
// with 2^(k+1) diagonals at scale p adds M/6·2^k/p² times the square of a value's size to that of
// each slot, for pairs of real values twice as much, and to coefficients, with what maps before it
// and behind it multiply and N divides, M/6/p².
double Account::map_rounding() const {
  const std::vector<double> scales = scales_to_coefficients(parameters_);
  const auto maps = static_cast<unsigned>(scales.size() - 1);
  const unsigned layers = (std::bit_width(parameters_.N()) - 2 + maps - 1) / maps;
  double sum = -HUGE_VAL;
  for (unsigned i = 0; i < maps; ++i) {
    const double plaintext = std::log2(parameters_.ratio(maps - i)) + scales[i + 1] - scales[i],
                 coefficients = std::min(std::log2(parameters_.N()), 1.0 + layers * (i + 1));
    sum = log2_sum(sum, coefficients - 2 * plaintext);
  }
  return (sum - std::log2(6)) / 2;
}

Account::Info Account::refreshed_message(const Info& numbers, std::size_t count, double error,
                                         double largest) const {
  Info out = with_log2_bound(numbers, log2_size(largest));
  out.count = count;
  out.packing = Packing::real;
  out.parts = 2;
  out.level = parameters_.depth();
  out.scale = parameters_.scale(out.level);
  out.error = std::log2(error);
  return fits("bootstrap", out);
}

Account::Info Account::bootstrap_remainder(const Info& x, const Info& bootstrapped,
                                           const Info& difference, unsigned bits) const {
  Info out = with_log2_bound(difference, 0);
  out.error = add(x, without_error(bootstrapped)).result.error + bits;
  return out;
}

}  // namespace whorl::ckks
