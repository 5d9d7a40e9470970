// Small BGV objects of every kind that is saved. Not encryptions of anything, but residues such as
// those are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "math/primes.h"
#include "unit/io/samples.h"
#include "whorl/bgv.h"

namespace whorl::io::samples {

/// Insecure and small: N = 1024, 32-bit words with slots, 64-bit words without.
inline std::vector<bgv::ParameterLiteral> bgv_literals() {
  const auto make = [](const char* name, unsigned bits, std::uint64_t t, unsigned limbs,
                       unsigned digit_limbs) {
    bgv::ParameterLiteral literal;
    literal.name = name;
    literal.N = 1024;
    literal.t = t;
    literal.digit_limbs = digit_limbs;
    const auto primes = math::ntt_primes(bits, literal.N, limbs + digit_limbs);
    literal.special.assign(primes.begin(), primes.begin() + digit_limbs);
    literal.chain.assign(primes.begin() + digit_limbs, primes.end());
    literal.depth = limbs / 2;
    literal.plain_products = limbs / 3;
    return literal;
  };
  return {make("tiny", 30, 12289, 1, 1), make("several", 28, 65537, 5, 2),
          make("wide Größe", 55, 1000, 3, 3)};
}

inline bgv::Parameters bgv_parameters(const bgv::ParameterLiteral& literal) {
  return bgv::Parameters::create(literal, true);
}

/// `rows` times N words, row r below primes[r modulo their number].
inline WordArray bgv_words(Random& random, const bgv::Parameters& parameters, std::size_t rows,
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

inline bgv::Ciphertexts bgv_ciphertexts(const bgv::Parameters& parameters, std::size_t count,
                                        unsigned parts, unsigned limbs, Random& random) {
  const auto packing = parameters.has_slots() ? bgv::Packing::slots : bgv::Packing::coefficients;
  std::uint64_t factor = 0;
  while (std::gcd(factor, parameters.t()) != 1) factor = random() % parameters.t();
  const bgv::CiphertextInfo info{packing, count, parts, limbs, factor, 20.5};
  return {parameters,
          random_array<16>(random),
          info,
          bgv_words(random, parameters, parts * limbs, count * parameters.N(),
                    {parameters.literal().chain.data(), limbs}),
          std::nullopt,
          std::nullopt};
}

inline bgv::SecretKey bgv_secret_key(const bgv::Parameters& parameters, Random& random) {
  std::vector<std::int32_t> coefficients(parameters.N());
  for (auto& x : coefficients) x = static_cast<std::int32_t>(random() % 3) - 1;
  return bgv::SecretKey::from_coefficients(parameters, random_array<16>(random), coefficients);
}

/// Fresh ones, which carry a seed.
inline bgv::Ciphertexts bgv_fresh(const bgv::Parameters& parameters, std::size_t count,
                                  Random& random) {
  std::vector<std::int64_t> values(count * parameters.N());
  for (auto& value : values) value = static_cast<std::int64_t>(random());
  return bgv::Client(bgv_secret_key(parameters, random))
      .encrypt(values, parameters.has_slots() ? bgv::Packing::slots : bgv::Packing::coefficients);
}

inline bgv::PublicKey bgv_public_key(const bgv::Parameters& parameters, Random& random) {
  return {parameters, random_array<16>(random), random_array<32>(random),
          bgv_words(random, parameters, parameters.limbs(), parameters.N(),
                    parameters.literal().chain)};
}

inline bgv::EvaluationKeys bgv_evaluation_keys(const bgv::Parameters& parameters, Random& random) {
  std::vector<std::uint64_t> primes = parameters.literal().chain;
  primes.insert(primes.end(), parameters.literal().special.begin(),
                parameters.literal().special.end());
  bgv::EvaluationKeys value{parameters, random_array<16>(random), {}};
  for (const auto& [g, power] : {std::pair{1U, 2U}, std::pair{3U, 1U}})
    value.keys.push_back({g, power, random_array<32>(random),
                          bgv_words(random, parameters, parameters.digits() * primes.size(),
                                    parameters.N(), primes)});
  return value;
}

/// Bytes of the literal at the head of every payload.
inline std::size_t bgv_literal_bytes(const bgv::ParameterLiteral& l) {
  const bgv::ParameterLiteral absent;
  return TaggedBytes()
      .field(l.N, absent.N)
      .field(l.t, absent.t)
      .field(l.chain)
      .field(l.special)
      .field(l.digit_limbs, absent.digit_limbs)
      .field(l.sigma, absent.sigma)
      .field(l.depth, absent.depth)
      .field(l.name)
      .field(l.plain_products, absent.plain_products)
      .total();
}
inline constexpr std::uint16_t bgv_N_tag = 1, bgv_t_tag = 2, bgv_name_tag = 8;

}  // namespace whorl::io::samples
