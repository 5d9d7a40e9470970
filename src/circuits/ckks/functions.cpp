// Functions of CKKS ciphertexts that are made of polynomials.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "math/text.h"
#include "schemes/ckks/server_state.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

void check_stages(const SignStages& stages) {
  if (stages.stages.empty()) throw ParameterError("there are no stages that tell a sign");
}

/// The stages with a result that is `by` times as large.
SignStages scaled(SignStages stages, double by) {
  check_stages(stages);
  for (double& c : stages.stages.back().coefficients) c *= by;
  return stages;
}

/// Whether values are brought to -1 … 1 by a division, which takes a level.
bool is_divided(const Array& x) { return x.info().bounds().most() > 1 + 0x1p-32; }

/// EncodingError for values whose sign is told, and that nobody divides by their bound.
void check_small(const char* what, const Array& x) {
  if (is_divided(x) && x.info().packing == Packing::real)
    throw EncodingError(std::string(what) + ": values of up to " +
                        math::text_of(x.info().bounds().most()) +
                        " are above 1: divide by their bound first, or state by with_bound a "
                        "smaller one that you know");
}

/// NoiseError unless x has the levels of the stages, and `more`.
void check_levels(const char* what, const SignStages& stages, unsigned more, const Array& x) {
  check_stages(stages);
  const unsigned levels = stages.depth() + more;
  if (levels > x.info().level)
    throw NoiseError(std::string(what) + " takes " + math::counted(levels, "level") +
                     ", and the ciphertext has " + std::to_string(x.info().level) + more_levels());
}

/// Points at which slopes are looked for, up to |u| = reach: Chebyshev's extrema, 16 or more for
/// each degree, and closer and closer ones to 0, where those of signs have their peaks. What lies
/// between is within a margin: for one polynomial by Ehlich and Zeller (1964), for several, one of
/// the other, as measured (1.18 for five of degree 31). Of odd polynomials one half tells all.
std::vector<double> points_of(std::span<const Polynomial> polynomials, double reach) {
  constexpr unsigned octaves = 28, each = 16;
  unsigned count = 512;
  bool odd = true;
  for (const Polynomial& p : polynomials) {
    count = std::max(count, 8 * p.degree());
    odd = odd && p.low == -p.high;
    for (std::size_t k = 0; k < p.coefficients.size(); k += 2) odd = odd && p.coefficients[k] == 0;
  }
  std::vector<double> out{0};
  for (unsigned i = 0; i < count; ++i)
    out.push_back(reach * std::cos(std::numbers::pi * i / (2 * count)));
  for (unsigned i = 0; i < octaves * each; ++i)
    out.push_back(reach * std::exp2(-static_cast<double>(i) / each));
  if (!odd)
    for (std::size_t i = out.size(); i-- > 1;) out.push_back(-out[i]);
  return out;
}
constexpr double slope_margin = 1.05, slopes_margin = 1.25;

/// The polynomial's derivative at each of `u`, which becomes its value there: the recurrences of
/// Clenshaw and of Horner, and those that follow when they are differentiated.
std::vector<double> slopes_at(const Polynomial& p, std::span<double> u) {
  std::vector<double> out(u.size());
  constexpr std::size_t together = 16;
  const bool chebyshev = p.basis == Polynomial::Basis::chebyshev;
  const double middle = chebyshev ? (p.low + p.high) / 2 : 0,
               stretch = chebyshev ? 2 / (p.high - p.low) : 1;
  for (std::size_t first = 0; first < u.size(); first += together) {
    const std::size_t count = std::min(together, u.size() - first);
    std::array<double, together> x{}, value{}, slope{}, value_before{}, slope_before{};
    for (std::size_t i = 0; i < count; ++i) x[i] = (u[first + i] - middle) * stretch;
    for (std::size_t k = p.coefficients.size(); k-- > 0;) {
      const double c = p.coefficients[k];
      // In Chebyshev's basis the last step has u in place of 2u.
      const double twice = chebyshev && k > 0 ? 2 : 1;
      for (std::size_t i = 0; i < together; ++i) {
        const double next_slope = twice * (value[i] + x[i] * slope[i]) - slope_before[i],
                     next_value = twice * x[i] * value[i] - value_before[i] + c;
        slope_before[i] = chebyshev ? slope[i] : 0;
        value_before[i] = chebyshev ? value[i] : 0;
        slope[i] = next_slope;
        value[i] = next_value;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      u[first + i] = value[i];
      out[first + i] = stretch * slope[i];
    }
  }
  return out;
}

/// The largest absolute value of a polynomial's derivative up to |u| = reach.
double slope_of(const Polynomial& p, double reach) {
  std::vector<double> u = points_of(std::span(&p, 1), reach);
  double most = 0;
  for (const double slope : slopes_at(p, u)) most = std::max(most, std::abs(slope));
  return slope_margin * most;
}

/// The same of what the stages make, and of u times the derivative at u.
struct Slopes {
  double of_sign = 0, of_product = 0;
};
Slopes slopes_of(const SignStages& stages, double reach) {
  check_stages(stages);
  const std::vector<double> u = points_of(stages.stages, reach);
  std::vector<double> y = u, slope(u.size(), slopes_margin);
  for (const Polynomial& p : stages.stages) {
    const std::vector<double> own = slopes_at(p, y);
    for (std::size_t i = 0; i < u.size(); ++i) slope[i] *= own[i];
  }
  Slopes out;
  for (std::size_t i = 0; i < u.size(); ++i) {
    out.of_sign = std::max(out.of_sign, std::abs(slope[i]));
    out.of_product = std::max(out.of_product, std::abs(u[i] * slope[i]));
  }
  return out;
}

/// How far values reach with their errors, of which check_decrypts counts eight deviations.
double reach_of(const Array& x) { return x.info().bounds().most() + 8 * std::exp2(x.info().error); }

/// x brought to -1 … 1: divided by its bound, or multiplied by an integer, which is exact and takes
/// no level. So the least |x| of which stages tell the sign is a part of the bound.
Array normalised(const Server& server, const Array& x) {
  const double most = x.info().bounds().most();
  if (is_divided(x)) return server.with_bound(server.multiply_scalar(x, 1 / most), 1);
  // What is as small as its errors has no sign to be told, and these must stay within 1.
  const double least = std::max(most, 18 * std::exp2(x.info().error));
  const double by = std::floor(std::min((1 + 0x1p-32) / least, 0x1p62));
  return by >= 2 ? server.multiply_integer(x, static_cast<std::int64_t>(by)) : x;
}

/// The stages, one after the other.
Array stages_of(const Server& server, const Array& x, const SignStages& stages) {
  check_stages(stages);
  Array y = x;
  for (const Polynomial& p : stages.stages) {
    // The bound that evaluate() states is the sum of the coefficients' absolute values. The largest
    // value of a polynomial is at most 1/cos(pi·degree/(2·points)) times that at so many of
    // Chebyshev's extrema (Ehlich, Zeller, 1964): 1.005 here, up to degree 64.
    double most = 0;
    constexpr unsigned points = 1024;
    std::vector<double> values(points + 1);
    for (unsigned i = 0; i <= points; ++i) values[i] = std::cos(std::numbers::pi * i / points);
    slopes_at(p, values);
    for (const double value : values) most = std::max(most, std::abs(value));
    if (&p != &stages.stages.back() && most > 1 + 0x1p-20)
      throw ParameterError("stage " + std::to_string(&p - stages.stages.data()) +
                           " of a sign reaches " + math::text_of(most) +
                           ", and the next one is made for values up to 1");
    // evaluate() counts the error of its argument by what Chebyshev's basis may make of it.
    const double error = slope_of(p, reach_of(y)) * std::exp2(y.info().error);
    y = Access::State::with_more_error(evaluate(server, Access::State::function_start(y), p),
                                       error);
    if (&p != &stages.stages.back())
      y = server.with_bound(y, 1);
    else if (p.degree() <= points / 16)
      y = server.with_bound(y, most / std::cos(std::numbers::pi / 32));
  }
  return y;
}

/// by·x·(sign(u) + more), of values up to `most`, which is the largest that x has; x is u times
/// the quotient of their bounds. The errors of x and u count by the slope of it all together, which
/// is far below the product of the stages' largest slopes.
Array product_with_sign(const Server& server, const Array& x, const Array& u,
                        const SignStages& stages, double by, double more, double most) {
  using State = Access::State;
  const double ratio = x.info().bounds().most() / u.info().bounds().most(),
               slope = slopes_of(stages, reach_of(u)).of_product;
  const double error = by * ((1 + stages.error + more) * std::exp2(x.info().error) +
                             ratio * slope * std::exp2(u.info().error));
  const Array sign = stages_of(server, State::function_start(u), scaled(stages, by));
  const Array product = server.multiply(State::function_start(x),
                                        more == 0 ? sign : server.add_scalar(sign, by * more));
  const Array out = State::with_more_error(Access::of(server).narrowed(product, most), error);
  Access::of(server).account.check_decrypts(
      out.info(),
      "the values are as small as their errors: state a smaller error by with_error if "
      "you know one, or take a larger scale_bits");
  return out;
}

/// x·sign(x)/2.
Array half_absolute(const Server& server, const Array& x, const SignStages& stages) {
  const double most = x.info().bounds().most();
  return product_with_sign(server, x, normalised(server, x), stages, 0.5, 0,
                           most / 2 * (1 + stages.error));
}

Polynomial positive(const char* what, double (*f)(double), double low, double high, double error) {
  if (!(low > 0))
    throw ParameterError(std::string(what) + ": the interval begins at " + math::text_of(low) +
                         ", which must be above 0");
  return approximate_within(f, low, high, error);
}

void check_without_zero(double low, double high) {
  if (!(low > 0 || high < 0))
    throw ParameterError("inverse: the interval " + math::text_of(low) + " … " +
                         math::text_of(high) +
                         " holds 0: it must be above 0, or below it as a whole");
}

/// Products of ciphertexts that a polynomial of 2^log2_size coefficients takes, about: baby steps,
/// giant steps and what joins them.
double products_of(unsigned log2_size) { return 3 * std::exp2(log2_size / 2.0); }

/// log of the residual's maximum of degree 2^log2_degree: 1/T_d(t) with t = (high + low)/(high -
/// low) > 1, where T_d(t) = cosh(d·acosh t).
double log_residual(unsigned log2_degree, double wide) {
  const double angle = std::exp2(log2_degree) * std::acosh(wide);
  return -(angle + std::log1p(std::exp(-2 * angle)) - std::numbers::ln2);
}

constexpr unsigned most_inverse_steps = 32;

}  // namespace

unsigned InverseStages::depth() const { return start.depth() + (steps == 0 ? 0 : steps + 1); }

double InverseStages::operator()(double x) const {
  double y = start(x), e = 1 - x * y;
  for (unsigned i = 0; i < steps; ++i, e *= e) y += y * e;
  return y;
}

InverseStages inverse_stages(double low, double high, double error) {
  check_without_zero(low, high);
  if (!(low < high && std::isfinite(high - low)))
    throw ParameterError("inverse: the interval " + math::text_of(low) + " … " +
                         math::text_of(high) + " is empty");
  if (!(error > 0))
    throw ParameterError("inverse: error = " + math::text_of(error) + " is not positive");
  const double least = std::min(std::abs(low), std::abs(high)),
               most = std::max(std::abs(low), std::abs(high)),
               wide = (most + least) / (most - least);
  // |1/x - y| = |e|/|x|; half of the error is left for the roundings of doubles.
  const double wanted = std::min(std::log(error * least / 2), std::log(0.5));
  constexpr unsigned most_log2_degree = 12;
  struct Choice {
    unsigned log2_degree, steps;
  };
  const auto levels = [](const Choice& c) {
    return c.log2_degree + (c.steps == 0 ? 0 : c.steps + 1);
  };
  const auto products = [](const Choice& c) {
    return products_of(c.log2_degree) + (c.steps == 0 ? 0 : 2 * c.steps);
  };
  std::vector<Choice> all;
  for (unsigned d = 1; d <= most_log2_degree; ++d)
    for (unsigned steps = 0; steps <= most_inverse_steps; ++steps)
      if (std::exp2(steps) * log_residual(d, wide) <= wanted) {
        all.push_back({d, steps});
        break;
      }
  if (all.empty())
    throw ParameterError("inverse: the interval " + math::text_of(low) + " … " +
                         math::text_of(high) + " takes more than " +
                         std::to_string(most_inverse_steps) + " steps for an error of " +
                         math::text_of(error));
  const unsigned fewest = levels(*std::ranges::min_element(all, {}, levels));
  std::erase_if(all, [&](const Choice& c) { return levels(c) > fewest + 1; });
  const Choice best = *std::ranges::min_element(all, {}, products);

  const double degree = std::exp2(best.log2_degree), top = degree * std::acosh(wide);
  // R(x) = T_d(s)/T_d(t), with s from 1 at the small end of the interval to -1.
  const auto start = [&](double x) {
    const double s = std::clamp((most + least - 2 * std::abs(x)) / (most - least), -1.0, 1.0);
    return (1 - std::cos(degree * std::acos(s)) / std::cosh(top)) / x;
  };
  InverseStages out;
  out.start = approximate(start, low, high, static_cast<unsigned>(degree) - 1);
  out.steps = best.steps;
  constexpr unsigned points = 4096;
  bool finite = true;
  for (unsigned i = 0; i < points; ++i) {
    const double x = low * std::pow(high / low, static_cast<double>(i) / (points - 1));
    out.error = std::max(out.error, std::abs(out(x) - 1 / x));
    out.residual = std::max(out.residual, std::abs(1 - x * out.start(x)));
    finite = finite && std::isfinite(out(x));
  }
  if (!finite || out.error > error)
    throw ParameterError("inverse: between " + math::text_of(low) + " and " + math::text_of(high) +
                         " doubles leave an error of " + math::text_of(out.error) + ", above " +
                         math::text_of(error));
  return out;
}

Array inverse(const Server& server, const Array& x, const InverseStages& stages) {
  check_without_zero(stages.start.low, stages.start.high);
  if (stages.steps > most_inverse_steps || !(stages.residual >= 0 && stages.residual < 1))
    throw ParameterError("inverse: " + std::to_string(stages.steps) +
                         " steps after a residual of " + math::text_of(stages.residual) +
                         "; at most " + std::to_string(most_inverse_steps) +
                         " are possible, and the residual is from 0 to below 1");
  if (stages.depth() > x.info().level)
    throw NoiseError("the stages of an inverse take " + math::counted(stages.depth(), "level") +
                     ", and the ciphertext has " + std::to_string(x.info().level) + more_levels());
  const double least = std::min(std::abs(stages.start.low), std::abs(stages.start.high)),
               most = std::max(std::abs(stages.start.low), std::abs(stages.start.high));
  Array y = evaluate(server, x, stages.start);
  if (stages.steps == 0) return server.with_bound(y, (1 + stages.residual) / least);
  // The steps take off what y lacks, its error too.
  const Account::Goldschmidt of{least, most, stages.residual, stages.steps};
  const double first = Account::goldschmidt_residual(y.info(), of), bound = (1 + first) / least;
  double residual = first;
  y = Access::State::goldschmidt_start(server.with_bound(y, bound));
  Array e = server.with_bound(server.add_scalar(server.negate(server.multiply(x, y)), 1), residual);
  for (unsigned i = 0; i < stages.steps; ++i) {
    y = server.with_bound(server.add(y, server.multiply(y, e)), bound);
    if (i + 1 < stages.steps) e = server.with_bound(server.square(e), residual *= residual);
  }
  return Access::State::goldschmidt_end(y, of, first);
}

Array sign(const Server& server, const Array& x, const SignStages& stages) {
  check_levels("sign", stages, 0, x);
  check_small("sign", x);
  const double error = slopes_of(stages, reach_of(x)).of_sign * std::exp2(x.info().error);
  return Access::State::with_more_error(stages_of(server, Access::State::function_start(x), stages),
                                        error);
}

Array absolute(const Server& server, const Array& x, const SignStages& stages) {
  check_levels("absolute", stages, 1, x);
  check_small("absolute", x);
  const double most = x.info().bounds().most();
  return product_with_sign(server, x, is_divided(x) ? x : normalised(server, x), stages, 1, 0,
                           most * (1 + stages.error));
}

Array relu(const Server& server, const Array& x, const SignStages& stages) {
  check_levels("relu", stages, 1, x);
  check_small("relu", x);
  const double most = x.info().bounds().most();
  return product_with_sign(server, x, is_divided(x) ? x : normalised(server, x), stages, 0.5, 1,
                           most * (1 + stages.error / 2));
}

Array greater(const Server& server, const Array& a, const Array& b, const SignStages& stages) {
  const Array x = server.sub(a, b);
  check_levels("greater", stages, is_divided(x) ? 1 : 0, x);
  const Array half = sign(server, normalised(server, x), scaled(stages, 0.5));
  return server.with_bound(server.add_scalar(half, 0.5), 1 + stages.error / 2);
}

namespace {

enum class Extreme { maximum, minimum };

/// (a + b)/2 ± |a - b|/2.
Array extreme(const Server& server, Extreme which, const Array& a, const Array& b,
              const SignStages& stages) {
  const bool larger = which == Extreme::maximum;
  const Array x = server.sub(a, b);
  check_levels(larger ? "maximum" : "minimum", stages, is_divided(x) ? 2 : 1, x);
  const Array middle = server.multiply_scalar(server.add(a, b), 0.5);
  const Array half = half_absolute(server, x, stages);
  // A sign between -1 and 1 gives what is between a and b.
  const Bounds p = a.info().bounds(), q = b.info().bounds();
  const double more = x.info().bounds().most() / 2 * stages.error;
  return Access::of(server).narrowed(
      larger ? server.add(middle, half) : server.sub(middle, half),
      {std::min(p.low, q.low) - more, std::max(p.high, q.high) + more});
}

}  // namespace

Array maximum(const Server& server, const Array& a, const Array& b, const SignStages& stages) {
  return extreme(server, Extreme::maximum, a, b, stages);
}
Array minimum(const Server& server, const Array& a, const Array& b, const SignStages& stages) {
  return extreme(server, Extreme::minimum, a, b, stages);
}

Polynomial inverse_of(double low, double high, double error) {
  check_without_zero(low, high);
  return approximate_within([](double x) { return 1 / x; }, low, high, error);
}
Polynomial sqrt_of(double low, double high, double error) {
  return positive(
      "square root", [](double x) { return std::sqrt(x); }, low, high, error);
}
Polynomial inverse_sqrt_of(double low, double high, double error) {
  return positive(
      "inverse square root", [](double x) { return 1 / std::sqrt(x); }, low, high, error);
}
Polynomial logistic_of(double low, double high, double error) {
  return approximate_within([](double x) { return 1 / (1 + std::exp(-x)); }, low, high, error);
}
Polynomial tanh_of(double low, double high, double error) {
  return approximate_within([](double x) { return std::tanh(x); }, low, high, error);
}
Polynomial exp_of(double low, double high, double error) {
  return approximate_within([](double x) { return std::exp(x); }, low, high, error);
}
Polynomial sine_of(double low, double high, double error) {
  return approximate_within([](double x) { return std::sin(x); }, low, high, error);
}

}  // namespace whorl::ckks
