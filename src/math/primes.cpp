#include "math/primes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "math/modulus.h"
#include "whorl/error.h"

namespace whorl::math {
namespace {

constexpr uint64_t max_transform_length = uint64_t{1} << 24;

void check_length(uint64_t N) {
  if (N < 2 || N > max_transform_length || !std::has_single_bit(N)) {
    throw ParameterError("transform length N = " + std::to_string(N) +
                         " is not a power of two in [2, 2^24]");
  }
}

uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % n);
}

uint64_t pow_mod(uint64_t base, uint64_t exponent, uint64_t n) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = mul_mod(result, base, n);
    base = mul_mod(base, base, n);
  }
  return result;
}

// The largest prime below bound that is 1 mod step, or 0.
uint64_t find_below(uint64_t bound, uint64_t step) {
  if (bound < 3) return 0;
  for (uint64_t q = (bound - 2) / step * step + 1; q > 1; q -= step) {
    if (is_prime(q)) return q;
  }
  return 0;
}

}  // namespace

bool is_prime(uint64_t n) {
  // The first twelve primes as bases decide every n < 3.18 * 10^23 (Sorenson and Webster, "Strong
  // pseudoprimes to twelve prime bases", 2017).
  constexpr std::array<uint64_t, 12> bases = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (const uint64_t p : bases) {
    if (n % p == 0) return n == p;
  }
  const int twos = std::countr_zero(n - 1);
  for (const uint64_t base : bases) {
    uint64_t x = pow_mod(base, (n - 1) >> twos, n);
    if (x == 1 || x == n - 1) continue;
    bool witness = true;
    for (int i = 1; i < twos && witness; ++i) {
      x = mul_mod(x, x, n);
      witness = x != n - 1;
    }
    if (witness) return false;
  }
  return true;
}

uint64_t ntt_prime_below(uint64_t bound, uint64_t N) {
  check_length(N);
  if (bound > max_modulus<uint64_t>) {
    throw ParameterError("bound " + std::to_string(bound) + " of a prime is above 2^61");
  }
  const uint64_t q = find_below(bound, 2 * N);
  if (q == 0) {
    throw ParameterError("there is no prime q = 1 mod " + std::to_string(2 * N) + " below " +
                         std::to_string(bound));
  }
  return q;
}

std::vector<uint64_t> ntt_primes(unsigned bits, uint64_t N, size_t count) {
  check_length(N);
  if (bits < 2 || bits > 61) {
    throw ParameterError("bits = " + std::to_string(bits) + " of a prime is outside [2, 61]");
  }
  std::vector<uint64_t> primes;
  uint64_t bound = uint64_t{1} << bits;
  while (primes.size() < count) {
    bound = find_below(bound, 2 * N);
    if (bound < uint64_t{1} << (bits - 1)) {
      throw ParameterError("there are " + std::to_string(primes.size()) + " primes q = 1 mod " +
                           std::to_string(2 * N) + " of " + std::to_string(bits) + " bits, not " +
                           std::to_string(count));
    }
    primes.push_back(bound);
  }
  return primes;
}

std::vector<uint64_t> ntt_primes_below(double log2_bound, uint64_t N, size_t count,
                                       std::span<const uint64_t> taken) {
  std::vector<uint64_t> primes;
  for (auto bound = static_cast<uint64_t>(std::exp2(log2_bound)); primes.size() < count;) {
    bound = ntt_prime_below(bound, N);
    if (std::find(taken.begin(), taken.end(), bound) == taken.end()) primes.push_back(bound);
  }
  return primes;
}

double log2_of_product(std::span<const uint64_t> numbers) {
  double sum = 0;
  for (const uint64_t each : numbers) sum += std::log2(static_cast<double>(each));
  return sum;
}

uint64_t primitive_root_of_unity(uint64_t q, uint64_t order) {
  if (q >= max_modulus<uint64_t> || !is_prime(q)) {
    throw ParameterError("q = " + std::to_string(q) + " is not a prime below 2^61");
  }
  if (!std::has_single_bit(order) || (q - 1) % order != 0) {
    throw ParameterError("order = " + std::to_string(order) +
                         " is not a power of two dividing q - 1 for q = " + std::to_string(q));
  }
  if (order == 1) return 1;
  const Modulus<uint64_t> modulus(q);
  // Half of all g are quadratic non-residues, and those give the full order.
  for (uint64_t g = 2;; ++g) {
    const uint64_t root = modulus.pow(modulus.reduce(g), (q - 1) / order);
    if (modulus.pow(root, order / 2) == q - 1) return root;
  }
}

}  // namespace whorl::math
