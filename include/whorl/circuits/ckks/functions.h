// Functions of CKKS ciphertexts: comparisons by composite polynomials, and smooth functions by one.
#pragma once

#include <vector>

#include "whorl/circuits/ckks/polynomials.h"
#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// Odd polynomials on -1 … 1 that are applied one after the other, and together approximate the
/// sign. (Lattigo: comparison, minimax; OpenFHE compares by switching to FHEW.)
struct SignStages {
  std::vector<Polynomial> stages;
  double epsilon = 0;  ///< |x| of which the sign is told, at least
  double error = 0;    ///< the largest difference from the sign for epsilon <= |x| <= 1

  /// Levels that they take: of all stages.
  unsigned depth() const;
  /// Their value in clear.
  double operator()(double x) const;
};

/// The stages of least depth that tell the sign of x, for epsilon <= |x| <= 1, to within `error`.
/// Each stage is the minimax polynomial on what the one before leaves (Lee, Lee, No, Kim, IEEE
/// Access 2021; by the algorithm of Remez), of degree 3, 7, 15 or 31. ParameterError unless
/// 2^-24 <= epsilon < 1 and 2^-40 <= error < 1.
SignStages minimax_sign(double epsilon, double error);

/// The sign of each value: within stages.error of -1 or 1 where |x| >= stages.epsilon, and between
/// them elsewhere. Values are real, with |x| <= 1 by the array's bound; errors as of evaluate.
Array sign(const Server& server, const Array& x, const SignStages& stages);
/// |x|; one level more than the stages take. With an error of |x|·stages.error, and up to
/// 2·epsilon·d where |x| < epsilon·d; d is 1, or 1/floor(1/b) for values with a bound b below 1/2.
Array absolute(const Server& server, const Array& x, const SignStages& stages);
/// x where it is positive, else 0 (a rectified linear unit); errors are half of those of absolute.
Array relu(const Server& server, const Array& x, const SignStages& stages);
/// 1 where a > b, 0 where a < b, for |a - b| >= epsilon·d; 1/2 where they are equal. d is the
/// array's bound b of a - b, if that is above 1; then it takes a level more than the stages.
/// Smaller differences are multiplied by the integer floor(1/b), and d is 1/floor(1/b).
Array greater(const Server& server, const Array& a, const Array& b, const SignStages& stages);
/// The larger one of two values, and the smaller one; levels as of `greater`, and one more.
Array maximum(const Server& server, const Array& a, const Array& b, const SignStages& stages);
Array minimum(const Server& server, const Array& a, const Array& b, const SignStages& stages);

/// Which polynomial and how many steps of an iteration give 1/x on an interval. The polynomial y
/// has the least maximum of |1 - x·y| that its degree allows; each step replaces y by y·(1 + e)
/// with e = 1 - x·y, and so squares e (Goldschmidt, 1964; Chebyshev's residual polynomial). On wide
/// intervals this takes far fewer products than a polynomial alone, and reaches farther, at levels
/// that grow with log(high/low). (Lattigo: inverse.Evaluator.)
struct InverseStages {
  Polynomial start;     ///< on the interval
  unsigned steps = 0;   ///< 0: the polynomial alone
  double error = 0;     ///< the largest difference from 1/x on the interval
  double residual = 0;  ///< the largest |1 - x·start(x)| there

  /// Levels that they take.
  unsigned depth() const;
  /// Their value in clear.
  double operator()(double x) const;
};

/// The stages of fewest products, with at most one level more than the least that serves, for
/// values of one sign from `low` to `high` to within `error`. ParameterError for an interval that
/// holds 0 or is empty, for an error that is not positive, and where 32 steps or doubles are not
/// enough for it.
InverseStages inverse_stages(double low, double high, double error);

/// 1/x of each value, which must be real and in the interval of the stages; values elsewhere give
/// anything. NoiseError if x has fewer levels than the stages take, or if the first polynomial's
/// error is so large that the steps do not converge; ParameterError for stages with more than 32
/// steps, a residual outside [0, 1) or an interval that holds 0; errors as of evaluate.
Array inverse(const Server& server, const Array& x, const InverseStages& stages);

// Polynomials within `error` of a function between low and high, of least degree 2^k - 1, for
// evaluate(). ParameterError as of approximate_within, and for an interval that the function is not
// defined on. (OpenFHE: EvalDivide, EvalLogistic, EvalSin, EvalChebyshevFunction.)
/// 1/x, with 0 < low or high < 0.
Polynomial inverse_of(double low, double high, double error);
Polynomial sqrt_of(double low, double high, double error);          ///< 0 < low
Polynomial inverse_sqrt_of(double low, double high, double error);  ///< 0 < low
Polynomial logistic_of(double low, double high, double error);      ///< 1/(1 + exp(-x))
Polynomial tanh_of(double low, double high, double error);
Polynomial exp_of(double low, double high, double error);
Polynomial sine_of(double low, double high, double error);

}  // namespace whorl::ckks
