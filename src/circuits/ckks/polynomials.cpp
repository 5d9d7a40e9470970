#include "circuits/ckks/polynomials.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <complex>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <valarray>

#include "math/memory.h"
#include "math/text.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

constexpr unsigned most_degree = 4095;

/// Coefficients of one index: rows of a value for each slot.
using Rows = std::valarray<double>;

bool is_zero(double c) { return c == 0; }
bool is_zero(const Rows& c) {
  return std::ranges::all_of(c, [](double each) { return each == 0; });
}

template <class Coefficient>
unsigned degree_of(const std::vector<Coefficient>& c) {
  for (std::size_t i = c.size(); i-- > 1;)
    if (!is_zero(c[i])) return static_cast<unsigned>(i);
  return 0;
}

unsigned depth_of(unsigned degree) { return static_cast<unsigned>(std::bit_width(degree)); }

/// Whether all its powers are odd, or all are even.
template <class Coefficient>
bool has_parity(const std::vector<Coefficient>& c) {
  const auto has = [&](std::size_t first) {
    for (std::size_t k = first; k < c.size(); k += 2)
      if (!is_zero(c[k])) return true;
    return false;
  };
  return !has(0) || !has(1);
}

/// Powers of x, or T_k(x), made as they are asked for; and what is made of them. Of level L - d is
/// said that it has depth d. A coefficient is a number, or Rows.
template <class Coefficient>
class Evaluation {
 public:
  using Coefficients = std::vector<Coefficient>;
  /// Powers of an imaginary argument i·u are i^k·T_k(u), and coefficients are real:
  /// i^(a+b)·T_(a+b) = 2·(i^a·T_a)·(i^b·T_b) - (-1)^b·i^(a-b)·T_(a-b).
  enum class Argument { real, imaginary };
  static constexpr bool in_rows = std::is_same_v<Coefficient, Rows>;

  /// It serves polynomials like this one; rows have that length. A block of twice the baby steps
  /// costs a rescaling and a product, which are cheaper than the relinearisations of more baby
  /// steps. Of a polynomial that has a parity a block has half the powers.
  Evaluation(const Server& server, Array x, Polynomial::Basis basis, const Coefficients& like,
             std::size_t length, Argument argument = Argument::real)
      : server_(server),
        chebyshev_(basis == Polynomial::Basis::chebyshev),
        imaginary_(argument == Argument::imaginary),
        level_(x.info().level),
        baby_((has_parity(like) ? 2u : 1u) << std::bit_width(degree_of(like)) / 2),
        length_(length) {
    powers_.emplace(1, std::move(x));
  }

  /// Takes f·x in place of x in odd powers, for a polynomial of these alone.
  void turn(const Turned& turned) {
    power(2);
    turned_ = turned;
    powers_.insert_or_assign(1, turned(1));
  }

  /// The polynomial, of that depth, which is at least bit_width(degree). Of a constant nothing of x
  /// is left but its shape.
  Array run(const Coefficients& coefficients, unsigned depth) {
    if (depth == 0) return plus(server_.multiply_integer(power(1), 0), coefficients[0]);
    if constexpr (!in_rows)
      if (turned_ && depth == 1) return turned_(coefficients[1]);
    Sum sum{{}, {}, {}, nothing(coefficients[0])};
    add(coefficients, depth, sum);
    return finished(sum, depth);
  }

 private:
  /// a + b = k: halves. Of an odd k the even one is a power of two where odd powers are turned,
  /// since others would be made of odd ones.
  std::pair<unsigned, unsigned> parts_of(unsigned k) const {
    const unsigned half = k / 2, even = half + half % 2;
    if (!turned_ || k % 2 == 0 || std::has_single_bit(even)) return {k - half, half};
    return {std::bit_floor(k), k - std::bit_floor(k)};
  }
  /// x^k, or T_a·T_b of its parts.
  const Array& product(unsigned k) {
    if (const auto found = products_.find(k); found != products_.end()) return found->second;
    const auto [a, b] = parts_of(k);
    Array made = a == b ? server_.square(power(a)) : meeting(power(a), b);
    if (chebyshev_) made = server_.with_bound(made, 1);
    return products_.emplace(k, std::move(made)).first->second;
  }
  /// a·x^k, or a·T_k, where `a` lies at the lower level. The other operand need not come to its
  /// scale: nothing is added to the product but with weights.
  Array meeting(const Array& a, unsigned k) {
    const unsigned level = a.info().level;
    return server_.multiply(a, state_.restricted(reaching({k, false}, level), level));
  }
  const Array& power(unsigned k) {
    if (const auto found = powers_.find(k); found != powers_.end()) return found->second;
    if (!chebyshev_) return powers_.emplace(k, product(k)).first->second;
    // T_(a+b) = 2·T_a·T_b - T_(a-b), and no T_k exceeds 1 on the interval.
    Array made;
    if (k == 3)  // T_3 = (2·T_2 - 1)·T_1
      made = meeting(state_.multiply_add(power(2), 2, -sign(1)), 1);
    else if (k % 2 == 1)
      made = state_.add(server_.multiply_integer(product(k), 2), power(difference(k)),
                        sign(parts_of(k).second) > 0);
    else if (products_.contains(k) || sign(k / 2) < 0)
      made = state_.multiply_add(product(k), 2, -sign(k / 2));
    else  // doubled before it is rounded: T_n has up to n²/4 times the error of T_2, for x near 0
      made = state_.double_angle(power(k / 2), Doubling::of_residues);
    return powers_.emplace(k, server_.with_bound(made, 1)).first->second;
  }
  /// What T_(a-b) is multiplied by in 2·T_a·T_b - T_(a-b).
  double sign(unsigned b) const { return imaginary_ && b % 2 == 1 ? -1 : 1; }
  /// The k' of T_k' = 2·T_a·T_b - T_k.
  unsigned difference(unsigned k) const {
    const auto [a, b] = parts_of(k);
    return a - b;
  }
  const Array& at(unsigned k, unsigned depth) {
    const auto [found, is_new] = lowered_.try_emplace({k, depth});
    if (is_new) found->second = server_.lower(power(k), level_ - depth);
    return found->second;
  }

  /// power(k), or product(k) as it is.
  struct Term {
    unsigned k;
    bool raw;
    auto operator<=>(const Term&) const = default;
  };
  /// It with the primes of that level; divided once for all sums there.
  const Array& reaching(const Term& term, unsigned level) {
    const auto [found, is_new] = reaching_.try_emplace({term, level});
    if (is_new) found->second = state_.reaching(term.raw ? product(term.k) : power(term.k), level);
    return found->second;
  }

  /// Terms at one level, at the square of its scale: products of ciphertexts, which are neither
  /// relinearised nor rescaled, and products with numbers.
  struct Sum {
    std::vector<std::pair<Array, Array>> products;
    std::vector<Term> terms;
    Coefficients weights;
    Coefficient constant;
  };
  /// Relinearised and rescaled once for all of them.
  Array finished(const Sum& sum, unsigned depth) {
    const unsigned level = level_ - depth + 1;
    if (sum.products.empty()) return combined(sum, level, true);
    std::optional<Array> all;
    if (!sum.terms.empty()) all = combined(sum, level, false);
    for (const auto& [a, b] : sum.products) all = state_.product_plus(a, b, all ? &*all : nullptr);
    const Array value = state_.relinearised_and_rescaled(*all);
    return in_rows || sum.terms.empty() ? with_constant(value, sum.constant) : value;
  }
  /// The arrays times their weights, with the constant; of rows it is added to what was rescaled
  /// only, since plaintexts do not reach the square of a scale.
  Array combined(const Sum& sum, unsigned level, bool rescale) {
    std::vector<Array> arrays;
    for (const Term& term : sum.terms) arrays.push_back(reaching(term, level));
    if constexpr (in_rows) {
      std::vector<std::vector<std::complex<double>>> weights;
      for (const Rows& each : sum.weights) weights.emplace_back(std::begin(each), std::end(each));
      const Array value = state_.linear_combination(arrays, weights, length_, level, rescale);
      return rescale ? with_constant(value, sum.constant) : value;
    } else {
      return state_.linear_combination(arrays, sum.weights, sum.constant, level, rescale);
    }
  }
  Array with_constant(const Array& a, const Coefficient& constant) {
    return is_zero(constant) ? a : plus(a, constant);
  }
  Array plus(const Array& a, const Coefficient& constant) {
    if constexpr (in_rows) {
      const std::vector<std::complex<double>> values(std::begin(constant), std::end(constant));
      return server_.add_plain(a, values, length_);
    } else {
      return server_.add_scalar(a, constant);
    }
  }
  static Coefficient nothing(const Coefficient& like) {
    if constexpr (in_rows)
      return Rows(0.0, like.size());
    else
      return 0;
  }

  /// Adds c_0 + c_1·T_1 + …. Of a T_k that is nowhere a factor the product is taken as it is:
  /// c·T_k = 2c·T_a·T_b - c·T_(a-b), where a - b is below k.
  void add_linear(Coefficients c, Sum& sum) {
    for (unsigned k = degree_of(c); k >= 1; --k) {
      if (is_zero(c[k])) continue;
      const bool raw = chebyshev_ && k > 3 && 2 * k >= baby_ && !powers_.contains(k);
      sum.terms.push_back({k, raw});
      if (raw) c[difference(k)] -= sign(parts_of(k).second) * c[k];
      sum.weights.push_back(c[k]);
      if (raw) sum.weights.back() *= 2;
    }
    sum.constant += c[0];
  }
  /// Adds the polynomial, of that depth.
  void add(const Coefficients& c, unsigned depth, Sum& sum) {
    const unsigned degree = degree_of(c);
    const auto depth_of_power = static_cast<unsigned>(std::bit_width(std::max(degree, 1u) - 1));
    if (degree <= 1 || (degree < baby_ && depth > depth_of_power)) return add_linear(c, sum);
    // c = q·T_n + r, n the largest power of two that is at most the degree.
    const unsigned n = std::bit_floor(degree);
    Coefficients q(c.begin() + n, c.begin() + degree + 1), r(c.begin(), c.begin() + n);
    if (chebyshev_)
      for (unsigned i = 1; i < q.size(); ++i) {
        r[n - i] -= sign(i) * q[i];  // T_(n+i) = 2·T_n·T_i - T_(n-i)
        q[i] *= 2;
      }
    if (degree_of(q) == 0) {
      sum.terms.push_back({n, false});
      sum.weights.push_back(q[0]);
    } else {
      const Array factor = run(q, depth - 1);
      sum.products.emplace_back(factor, at(n, depth - 1));
    }
    add(r, depth, sum);
  }

  const Server& server_;
  const Access::State& state_ = Access::of(server_);
  bool chebyshev_, imaginary_;
  unsigned level_, baby_;
  std::size_t length_;
  Turned turned_;
  std::map<unsigned, Array> powers_, products_;
  std::map<std::pair<unsigned, unsigned>, Array> lowered_;
  std::map<std::pair<Term, unsigned>, Array> reaching_;
};

/// Whether the interval is mapped to -1 … 1 first, which takes a level.
bool is_mapped(const Polynomial& p, unsigned degree) {
  return degree > 0 && p.basis == Polynomial::Basis::chebyshev && (p.low != -1 || p.high != 1);
}

/// EncodingError unless all values lie in the interval of the polynomial, but for roundings of the
/// bounds: outside it Chebyshev's powers grow as cosh(n·sqrt(2·d)), which for a distance of d =
/// 2^-32 of half the interval and n = 4,095 is 1.004.
void check_interval(const CiphertextInfo& info, const Polynomial& p) {
  const Bounds known = info.bounds();
  const double slack =
      0x1p-33 * (p.high - p.low) + 0x1p-50 * std::max(std::abs(p.low), std::abs(p.high));
  if (known.low >= p.low - slack && known.high <= p.high + slack) return;
  throw EncodingError(
      "values between " + math::text_of(known.low) + " and " + math::text_of(known.high) +
      " may lie outside the polynomial's interval from " + math::text_of(p.low) + " to " +
      math::text_of(p.high) +
      ": give encrypt a lower and an upper bound, state by with_bound the ones that "
      "you know, or take a polynomial for a larger interval");
}

/// NoiseError if a polynomial's result is all error since its argument may lie outside the interval
/// by its own error: no factor that makes the result smaller may hide that. By Markov's inequality
/// |p'| is at most n^2·max|p| over half the interval; powers alone grow by n.
Array readable(const Server& server, const CiphertextInfo& argument, const Polynomial& p,
               unsigned degree, Array value) {
  const double n = degree;
  const double steepness = p.basis == Polynomial::Basis::chebyshev ? n * n : n;
  const double deviations = 8 * std::exp2(argument.error);  // those that check_decrypts counts
  if (steepness * deviations * 2 > p.high - p.low)
    Access::of(server).account.check_decrypts(
        value.info(),
        "the polynomial makes the error of its argument too large: state a smaller error of the "
        "argument by with_error if you know one, or take a larger scale_bits, or values that are "
        "larger beside their error");
  return value;
}

/// Polynomials of a basis and interval as of `like`. `ends` are those of all of them.
template <class Coefficient>
Array evaluated(const Server& server, const Array& x, const Polynomial& like,
                const std::vector<Coefficient>& coefficients, std::size_t length,
                const Bounds& ends) {
  const CiphertextInfo& info = x.info();
  if (info.packing != Packing::real)
    throw EncodingError("a polynomial is evaluated at real numbers in slots only");
  check_interval(info, like);
  const unsigned degree = degree_of(coefficients);
  const unsigned depth = depth_of(degree), levels = depth + (is_mapped(like, degree) ? 1 : 0);
  if (levels > info.level)
    throw NoiseError("a polynomial of degree " + std::to_string(degree) + " takes " +
                     math::counted(levels, "level") + ", and the ciphertext has " +
                     std::to_string(info.level) + more_levels());
  const double due = server.parameters().scale(info.level);
  if (degree > 0 && info.scale > 0x1p16 * due)
    throw EncodingError("a polynomial's argument has scale 2^" +
                        math::text_of(std::log2(info.scale)) + " at level " +
                        std::to_string(info.level) + ", where 2^" + math::text_of(std::log2(due)) +
                        " is due: rescale products first");
  Array u = server.relinearise(x);
  if (degree == 0 || like.basis == Polynomial::Basis::monomial) {
    Array value = Evaluation<Coefficient>(server, u, like.basis, coefficients, length)
                      .run(coefficients, depth);
    return readable(server, info, like, degree, std::move(value));
  }
  if (is_mapped(like, degree)) {
    const double middle = (like.low + like.high) / 2;
    if (middle != 0) u = server.add_scalar(u, -middle);
    // An integer is exact, and leaves a number that a plaintext holds.
    const double by = 2 / (like.high - like.low), whole = std::floor(std::clamp(by, 1.0, 0x1p62));
    if (whole > 1) u = server.multiply_integer(u, static_cast<std::int64_t>(whole));
    u = server.multiply_scalar(u, by / whole);
  }
  const Array value =
      Evaluation<Coefficient>(server, server.with_bound(u, 1), like.basis, coefficients, length)
          .run(coefficients, depth);
  return readable(server, info, like, degree, Access::of(server).narrowed(value, ends));
}

void check_degree(unsigned degree) {
  if (degree > most_degree)
    throw ParameterError("degree = " + std::to_string(degree) + " is above " +
                         std::to_string(most_degree));
}

/// Returns between which numbers values lie: no T_k exceeds 1 on the interval.
Bounds ends_of(const Polynomial& p) {
  const double constant = p.coefficients.empty() ? 0 : p.coefficients[0];
  double sum = 0;
  for (std::size_t k = 1; k < p.coefficients.size(); ++k) sum += std::abs(p.coefficients[k]);
  return {constant - sum, constant + sum};
}

void check(const PolynomialVector& v, const CiphertextInfo& x) {
  if (v.polynomials.empty()) throw ParameterError("there is no polynomial to evaluate");
  check_degree(v.degree());
  const std::size_t size = v.mapping.size(), length = v.length == 0 ? size : v.length;
  if (size == 0 || size % length != 0)
    throw ShapeError("mapping: " + std::to_string(size) + " indices are not rows of " +
                     std::to_string(length));
  Account::check_lengths(x.length, length);
  if (const std::size_t rows = size / length; rows != 1 && x.count != 1 && rows != x.count)
    throw ShapeError("mapping: " + std::to_string(rows) + " rows meet " + std::to_string(x.count) +
                     " ciphertexts; there must be one row, or a row for each");
  const Polynomial& first = v.polynomials[0];
  for (const Polynomial& p : v.polynomials) {
    const std::string name = "polynomial " + std::to_string(&p - v.polynomials.data());
    if (p.basis != first.basis || p.low != first.low || p.high != first.high)
      throw ParameterError(name + " has another basis than polynomial 0, or its interval from " +
                           math::text_of(p.low) + " to " + math::text_of(p.high) + " is not that " +
                           "from " + math::text_of(first.low) + " to " + math::text_of(first.high) +
                           "; what is evaluated together has one basis and one interval");
    for (const double c : p.coefficients)
      if (!std::isfinite(c)) throw EncodingError(name + " has a coefficient that is not finite");
  }
  const auto count = static_cast<std::int32_t>(v.polynomials.size());
  for (const std::int32_t& index : v.mapping)
    if (index < PolynomialVector::none || index >= count)
      throw ParameterError("mapping: " + std::to_string(index) + " at index " +
                           std::to_string(&index - v.mapping.data()) + " is outside 0 … " +
                           std::to_string(count - 1) + ", and is not -1 for none");
}

}  // namespace

unsigned Polynomial::degree() const { return degree_of(coefficients); }
unsigned Polynomial::depth() const {
  return depth_of(degree()) + (is_mapped(*this, degree()) ? 1 : 0);
}

unsigned PolynomialVector::degree() const {
  unsigned most = 0;
  for (const Polynomial& p : polynomials) most = std::max(most, p.degree());
  return most;
}
unsigned PolynomialVector::depth() const {
  unsigned most = 0;
  for (const Polynomial& p : polynomials) most = std::max(most, p.depth());
  return most;
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
  if (degree > most_degree)
    throw ParameterError("degree = " + std::to_string(degree) + " is outside 0 … " +
                         std::to_string(most_degree));
  if (!(low < high) || !std::isfinite(high - low))
    throw ParameterError("the interval from " + math::text_of(low) + " to " + math::text_of(high) +
                         " is empty or not finite");
  const unsigned nodes = degree + 1;
  std::vector<double> values;
  for (unsigned j = 0; j < nodes; ++j) {
    const double u = std::cos(std::numbers::pi * (j + 0.5) / nodes);
    const double x = (low + high) / 2 + u * (high - low) / 2;
    values.push_back(f(x));
    if (!std::isfinite(values.back()))
      throw ParameterError("the function is not finite at " + math::text_of(x));
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
                       " differs from the function by " + math::text_of(worst) + ", above " +
                       math::text_of(error));
}

Array evaluate(const Server& server, const Array& x, const Polynomial& p) {
  check_degree(p.degree());
  std::vector<double> coefficients = p.coefficients;
  if (coefficients.empty()) coefficients.push_back(0);
  return evaluated(server, x, p, coefficients, 0, ends_of(p));
}

Array evaluate_turned(const Server& server, const Array& x, const Turned& turned,
                      const Polynomial& p) {
  Evaluation<double> evaluation(server, server.with_bound(server.relinearise(x), 1), p.basis,
                                p.coefficients, 0);
  evaluation.turn(turned);
  return evaluation.run(p.coefficients, p.depth());
}

Array evaluate_imaginary(const Server& server, const Array& x, const Polynomial& p) {
  using Of = Evaluation<double>;
  return Of(server, server.with_bound(x, 1), p.basis, p.coefficients, 0, Of::Argument::imaginary)
      .run(p.coefficients, p.depth());
}

std::vector<double> turned_factors(const Polynomial& p) {
  const unsigned degree = p.degree();
  if (!std::has_single_bit(degree + 1)) return {1};
  const double doublings = p.basis == Polynomial::Basis::chebyshev ? depth_of(degree) - 1 : 0;
  return {1, std::exp2(doublings) * p.coefficients[degree]};
}

Array evaluate(const Server& server, const Array& x, const PolynomialVector& v) {
  check(v, x.info());
  auto coefficients = math::with_memory_for("coefficients of polynomials", [&] {
    return std::vector<Rows>(v.degree() + 1, Rows(0.0, v.mapping.size()));
  });
  for (std::size_t i = 0; i < v.mapping.size(); ++i) {
    if (v.mapping[i] == PolynomialVector::none) continue;
    const Polynomial& p = v.polynomials[static_cast<std::size_t>(v.mapping[i])];
    for (std::size_t k = 0; k < std::min(coefficients.size(), p.coefficients.size()); ++k)
      coefficients[k][i] = p.coefficients[k];
  }
  Bounds ends{0, 0};  // of values that have no polynomial
  for (const Polynomial& p : v.polynomials) {
    const Bounds each = ends_of(p);
    ends = {std::min(ends.low, each.low), std::max(ends.high, each.high)};
  }
  return evaluated(server, x, v.polynomials[0], coefficients, v.length, ends);
}

}  // namespace whorl::ckks
