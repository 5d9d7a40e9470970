#include "ring/rns_plan.h"

#include <cmath>
#include <set>
#include <string>

#include "whorl/error.h"

namespace whorl::ring {

template <class Word>
RnsPlan<Word>::RnsPlan(std::uint32_t N, std::span<const Word> chain, std::span<const Word> special,
                       unsigned digit_limbs)
    : N_(N),
      limbs_(static_cast<unsigned>(chain.size())),
      special_(static_cast<unsigned>(special.size())),
      digit_limbs_(digit_limbs) {
  if (chain.empty()) throw ParameterError("an RNS chain without primes");
  if (digit_limbs == 0 || digit_limbs > chain.size())
    throw ParameterError("digits of " + std::to_string(digit_limbs) + " limbs; the chain has " +
                         std::to_string(chain.size()));
  constexpr Word least = Word{1} << (sizeof(Word) == 4 ? 25 : 45);
  std::set<Word> seen;
  for (const std::span<const Word> primes : {chain, special})
    for (const Word q : primes) {
      if (q < least)
        throw ParameterError("RNS prime " + std::to_string(q) + " is below " +
                             std::to_string(least));
      if (!seen.insert(q).second)
        throw ParameterError("RNS prime " + std::to_string(q) + " is there twice");
      plans_.emplace_back(N, q);
      moduli_.push_back(plans_.back().modulus());
    }
  for (unsigned l = 0; l < limbs_; ++l) {
    const math::Modulus<Word>& q = moduli_[l];
    Word product = 1;
    for (const Word p : special) product = q.mul(product, q.reduce(p));
    P_.push_back(product);
    inverse_P_.push_back(q.inverse(product));
  }
}

template <class Word>
std::vector<math::Modulus<Word>> RnsPlan<Word>::moduli_of(unsigned limbs, bool with_special) const {
  std::vector<math::Modulus<Word>> out(moduli_.begin(), moduli_.begin() + limbs);
  if (with_special) out.insert(out.end(), moduli_.begin() + limbs_, moduli_.end());
  return out;
}

template <class Word>
std::vector<const NttPlan<Word>*> RnsPlan<Word>::ntts_of(unsigned limbs, bool with_special) const {
  std::vector<const NttPlan<Word>*> out;
  for (unsigned l = 0; l < limbs; ++l) out.push_back(&plans_[l]);
  if (with_special)
    for (unsigned k = 0; k < special_; ++k) out.push_back(&plans_[limbs_ + k]);
  return out;
}

template <class Word>
double RnsPlan<Word>::log2_Q(unsigned limbs) const {
  double sum = 0;
  for (unsigned l = 0; l < limbs; ++l) sum += std::log2(static_cast<double>(moduli_[l].value()));
  return sum;
}

template <class Word>
double RnsPlan<Word>::log2_P() const {
  double sum = 0;
  for (unsigned k = 0; k < special_; ++k)
    sum += std::log2(static_cast<double>(moduli_[limbs_ + k].value()));
  return sum;
}

template <class Word>
void RnsPlan<Word>::check_limbs(const char* what, unsigned limbs) const {
  if (limbs == 0 || limbs > limbs_)
    throw ParameterError(std::string(what) + ": " + std::to_string(limbs) +
                         " limbs; the chain has 1 … " + std::to_string(limbs_));
}

template class RnsPlan<std::uint32_t>;
template class RnsPlan<std::uint64_t>;

}  // namespace whorl::ring
