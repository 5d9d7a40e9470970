#include "whorl/binfhe/lut.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "math/text.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

namespace {

bool is_negacyclic(std::span<const std::uint32_t> values, Encoding input, Encoding output) {
  if (input.p % 2 != 0 || output.padding) return false;
  for (std::size_t m = 0; m < input.p / 2; ++m)
    if ((values[m] + values[m + input.p / 2]) % output.p != 0) return false;
  return true;
}

}  // namespace

Lut Lut::create(const Parameters& parameters, std::vector<std::uint32_t> values, Encoding input,
                Encoding output, bool exact) {
  check_rotated(parameters, input);
  check_encoding(parameters, output);
  if (values.size() != input.p)
    throw EncodingError("a table for p = " + std::to_string(input.p) + " has " +
                        std::to_string(values.size()) + " values");
  check_values(values, output.p, "the output's p");
  const LutKind kind = input.padding                          ? LutKind::padded
                       : is_negacyclic(values, input, output) ? LutKind::negacyclic
                                                              : LutKind::arbitrary;
  if (kind == LutKind::arbitrary && input.p > parameters.N() / 4)
    throw EncodingError("an arbitrary table has p at most N/4 = " +
                        std::to_string(parameters.N() / 4) + ", not " + std::to_string(input.p));
  return {parameters, std::move(values), input, output, kind, exact};
}

Lut Lut::create(const Parameters& parameters,
                const std::function<std::uint32_t(std::uint32_t)>& function, Encoding input,
                Encoding output, bool exact) {
  check_rotated(parameters, input);
  std::vector<std::uint32_t> values(input.p);
  for (std::uint32_t m = 0; m < input.p; ++m) values[m] = function(m);
  return create(parameters, std::move(values), input, output, exact);
}

std::uint32_t Lut::error_bound(double noise, double allow_failure) const {
  check_allowed(allow_failure);
  if (!(noise >= 0 && std::isfinite(noise)))
    throw RangeError("the noise " + math::text_of(noise) + " is not a finite number of at least 0");
  // Half each for what the input's noise and the output's may do.
  const double allowed_log2 = std::log2(allow_failure) - 1;
  const bool arbitrary = kind_ == LutKind::arbitrary;
  std::uint32_t in = 0, out = 0;
  for (const Transform transform : {Transform::ntt, Transform::fft}) {
    NoiseEstimate estimate = parameters_.noise(transform);
    estimate.refreshed = unit_of_noise(parameters_);
    while (in < input_.p &&
           lut_failure_log2(parameters_, estimate, input_, arbitrary, noise, in) > allowed_log2)
      ++in;
    while (out < output_.p / 2 &&
           decryption_failure_log2(parameters_, estimate.refreshed, output_, out) > allowed_log2)
      ++out;
  }
  const std::int64_t p = input_.p, p_out = output_.p, reach = in;
  std::int64_t widest = 0;
  const auto meet = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t apart = std::abs(a - b) % p_out;
    widest = std::max(widest, std::min(apart, p_out - apart));
  };
  // Phases beyond the table's ends find its values negated, as X^N = -1. A table that is not
  // negacyclic goes round its half circle; the sign's noise may pass the end once more.
  for (std::int64_t m = 0; m < p; ++m)
    for (std::int64_t k = m - reach; k <= m + reach; ++k) {
      const std::int64_t here = values_[static_cast<std::size_t>(m)],
                         found = values_[static_cast<std::size_t>((k + 2 * p) % p)];
      const bool inside = k >= 0 && k < p, near_an_end = m < reach || m + reach >= p;
      if (inside || kind_ != LutKind::padded) meet(here, found);
      if (arbitrary ? near_an_end : !inside && kind_ == LutKind::padded) meet(here, -found);
    }
  return static_cast<std::uint32_t>(std::min<std::int64_t>(widest + out, p_out / 2));
}

}  // namespace whorl::binfhe
