#include "ring/rns_plan.h"

#include <algorithm>
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
  if (chain.empty()) throw ParameterError("the RNS chain has no primes");
  if (digit_limbs == 0 || digit_limbs > chain.size())
    throw ParameterError("digit_limbs is " + std::to_string(digit_limbs) + "; it must be in 1 … " +
                         std::to_string(chain.size()) + ", the limbs of the chain");
  if (chain.size() + special.size() > Basis::most)
    throw ParameterError("there are " + std::to_string(chain.size() + special.size()) +
                         " RNS primes; there may be at most " + std::to_string(Basis::most));
  constexpr Word least = Word{1} << (sizeof(Word) == 4 ? 24 : 44);
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
  key_layout_.chain = level(limbs_);
  key_layout_.special = special_basis();
  for (unsigned first = 0; first < limbs_; first += digit_limbs_)
    key_layout_.digits.push_back(Basis::range(first, std::min(digit_limbs_, limbs_ - first)));
}

template <class Word>
RnsPlan<Word> RnsPlan<Word>::in_ring(std::uint32_t n) const {
  if (n > N_)
    throw ParameterError("a ring of " + std::to_string(n) + " coefficients is not within one of " +
                         std::to_string(N_));
  std::vector<Word> primes;
  for (const math::Modulus<Word>& q : moduli_) primes.push_back(q.value());
  const std::span<const Word> all(primes);
  return RnsPlan(n, all.first(limbs_), all.subspan(limbs_), digit_limbs_);
}

template <class Word>
std::vector<math::Modulus<Word>> RnsPlan<Word>::moduli_of(const Basis& basis) const {
  std::vector<math::Modulus<Word>> out;
  out.reserve(basis.size());
  basis.for_each([&](unsigned i) { out.push_back(moduli_[i]); });
  return out;
}

template <class Word>
std::vector<const NttPlan<Word>*> RnsPlan<Word>::ntts_of(const Basis& basis) const {
  std::vector<const NttPlan<Word>*> out;
  out.reserve(basis.size());
  basis.for_each([&](unsigned i) { out.push_back(&plans_[i]); });
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
    throw ParameterError(std::string(what) + ": limbs is " + std::to_string(limbs) +
                         "; it must be in 1 … " + std::to_string(limbs_));
}

template <class Word>
void RnsPlan<Word>::check_basis(const char* what, const Basis& basis) const {
  if (basis.empty()) throw ParameterError(std::string(what) + ": the basis has no primes");
  if (!all().includes(basis))
    throw ParameterError(std::string(what) + ": basis " + basis.describe() +
                         " is not within the plan, which has " + std::to_string(moduli_.size()) +
                         " primes");
}

template <class Word>
void RnsPlan<Word>::check_layout(const char* what, const KeyLayout& layout) const {
  check_basis(what, layout.chain);
  if (layout.special.empty())
    throw ParameterError(std::string(what) + ": the plan or the key has no special primes");
  check_basis(what, layout.special);
  Basis seen;
  for (const Basis& digit : layout.digits) {
    check_basis(what, digit);
    if (!(seen & digit).empty())
      throw ParameterError(std::string(what) + ": digits share primes " +
                           (seen & digit).describe());
    seen = seen | digit;
  }
  if (seen != layout.chain)
    throw ParameterError(std::string(what) + ": digits are of " + seen.describe() +
                         ", but the key's chain is " + layout.chain.describe());
  if (!(layout.chain & layout.special).empty())
    throw ParameterError(std::string(what) + ": primes " +
                         (layout.chain & layout.special).describe() +
                         " are both in the chain and special");
}

template class RnsPlan<std::uint32_t>;
template class RnsPlan<std::uint64_t>;

}  // namespace whorl::ring
