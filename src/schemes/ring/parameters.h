// What BGV's and CKKS's parameters, given or chosen, must keep to alike.
#pragma once

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "lattice/security.h"
#include "math/primes.h"
#include "math/text.h"
#include "whorl/error.h"
#include "whorl/word_array.h"

namespace whorl {

/// The bounds of a scheme, and what its messages begin with. ParameterError for what is outside.
struct RingRules {
  std::string_view prefix;             ///< "BGV: "
  unsigned most_primes, most_special;  ///< of the chain, and special ones
  unsigned narrow_bits;                ///< primes of 32-bit words are at least 2^narrow_bits

  [[noreturn]] void reject(const std::string& what) const {
    throw ParameterError(std::string(prefix) + what);
  }
  void check_range(const char* field, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) const {
    if (value < least || value > most)
      reject(std::string(field) + " = " + std::to_string(value) + " is outside " +
             std::to_string(least) + " … " + std::to_string(most));
  }
  void check_real(const char* field, double value, double least, double most) const {
    if (!(value >= least && value <= most))
      reject(std::string(field) + " = " + math::text_of(value) + " is outside " +
             math::text_of(least) + " … " + math::text_of(most));
  }
  void check_ring(std::uint32_t N) const {
    if (N < 1024 || N > (1u << 17) || !std::has_single_bit(N))
      reject("N = " + std::to_string(N) + " is not a power of two in 2^10 … 2^17");
  }
  void check_prime(const char* which, std::uint64_t q, std::uint32_t N, bool narrow) const {
    const unsigned low = narrow ? narrow_bits : 45, high = narrow ? 31 : 60;
    if (q >> low == 0 || q >> high != 0)
      reject(std::string(which) + " prime " + std::to_string(q) + " is outside [2^" +
             std::to_string(low) + ", 2^" + std::to_string(high) +
             "), the range of the chain's first prime");
    if (q % (2ULL * N) != 1 || !math::is_prime(q))
      reject(std::string(which) + " modulus " + std::to_string(q) +
             " is not a prime = 1 mod 2N = " + std::to_string(2ULL * N));
  }
  /// Checks what both schemes' literals have.
  template <class Literal>
  void check(const Literal& p) const {
    if (p.name.size() > 64)
      reject("name has " + std::to_string(p.name.size()) + " characters, above 64");
    check_ring(p.N);
    check_range("the number of primes in the chain", p.chain.size(), 1, most_primes);
    check_range("the number of special primes", p.special.size(), 1, most_special);
    check_range("digit_limbs", p.digit_limbs, 1, p.chain.size());
    const bool narrow = ring_word_bytes(p.chain[0]) == 4;
    for (const std::uint64_t q : p.chain) check_prime("chain", q, p.N, narrow);
    for (const std::uint64_t q : p.special) check_prime("special", q, p.N, narrow);
    std::set<std::uint64_t> seen(p.chain.begin(), p.chain.end());
    seen.insert(p.special.begin(), p.special.end());
    if (seen.size() != p.chain.size() + p.special.size())
      reject("chain and special have the same prime twice");
    check_real("sigma", p.sigma, 0.5, 64);
  }
  /// Checks that the security of `what` is 128 bits or more.
  void check_security(const std::string& what, const lattice::SecurityBound& security) const {
    if (security.bits < 128)
      reject(what + " is " + lattice::describe(security) +
             ", but 128 bits are needed: allow_insecure=True accepts this");
  }
};

}  // namespace whorl
