// Functions of CKKS ciphertexts that are made of polynomials.
#include <algorithm>
#include <cmath>
#include <string>

#include "math/text.h"
#include "whorl/circuits/functions.h"
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

/// a - b, and brought to -1 … 1; what it was divided by.
struct Difference {
  Array plain, small;
};
Difference difference(const Server& server, const Array& a, const Array& b) {
  const Array plain = server.sub(a, b);
  const double most = std::exp2(plain.info().bound);
  if (most <= 1) return {plain, plain};
  return {plain, server.with_bound(server.multiply_scalar(plain, 1 / most), 1)};
}

/// x·sign(y)/2, where y has the sign of x.
Array half_absolute(const Server& server, const Array& x, const Array& y,
                    const SignStages& stages) {
  const double bound = std::exp2(x.info().bound);
  return server.with_bound(server.multiply(x, sign(server, y, scaled(stages, 0.5))),
                           bound / 2 * (1 + stages.error));
}

Polynomial positive(const char* what, double (*f)(double), double low, double high, double error) {
  if (!(low > 0))
    throw ParameterError(std::string(what) + ": the interval begins at " + math::text_of(low) +
                         ", which must be above 0");
  return approximate_within(f, low, high, error);
}

}  // namespace

Array sign(const Server& server, const Array& x, const SignStages& stages) {
  check_stages(stages);
  if (stages.depth() > x.info().level)
    throw NoiseError("the stages of a sign take " + std::to_string(stages.depth()) +
                     " levels, and the ciphertext has " + std::to_string(x.info().level));
  Array y = x;
  for (const Polynomial& p : stages.stages) {
    // The bound that evaluate() states is the sum of the coefficients' absolute values.
    double most = 0;
    constexpr int points = 1024;
    for (int i = 0; i <= points; ++i) most = std::max(most, std::abs(p(1.0 * i / points)));
    if (&p != &stages.stages.back() && most > 1 + 0x1p-20)
      throw ParameterError("stage " + std::to_string(&p - stages.stages.data()) +
                           " of a sign reaches " + math::text_of(most) +
                           ", and the next one is made for values up to 1");
    y = server.with_bound(evaluate(server, y, p), &p == &stages.stages.back() ? most : 1);
  }
  return y;
}

Array absolute(const Server& server, const Array& x, const SignStages& stages) {
  const double bound = std::exp2(x.info().bound);
  return server.with_bound(server.multiply(x, sign(server, x, stages)), bound * (1 + stages.error));
}

Array relu(const Server& server, const Array& x, const SignStages& stages) {
  const double bound = std::exp2(x.info().bound);
  const Array half = server.add_scalar(sign(server, x, scaled(stages, 0.5)), 0.5);
  return server.with_bound(server.multiply(x, half), bound * (1 + stages.error / 2));
}

Array greater(const Server& server, const Array& a, const Array& b, const SignStages& stages) {
  const Difference d = difference(server, a, b);
  const Array half = sign(server, d.small, scaled(stages, 0.5));
  return server.with_bound(server.add_scalar(half, 0.5), 1 + stages.error / 2);
}

Array maximum(const Server& server, const Array& a, const Array& b, const SignStages& stages) {
  const Difference d = difference(server, a, b);
  const Array middle = server.multiply_scalar(server.add(a, b), 0.5);
  return server.add(middle, half_absolute(server, d.plain, d.small, stages));
}
Array minimum(const Server& server, const Array& a, const Array& b, const SignStages& stages) {
  const Difference d = difference(server, a, b);
  const Array middle = server.multiply_scalar(server.add(a, b), 0.5);
  return server.sub(middle, half_absolute(server, d.plain, d.small, stages));
}

Polynomial inverse_of(double low, double high, double error) {
  return positive(
      "inverse", [](double x) { return 1 / x; }, low, high, error);
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
