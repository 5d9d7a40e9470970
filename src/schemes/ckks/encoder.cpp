#include "schemes/ckks/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "math/secret.h"
#include "schemes/ring/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

Bounds CiphertextInfo::bounds() const {
  const double most = std::exp2(bound);
  if (packing != Packing::real) return most;
  // The ends are exact, while the bound is a logarithm.
  const double farthest = most * (1 + 0x1p-40);
  const auto nearer = [&](double end) {
    return std::abs(end) <= farthest ? end : std::copysign(most, end);
  };
  return {nearer(low), nearer(high)};
}
std::uint64_t CiphertextInfo::slots() const { return std::bit_ceil(length); }

std::uint32_t rotation_exponent(std::uint32_t N, std::int64_t slots) {
  return exponent_of(N, 5, slots);
}

Encoder::Encoder(const ring::FftPlan& plan)
    : N_(plan.N()), fft_(plan), place_(plan.results_at_powers_of_5()) {}

namespace {

/// Returns "2", or "2+1i", for messages.
std::string shown(const std::complex<double>& z) {
  char text[64];
  if (z.imag() == 0)
    std::snprintf(text, sizeof text, "%g", z.real());
  else
    std::snprintf(text, sizeof text, "%g%+gi", z.real(), z.imag());
  return text;
}

}  // namespace

void Encoder::check_bits(std::span<const std::uint8_t> bits) {
  unsigned bad = 0;
  for (const std::uint8_t bit : bits) bad |= bit >> 1;
  if (bad != 0) throw EncodingError("bits: a value is neither 0 nor 1");
}

void Encoder::check_values(std::span<const std::complex<double>> values, const Bounds& bound) {
  // Comparisons with not-a-number are false, so that the sum of the bad ones counts these too.
  const double most = bound.most(), square = most * most * (1 + 0x1p-40), slack = most * 0x1p-41;
  const double low = bound.low - slack, high = bound.high + slack;
  const auto is_good = [&](const std::complex<double>& z) {
    return static_cast<std::size_t>(z.real() * z.real() + z.imag() * z.imag() <= square) &
           static_cast<std::size_t>(z.real() >= low) & static_cast<std::size_t>(z.real() <= high);
  };
  std::size_t good = 0;
  for (const std::complex<double>& z : values) good += is_good(z);
  if (good == values.size()) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_good(values[i]) != 0) continue;
    char text[192];
    if (bound.low == -bound.high)
      std::snprintf(text, sizeof text,
                    "value %s at index %zu has an absolute value above bound = %g; give the "
                    "largest one as bound",
                    shown(values[i]).c_str(), i, bound.high);
    else
      std::snprintf(text, sizeof text,
                    "value %g at index %zu is outside bound = (%g, %g); give the least and the "
                    "largest one as bound",
                    values[i].real(), i, bound.low, bound.high);
    throw EncodingError(text);
  }
}

void Encoder::encode(std::span<const std::complex<double>> values, Packing packing, double scale,
                     std::span<std::int64_t> coefficients) const {
  math::WipedVector<double> real(N_);
  const std::span<double> out = real.span();
  if (packing == Packing::coefficients) {
    std::ranges::fill(out, 0.0);
    for (std::size_t j = 0; j < values.size(); ++j) out[j] = values[j].real();
  } else {
    math::WipedVector<std::complex<double>> spectrum(N_ / 2);
    const std::size_t period = std::bit_ceil(values.size());
    for (std::size_t j = 0; j < N_ / 2; ++j) {
      const std::size_t at = j & (period - 1);
      spectrum.span()[place_[j]] = values[at < values.size() ? at : at - values.size()];
    }
    fft_.inverse(spectrum.span(), out);
  }
  for (std::size_t j = 0; j < N_; ++j)
    coefficients[j] = std::llrint(out[j] * scale);  // one instruction, whatever it is
}

void Encoder::decode(std::span<const double> coefficients, Packing packing, double scale,
                     std::span<std::complex<double>> values) const {
  const double by = 1 / scale;
  if (packing == Packing::coefficients) {
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = coefficients[j] * by;
    return;
  }
  math::WipedVector<std::complex<double>> spectrum(N_ / 2);
  fft_.forward(coefficients, spectrum.span());
  for (std::size_t j = 0; j < values.size(); ++j) {
    const std::complex<double> z = spectrum.span()[place_[j]] * by;
    values[j] = packing == Packing::real ? std::complex<double>(z.real()) : z;
  }
}

}  // namespace whorl::ckks
