// What follows from BGV parameters, for client and server alike.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ring/rns_plan.h"
#include "whorl/bgv/parameters.h"

namespace whorl::bgv {

template <class Word>
std::shared_ptr<const ring::RnsPlan<Word>> plan_of(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  const std::vector<Word> chain(p.chain.begin(), p.chain.end()),
      special(p.special.begin(), p.special.end());
  return std::make_shared<const ring::RnsPlan<Word>>(p.N, chain, special, p.digit_limbs);
}

/// Calls body(Word{}) with the word of the parameters' residues.
template <class Body>
decltype(auto) with_word(const Parameters& parameters, const Body& body) {
  return parameters.word_bytes() == 4 ? body(std::uint32_t{}) : body(std::uint64_t{});
}

}  // namespace whorl::bgv
