#include "ring/automorphism.h"

#include <bit>
#include <string>

#include "ring/ntt_plan.h"
#include "whorl/error.h"

namespace whorl::ring {

void check_exponent(std::uint32_t N, std::uint32_t g) {
  check_ring_dimension(N);
  if (g % 2 == 0 || g >= 2 * N)
    throw ParameterError("automorphism: g = " + std::to_string(g) +
                         " is not odd and below 2N = " + std::to_string(2 * N));
}

std::vector<std::uint32_t> evaluation_permutation(std::uint32_t N, std::uint32_t g) {
  check_exponent(N, g);
  const unsigned bits = static_cast<unsigned>(std::bit_width(N) - 1);
  std::vector<std::uint32_t> from(N);
  // Value j is at psi^e, e = 2·brv(j) + 1; a(X^g) there is a at psi^(g·e).
  for (std::uint32_t j = 0; j < N; ++j) {
    const std::uint64_t e = 2 * std::uint64_t{bit_reverse(j, bits)} + 1;
    from[j] = bit_reverse(static_cast<std::uint32_t>((e * g % (2 * N) - 1) / 2), bits);
  }
  return from;
}

std::vector<std::uint32_t> coefficient_permutation(std::uint32_t N, std::uint32_t g) {
  check_exponent(N, g);
  std::vector<std::uint32_t> to(N);
  for (std::uint32_t j = 0; j < N; ++j)
    to[j] = static_cast<std::uint32_t>(std::uint64_t{j} * g % (2 * N));
  return to;
}

}  // namespace whorl::ring
