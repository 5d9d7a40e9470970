#include "lattice/lwe/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "whorl/error.h"

namespace whorl::lattice {

namespace {

/// Mean square of what rounding off `bits` low bits of an integer leaves: 2^bits values from
/// -2^(bits-1) up, equally likely.
double dropped_mean_square(unsigned bits) {
  return bits == 0 ? 0 : (std::ldexp(1.0, 2 * static_cast<int>(bits)) + 2) / 12;
}

}  // namespace

double secret_mean_square(SecretKind kind, double sigma, unsigned block) {
  switch (kind) {
    case SecretKind::binary:
      return 0.5;
    case SecretKind::ternary:
      return 2.0 / 3.0;
    case SecretKind::gaussian:
      break;
    case SecretKind::sparse32:
      throw ParameterError("LWE secrets of weight 32 have no mean square of their own");
    case SecretKind::block_binary:
      return 1.0 / (block + 1);
  }
  return sigma * sigma;
}

unsigned secret_centre(SecretKind kind, unsigned block) {
  return kind == SecretKind::binary ? 2 : kind == SecretKind::block_binary ? block + 1 : 0;
}

double key_spectrum_variance(std::uint64_t Q, std::uint32_t N, unsigned bits) {
  // The largest of 2^13 … 2^15 real components of standard deviation Q·sqrt(N/24) is 4.2 of them.
  const double scale = std::ldexp(1.0, static_cast<int>(bits) - 1) /
                       (4.2 * static_cast<double>(Q) * std::sqrt(N / 24.0));
  return 1.0 / (12.0 * scale * scale * (N / 2.0));
}

double external_product_variance(const ring::Gadget& gadget, std::uint32_t N, double keys,
                                 double row_variance, double lwe_mean_square,
                                 double ring_mean_square) {
  double digit_squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) digit_squares += gadget.digit_mean_square(j);
  double variance = keys * 2.0 * N * digit_squares * row_variance;
  variance += lwe_mean_square * dropped_mean_square(gadget.dropped()) * (1 + N * ring_mean_square);
  return variance;
}

double fft_rounding_variance(const ring::Gadget& gadget, std::uint64_t Q, std::uint32_t N,
                             double keys, double ring_mean_square) {
  double digit_squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) digit_squares += gadget.digit_mean_square(j);
  return fft_rounding_variance(digit_squares, Q, N, keys, ring_mean_square);
}

double fft_rounding_variance(double digit_squares, std::uint64_t Q, std::uint32_t N, double keys,
                             double ring_mean_square) {
  // Measured against the NTT for N = 2^9 … 2^11 (tests/noise/schemes/binfhe/fft_error_test.cpp,
  // docs/fft-error.md): rounding grows as sqrt(log2 N), with this constant within 5 %.
  const double relative = 1.16 * std::sqrt(std::log2(N)) * std::ldexp(1.0, -53);
  const double q = static_cast<double>(Q);
  const double size = keys * 2.0 * N * digit_squares * q * q / 12;
  return relative * relative * size * (1 + N * ring_mean_square);
}

double digit_spectrum_variance(const ring::Gadget& gadget, std::uint64_t Q, std::uint32_t N,
                               unsigned keys, double ring_mean_square) {
  constexpr double components = 1024;  // that share a power of two
  double digits = 0;                   // of a digit's coefficients
  for (unsigned j = 0; j < gadget.digits(); ++j) {
    const double deviation = std::sqrt(gadget.digit_mean_square(j) * N / 2);
    // Digits below the top one have a mean of -1/2: |sum X^j|/2 is N/pi at the root next to 1.
    const double peak = j + 1 < gadget.digits() ? N / std::numbers::pi : 0;
    // Probability that all stay below 2^k.
    const auto below = [&](int k) {
      if (std::ldexp(1.0, k) < peak) return 0.0;
      return std::exp(components *
                      std::log1p(-std::erfc(std::ldexp(1.0, k) / (deviation * std::sqrt(2.0)))));
    };
    const int usual = std::ilogb(std::max(3.4 * deviation, peak));
    for (int k = usual - 2; k <= usual + 2; ++k) {
      const double scale = std::ldexp(1.0, 30 - k);
      digits += (below(k + 1) - below(k)) / (12.0 * scale * scale * (N / 2.0));
    }
  }
  const double q = static_cast<double>(Q);
  return keys * 2.0 * N * digits * q * q / 12 * (1 + N * ring_mean_square);
}

double modulus_switch_variance(std::uint32_t n, double mean_square, double step) {
  return (1 + n * mean_square) * (1 + 2 * step * step) / 12;
}

double centred_modulus_switch_variance(std::uint32_t n, unsigned centre, double step) {
  const double mean = 1.0 / centre;
  return modulus_switch_variance(n, mean * (1 - mean), step);
}

double key_switch_variance(const ring::Gadget& gadget, std::uint32_t N, double sigma, bool table,
                           double ring_mean_square) {
  double weights = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) {
    const double square = gadget.digit_mean_square(j);  // (B^2 + 2)/12
    weights += table ? 1 - 1 / std::sqrt(12 * square - 2) : square;
  }
  return N * sigma * sigma * weights + N * ring_mean_square * dropped_mean_square(gadget.dropped());
}

double external_product_constant(const ring::Gadget& gadget, double steps, std::uint32_t N,
                                 double row_variance, double lwe_mean_square,
                                 double ring_mean_square) {
  const double dropped = gadget.exact() ? 0 : steps * lwe_mean_square / 2;
  return 2.0 * steps * N * (gadget.digits() - 1) * row_variance / 4 +
         dropped * dropped * (1 + N * ring_mean_square);
}

double key_switch_constant(const ring::Gadget& gadget, std::uint32_t N, double sigma, bool table,
                           double ring_mean_square) {
  const double base = std::ldexp(1.0, static_cast<int>(gadget.log_base()));
  return N * sigma * sigma * (gadget.digits() - 1) / (table ? base * base : 4) +
         (gadget.exact() ? 0 : N * ring_mean_square / 4);
}

double modulus_switch_constant(std::uint32_t n, double mean_square, double step) {
  return step * step / 4 * (1 + n * mean_square);
}

double failure_log2(double margin, double variance) {
  if (margin <= 0) return 0;
  if (variance <= 0) return -std::numeric_limits<double>::infinity();
  const double x = margin / std::sqrt(2 * variance);
  if (x < 25) return std::log2(std::erfc(x));
  // erfc(x) ~ exp(-x^2)/(x·sqrt(pi))·(1 - 1/(2x^2)), Abramowitz and Stegun 7.1.23
  return (-x * x - std::log(x * std::sqrt(std::numbers::pi)) + std::log1p(-1 / (2 * x * x))) /
         std::numbers::ln2;
}

double sum_log2(double a, double b) {
  const double most = std::max(a, b);
  if (std::isinf(most)) return most;
  return most + std::log2(std::exp2(a - most) + std::exp2(b - most));
}

}  // namespace whorl::lattice
