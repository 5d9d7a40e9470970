// Values that follow from BGV parameters, for both client and server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lattice/rlwe/plan.h"
#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/rows.h"

namespace whorl::bgv {

/// ShapeError unless `c` has info.count ciphertexts of so many words, of the right width.
inline void check_words(const Ciphertexts& c, std::size_t each) {
  whorl::check_words(c.data, c.info.count, each, c.parameters.word_bytes());
}

inline lattice::rlwe::AnyPlan any_plan_of(const Parameters& parameters) {
  const ParameterLiteral& p = parameters.literal();
  return lattice::rlwe::make_plan(p.N, p.chain, p.special, p.digit_limbs);
}

/// Calls body(Word{}) with the word of the parameters' residues.
template <class Body>
decltype(auto) with_word(const Parameters& parameters, const Body& body) {
  return parameters.word_bytes() == 4 ? body(std::uint32_t{}) : body(std::uint64_t{});
}

}  // namespace whorl::bgv
