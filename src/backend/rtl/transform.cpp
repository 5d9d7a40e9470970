#include "backend/rtl/transform.h"

#include "backend/rtl/shape.h"
#include "math/primes.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::rtl {

Transform::Transform(unsigned log_N)
    : q_(prime),
      psi_(math::primitive_root_of_unity(prime, std::uint64_t{2} << log_N)),
      inverse_N_(q_.inverse(std::uint64_t{1} << log_N)) {
  const std::uint32_t N = 1u << log_N;
  for (auto* each : {&roots_, &shoup_, &inverse_roots_, &inverse_shoup_}) each->resize(N);
  const std::uint64_t inverse_psi = q_.inverse(psi_);
  std::uint64_t power = 1, inverse = 1;
  for (std::uint32_t i = 0; i < N; ++i) {
    const std::uint32_t at = ring::bit_reverse(i, log_N);
    roots_[at] = power;
    shoup_[at] = q_.shoup(power);
    inverse_roots_[at] = inverse;
    inverse_shoup_[at] = q_.shoup(inverse);
    power = q_.mul(power, psi_);
    inverse = q_.mul(inverse, inverse_psi);
  }
}

void Transform::forward(std::span<std::uint64_t> x) const {
  for (std::size_t m = 1, half = x.size() / 2; m < x.size(); m *= 2, half /= 2)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t k = 2 * half * i; k < 2 * half * i + half; ++k) {
        const std::uint64_t t = q_.mul_shoup(x[k + half], roots_[m + i], shoup_[m + i]);
        x[k + half] = q_.sub(x[k], t);
        x[k] = q_.add(x[k], t);
      }
}

void Transform::inverse(std::span<std::uint64_t> x) const {
  for (std::size_t m = x.size() / 2, half = 1; m > 0; m /= 2, half *= 2)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t k = 2 * half * i; k < 2 * half * i + half; ++k) {
        const std::uint64_t t = q_.sub(x[k], x[k + half]);
        x[k] = q_.add(x[k], x[k + half]);
        x[k + half] = q_.mul_shoup(t, inverse_roots_[m + i], inverse_shoup_[m + i]);
      }
}

}  // namespace whorl::backend::rtl
