// Several polynomials of z = exp(i·x) at once, which share powers of z.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// Polynomials of z with these coefficients of 1, z, z² …, of a degree below 32, all at
/// depth_of_harmonics() of the largest degree below z. |z| is 1, but for its error. With n = a + 4b
/// + 16c a polynomial is the sum of all z^(a + 16c)·F, where F = Σ_b c_n·z^(4b) is a linear sum of
/// three powers at most. So it takes one relinearisation beside those of powers. Nothing is
/// checked.
std::vector<Array> evaluate_harmonics(const Server& server, const Array& z,
                                      std::span<const std::vector<double>> polynomials);

/// The sum of rows[n]·z^(n + 1), of up to 31 rows of `length` numbers each: one for all
/// ciphertexts, or one for each. It takes all powers of z, and the levels of a polynomial of that
/// degree.
Array evaluate_rows(const Server& server, const Array& z,
                    std::span<const std::vector<std::complex<double>>> rows, std::size_t length);

}  // namespace whorl::ckks
