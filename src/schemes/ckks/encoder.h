// Numbers to polynomials and back on the host, for clients: the canonical embedding (Cheon, Kim,
// Kim, Song, ASIACRYPT 2017, §3.2). Servers encode on their devices: rlwe::Evaluator::interpolate.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "ring/host/transforms.h"
#include "whorl/ckks/ciphertexts.h"

namespace whorl::ckks {

/// Slot j is the value at zeta^(5^j), zeta = exp(i·pi/N). Secrets go through: there is no branch on
/// a value, and no look-up by one. Several threads may use one object.
class Encoder {
 public:
  explicit Encoder(const Parameters& parameters) : Encoder(ring::FftPlan(parameters.N())) {}
  explicit Encoder(const ring::FftPlan& plan);

  /// EncodingError names the first value that is not finite, or is outside the bounds: its absolute
  /// value above the larger one, or its real part beyond them. The time does not depend on the
  /// values that are right.
  static void check_values(std::span<const std::complex<double>> values, const Bounds& bound);

  /// EncodingError for numbers other than 0 and 1; the time does not depend on those.
  static void check_bits(std::span<const std::uint8_t> bits);

  /// round(scale·m) of the polynomial that has these values in its slots, repeated with the least
  /// period that is a power of two, with copies of the first ones behind them; or of these
  /// coefficients. |scale·value| must be below 2^61.
  void encode(std::span<const std::complex<double>> values, Packing packing, double scale,
              std::span<std::int64_t> coefficients) const;
  /// The first values.size() values of a polynomial divided by `scale`.
  void decode(std::span<const double> coefficients, Packing packing, double scale,
              std::span<std::complex<double>> values) const;

 private:
  std::uint32_t N_;
  ring::HostFft fft_;
  std::vector<std::uint32_t> place_;  ///< of slot j among the FFT's results
};

}  // namespace whorl::ckks
