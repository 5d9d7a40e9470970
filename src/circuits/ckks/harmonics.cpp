#include "circuits/ckks/harmonics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"

namespace whorl::ckks {

namespace {

/// The exponent n = a + 4b + 16c: a below `low`, and b below `low` too.
constexpr unsigned low = 4, high = low * low;

unsigned degree_of(const std::vector<double>& c) {
  for (std::size_t n = c.size(); n-- > 1;)
    if (c[n] != 0) return static_cast<unsigned>(n);
  return 0;
}

class Harmonics {
 public:
  Harmonics(const Server& server, const Array& z, unsigned degree)
      : server_(server), level_(z.info().level), end_(level_ - depth_of_harmonics(degree) + 1) {
    powers_.emplace(1, z);
  }

  /// At level end_ - 1.
  Array sum(const std::vector<double>& c) {
    const auto at = [&](unsigned n) { return n < c.size() ? c[n] : 0.0; };
    std::vector<std::pair<Array, Array>> products;
    std::vector<Array> arrays;
    std::vector<double> weights;
    for (unsigned first = 0; first < c.size(); first += high)
      for (unsigned y = first; y < first + low; ++y) {
        const std::array f{at(y), at(y + low), at(y + 2 * low), at(y + 3 * low)};
        const bool is_constant = f[1] == 0 && f[2] == 0 && f[3] == 0;
        if (!is_constant && y != 0) {
          products.emplace_back(factor(f), lowered(y, end_));
        } else if (!is_constant) {
          arrays.push_back(factor({0, f[1], f[2], f[3]}));
          weights.push_back(1);
        } else if (y != 0 && f[0] != 0) {
          arrays.push_back(lowered(y, end_));
          weights.push_back(f[0]);
        }
      }
    if (products.empty()) return state_.linear_combination(arrays, weights, at(0), end_, true);
    std::optional<Array> all;
    if (!arrays.empty()) all = state_.linear_combination(arrays, weights, at(0), end_, false);
    for (const auto& [f, y] : products) all = state_.product_plus(f, y, all ? &*all : nullptr);
    const Array value = state_.relinearised_and_rescaled(*all);
    return arrays.empty() && at(0) != 0 ? server_.add_scalar(value, at(0)) : value;
  }

  /// The same of rows for the powers from z on.
  Array sum(std::span<const std::vector<std::complex<double>>> rows, std::size_t length) {
    std::vector<Array> powers;
    for (unsigned n = 1; n <= rows.size(); ++n) powers.push_back(lowered(n, end_));
    return state_.linear_combination(powers, rows, length, end_, true);
  }

 private:
  /// z^n: a square, or the product with the largest power of two below it.
  const Array& power(unsigned n) {
    if (const auto found = powers_.find(n); found != powers_.end()) return found->second;
    const unsigned most = std::bit_floor(n);
    if (n == most) return powers_.emplace(n, server_.square(power(n / 2))).first->second;
    const Array &a = power(most), &b = power(n - most);
    const unsigned level = std::min(a.info().level, b.info().level);
    return powers_.emplace(n, server_.multiply(lowered(most, level), lowered(n - most, level)))
        .first->second;
  }
  const Array& lowered(unsigned n, unsigned level) {
    const Array& given = power(n);
    if (given.info().level == level) return given;
    const auto [found, is_new] = lowered_.try_emplace({n, level});
    if (is_new) found->second = server_.lower(given, level);
    return found->second;
  }
  /// f_0 + f_1·z^4 + f_2·z^8 + f_3·z^12, at level end_.
  Array factor(const std::array<double, low>& f) {
    std::vector<Array> arrays;
    std::vector<double> weights;
    for (unsigned b = 1; b < low; ++b)
      if (f[b] != 0) {
        arrays.push_back(lowered(low * b, end_ + 1));
        weights.push_back(f[b]);
      }
    return state_.linear_combination(arrays, weights, f[0], end_ + 1, true);
  }

  const Server& server_;
  const Access::State& state_ = Access::of(server_);
  unsigned level_, end_;
  std::map<unsigned, Array> powers_;
  std::map<std::pair<unsigned, unsigned>, Array> lowered_;
};

}  // namespace

std::vector<Array> evaluate_harmonics(const Server& server, const Array& z,
                                      std::span<const std::vector<double>> polynomials) {
  unsigned degree = 1;
  for (const std::vector<double>& c : polynomials) degree = std::max(degree, degree_of(c));
  Harmonics harmonics(server, z, degree);
  std::vector<Array> out;
  for (const std::vector<double>& c : polynomials) out.push_back(harmonics.sum(c));
  return out;
}

Array evaluate_rows(const Server& server, const Array& z,
                    std::span<const std::vector<std::complex<double>>> rows, std::size_t length) {
  return Harmonics(server, z, static_cast<unsigned>(rows.size())).sum(rows, length);
}

}  // namespace whorl::ckks
