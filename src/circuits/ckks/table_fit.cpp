#include "circuits/ckks/table_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>

namespace whorl::ckks {

namespace {

/// Roundings of doubles in a coefficient, as a part of the largest entry. What is smaller is 0.
constexpr double of_rounding = 0x1p-46;

/// Those that are not 0, or none.
std::vector<double> without_roundings(std::vector<double> c, double least) {
  bool any = false;
  for (double& each : c) {
    if (std::abs(each) <= least) each = 0;
    any = any || each != 0;
  }
  return any ? c : std::vector<double>{};
}

}  // namespace

double TablePolynomial::operator()(double t) const {
  double sum = constant;
  for (std::size_t n = 1; n < cosines.size(); ++n)
    sum += cosines[n] * std::cos(2 * std::numbers::pi * static_cast<double>(n) * t);
  for (std::size_t n = 1; n < sines.size(); ++n)
    sum += sines[n] * std::sin(2 * std::numbers::pi * static_cast<double>(n) * t);
  return sum;
}

TablePolynomial table_polynomial(std::span<const std::int64_t> entries) {
  const std::size_t M = entries.size();
  TablePolynomial out;
  const double sum =
      static_cast<double>(std::accumulate(entries.begin(), entries.end(), std::int64_t{0}));
  out.constant = sum / static_cast<double>(M);
  std::vector<double> cosines(M), sines(M);
  double largest = 0;
  for (const std::int64_t& entry : entries)
    largest = std::max(largest, std::abs(static_cast<double>(entry) - out.constant));
  for (std::size_t n = 1; n < M; ++n) {
    const auto k = static_cast<double>(n), all = static_cast<double>(M);
    for (std::size_t m = 0; m < M / 2; ++m) {
      const double angle = 2 * std::numbers::pi * k * (static_cast<double>(m) + 0.5) / all,
                   first = static_cast<double>(entries[m]) - out.constant,
                   last = static_cast<double>(entries[M - 1 - m]) - out.constant;
      cosines[n] += (first + last) * std::cos(angle);
      sines[n] += (first - last) * std::sin(angle);
    }
    // The series of the points, times Fejér's weight.
    const double weight = 2 / all * (1 - k / all);
    cosines[n] *= weight;
    sines[n] *= weight;
  }
  const double least = of_rounding * largest;
  out.cosines = without_roundings(std::move(cosines), least);
  out.sines = without_roundings(std::move(sines), least);
  out.lost = 2 * static_cast<double>(M) * least;
  return out;
}

TableSlopes slopes_of(const TablePolynomial& table, std::size_t entries) {
  const double step = 2 * std::numbers::pi / static_cast<double>(entries);
  TableSlopes out;
  for (std::size_t n = 1; n < entries; ++n) {
    const auto k = static_cast<double>(n);
    const double a = n < table.cosines.size() ? std::abs(table.cosines[n]) : 0,
                 b = n < table.sines.size() ? std::abs(table.sines[n]) : 0;
    const auto add = [&](BitSlopes& to, double size) {
      to.curvature += k * k * size / 2 * step * step;
      to.root += k * size;
      to.sum += size;
    };
    add(out.all, std::hypot(a, b));
    add(out.cosines, a);
    add(out.sines, b);
  }
  return out;
}

}  // namespace whorl::ckks
