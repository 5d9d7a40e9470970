// Values that follow from parameters and ciphertexts of BGV and CKKS, for both client and server. A
// scheme says by words_of(parameters, info) how many words each ciphertext has on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lattice/rlwe/plan.h"
#include "whorl/error.h"
#include "whorl/rows.h"

namespace whorl {

template <class Parameters>
lattice::rlwe::AnyPlan any_plan_of(const Parameters& parameters) {
  const auto& p = parameters.literal();
  return lattice::rlwe::make_plan(p.N, p.chain, p.special, p.digit_limbs);
}

/// generator^steps mod 2N, with `steps` taken modulo N/2: the g for which X -> X^g rotates slots.
inline std::uint32_t exponent_of(std::uint32_t N, std::uint64_t generator, std::int64_t steps) {
  const std::int64_t period = N / 2;
  auto count = static_cast<std::uint64_t>(((steps % period) + period) % period);
  std::uint64_t g = 1, power = generator;
  for (; count != 0; count >>= 1, power = power * power % (2ULL * N))
    if (count & 1) g = g * power % (2ULL * N);
  return static_cast<std::uint32_t>(g);
}

/// The length of vectors that `values` numbers are, of `length` each, or `all` where that is 0.
/// ShapeError for no numbers, for a part of a vector, and for polynomials of more than N numbers.
inline std::size_t vector_length(std::size_t values, std::size_t length, std::size_t all,
                                 bool polynomials, std::size_t N) {
  if (values == 0) throw ShapeError("values: no value is given");
  if (length == 0) length = all;
  if (values % length != 0)
    throw ShapeError("values: the number of values, " + std::to_string(values) +
                     ", is not a multiple of the vectors' length, " + std::to_string(length));
  if (polynomials && length > N)
    throw ShapeError("values: a polynomial of " + std::to_string(length) +
                     " coefficients has more than N = " + std::to_string(N) +
                     "; only values in slots may take several ciphertexts");
  return length;
}

/// ShapeError unless a batch has the words that its info says, of the right width.
template <class Ciphertexts>
void check_words(const Ciphertexts& c) {
  check_words(c.data, c.info.count, words_of(c.parameters, c.info), c.parameters.word_bytes());
}

/// How a batch lies in the host's memory.
template <class Ciphertexts>
Layout batch_layout(const Ciphertexts& c) {
  return {words_of(c.parameters, c.info) / c.parameters.N(), c.parameters.N()};
}

/// ShapeError if there are no indices, or if they take only a part of a vector that has `each`
/// ciphertexts.
inline void check_whole(std::span<const std::uint32_t> indices, std::size_t each) {
  if (indices.empty()) throw ShapeError("index: no index is given");
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices.size() % each != 0 || indices[i] % each != i % each ||
        indices[i] / each != indices[i - i % each] / each)
      throw ShapeError("index: " + std::to_string(indices[i]) + " at position " +
                       std::to_string(i) + " takes a part of a vector, which must keep all its " +
                       std::to_string(each) + " ciphertexts in order");
}

}  // namespace whorl
