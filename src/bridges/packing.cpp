#include "bridges/packing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "lattice/lwe/noise.h"
#include "lattice/security.h"
#include "math/modulus.h"
#include "math/primes.h"
#include "math/sampling.h"
#include "schemes/ckks/derived.h"
#include "whorl/bridges/lanes.h"
#include "whorl/bridges/lwe_output.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace {

/// The least ring that evaluators have transforms for.
constexpr std::uint32_t least_dimension = 256;
/// Primes have more than 24 bits, and centred coefficients are below half of one.
constexpr unsigned most_log2_modulus = 22;

}  // namespace

Packing::Packing(const ckks::Parameters& parameters) {
  const ckks::ParameterLiteral& p = parameters.literal();
  if (!p.bootstrap || p.bootstrap->bits == 0)
    throw ParameterError("LWE ciphertexts go into lanes by bootstraps for bits, which \"" + p.name +
                         "\" does not have: take parameters with bootstrap.bits of 1 and more");
  lowest = ckks::basis_of(parameters, 0);
  const auto special = static_cast<unsigned>(p.chain.size());
  basis = lowest | ring::Basis{special};
  switching = {lowest, {lowest}, ring::Basis{special}};
  lowest.for_each([&](unsigned i) { primes.push_back(p.chain[i]); });
  primes.push_back(p.special[0]);
  // No weaker than what it leads to.
  const double modulus = math::log2_of_product(primes),
               wanted = std::min(128.0, parameters.security_bits());
  for (dimension = std::min(least_dimension, p.N);; dimension *= 2) {
    security_bits =
        lattice::estimate_security(dimension, modulus, p.sigma, lattice::SecretKind::ternary).bits;
    if (security_bits >= wanted || dimension == p.N) return;
  }
}

double security_between(const ckks::Parameters& parameters, const binfhe::Parameters& lwe) {
  return std::min(
      {parameters.security_bits(), lwe.security().bits(), Packing(parameters).security_bits});
}

double LweInputKeys::security_bits() const { return security_between(parameters, lwe_parameters); }
double LweOutputKeys::security_bits() const { return security_between(parameters, lwe_parameters); }

std::uint64_t packed_modulus(const binfhe::Parameters& lwe) {
  return std::min(lwe.q(), std::uint64_t{1} << most_log2_modulus);
}

std::vector<std::uint64_t> packing_factor(const std::vector<std::uint64_t>& primes,
                                          std::uint64_t modulus) {
  // QP = r modulo q', and 0 modulo each prime: its multiple (QP - r)/q' is -r/q' there.
  std::uint64_t rest = 1;
  for (const std::uint64_t q : primes)
    rest = static_cast<std::uint64_t>(static_cast<unsigned __int128>(rest) * q % modulus);
  std::vector<std::uint64_t> out;
  for (const std::uint64_t prime : primes) {
    const math::Modulus<std::uint64_t> q(prime);
    const std::uint64_t down = q.mul(q.sub(0, q.reduce(rest)), q.inverse(q.reduce(modulus)));
    out.push_back(rest >= modulus / 2 ? q.add(down, 1) : down);
  }
  return out;
}

// A coefficient of a product A_j·K_j is a sum of n terms, as one of a part of A_j with the
// subring's polynomial. Keys' errors are of deviation sigma; the coefficients of A_j are uniform in
// ±q'/2.
double packing_error(const ckks::Parameters& parameters, const binfhe::Parameters& lwe,
                     double deviations) {
  const Packing packing(parameters);
  const ckks::ParameterLiteral& p = parameters.literal();
  const double n = packing.dimension, N = p.N, coefficients = lwe.n(),
               modulus = static_cast<double>(packed_modulus(lwe)),
               log2_all = math::log2_of_product(packing.primes), log2_low = parameters.log2_Q(0);
  // 1. The keys' errors, and the division by the special prime, whose rounding meets the secret.
  const double keys = coefficients * n * modulus * modulus / 12 * p.sigma * p.sigma *
                      std::exp2(-2 * log2_all),
               division = (1 + ternary * n) / 12 * std::exp2(-2 * log2_low);
  // 2. The switch out of the subring: a digit uniform in ±Q/2 meets errors, and a division.
  const double log2_P = std::log2(static_cast<double>(packing.primes.back())),
               out = N / 12 * p.sigma * p.sigma * std::exp2(-2 * log2_P) +
                     (1 + ternary * N) / 12 * std::exp2(-2 * log2_low);
  // 3. Where ciphertexts are rounded to q'; and the factor, which is off by 1/2, of a phase that is
  // not reduced.
  const bool gaussian = lwe.literal().lwe_secret == binfhe::SecretDistribution::gaussian;
  const double sigma = lwe.literal().sigma_lwe, mean_square = gaussian ? sigma * sigma : 1,
               largest = gaussian ? math::GaussianSampler(sigma).bound() : 1,
               rounding = lwe.q() == packed_modulus(lwe)
                              ? 0
                              : lattice::modulus_switch_variance(lwe.n(), mean_square) /
                                    (modulus * modulus);
  const double factor = modulus / 4 * (1 + coefficients * largest) * std::exp2(-log2_all);
  return deviations *
             (std::sqrt(keys) + std::sqrt(division) + std::sqrt(out) + std::sqrt(rounding)) +
         factor;
}

}  // namespace whorl::bridges
