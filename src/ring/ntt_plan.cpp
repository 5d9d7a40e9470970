#include "ring/ntt_plan.h"

#include <bit>
#include <string>

#include "math/primes.h"
#include "whorl/error.h"

namespace whorl::ring {

void check_ring_dimension(std::uint32_t N) {
  if (!std::has_single_bit(N) || N < 256 || N > (1u << 17))
    throw ParameterError("ring dimension N = " + std::to_string(N) +
                         " is not a power of two in 2^8 … 2^17");
}

template <class Word>
NttPlan<Word>::NttPlan(std::uint32_t N, Word q) : N_(N), modulus_(q) {
  check_ring_dimension(N);
  if ((q - 1) % (2 * N) != 0 || !math::is_prime(q))
    throw ParameterError("modulus q = " + std::to_string(q) +
                         " is not a prime = 1 mod 2N = " + std::to_string(2 * N));
  psi_ = static_cast<Word>(math::primitive_root_of_unity(q, 2ULL * N));
  const Word inverse_psi = modulus_.inverse(psi_);
  inverse_N_ = modulus_.inverse(static_cast<Word>(N % q));
  const unsigned bits = static_cast<unsigned>(std::bit_width(N) - 1);
  roots_.resize(N);
  inverse_roots_.resize(N);
  Word power = 1, inverse_power = 1;
  for (std::uint32_t i = 0; i < N; ++i) {
    const std::uint32_t slot = bit_reverse(i, bits);
    roots_[slot] = power;
    inverse_roots_[slot] = inverse_power;
    power = modulus_.mul(power, psi_);
    inverse_power = modulus_.mul(inverse_power, inverse_psi);
  }
  roots_shoup_.resize(N);
  inverse_roots_shoup_.resize(N);
  for (std::uint32_t i = 0; i < N; ++i) {
    roots_shoup_[i] = modulus_.shoup(roots_[i]);
    inverse_roots_shoup_[i] = modulus_.shoup(inverse_roots_[i]);
  }
}

template class NttPlan<std::uint32_t>;
template class NttPlan<std::uint64_t>;

}  // namespace whorl::ring
