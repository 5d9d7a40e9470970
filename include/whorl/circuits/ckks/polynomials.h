// Polynomials of CKKS ciphertexts, and of functions that they approximate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// A real polynomial of one variable. In Chebyshev's basis the interval from `low` to `high` is
/// mapped to -1 … 1 first, where T_k(cos t) = cos(k·t). (Lattigo: bignum.Polynomial.)
struct Polynomial {
  enum class Basis : std::uint8_t { chebyshev, monomial };

  std::vector<double> coefficients;  ///< of T_0, T_1, … or of 1, x, x^2 …
  Basis basis = Basis::chebyshev;
  double low = -1, high = 1;  ///< where the polynomial is meant to be evaluated

  /// The largest index of a coefficient that is not 0; 0 if there is none.
  unsigned degree() const;
  /// How many levels evaluate() takes: ceil(log2(degree + 1)), and one more where
  /// Chebyshev's basis is on another interval than -1 … 1.
  unsigned depth() const;
  /// Its value in clear.
  double operator()(double x) const;
};

/// The polynomial of that degree, 0 … 4095, that interpolates f at Chebyshev's nodes of the
/// interval. ParameterError for a degree out of range, an empty interval, or an f that is not
/// finite at a node. (OpenFHE: EvalChebyshevFunction. Trefethen, Approximation Theory and Practice,
/// ch. 2.)
Polynomial approximate(const std::function<double(double)>& f, double low, double high,
                       unsigned degree);
/// The one of least degree 2^k - 1 that differs from f by at most `error` at 4,096 points of the
/// interval. ParameterError if a degree of 4,095 does not suffice.
Polynomial approximate_within(const std::function<double(double)>& f, double low, double high,
                              double error);

/// p of each value, by the method of Paterson and Stockmeyer at the least depth (Bossuat, Mouchet,
/// Troncoso-Pastoriza, Hubaux, EUROCRYPT 2021, §3). The values must be real, and must lie in the
/// polynomial's interval. EncodingError for packings other than real, and where an end of
/// x's bounds lies outside the interval; Server::with_bound states bounds that the caller knows.
/// NoiseError if x has fewer levels than depth(), or if nothing could be read of the result.
/// (OpenFHE: EvalChebyshevSeries, EvalPoly.)
Array evaluate(const Server& server, const Array& x, const Polynomial& p);

/// Polynomials of one basis and one interval, and which of them belongs to each value. (Lattigo:
/// polynomial.PolynomialVector.)
struct PolynomialVector {
  static constexpr std::int32_t none = -1;  ///< of a value that has no polynomial, and becomes 0

  std::vector<Polynomial> polynomials;
  /// Indices into `polynomials`, or `none`: one row for all ciphertexts, or a row for each.
  std::vector<std::int32_t> mapping;
  /// A row has this length: as many as a vector has values, or 1, which stands for all values of a
  /// ciphertext. 0 says that the mapping is one row.
  std::size_t length = 0;

  unsigned degree() const;  ///< the largest one of the polynomials
  unsigned depth() const;   ///< levels that evaluate() takes: those of that degree
};

/// The polynomial of each value that belongs to it, at the depth of one polynomial, with rows of
/// plaintexts for coefficients. If x is a single ciphertext, there may be any number of rows, and
/// the result has as many ciphertexts. Errors as above; ParameterError unless there is a
/// polynomial, all have one basis and interval, and indices are those of polynomials; ShapeError
/// for rows of another length or number; EncodingError for coefficients that are not finite, or
/// that times the scale are above 2^61.
Array evaluate(const Server& server, const Array& x, const PolynomialVector& polynomials);

}  // namespace whorl::ckks
