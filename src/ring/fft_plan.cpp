#include "ring/fft_plan.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "ring/ntt_plan.h"

namespace whorl::ring {

FftPlan::FftPlan(std::uint32_t N) : N_(N), roots_(2 * N) {
  check_ring_dimension(N);
  // One octant is computed, the others are reflections of it: zeros and signs are exact.
  const std::uint32_t quarter = N / 2;
  for (std::uint32_t e = 0; e <= quarter / 2; ++e) {
    const long double angle = std::numbers::pi_v<long double> * e / N;
    roots_[e] = {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
    roots_[quarter - e] = {roots_[e].imag(), roots_[e].real()};
  }
  for (std::uint32_t e = quarter; e < 2 * N; ++e)
    roots_[e] = {-roots_[e - quarter].imag(), roots_[e - quarter].real()};
}

std::uint32_t FftPlan::exponent(std::uint32_t s) const {
  return 4 * bit_reverse(s, static_cast<unsigned>(std::bit_width(M()) - 1)) + 1;
}

std::vector<std::uint32_t> FftPlan::results_at_powers_of_5() const {
  const auto bits = static_cast<unsigned>(std::bit_width(M()) - 1);
  std::vector<std::uint32_t> out(M());
  std::uint64_t e = 1;
  for (std::uint32_t& result : out) {
    result = bit_reverse(static_cast<std::uint32_t>((e - 1) / 4), bits);
    e = 5 * e % (2ULL * N_);
  }
  return out;
}

}  // namespace whorl::ring
