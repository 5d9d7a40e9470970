// Plans of RNS for benches, and how records name them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/rates.h"
#include "math/primes.h"
#include "ring/rns_plan.h"

namespace whorl::bench {

/// The largest primes of `bits` bits that a shape wants, chain and special ones.
template <class Word>
std::vector<Word> primes_of(const RnsShape& shape, unsigned bits) {
  std::vector<Word> out;
  for (const auto q : math::ntt_primes(bits, shape.N, shape.limbs + shape.special))
    out.push_back(static_cast<Word>(q));
  return out;
}
template <class Word>
std::shared_ptr<const ring::RnsPlan<Word>> plan_of(const RnsShape& shape,
                                                   std::span<const Word> primes) {
  return std::make_shared<ring::RnsPlan<Word>>(shape.N, primes.first(shape.limbs),
                                               primes.subspan(shape.limbs), shape.digit_limbs);
}
/// "N=2^15, 18+6 limbs of 30 bits, dnum 3".
inline std::string in_words(const RnsShape& shape, unsigned bits, unsigned digits) {
  return "N=2^" + std::to_string(log2_of(shape.N)) + ", " + std::to_string(shape.limbs) + "+" +
         std::to_string(shape.special) + " limbs of " + std::to_string(bits) + " bits, dnum " +
         std::to_string(digits);
}

}  // namespace whorl::bench
