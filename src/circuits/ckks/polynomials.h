// Polynomials of CKKS ciphertexts, as other circuits use them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "whorl/circuits/ckks/polynomials.h"

namespace whorl::ckks {

/// c·f·x for a number c, one level below x, of numbers f that have size 1.
using Turned = std::function<Array(double c)>;

/// f·p(x) for a polynomial of odd powers on -1 … 1, of degree 3 or more, at p's depth. Each odd
/// power has one factor that is odd, and even ones are made of x alone; so f may differ from slot
/// to slot, and no coefficient becomes a plaintext. Nothing is checked.
Array evaluate_turned(const Server& server, const Array& x, const Turned& turned,
                      const Polynomial& p);
/// The numbers c with which evaluate_turned() asks: 1, and what the highest power is multiplied by
/// where that needs all levels.
std::vector<double> turned_factors(const Polynomial& p);

/// sum_k c_k·i^k·T_k(u) of x = i·u, for u within -1 … 1 and the coefficients c of p in Chebyshev's
/// basis, at p's depth. Nothing is checked.
Array evaluate_imaginary(const Server& server, const Array& x, const Polynomial& p);

}  // namespace whorl::ckks
