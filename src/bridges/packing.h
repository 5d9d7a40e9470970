// What keys are over that put LWE ciphertexts into coefficients, and what errors that makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/basis.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/ckks/parameters.h"

namespace whorl::bridges {

inline constexpr double ternary = 2.0 / 3.0;  ///< mean square of a ternary secret's coefficients

/// LWE ciphertexts (a, b) of N coefficients are one ring ciphertext: sum_i b_i·X^i - sum_j A_j·K_j,
/// where A_j has the a_ij as coefficients and K_j encrypts s_j, each times Q·P/q'. It is divided by
/// P, the special prime, as a key switch is. The K_j are in a subring of polynomials in X^(N/n), in
/// which A_j has N/n parts, so that they are small; a key switch leads out of it.
struct Packing {
  /// ParameterError unless the parameters' bootstraps are made for bits.
  explicit Packing(const ckks::Parameters& parameters);

  ring::Basis lowest;                 ///< the primes of level 0
  ring::Basis basis;                  ///< these and the first special one
  std::vector<std::uint64_t> primes;  ///< of `basis`
  /// The layout of switching keys between the CKKS key and secrets of the subring, one digit.
  ring::KeyLayout switching;
  std::uint32_t dimension = 0;  ///< n: the least as secure as the parameters, or as 128 bits
  double security_bits = 0;

  /// Words of LweInputKeys::b and of LweInputKeys::switch_b.
  std::size_t words(const binfhe::Parameters& lwe) const {
    return primes.size() * lwe.n() * dimension;
  }
};

/// Estimated security of keys between the two schemes: the least of the keys that they lead between
/// and of the subring's secret, which hides the one or the other.
double security_between(const ckks::Parameters& parameters, const binfhe::Parameters& lwe);

/// What LWE ciphertexts are rounded to, so that their coefficients are far below a prime.
std::uint64_t packed_modulus(const binfhe::Parameters& lwe);

/// Q·P/q', rounded, modulo each of the primes, whose product Q·P is.
std::vector<std::uint64_t> packing_factor(const std::vector<std::uint64_t>& primes,
                                          std::uint64_t modulus);

/// The largest error of a coefficient as a part of the modulus, but with the probability that a
/// Gaussian is beyond so many deviations.
double packing_error(const ckks::Parameters& parameters, const binfhe::Parameters& lwe,
                     double deviations);

}  // namespace whorl::bridges
