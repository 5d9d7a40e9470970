// The payloads of BGV's frames; docs/file-format.md has the bytes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "io/bgv_literal.h"
#include "io/files.h"
#include "math/random.h"

namespace whorl::io {

namespace {

using bgv::CiphertextInfo;
using bgv::Ciphertexts;
using bgv::EvaluationKeys;
using bgv::Packing;
using bgv::Parameters;
using bgv::PublicKey;
using bgv::SwitchKeyData;

constexpr unsigned max_parts = 16;
constexpr unsigned max_power = 7;
/// g, power, seed.
constexpr std::size_t key_entry_bytes = 40;

/// (parts, limbs, count, N).
WordRule ciphertext_rule(const Parameters& p, const CiphertextInfo& info, const char* field) {
  const auto chain = p.literal().chain.begin();
  return {std::uint64_t{info.parts} * info.limbs,
          checked_product(info.count, p.N(), field),
          p.word_bytes(),
          {chain, chain + info.limbs},
          field};
}
/// (limbs, N).
WordRule public_key_rule(const Parameters& p) {
  return {p.limbs(), p.N(), p.word_bytes(), p.literal().chain, "b"};
}
/// Bodies of one key: (digits, limbs + special, N).
WordRule switch_key_rule(const Parameters& p) {
  std::vector<std::uint64_t> primes = p.literal().chain;
  primes.insert(primes.end(), p.literal().special.begin(), p.literal().special.end());
  return {std::uint64_t{p.digits()} * primes.size(), p.N(), p.word_bytes(), primes, "b"};
}

/// RangeError or EncodingError for what no ciphertexts can have.
void check_info(const Parameters& parameters, const CiphertextInfo& info, bool seeded) {
  const auto within = [](const char* field, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
    if (value < least || value > most)
      throw RangeError(std::string(field) + ": " + std::to_string(value) + " is outside " +
                       std::to_string(least) + " … " + std::to_string(most));
  };
  if (info.packing == Packing::slots && !parameters.has_slots())
    throw EncodingError("packing: slots, which these parameters do not have");
  within("parts", info.parts, seeded ? 2 : 1, seeded ? 2 : max_parts);
  within("limbs", info.limbs, seeded ? parameters.limbs() : 1, parameters.limbs());
  within("factor", info.factor, 1, parameters.t() - 1);
  if (std::gcd(info.factor, parameters.t()) != 1)
    throw RangeError("factor: " + std::to_string(info.factor) +
                     " has no inverse modulo t = " + std::to_string(parameters.t()));
  if (info.count == 0) throw RangeError("count: 0, at least 1");
  if (!std::isfinite(info.noise)) throw RangeError("noise: not a number");
}

/// c_1 of fresh encryptions: limb l of row i is expand_uniform(seed, i·L + l, q_l).
template <class Word>
void expand_masks(const Parameters& parameters, const Seed& seed, std::size_t count,
                  std::span<Word> out) {
  const std::size_t N = parameters.N(), L = parameters.limbs();
  for (std::size_t l = 0; l < L; ++l)
    for (std::size_t i = 0; i < count; ++i)
      math::expand_uniform<Word>(seed, i * L + l, parameters.literal().chain[l],
                                 out.subspan((l * count + i) * N, N));
}

/// Whoever altered `data` and kept the seed would find other ciphertexts in the file.
template <class Word>
void check_seed(const Ciphertexts& value) {
  const auto words = value.data.as<Word>();
  const auto masks = words.subspan(words.size() / 2);
  std::vector<Word> expected(masks.size());
  expand_masks<Word>(value.parameters, *value.seed, value.info.count, expected);
  if (!std::equal(expected.begin(), expected.end(), masks.begin()))
    throw MismatchError("seed: c_1 does not come from it; whoever changes data must clear seed");
}

/// FormatError for a power of s(X^g) that no client makes a key of, or that is there twice.
void check_entry(const Parameters& parameters, std::uint32_t g, std::uint32_t power,
                 std::set<std::pair<std::uint32_t, std::uint32_t>>& seen) {
  const bool relinearises = g == 1 && power >= 2 && power <= max_power;
  const bool rotates = power == 1 && g > 1 && g % 2 == 1 && g < 2 * parameters.N();
  const std::string what = "for s(X^" + std::to_string(g) + ")^" + std::to_string(power);
  if (!relinearises && !rotates) throw FormatError("evaluation keys: one " + what);
  if (!seen.emplace(g, power).second) throw FormatError("evaluation keys: two " + what);
}

}  // namespace

template <>
struct Codec<Parameters> : ParametersCodec<Parameters, FrameType::bgv_parameters> {};

template <>
struct Codec<Ciphertexts> {
  static constexpr FrameKind kind{.type = FrameType::bgv_ciphertexts, .seeded = true};

  static void write(const Ciphertexts& value, PayloadWriter& out) {
    const Parameters& parameters = value.parameters;
    const CiphertextInfo& info = value.info;
    check_info(parameters, info, value.seed.has_value());
    ByteWriter& fields = out.fields();
    fields.value(static_cast<std::uint32_t>(info.packing));
    fields.value(static_cast<std::uint32_t>(info.parts));
    fields.value(static_cast<std::uint32_t>(info.limbs));
    fields.zeros(4);
    fields.value(static_cast<std::uint64_t>(info.count));
    fields.value(info.factor);
    fields.value(info.noise);
    out.seed(value.seed);
    out.shape(value.shape, info.count);
    out.align();
    const WordRule rule = ciphertext_rule(parameters, info, "data");
    out.words(value.data, rule, value.seed ? rule.rows / 2 : rule.rows);
    if (value.seed)
      parameters.word_bytes() == 4 ? check_seed<std::uint32_t>(value)
                                   : check_seed<std::uint64_t>(value);
  }

  static Ciphertexts read(PayloadReader& in, const Parameters& parameters) {
    CiphertextInfo info;
    ByteReader& fields = in.fields();
    const auto packing = fields.value<std::uint32_t>("packing");
    if (packing > 1) throw FormatError("packing: " + std::to_string(packing) + ", at most 1");
    info.packing = static_cast<Packing>(packing);
    info.parts = fields.value<std::uint32_t>("parts");
    info.limbs = fields.value<std::uint32_t>("limbs");
    fields.zeros(4, "ciphertexts");
    info.count = fields.value<std::uint64_t>("count");
    info.factor = fields.value<std::uint64_t>("factor");
    info.noise = fields.value<double>("noise");
    const auto seed = in.seed();
    check_info(parameters, info, seed.has_value());
    auto shape = in.shape(info.count);
    in.align();
    const WordRule rule = ciphertext_rule(parameters, info, "ciphertexts");
    const TakenWords taken = in.take(rule, seed ? rule.rows / 2 : rule.rows);
    in.finish(info.count, rule.bytes());

    const auto unpack = [&]<class Word>(Word) {
      std::vector<Word> data = in.part<Word>(taken);
      if (seed)
        expand_masks<Word>(parameters, *seed, info.count, std::span(data).subspan(data.size() / 2));
      return WordArray(std::move(data));
    };
    return {parameters,
            in.header().key_id,
            info,
            parameters.word_bytes() == 4 ? unpack(std::uint32_t{}) : unpack(std::uint64_t{}),
            seed,
            shape};
  }
};

template <>
struct Codec<PublicKey> {
  static constexpr FrameKind kind{.type = FrameType::bgv_public_key};

  static void write(const PublicKey& value, PayloadWriter& out) {
    out.fields().bytes(value.seed);
    out.align();
    out.words(value.b, public_key_rule(value.parameters));
  }

  static PublicKey read(PayloadReader& in, const Parameters& parameters) {
    const auto seed = in.fields().array<32>("seed");
    in.align();
    const auto b = in.take(public_key_rule(parameters));
    in.finish();
    return {parameters, in.header().key_id, seed, in.words(b)};
  }
};

template <>
struct Codec<EvaluationKeys> {
  static constexpr FrameKind kind{.type = FrameType::bgv_evaluation_keys, .mapped = true};

  static void write(const EvaluationKeys& value, PayloadWriter& out) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    out.fields().value(static_cast<std::uint32_t>(value.keys.size()));
    out.fields().zeros(4);
    for (const SwitchKeyData& key : value.keys) {
      check_entry(value.parameters, key.g, key.power, seen);
      out.fields().value(key.g);
      out.fields().value(static_cast<std::uint32_t>(key.power));
      out.fields().bytes(key.seed);
    }
    out.align();
    // N is a multiple of 64: each key ends aligned.
    const WordRule rule = switch_key_rule(value.parameters);
    for (const SwitchKeyData& key : value.keys) out.words(key.b, rule);
  }

  static EvaluationKeys read(PayloadReader& in, const Parameters& parameters) {
    const auto count = in.fields().value<std::uint32_t>("evaluation keys");
    in.fields().zeros(4, "evaluation keys");
    ByteReader entries(in.fields().take(std::uint64_t{count} * key_entry_bytes, "evaluation keys"));
    in.align();
    const WordRule rule = switch_key_rule(parameters);
    const std::uint64_t key_bytes = rule.bytes();
    ByteReader bodies(
        in.fields().take(checked_product(count, key_bytes, "evaluation keys"), "evaluation keys"));
    in.finish();

    EvaluationKeys result{parameters, in.header().key_id, {}};
    reserve(result.keys, count, "evaluation keys");
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t k = 0; k < count; ++k) {
      const auto g = entries.value<std::uint32_t>("evaluation keys");
      const auto power = entries.value<std::uint32_t>("evaluation keys");
      const auto seed = entries.array<32>("evaluation keys");
      check_entry(parameters, g, power, seen);
      result.keys.push_back(
          {g, power, seed, in.words({rule, bodies.take(key_bytes, "evaluation keys")})});
    }
    return result;
  }
};

WHORL_INSTANTIATE_FILES(Parameters);
WHORL_INSTANTIATE_FILES(Ciphertexts);
WHORL_INSTANTIATE_FILES(PublicKey);
WHORL_INSTANTIATE_FILES(EvaluationKeys);

}  // namespace whorl::io
