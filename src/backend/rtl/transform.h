// The core's transform of one polynomial, in the order of ring::NttPlan, for images of keys. Cores
// have rings from N = 2^6 on; the library's transforms begin at 2^8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/modulus.h"

namespace whorl::backend::rtl {

class Transform {
 public:
  explicit Transform(unsigned log_N);

  /// Location l gets the value at psi^(2·brv(l) + 1).
  void forward(std::span<std::uint64_t> x) const;
  /// Its inverse, times N.
  void inverse(std::span<std::uint64_t> x) const;

  const math::Modulus<std::uint64_t>& modulus() const { return q_; }
  std::uint64_t psi() const { return psi_; }
  std::uint64_t inverse_N() const { return inverse_N_; }
  /// psi^brv(i), i < N: node i of the level with m nodes has number m + i; and their inverses.
  const std::vector<std::uint64_t>& roots() const { return roots_; }
  const std::vector<std::uint64_t>& inverse_roots() const { return inverse_roots_; }

 private:
  math::Modulus<std::uint64_t> q_;
  std::uint64_t psi_, inverse_N_;
  std::vector<std::uint64_t> roots_, shoup_, inverse_roots_, inverse_shoup_;
};

}  // namespace whorl::backend::rtl
