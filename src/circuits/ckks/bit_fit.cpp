#include "circuits/ckks/bit_fit.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include "circuits/ckks/least_squares.h"
#include "schemes/ckks/checks.h"

namespace whorl::ckks {

namespace {

using Complex = std::complex<double>;
constexpr Real pi = std::numbers::pi_v<Real>;

/// No sum of weight + 1 numbers of at most 1/2 is larger.
double largest_angle(const BootstrapLiteral& shape) {
  return std::min((shape.weight + 1) / 2.0, static_cast<double>(shape.range));
}

/// The coefficients of cos(ωu), of even powers, or of sin(ωu), of odd ones.
void fit_part(const BootstrapLiteral& shape, bool odd, std::vector<double>& out) {
  const Real omega = 2 * pi * shape.range / std::exp2(static_cast<Real>(shape.doublings));
  const std::size_t columns = (shape.degree - (odd ? 1 : 0)) / 2 + 1;
  const Real most = static_cast<Real>(largest_angle(shape)) / shape.range;
  // Four points for each of the degree, close together at the ends.
  const std::size_t points = 4 * (shape.degree + 1);
  std::vector<std::vector<Real>> rows;
  for (std::size_t i = 0; i < points; ++i) {
    const Real u = most * std::sin(pi / 2 * (static_cast<Real>(i) + Real{0.5}) / points);
    const Real theta = std::acos(u);
    std::vector<Real> row(columns + 1);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto k = static_cast<Real>(2 * j + (odd ? 1 : 0));
      row[j] = std::cos(k * theta) * (j % 2 == 0 ? 1 : -1);  // i^k, of an odd one less i
    }
    row[columns] = odd ? std::sin(omega * u) : std::cos(omega * u);
    rows.push_back(std::move(row));
  }
  const std::vector<Real> found = least_squares(std::move(rows), columns);
  for (std::size_t j = 0; j < columns; ++j)
    out[2 * j + (odd ? 1 : 0)] = static_cast<double>(found[j]);
}

}  // namespace

Polynomial exponential_polynomial(const BootstrapLiteral& shape) {
  Polynomial out{std::vector<double>(shape.degree + 1), Polynomial::Basis::chebyshev, -1, 1};
  fit_part(shape, false, out.coefficients);
  fit_part(shape, true, out.coefficients);
  return out;
}

double error_of_exponential(const BootstrapLiteral& shape, const Polynomial& exponential) {
  const double most = largest_angle(shape);
  const auto steps = static_cast<int>(256 * most);
  double worst = 0;
  for (int i = -steps; i <= steps; ++i) {
    const double t = most * i / steps, theta = std::acos(t / shape.range);
    Complex z = 0, turn = 1;
    for (std::size_t k = 0; k < exponential.coefficients.size(); ++k, turn *= Complex(0, 1))
      z += turn * (exponential.coefficients[k] * std::cos(static_cast<double>(k) * theta));
    for (unsigned d = 0; d < shape.doublings; ++d) z *= z;
    worst = std::max(worst, std::abs(z - std::polar(1.0, 2 * std::numbers::pi * t)));
  }
  return worst;
}

BitPolynomials bit_polynomials(unsigned bits) {
  const unsigned M = 1u << bits;
  BitPolynomials out;
  for (unsigned j = 0; j < bits; ++j) {
    std::vector<double> c(M);
    for (unsigned n = M >> (j + 1); n < M; n += M >> j) {
      // The sine series of 1/2 - bit at the points, times Fejér's weight.
      double sum = 0;
      for (unsigned m = 0; m < M; ++m)
        sum += (0.5 - (m >> j & 1)) * std::sin(2 * std::numbers::pi * n * (m + 0.5) / M);
      c[n] = 2.0 / M * sum * (1 - static_cast<double>(n) / M);
    }
    out.push_back(std::move(c));
  }
  return out;
}

// The derivative of what the polynomial gives is cos(2πt)^K, K = 2^bits - 1: a sum of odd harmonics
// with binomial coefficients, of which each is divided by its number.
std::vector<double> step_polynomial(unsigned bits) {
  const unsigned K = (1u << bits) - 1;
  std::vector<double> c(K + 1);
  double binomial = 1, at_quarter = 0;
  for (unsigned j = 0; j <= K / 2; ++j) {
    const unsigned n = K - 2 * j;
    c[n] = binomial / n;
    at_quarter += n % 4 == 1 ? c[n] : -c[n];
    binomial *= static_cast<double>(K - j) / (j + 1);
  }
  for (double& each : c) each *= 0.5 / at_quarter;
  return c;
}

double error_of_step(unsigned bits, double off) {
  if (off >= 0.5) return 1;
  const std::vector<double> c = step_polynomial(bits);
  double sum = 0;
  for (std::size_t n = 1; n < c.size(); n += 2)
    sum += c[n] * std::sin(std::numbers::pi * static_cast<double>(n) * (0.5 - off));
  return std::max(0.0, 0.5 - sum);
}

namespace {

BitSlopes computed_slopes(unsigned bits, const BitPolynomials& polynomials) {
  const double step = 2 * std::numbers::pi / (1u << bits);
  BitSlopes out;
  for (const auto& polynomial : polynomials) {
    double second = 0, first = 0, sum = 0;
    for (std::size_t n = 1; n < polynomial.size(); ++n) {
      const auto k = static_cast<double>(n);
      second += k * k * std::abs(polynomial[n]);
      first += k * std::abs(polynomial[n]);
      sum += std::abs(polynomial[n]);
    }
    out.curvature = std::max(out.curvature, second / 2 * step * step);
    out.root = std::max(out.root, first);
    out.sum = std::max(out.sum, sum);
  }
  return out;
}

}  // namespace

const BitSlopes& slopes_of_bits(unsigned bits) {
  static const std::vector<BitSlopes> all = [] {
    std::vector<BitSlopes> out;
    for (unsigned each = 0; each <= most_bits; ++each)
      out.push_back(computed_slopes(each, bit_polynomials(each)));
    return out;
  }();
  return all.at(bits);
}

BitSlopes slopes_of_step(unsigned bits) { return computed_slopes(bits, {step_polynomial(bits)}); }

}  // namespace whorl::ckks
