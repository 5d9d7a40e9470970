#include "schemes/bgv/plain_modulus.h"

#include <bit>

#include "math/primes.h"
#include "whorl/bgv/parameters.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace {

constexpr std::uint64_t bound = 1ULL << 31;

/// 0: none.
std::uint64_t least_from(std::uint64_t at_least, std::uint64_t step) {
  for (std::uint64_t t = (at_least + step - 2) / step * step + 1; t < bound; t += step)
    if (math::is_prime(t)) return t;
  return 0;
}

/// 0: none.
std::uint64_t greatest_below(std::uint64_t t, std::uint32_t N) {
  try {
    return math::ntt_prime_below(t, N);
  } catch (const ParameterError&) {
    return 0;
  }
}

}  // namespace

bool has_slots(std::uint64_t t, std::uint32_t N) {
  return t % (2ULL * N) == 1 && t < bound && math::is_prime(t);
}

std::uint64_t plain_modulus(std::uint64_t at_least, std::uint32_t N) {
  if (N < 1024 || N > (1u << 17) || !std::has_single_bit(N))
    throw ParameterError("N = " + std::to_string(N) + " is not a power of two in 2^10 … 2^17");
  const std::uint64_t t = at_least < bound ? least_from(at_least, 2ULL * N) : 0;
  if (t == 0)
    throw ParameterError(
        "at_least = " + std::to_string(at_least) +
        " is too large: the largest t below 2^31 that has slots for N = " + std::to_string(N) +
        " is " + std::to_string(math::ntt_prime_below(bound, N)));
  return t;
}

std::string nearest_with_slots(std::uint64_t t, std::uint32_t N,
                               const std::function<bool(std::uint64_t)>& serves) {
  const auto find = [&](const auto& next) {
    std::uint64_t found = next(t);
    for (int tried = 1; found != 0 && serves && !serves(found); ++tried)
      found = tried < 16 ? next(found) : 0;
    return found;
  };
  const std::uint64_t below = find([N](std::uint64_t x) { return greatest_below(x, N); }),
                      above = find([N](std::uint64_t x) { return least_from(x + 1, 2ULL * N); });
  if (below == 0 && above == 0) return none_near;
  if (below == 0) return "the nearest t that serves is " + std::to_string(above);
  if (above == 0) return "the nearest t that serves is " + std::to_string(below);
  return "the nearest t that serve are " + std::to_string(below) + " and " + std::to_string(above);
}

}  // namespace whorl::bgv
