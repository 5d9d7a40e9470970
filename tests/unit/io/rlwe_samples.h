// Small objects that the schemes over RNS rings save alike. Not encryptions of anything, but
// residues such as those are. Each scheme has a header with its own samples, and with a struct that
// says to tests of all these schemes what its types, samples and frames are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "math/primes.h"
#include "unit/io/samples.h"
#include "whorl/ring_keys.h"

namespace whorl::io::samples {

/// `rows` times `row_words` words, row r below primes[r modulo their number].
template <class Parameters>
WordArray ring_words(Random& random, const Parameters& parameters, std::size_t rows,
                     std::size_t row_words, std::span<const std::uint64_t> primes) {
  const auto make = [&]<class Word>(Word) {
    std::vector<Word> words;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto row = random_words<Word>(random, row_words, primes[r % primes.size()]);
      words.insert(words.end(), row.begin(), row.end());
    }
    return WordArray(std::move(words));
  };
  return parameters.word_bytes() == 4 ? make(std::uint32_t{}) : make(std::uint64_t{});
}

/// The primes of the chain at `limbs`.
template <class Parameters>
std::vector<std::uint64_t> primes_at(const Parameters& parameters,
                                     const std::vector<unsigned>& limbs) {
  std::vector<std::uint64_t> primes;
  for (const unsigned l : limbs) primes.push_back(parameters.literal().chain[l]);
  return primes;
}

/// Those of the chain, then the special ones.
template <class Parameters>
std::vector<std::uint64_t> all_primes(const Parameters& parameters) {
  std::vector<std::uint64_t> primes = parameters.literal().chain;
  const auto& special = parameters.literal().special;
  primes.insert(primes.end(), special.begin(), special.end());
  return primes;
}

/// A literal with the ring of 2^17 coefficients and 20 primes, one of them special.
template <class Literal>
Literal large_ring() {
  Literal literal;
  literal.N = 1 << 17;
  const std::vector<std::uint64_t> primes = math::ntt_primes(50, literal.N, 20);
  literal.chain = {primes.begin() + 1, primes.end()};
  literal.special = {primes.front()};
  return literal;
}

template <class SecretKey, class Parameters>
SecretKey ternary_key(const Parameters& parameters, Random& random) {
  std::vector<std::int32_t> coefficients(parameters.N());
  for (auto& x : coefficients) x = static_cast<std::int32_t>(random() % 3) - 1;
  return SecretKey::from_coefficients(parameters, random_array<16>(random), coefficients);
}

/// `limbs`: those of fresh ciphertexts.
template <class Parameters>
RingPublicKey<Parameters> ring_public_key(const Parameters& parameters,
                                          const std::vector<unsigned>& limbs, Random& random) {
  return {
      parameters, random_array<16>(random), random_array<32>(random),
      ring_words(random, parameters, limbs.size(), parameters.N(), primes_at(parameters, limbs))};
}

template <class Parameters>
RingEvaluationKeys<Parameters> ring_evaluation_keys(const Parameters& parameters, Random& random) {
  const auto primes = all_primes(parameters);
  RingEvaluationKeys<Parameters> value{parameters, random_array<16>(random), {}};
  for (const auto& [g, power] : {std::pair{1U, 2U}, std::pair{3U, 1U}})
    value.keys.push_back({g, power, random_array<32>(random),
                          ring_words(random, parameters, parameters.digits() * primes.size(),
                                     parameters.N(), primes)});
  return value;
}

/// A key of a kind, over the primes that residues have beside each other.
template <class Parameters>
RingSwitchKey key_of_kind(const Parameters& parameters, SwitchKind kind, std::uint32_t g,
                          std::size_t digits, const std::vector<std::uint64_t>& primes,
                          Random& random) {
  return {g, 1, random_array<32>(random),
          ring_words(random, parameters, digits * primes.size(), parameters.N(), primes), kind};
}

/// Ciphertexts of two parts and with the limbs of fresh ones get a seed, which was drawn for a
/// batch in which they have these numbers, and the c_1 that docs/file-format.md says.
template <class Ciphertexts>
void give_seed(Ciphertexts& value, const std::vector<unsigned>& limbs,
               const std::vector<std::uint32_t>& numbers, Random& random) {
  value.seed = random_array<32>(random);
  value.numbers = numbers;
  const auto& p = value.parameters;
  const auto seeded = [&]<class Word>(Word) {
    const auto there = value.data.template as<Word>();
    std::vector<Word> words(there.begin(), there.end());
    std::size_t at = words.size() / 2;
    for (const unsigned l : limbs)
      for (const std::uint32_t k : numbers) {
        math::expand_uniform<Word>(*value.seed, std::uint64_t{k} * p.limbs() + l,
                                   p.literal().chain[l], std::span(words).subspan(at, p.N()));
        at += p.N();
      }
    value.data = WordArray(std::move(words));
  };
  p.word_bytes() == 4 ? seeded(std::uint32_t{}) : seeded(std::uint64_t{});
}

}  // namespace whorl::io::samples
