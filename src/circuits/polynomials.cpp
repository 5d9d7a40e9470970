#include "whorl/circuits/polynomials.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string>

#include "math/text.h"
#include "schemes/ckks/access.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

constexpr unsigned most_degree = 4095;

unsigned degree_of(const std::vector<double>& c) {
  for (std::size_t i = c.size(); i-- > 1;)
    if (c[i] != 0) return static_cast<unsigned>(i);
  return 0;
}

/// Powers of x, or T_k(x), made as they are asked for; and what is made of them. Of level L - d is
/// said that it has depth d.
class Evaluation {
 public:
  Evaluation(const Server& server, Array x, const Polynomial& p)
      : server_(server),
        chebyshev_(p.basis == Polynomial::Basis::chebyshev),
        level_(x.info().level),
        baby_(1u << (std::bit_width(p.degree()) + 1) / 2) {
    powers_.emplace(1, std::move(x));
  }

  /// The polynomial, of that depth, which is at least bit_width(degree).
  Array run(const std::vector<double>& coefficients, unsigned depth) {
    Sum sum;
    add(coefficients, depth, sum);
    if (sum.products || !sum.arrays.empty()) return finished(sum, depth);
    // A constant: nothing of x is left but its shape.
    return server_.add_scalar(server_.multiply_scalar(at(1, depth - 1), 0.0), sum.constant);
  }

 private:
  /// x^(a+b), or T_a·T_b of the halves of k.
  const Array& product(unsigned k) {
    if (const auto found = products_.find(k); found != products_.end()) return found->second;
    const unsigned a = (k + 1) / 2, b = k / 2;
    const Array first = power(a), second = power(b);
    Array made = a == b ? server_.square(first) : server_.multiply(first, second);
    if (chebyshev_) made = server_.with_bound(made, 1);
    return products_.emplace(k, std::move(made)).first->second;
  }
  const Array& power(unsigned k) {
    if (const auto found = powers_.find(k); found != powers_.end()) return found->second;
    if (!chebyshev_) return powers_.emplace(k, product(k)).first->second;
    // T_(a+b) = 2·T_a·T_b - T_(a-b), and no T_k exceeds 1 on the interval.
    const auto doubled_less_1 = [&](const Array& a) {
      return Access::multiply_add(server_, a, 2, -1);
    };
    // Twice a square, doubled before it is rounded: the error of T_2 is multiplied by up to n²/4 in
    // T_n, for x near 0.
    const auto of_square = [&](const Array& a) {
      return server_.add_scalar(server_.multiply(server_.add(a, a), a), -1);
    };
    Array made = k % 2 == 0 && !products_.contains(k) ? of_square(power(k / 2))
                 : k % 2 == 0                         ? doubled_less_1(product(k))
                 : k == 3 ? server_.multiply(doubled_less_1(power(2)), power(1))
                          : server_.sub(server_.multiply_integer(product(k), 2), power(1));
    return powers_.emplace(k, server_.with_bound(made, 1)).first->second;
  }
  Array at(unsigned k, unsigned depth) { return server_.lower(power(k), level_ - depth); }

  /// Terms at one level, at the square of its scale: a sum of products of ciphertexts, which are
  /// neither relinearised nor rescaled, and products with numbers.
  struct Sum {
    std::optional<Array> products;
    std::vector<Array> arrays;
    std::vector<double> weights;
    double constant = 0;
  };
  /// Relinearised and rescaled once for all of them.
  Array finished(const Sum& sum, unsigned depth) {
    const unsigned level = level_ - depth + 1;
    if (!sum.products)
      return Access::linear_combination(server_, sum.arrays, sum.weights, sum.constant, level,
                                        true);
    if (sum.arrays.empty())
      return with_constant(Access::relinearised_and_rescaled(server_, *sum.products), sum.constant);
    return Access::relinearised_and_rescaled(
        server_,
        server_.add(*sum.products, Access::linear_combination(server_, sum.arrays, sum.weights,
                                                              sum.constant, level, false)));
  }
  Array with_constant(const Array& a, double constant) {
    return constant == 0 ? a : server_.add_scalar(a, constant);
  }

  /// Adds c_0 + c_1·T_1 + …. Of a T_k that is nowhere a factor the product is taken as it is:
  /// c·T_k = 2c·T_a·T_b - c·T_(a-b).
  void add_linear(std::vector<double> c, Sum& sum) {
    for (unsigned k = degree_of(c); k >= 1; --k) {
      if (c[k] == 0) continue;
      const bool raw = chebyshev_ && k > 3 && 2 * k >= baby_ && !powers_.contains(k);
      sum.arrays.push_back(raw ? product(k) : power(k));
      sum.weights.push_back(raw ? 2 * c[k] : c[k]);
      if (raw) c[k % 2] -= c[k];
    }
    sum.constant += c.empty() ? 0 : c[0];
  }
  /// Adds the polynomial, of that depth.
  void add(const std::vector<double>& c, unsigned depth, Sum& sum) {
    const unsigned degree = degree_of(c);
    const auto depth_of_power = static_cast<unsigned>(std::bit_width(std::max(degree, 1u) - 1));
    if (degree <= 1 || (degree < baby_ && depth > depth_of_power)) return add_linear(c, sum);
    // c = q·T_n + r, n the largest power of two that is at most the degree.
    const unsigned n = std::bit_floor(degree);
    std::vector<double> q(c.begin() + n, c.begin() + degree + 1), r(c.begin(), c.begin() + n);
    if (chebyshev_)
      for (unsigned i = 1; i < q.size(); ++i) {
        r[n - i] -= q[i];  // T_(n+i) = 2·T_n·T_i - T_(n-i)
        q[i] *= 2;
      }
    if (degree_of(q) == 0) {
      sum.arrays.push_back(power(n));
      sum.weights.push_back(q[0]);
    } else {
      const Array product = server_.multiply(run(q, depth - 1), at(n, depth - 1), {false, false});
      sum.products = sum.products ? server_.add(*sum.products, product) : product;
    }
    add(r, depth, sum);
  }

  const Server& server_;
  bool chebyshev_;
  unsigned level_, baby_;
  std::map<unsigned, Array> powers_, products_;
};

}  // namespace

unsigned Polynomial::degree() const { return degree_of(coefficients); }

unsigned Polynomial::depth() const {
  const bool mapped = basis == Basis::chebyshev && (low != -1 || high != 1);
  return std::max(1u, static_cast<unsigned>(std::bit_width(degree()))) + (mapped ? 1 : 0);
}

double Polynomial::operator()(double x) const {
  double sum = 0;
  if (basis == Basis::monomial) {
    for (std::size_t k = coefficients.size(); k-- > 0;) sum = sum * x + coefficients[k];
    return sum;
  }
  // Clenshaw's recurrence.
  const double u = (2 * x - low - high) / (high - low);
  double before = 0;
  for (std::size_t k = coefficients.size(); k-- > 1;) {
    const double next = 2 * u * sum - before + coefficients[k];
    before = sum;
    sum = next;
  }
  return coefficients.empty() ? 0 : u * sum - before + coefficients[0];
}

Polynomial approximate(const std::function<double(double)>& f, double low, double high,
                       unsigned degree) {
  if (degree < 1 || degree > most_degree)
    throw ParameterError("degree = " + std::to_string(degree) + " is outside 1 … " +
                         std::to_string(most_degree));
  if (!(low < high) || !std::isfinite(high - low))
    throw ParameterError("the interval from " + std::to_string(low) + " to " +
                         std::to_string(high) + " is empty or not finite");
  const unsigned nodes = degree + 1;
  std::vector<double> values;
  for (unsigned j = 0; j < nodes; ++j) {
    const double u = std::cos(std::numbers::pi * (j + 0.5) / nodes);
    const double x = (low + high) / 2 + u * (high - low) / 2;
    values.push_back(f(x));
    if (!std::isfinite(values.back()))
      throw ParameterError("the function is not finite at " + std::to_string(x));
  }
  Polynomial p{{}, Polynomial::Basis::chebyshev, low, high};
  for (unsigned k = 0; k < nodes; ++k) {
    double sum = 0;
    for (unsigned j = 0; j < nodes; ++j)
      sum += values[j] * std::cos(std::numbers::pi * k * (j + 0.5) / nodes);
    p.coefficients.push_back(sum * (k == 0 ? 1.0 : 2.0) / nodes);
  }
  return p;
}

Polynomial approximate_within(const std::function<double(double)>& f, double low, double high,
                              double error) {
  double worst = 0;
  for (unsigned degree = 1; degree <= most_degree; degree = 2 * degree + 1) {
    Polynomial p = approximate(f, low, high, degree);
    worst = 0;
    constexpr unsigned points = 4096;
    for (unsigned i = 0; i < points; ++i) {
      const double x = low + (high - low) * i / (points - 1);
      worst = std::max(worst, std::abs(p(x) - f(x)));
    }
    if (worst <= error) return p;
  }
  throw ParameterError("a polynomial of degree " + std::to_string(most_degree) +
                       " differs from the function by " + std::to_string(worst) + ", above " +
                       std::to_string(error));
}

Array evaluate(const Server& server, const Array& x, const Polynomial& p) {
  const CiphertextInfo& info = x.info();
  if (info.packing != Packing::real)
    throw EncodingError("a polynomial is evaluated at real numbers in slots only");
  const double farthest = std::max(std::abs(p.low), std::abs(p.high));
  if (std::exp2(info.bound) > farthest * (1 + 0x1p-20))
    throw EncodingError("values of up to " + math::text_of(std::exp2(info.bound)) +
                        " may lie outside the polynomial's interval from " + math::text_of(p.low) +
                        " to " + math::text_of(p.high) +
                        "; with_bound states a smaller bound that is known");
  if (p.degree() > most_degree)
    throw ParameterError("degree = " + std::to_string(p.degree()) + " is above " +
                         std::to_string(most_degree));
  if (p.depth() > info.level)
    throw NoiseError("a polynomial of degree " + std::to_string(p.degree()) + " takes " +
                     std::to_string(p.depth()) + " levels, and the ciphertext has " +
                     std::to_string(info.level));
  const unsigned depth = std::max(1u, static_cast<unsigned>(std::bit_width(p.degree())));
  Array u = server.relinearise(x);
  if (p.basis == Polynomial::Basis::monomial)
    return Evaluation(server, u, p).run(p.coefficients, depth);
  if (p.low != -1 || p.high != 1) {
    const double middle = (p.low + p.high) / 2;
    if (middle != 0) u = server.add_scalar(u, -middle);
    u = server.multiply_scalar(u, 2 / (p.high - p.low));
  }
  double sum = 0;
  for (const double c : p.coefficients) sum += std::abs(c);
  const Array value = Evaluation(server, server.with_bound(u, 1), p).run(p.coefficients, depth);
  return sum > 0 ? server.with_bound(value, sum) : value;
}

}  // namespace whorl::ckks
