#include "circuits/ckks/cosine_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "circuits/ckks/least_squares.h"

namespace whorl::ckks {

namespace {

constexpr Real pi = std::numbers::pi_v<Real>;

/// What the cosine is of u = t - 1/4. From two doublings on a quarter turn is added to its angle:
/// doubling an angle multiplies errors by 8/|sin(angle)| in three steps, and at I = 0, the most
/// frequent multiple, the angle is then near a right one. So it is -sin(speed·u), which has odd
/// powers of u only, and else cos(speed·u), which has even ones.
struct Cosine {
  bool odd;
  Real speed;

  explicit Cosine(const BootstrapLiteral& shape)
      : odd(shape.doublings >= 2), speed(2 * pi / std::exp2(static_cast<Real>(shape.doublings))) {}
  Real value(Real u) const { return odd ? -std::sin(speed * u) : std::cos(speed * u); }
  Real slope(Real u) const { return -speed * (odd ? std::cos(speed * u) : std::sin(speed * u)); }
};

/// The sum of (speed·range)^k/k!·(u/range)^k, each with its sign.
std::vector<double> taylor_cosine(const BootstrapLiteral& shape) {
  const Cosine cosine(shape);
  std::vector<double> out(shape.degree + 1);
  Real factor = 1;
  for (unsigned k = 0; k <= shape.degree; ++k) {
    if (k > 0) factor *= cosine.speed * static_cast<Real>(shape.range) / static_cast<Real>(k);
    if ((k % 2 == 1) != cosine.odd) continue;
    const bool negative = (k / 2 % 2 == 0) == cosine.odd;
    out[k] = static_cast<double>(negative ? -factor : factor);
  }
  return out;
}

enum class Powers { all, of_cosines_parity };

Polynomial fitted_cosine(const BootstrapLiteral& shape, Multiples of, Powers powers) {
  const bool all_powers = powers == Powers::all;
  const Cosine cosine(shape);
  const Real K = shape.range, r = std::exp2(static_cast<Real>(shape.log2_ratio));
  // Large multiples are rare: a fifth of the range is some standard deviations.
  const Real spread = K / 5, least = of == Multiples::likely ? 1e-4L : 1e-2L;
  const unsigned lowest = cosine.odd && !all_powers ? 1 : 0, step = all_powers ? 1 : 2;
  const std::size_t columns = (shape.degree - lowest) / step + 1;
  std::vector<std::vector<Real>> rows;
  const int range = static_cast<int>(shape.range);
  for (int I = 1 - range; I < range; ++I) {
    const Real weight = std::max(std::exp(-(I / spread) * (I / spread) / 2), least);
    const Real u = I - cosine_center, theta = std::acos(u / K);
    std::vector<Real> value(columns + 1), slope(columns + 1);
    for (std::size_t i = 0; i < columns; ++i) {
      const Real k = static_cast<Real>(step * i + lowest);
      value[i] = std::cos(k * theta) * weight * r;
      slope[i] = k * std::sin(k * theta) / std::sin(theta) / K * weight;
    }
    value[columns] = cosine.value(u) * weight * r;
    slope[columns] = cosine.slope(u) * weight;
    rows.push_back(std::move(value));
    rows.push_back(std::move(slope));
  }
  // Where there are more coefficients than conditions, the last ones stay free: they are fitted to
  // 0.
  for (std::size_t k = rows.size(); k < columns; ++k) {
    std::vector<Real> none(columns + 1);
    none[k] = 1;
    rows.push_back(std::move(none));
  }
  const std::vector<Real> x = least_squares(std::move(rows), columns);
  Polynomial out{std::vector<double>(shape.degree + 1), Polynomial::Basis::chebyshev, -1, 1};
  for (std::size_t i = 0; i < columns; ++i)
    out.coefficients[step * i + lowest] = static_cast<double>(x[i]);
  return out;
}

}  // namespace

Polynomial cosine_polynomial(const BootstrapLiteral& shape, Multiples of) {
  if (shape.series == 1) return {taylor_cosine(shape), Polynomial::Basis::monomial, -1, 1};
  // Half the powers take fewer products, and serve unless the degree is small for the range.
  Polynomial half = fitted_cosine(shape, of, Powers::of_cosines_parity),
             all = fitted_cosine(shape, of, Powers::all);
  const unsigned likely = of == Multiples::likely ? shape.range / 2 : shape.range - 1;
  return error_of_sine(shape, half, likely) <= 2 * error_of_sine(shape, all, likely) ? half : all;
}

Polynomial arcsine_polynomial(const BootstrapLiteral& shape) {
  // Binomial(2k, k)/4^k/(2k + 1) of x^(2k + 1).
  Polynomial out{std::vector<double>(shape.arcsine + 1), Polynomial::Basis::monomial, -1, 1};
  double factor = 1;
  for (unsigned k = 0; 2 * k + 1 <= shape.arcsine; ++k) {
    if (k > 0) factor *= (2.0 * k - 1) / (2.0 * k);
    out.coefficients[2 * k + 1] = factor / (2.0 * k + 1);
  }
  return out;
}

namespace {

/// What comes out for I + m/r.
double refreshed(const BootstrapLiteral& shape, const Polynomial& cosine, int I, double m) {
  const double t = I + m / std::exp2(shape.log2_ratio);
  double y = cosine((t - cosine_center) / static_cast<double>(shape.range));
  for (unsigned d = 0; d < shape.doublings; ++d) y = 2 * y * y - 1;
  if (shape.arcsine != 0) y = arcsine_polynomial(shape)(y);
  return y * shape.sine_factor();
}

}  // namespace

double error_of_sine(const BootstrapLiteral& shape, const Polynomial& cosine, unsigned most) {
  double worst = 0;
  constexpr int steps = 16;
  for (int I = -static_cast<int>(most); I <= static_cast<int>(most); ++I)
    for (int i = -steps; i <= steps; ++i) {
      const double m = static_cast<double>(i) / steps;
      worst = std::max(worst, std::abs(refreshed(shape, cosine, I, m) - m));
    }
  return worst;
}

double deviation_of_sine(const BootstrapLiteral& shape, const Polynomial& cosine) {
  // Sums of weight + 1 numbers uniform in ±1/2 are almost normal.
  const double variance = (shape.weight + 1) / 12.0;
  double sum = 0, weights = 0;
  for (int I = 1 - static_cast<int>(shape.range); I < static_cast<int>(shape.range); ++I) {
    const double weight = std::exp(-I * I / (2 * variance)), error = refreshed(shape, cosine, I, 0);
    sum += weight * error * error;
    weights += weight;
  }
  return std::sqrt(sum / weights);
}

}  // namespace whorl::ckks
