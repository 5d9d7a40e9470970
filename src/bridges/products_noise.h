// What products of integers through ring elements are made with, and the errors that this makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/gadget.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::bridges {

/// Numbers of one product: `digits` a power of two, at least those of either factor and those of
/// the result. Y = X^spacing stands for 4, and Y^places = -1.
struct ProductRing {
  ProductRing(const binfhe::Parameters& parameters, std::uint32_t digits);

  std::uint32_t digits, places, spacing;
  /// Q/4^(k + 1), rounded down: the coefficients of Q/(4 - Y) at Y^k.
  std::vector<std::int64_t> fractions;
};

/// ParameterError unless integers are multiplied with such parameters: rotations read even
/// exponents, N is at least 2,048, and Q has 40 … 48 bits.
void check_multiplies(const binfhe::Parameters& parameters);
/// The parameters of the second blind-rotation key: the same but for its gadget.
binfhe::Parameters second_rotation(const binfhe::Parameters& parameters);
/// The gadget of key switches in the ring: nothing is dropped.
ring::Gadget switch_gadget_of_products(const binfhe::Parameters& parameters);
/// Rows of ProductKeys::ring_b: those of each automorphism, then those of s^2.
std::size_t product_key_rows(const binfhe::Parameters& parameters);
/// The gadget of the external product, and so the places that rows are for.
ring::Gadget row_gadget(const binfhe::Parameters& parameters);

/// Errors of a coefficient of a product, modulo Q: their variance, and a bound of what is beside
/// them. docs/noise.md, "Products of integers", derives both. They hold for all factors.
struct ProductErrors {
  double variance, offset;
};
/// Those of two factors, of which the narrower one has so many digits.
ProductErrors errors_of_product(const binfhe::Parameters& parameters, const ProductRing& ring,
                                std::uint32_t narrow);
/// Those of one factor of so many digits, and any known one.
ProductErrors errors_of_known(const binfhe::Parameters& parameters, std::uint32_t width);
/// log2 of the probability that a digit is read wrongly from coefficients with these errors.
double reading_failure_log2(const binfhe::Parameters& parameters, const ProductErrors& errors);
/// log2 of the probability that a digit with errors of this noise, under the LWE key, is taken for
/// another one on its way into the ring; the noise is that of 4 times the digit.
double digit_failure_log2(const binfhe::Parameters& parameters, double noise);

}  // namespace whorl::bridges
