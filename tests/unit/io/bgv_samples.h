// Small BGV objects of every kind that is saved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "math/primes.h"
#include "unit/io/rlwe_samples.h"
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

/// The indices of a ciphertext's primes.
inline std::vector<unsigned> bgv_limbs(unsigned limbs) {
  std::vector<unsigned> indices(limbs);
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
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
          ring_words(random, parameters, parts * limbs, count * parameters.N(),
                     primes_at(parameters, bgv_limbs(limbs))),
          std::nullopt,
          std::nullopt};
}

inline bgv::SecretKey bgv_secret_key(const bgv::Parameters& parameters, Random& random) {
  return ternary_key<bgv::SecretKey>(parameters, random);
}

/// Fresh ones, which carry a seed.
inline bgv::Ciphertexts bgv_fresh(const bgv::Parameters& parameters, std::size_t count,
                                  Random& random) {
  std::vector<std::int64_t> values(count * parameters.N());
  for (auto& value : values) value = static_cast<std::int64_t>(random());
  return bgv::Client(bgv_secret_key(parameters, random))
      .encrypt(values, parameters.has_slots() ? bgv::Packing::slots : bgv::Packing::coefficients);
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

/// BGV, for tests of all schemes over RNS rings.
struct Bgv {
  using Parameters = bgv::Parameters;
  using Literal = bgv::ParameterLiteral;
  using Ciphertexts = bgv::Ciphertexts;
  using Info = bgv::CiphertextInfo;
  using PublicKey = bgv::PublicKey;
  using EvaluationKeys = bgv::EvaluationKeys;
  using SecretKey = bgv::SecretKey;
  static constexpr const char* name = "Bgv";
  static constexpr FrameType parameters_type = FrameType::bgv_parameters,
                             secret_key_type = FrameType::bgv_secret_key,
                             evaluation_keys_type = FrameType::bgv_evaluation_keys,
                             ciphertexts_type = FrameType::bgv_ciphertexts,
                             public_key_type = FrameType::bgv_public_key;
  /// How long the fields of ciphertexts between literal and seed are.
  static constexpr std::size_t info_bytes = 40;
  static constexpr std::uint16_t N_tag = 1, name_tag = 8;
  /// A field of the first literal, and another value that it may have.
  static constexpr std::uint16_t other_tag = 2;
  static constexpr std::uint64_t other_value = 18433;

  /// The first has one prime, and makes the smallest frames.
  static std::vector<Literal> literals() { return bgv_literals(); }
  static std::size_t literal_bytes(const Literal& literal) { return bgv_literal_bytes(literal); }
  /// At the level of fresh ones.
  static Ciphertexts ciphertexts(const Parameters& p, std::size_t count, unsigned parts,
                                 Random& random) {
    return bgv_ciphertexts(p, count, parts, p.limbs(), random);
  }
  static Ciphertexts at_any_level(const Parameters& p, std::size_t count, unsigned parts,
                                  Random& random) {
    const auto limbs = 1 + static_cast<unsigned>(random() % p.limbs());
    return bgv_ciphertexts(p, count, parts, limbs, random);
  }
  static Ciphertexts fresh(const Parameters& p, std::size_t count, Random& random) {
    return bgv_fresh(p, count, random);
  }
  /// Keys of every role.
  static EvaluationKeys evaluation_keys(const Parameters& p, Random& random) {
    return ring_evaluation_keys(p, random);
  }
  /// Which primes of the chain ciphertexts have.
  static std::vector<unsigned> limbs(const Parameters&, const Info& info) {
    return bgv_limbs(info.limbs);
  }
  static std::vector<unsigned> fresh_limbs(const Parameters& p) { return bgv_limbs(p.limbs()); }
  static auto facts(const Info& i) {
    return std::tuple(i.packing, i.count, i.parts, i.limbs, i.factor, i.noise, i.length, i.rest);
  }
  /// The literal of a large ring with 20 primes.
  static Literal large() {
    auto literal = large_ring<Literal>();
    literal.t = 65537;
    return literal;
  }
};

}  // namespace whorl::io::samples
