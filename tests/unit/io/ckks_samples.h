// Small CKKS objects of every kind that is saved.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "math/primes.h"
#include "support/ckks_sets.h"
#include "unit/io/rlwe_samples.h"
#include "whorl/ckks.h"

namespace whorl::io::samples {

/// Insecure and small: N = 1024, words of 32 bits, the same with levels whose primes are no prefix
/// of the chain, words of 64 bits, and bootstrapping of real numbers and of bits.
inline std::vector<ckks::ParameterLiteral> ckks_literals() {
  const auto make = [](const char* name, double log2_scale, std::vector<std::uint64_t> chain,
                       unsigned terminals, std::vector<ckks::LevelPrimes> levels,
                       std::vector<std::uint64_t> special) {
    ckks::ParameterLiteral literal;
    literal.name = name;
    literal.N = 1024;
    literal.chain = std::move(chain);
    literal.terminals = terminals;
    literal.levels = std::move(levels);
    literal.special = std::move(special);
    literal.digit_limbs = static_cast<unsigned>(literal.special.size());
    literal.log2_scale = log2_scale;
    return literal;
  };
  const auto primes = [](unsigned bits, unsigned count) {
    return math::ntt_primes(bits, 1024, count);
  };
  const auto joined = [](std::vector<std::uint64_t> a, const std::vector<std::uint64_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  auto refreshed = make("refreshed", 24, primes(30, 7), 0,
                        {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}}, primes(31, 2));
  refreshed.bootstrap = ckks::BootstrapLiteral{.weight = 8,
                                               .range = 4,
                                               .slots_to_coeffs = 1,
                                               .coeffs_to_slots = 2,
                                               .degree = 3,
                                               .doublings = 1,
                                               .log2_ratio = 8,
                                               .series = 1};
  auto of_bits = refreshed;
  of_bits.name = "of bits";
  of_bits.chain = primes(30, 8);
  of_bits.levels.push_back({0, 8});
  of_bits.bootstrap->log2_ratio = 0;
  of_bits.bootstrap->series = 0;
  of_bits.bootstrap->bits = 1;
  // Fresh ciphertexts of the second have all primes but the second terminal one.
  return {make("tiny", 20, primes(30, 1), 0, {{0, 1}}, primes(31, 1)),
          make("several", 30, joined(primes(25, 2), primes(30, 4)), 2,
               {{1, 1}, {0, 3}, {2, 2}, {1, 4}}, primes(31, 2)),
          make("wide Größe", 40, joined(primes(55, 1), primes(50, 2)), 1, {{1, 0}, {1, 1}, {1, 2}},
               primes(60, 3)),
          refreshed, of_bits};
}

inline ckks::Parameters ckks_parameters(const ckks::ParameterLiteral& literal) {
  return ckks::Parameters::create(literal, true);
}

inline ckks::Ciphertexts ckks_ciphertexts(const ckks::Parameters& parameters, std::size_t count,
                                          unsigned parts, unsigned level, Random& random) {
  const auto packing = static_cast<ckks::Packing>(random() % 3);
  const std::uint64_t length = 1 + random() % parameters.slots();
  const auto primes = primes_at(parameters, parameters.primes(level));
  return {parameters,
          random_array<16>(random),
          {.packing = packing,
           .count = count,
           .parts = parts,
           .level = level,
           .scale = 0x1.8p20,
           .length = length,
           .bound = 2.5,
           .error = -12.25},
          ring_words(random, parameters, parts * primes.size(), count * parameters.N(), primes),
          std::nullopt,
          std::nullopt};
}

inline ckks::SecretKey ckks_secret_key(const ckks::Parameters& parameters, Random& random) {
  return ternary_key<ckks::SecretKey>(parameters, random);
}

/// Those of every scheme, and with bootstrapping one of each other role. Their primes are written
/// out for the literal "refreshed".
inline ckks::EvaluationKeys ckks_evaluation_keys(const ckks::Parameters& parameters,
                                                 Random& random) {
  auto value = ring_evaluation_keys(parameters, random);
  if (!parameters.literal().bootstrap) return value;
  const auto& chain = parameters.literal().chain;
  const auto& special = parameters.literal().special;
  const auto add = [&](SwitchKind kind, std::uint32_t g, std::size_t digits,
                       const std::vector<std::uint64_t>& primes) {
    value.keys.push_back(key_of_kind(parameters, kind, g, digits, primes, random));
  };
  add({SwitchRole::low, 1}, 3, 1, {chain[0], chain[1], special[0], special[1]});
  add({SwitchRole::to_sparse}, 1, 1, {chain[0], special[0]});
  add({SwitchRole::from_sparse}, 1, 4, all_primes(parameters));
  return value;
}

/// Bytes of the literal at the head of every payload.
inline std::size_t ckks_literal_bytes(const ckks::ParameterLiteral& l) {
  const ckks::ParameterLiteral absent;
  std::optional<TaggedBytes> bootstrap;
  if (const auto& b = l.bootstrap) {
    const ckks::BootstrapLiteral usual;
    bootstrap = TaggedBytes()
                    .field(b->weight, usual.weight)
                    .field(b->range, usual.range)
                    .field(b->slots_to_coeffs, usual.slots_to_coeffs)
                    .field(b->coeffs_to_slots, usual.coeffs_to_slots)
                    .field(b->degree, usual.degree)
                    .field(b->doublings, usual.doublings)
                    .field(b->log2_ratio, usual.log2_ratio)
                    .field(b->series, usual.series)
                    .field(b->arcsine, usual.arcsine)
                    .field(b->coefficients_last, usual.coefficients_last)
                    .field(b->bits, usual.bits);
  }
  return TaggedBytes()
      .field(l.N, absent.N)
      .field(l.chain)
      .field(l.terminals, absent.terminals)
      .field(l.levels)
      .field(l.special)
      .field(l.digit_limbs, absent.digit_limbs)
      .field(l.sigma, absent.sigma)
      .field(l.log2_scale, absent.log2_scale)
      .field(l.name)
      .field(bootstrap)
      .total();
}

/// CKKS, for tests of all schemes over RNS rings; bgv_samples.h says what the members are.
struct Ckks {
  using Parameters = ckks::Parameters;
  using Literal = ckks::ParameterLiteral;
  using Ciphertexts = ckks::Ciphertexts;
  using Info = ckks::CiphertextInfo;
  using PublicKey = ckks::PublicKey;
  using EvaluationKeys = ckks::EvaluationKeys;
  using SecretKey = ckks::SecretKey;
  static constexpr const char* name = "Ckks";
  static constexpr FrameType parameters_type = FrameType::ckks_parameters,
                             secret_key_type = FrameType::ckks_secret_key,
                             evaluation_keys_type = FrameType::ckks_evaluation_keys,
                             ciphertexts_type = FrameType::ckks_ciphertexts,
                             public_key_type = FrameType::ckks_public_key;
  static constexpr std::size_t info_bytes = 56;
  static constexpr std::uint16_t N_tag = 1, name_tag = 9, other_tag = 8;
  static constexpr double other_value = 21;

  static std::vector<Literal> literals() { return ckks_literals(); }
  static std::size_t literal_bytes(const Literal& literal) { return ckks_literal_bytes(literal); }
  static Ciphertexts ciphertexts(const Parameters& p, std::size_t count, unsigned parts,
                                 Random& random) {
    return ckks_ciphertexts(p, count, parts, p.depth(), random);
  }
  static Ciphertexts at_any_level(const Parameters& p, std::size_t count, unsigned parts,
                                  Random& random) {
    const auto level = static_cast<unsigned>(random() % (p.depth() + 1));
    return ckks_ciphertexts(p, count, parts, level, random);
  }
  static Ciphertexts fresh(const Parameters& p, std::size_t count, Random& random) {
    const ckks::Client client(ckks_secret_key(p, random));
    return client.encrypt(test::random_complexes(random, count * p.slots()), {.length = p.slots()});
  }
  static EvaluationKeys evaluation_keys(const Parameters& p, Random& random) {
    return ckks_evaluation_keys(p, random);
  }
  static std::vector<unsigned> limbs(const Parameters& p, const Info& info) {
    return p.primes(info.level);
  }
  static std::vector<unsigned> fresh_limbs(const Parameters& p) { return p.primes(p.depth()); }
  static auto facts(const Info& i) {
    return std::tuple(i.packing, i.count, i.parts, i.level, i.scale, i.length, i.bound, i.error);
  }
  static Literal large() {
    auto literal = large_ring<Literal>();
    literal.levels = {{0, 19}};
    return literal;
  }
};

}  // namespace whorl::io::samples
