#include "bridges/products_noise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "lattice/lwe/noise.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace {

constexpr double largest_digit = 3;

double square(double x) { return x * x; }

double variance_of_rotation(const binfhe::Parameters& p) {
  return std::max(p.noise(binfhe::Transform::ntt).blind_rotation,
                  p.noise(binfhe::Transform::fft).blind_rotation);
}

double sum_of_squares(const ring::Gadget& gadget) {
  double sum = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) sum += gadget.digit_mean_square(j);
  return sum;
}

/// A coefficient of a key switch in the ring.
double variance_of_switch(const binfhe::Parameters& p) {
  return p.N() * sum_of_squares(switch_gadget_of_products(p)) * square(p.literal().sigma_ring);
}

/// The errors of packing, summed over all coefficients. Step l of log2 N has so many key switches,
/// and each step doubles the mean squares of those before.
double power_of_packing(const binfhe::Parameters& p, std::uint32_t digits) {
  const auto steps = static_cast<unsigned>(std::countr_zero(p.N()));
  double switches = 0;
  std::uint32_t count = digits;
  for (unsigned step = 1; step <= steps; ++step) {
    if (step > 2 && count > 1) count /= 2;
    switches += count * std::exp2(steps - step);
  }
  return p.N() * variance_of_switch(p) * switches;
}

/// A coefficient of packed rows: a rotation, and at most a third of the power of a trace.
double variance_of_row(const binfhe::Parameters& p) {
  return variance_of_rotation(second_rotation(p)) + variance_of_switch(p) * square(p.N()) / 3;
}

}  // namespace

ProductRing::ProductRing(const binfhe::Parameters& parameters, std::uint32_t of)
    : digits(std::bit_ceil(of)), places(4 * digits), spacing(parameters.N() / places) {
  for (std::uint32_t k = 0; k < places; ++k) {
    const unsigned shift = 2 * (k + 1);
    fractions.push_back(shift < 64 ? static_cast<std::int64_t>(parameters.Q() >> shift) : 0);
  }
}

void check_multiplies(const binfhe::Parameters& p) {
  const auto bits = static_cast<unsigned>(std::bit_width(p.Q() - 1));
  if (p.N() < 2048 || bits < 40 || bits > 48 || binfhe::rotation_method(p.literal()).odd())
    throw ParameterError(
        "integers are multiplied through ring elements with N = 2048 and more, Q of "
        "40 … 48 bits and rotations by even exponents; " +
        binfhe::named(p) + " has N = " + std::to_string(p.N()) + " and Q of " +
        std::to_string(bits) + " bits: take W128_P128_M3");
}

binfhe::Parameters second_rotation(const binfhe::Parameters& parameters) {
  binfhe::ParameterLiteral literal = parameters.literal();
  literal.gadget = {{literal.n, 15, 2}};
  literal.small_modulus_gadgets.clear();
  return binfhe::Parameters::create(std::move(literal), true);
}

ring::Gadget switch_gadget_of_products(const binfhe::Parameters& parameters) {
  return {parameters.Q(), 6, static_cast<unsigned>(std::bit_width(parameters.Q() - 1) + 5) / 6};
}

std::size_t product_key_rows(const binfhe::Parameters& parameters) {
  return (std::countr_zero(parameters.N()) + 1UL) * switch_gadget_of_products(parameters).digits();
}

ring::Gadget row_gadget(const binfhe::Parameters& parameters) { return {parameters.Q(), 5, 4}; }

ProductErrors errors_of_known(const binfhe::Parameters& p, std::uint32_t width) {
  const ring::Gadget gadget = row_gadget(p);
  double squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j)
    squares += width * square(static_cast<double>(gadget.bound(j)));
  // Numbers are rounded down, 31 times at most.
  const double rest = std::exp2(gadget.dropped() - 1.0) + 128;
  return {squares * variance_of_row(p), largest_digit * width * rest};
}

ProductErrors errors_of_product(const binfhe::Parameters& p, const ProductRing& ring,
                                std::uint32_t narrow) {
  const ring::Gadget gadget = row_gadget(p);
  const double N = p.N(), secret = N * binfhe::ring_mean_square(p);
  // 1. Rows for b have the errors of rotations in as many coefficients, those for a times the
  //    secret. Sums of mean squares over all coefficients.
  const double of_b = narrow * variance_of_rotation(second_rotation(p)) +
                      power_of_packing(p, ring.digits),
               of_a = of_b * secret + N * variance_of_switch(p);
  // 2. The wider factor's ring element, of the digits of Q/(4 - Y).
  double squares = 0, rests = 0;
  for (const std::int64_t number : ring.fractions) {
    std::int64_t rest = number;
    for (unsigned j = 0; j < gadget.digits(); ++j) {
      squares += square(static_cast<double>(gadget.digit(number, j)));
      rest -= gadget.digit(number, j) << gadget.shift(j);
    }
    rests += std::abs(static_cast<double>(rest)) + 1;
  }
  // 3. Its errors, and what its digits leave out, meet the narrower factor, and in a the secret.
  const double left = (square(std::exp2(gadget.dropped())) + 2) / 12 * (1 + secret);
  return {sum_of_squares(gadget) * (of_b + of_a) +
              square(largest_digit) * narrow * (squares * variance_of_row(p) + left),
          square(largest_digit) * narrow * rests};
}

double reading_failure_log2(const binfhe::Parameters& p, const ProductErrors& errors) {
  const double two_n = 2.0 * p.N(), unit = two_n / static_cast<double>(p.Q());
  double most = -HUGE_VAL;
  for (const binfhe::Transform transform : {binfhe::Transform::ntt, binfhe::Transform::fft}) {
    const binfhe::NoiseEstimate noise = p.noise(transform);
    // At 2N: a rotation; a key switch with its roundings; roundings to multiples of four.
    const double rotation = noise.blind_rotation * square(unit),
                 switched = noise.refreshed * square(two_n / static_cast<double>(p.q())) - rotation,
                 rounded = 16 * binfhe::rounding_variance(p.literal(), p.q(), 2ULL * p.N() / 4);
    // A digit is what is left of a phase without the signs of itself and, a quarter of it, of the
    // place below.
    const double spread = noise.rotation_rounding + switched + (rounded + switched) / 16 +
                          2 * rotation + errors.variance * square(unit) * 17 / 16;
    // What is left is a quarter of a turn or none, off by a sixteenth at most.
    most =
        std::max(most, lattice::failure_log2(two_n / 16 - 2 - 1.25 * errors.offset * unit, spread));
  }
  return most;
}

double digit_failure_log2(const binfhe::Parameters& p, double noise) {
  double most = -HUGE_VAL;
  for (const binfhe::Transform transform : {binfhe::Transform::ntt, binfhe::Transform::fft})
    most = std::max(most,
                    binfhe::lut_failure_log2(p, p.noise(transform), {4, true}, {false, 4}, noise));
  return most;
}

}  // namespace whorl::bridges
