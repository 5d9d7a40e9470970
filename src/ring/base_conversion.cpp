#include "ring/base_conversion.h"

#include <algorithm>
#include <string>

#include "whorl/error.h"

namespace whorl::ring {

template <class Word>
BaseConversion<Word>::BaseConversion(std::span<const math::Modulus<Word>> from,
                                     std::span<const math::Modulus<Word>> to, std::uint64_t t,
                                     Lift lift)
    : from_(from.begin(), from.end()), to_(to.begin(), to.end()) {
  if (from_.empty()) throw ParameterError("base conversion: at least one modulus is needed");
  const std::size_t L = from_.size();
  for (std::size_t l = 0; l < L; ++l) {
    const math::Modulus<Word>& q = from_[l];
    largest_ = std::max(largest_, q.value());
    if (q.value() % 2 == 0 || q.value() >> fraction_bits == 0)
      throw ParameterError("base conversion: modulus " + std::to_string(q.value()) +
                           " is even or below 2^" + std::to_string(fraction_bits));
    Word others = static_cast<Word>(t % q.value());
    for (std::size_t m = 0; m < L; ++m) {
      if (m == l) continue;
      if (from_[m] == q)
        throw ParameterError("base conversion: modulus " + std::to_string(q.value()) +
                             " is given twice");
      others = q.mul(others, q.reduce(from_[m].value()));
    }
    inverse_.push_back(q.inverse(others));
    inverse_shoup_.push_back(q.shoup(inverse_.back()));
    ratio_.push_back(static_cast<Word>(
        (math::Wide<Word>{1} << (math::word_bits<Word> + fraction_bits)) / q.value()));
  }
  for (const math::Modulus<Word>& p : to_) {
    const math::Montgomery<Word> montgomery(p);
    const Word plain = static_cast<Word>(t % p.value());
    Word all = plain;
    for (std::size_t l = 0; l < L; ++l) {
      Word others = plain;
      for (std::size_t m = 0; m < L; ++m)
        if (m != l) others = p.mul(others, p.reduce(from_[m].value()));
      factors_.push_back(montgomery.to_montgomery(others));
      all = p.mul(all, p.reduce(from_[l].value()));
    }
    factors_.push_back(lift == Lift::exact ? montgomery.to_montgomery(p.neg(all)) : Word{0});
  }
}

template class BaseConversion<std::uint32_t>;
template class BaseConversion<std::uint64_t>;

}  // namespace whorl::ring
