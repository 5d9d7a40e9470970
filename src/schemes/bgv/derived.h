// Values that follow from BGV parameters, for both client and server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lattice/rlwe/plan.h"
#include "ring/rns_plan.h"
#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/error.h"

namespace whorl::bgv {

/// ShapeError unless `c` has info.count ciphertexts of so many words, of the right width.
inline void check_words(const Ciphertexts& c, std::size_t each) {
  if (c.data.size() / each != c.info.count || c.data.size() % each != 0 ||
      c.data.word_bytes() != c.parameters.word_bytes())
    throw ShapeError(std::to_string(c.data.size()) + " words of " +
                     std::to_string(c.data.word_bytes()) + " bytes were given, but " +
                     std::to_string(c.info.count) + " ciphertexts have " + std::to_string(each) +
                     " words of " + std::to_string(c.parameters.word_bytes()) + " bytes each");
}

template <class Word>
std::shared_ptr<const ring::RnsPlan<Word>> plan_of(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  const std::vector<Word> chain(p.chain.begin(), p.chain.end()),
      special(p.special.begin(), p.special.end());
  return std::make_shared<const ring::RnsPlan<Word>>(p.N, chain, special, p.digit_limbs);
}

inline lattice::rlwe::AnyPlan any_plan_of(const Parameters& parameters) {
  if (parameters.word_bytes() == 4) return plan_of<std::uint32_t>(parameters);
  return plan_of<std::uint64_t>(parameters);
}

/// Calls body(Word{}) with the word of the parameters' residues.
template <class Body>
decltype(auto) with_word(const Parameters& parameters, const Body& body) {
  return parameters.word_bytes() == 4 ? body(std::uint32_t{}) : body(std::uint64_t{});
}

}  // namespace whorl::bgv
