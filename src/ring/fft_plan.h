// Folded negacyclic FFT: the tables and the order of results that every backend follows.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace whorl::ring {

/// A real polynomial x of degree < N is folded to M = N/2 complex values z_j = x_j + i·x_(j+M)
/// (Klemsa, CSCML 2021; Xiao et al., TCHES 2025, §3.1) and evaluated at zeta^(4k+1), zeta =
/// exp(i·pi/N), one of each conjugate pair of roots of X^N + 1. Result s is the value at
/// zeta^exponent(s), exponent(s) = 4·brv(s) + 1, brv reversing log2 M bits. There is no unfolding.
///
/// A node of length `len` holds z modulo X^len - zeta^(E·len); its first child modulo a radix R has
/// the same E, child k has E + (2N/len)·k. The root node has E = 1.
class FftPlan {
 public:
  /// ParameterError unless N is a power of two in 2^8 … 2^17.
  explicit FftPlan(std::uint32_t N);

  std::uint32_t N() const { return N_; }
  std::uint32_t M() const { return N_ / 2; }
  /// zeta^e for e = 0 … 2N-1, rounded from long doubles.
  const std::vector<std::complex<double>>& roots() const { return roots_; }
  /// Exponent of the root that result s belongs to.
  std::uint32_t exponent(std::uint32_t s) const;
  /// Which result belongs to zeta^(5^j), for j = 0 … M-1: powers of 5 are 1 modulo 4. This is the
  /// order of CKKS's slots (Cheon, Kim, Kim, Song, ASIACRYPT 2017, §3.2).
  std::vector<std::uint32_t> results_at_powers_of_5() const;

 private:
  std::uint32_t N_;
  std::vector<std::complex<double>> roots_;
};

}  // namespace whorl::ring
