// What schemes over RNS rings have in common in frames: arrays of residues of ciphertexts, public
// keys, switching keys. Parameters have N(), limbs(), digits(), word_bytes(), and a literal with
// the primes of `chain` and `special`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/native/codec.h"
#include "lattice/rlwe/uniform.h"
#include "ring/basis.h"
#include "whorl/common.h"
#include "whorl/ring_keys.h"
#include "whorl/word_array.h"

namespace whorl::io {

/// What the residues of ciphertexts are: (parts, primes, count, N). The primes are any of the
/// chain's.
struct ResidueShape {
  unsigned parts = 0;
  ring::Basis primes;
  std::uint64_t count = 0;
};

template <class Parameters>
WordRule residue_rule(const Parameters& p, const ResidueShape& shape, const char* field) {
  WordRule rule{checked_product(shape.parts, shape.primes.size(), field),
                checked_product(shape.count, p.N(), field),
                p.word_bytes(),
                {},
                field};
  for (const unsigned l : shape.primes.indices()) rule.moduli.push_back(p.literal().chain[l]);
  return rule;
}

/// The fields that ciphertexts begin with: packing, parts, how many primes they have (as `level`
/// says it), count.
template <class Info>
void write_head(ByteWriter& fields, const Info& info, unsigned Info::*level) {
  fields.value(static_cast<std::uint32_t>(info.packing));
  fields.value(static_cast<std::uint32_t>(info.parts));
  fields.value(static_cast<std::uint32_t>(info.*level));
  fields.zeros(4);
  fields.value(static_cast<std::uint64_t>(info.count));
}

/// FormatError for a packing beyond the last one. The other fields are not checked.
template <class Info>
Info read_head(ByteReader& fields, unsigned Info::*level) {
  using Packing = decltype(Info::packing);
  constexpr auto last = static_cast<std::uint32_t>(Packing::coefficients);
  Info info;
  const auto packing = fields.value<std::uint32_t>("packing");
  if (packing > last)
    throw FormatError("packing is " + std::to_string(packing) + "; it must be at most " +
                      std::to_string(last));
  info.packing = static_cast<Packing>(packing);
  info.parts = fields.value<std::uint32_t>("parts");
  info.*level = fields.value<std::uint32_t>("limbs or level");
  fields.zeros(4, "ciphertexts");
  info.count = fields.value<std::uint64_t>("count");
  return info;
}

/// RangeError unless ciphertexts that have a seed have what fresh ones have: two parts, and all of
/// their primes, `fresh` as the field says it.
inline void check_seeded(unsigned parts, const std::string& field, unsigned is, unsigned fresh) {
  if (parts != 2 || is != fresh)
    throw RangeError("seeded ciphertexts have parts = " + std::to_string(parts) + " and " + field +
                     " = " + std::to_string(is) + "; they must have 2 and " +
                     std::to_string(fresh));
}

/// Where a vector takes several ciphertexts, the last axis is of those.
template <class Exception>
void check_last_axis(std::size_t each, const std::optional<Shape>& shape) {
  if (each > 1 && shape && (shape->empty() || shape->back() != each))
    throw Exception("shape: its last axis must be the " + std::to_string(each) +
                    " ciphertexts that a vector takes");
}

/// c_1 of fresh encryptions, from row `first` of (primes, count) on. Residues of ring elements have
/// words of 4 or 8 bytes (ring_word_bytes), which is not known where this is compiled.
template <class Word, class Parameters>
void expand_masks(const Parameters& p, const ResidueShape& shape, const Seed& seed,
                  std::span<const std::uint32_t> numbers, std::size_t first, std::span<Word> out) {
  if constexpr (sizeof(Word) >= 4)
    lattice::rlwe::ciphertexts_uniform<Word>(p.N(), p.literal().chain, shape.primes, seed,
                                             static_cast<std::size_t>(shape.count), numbers, out,
                                             first);
}

/// Writes a whole array, or only c_0 if it has a seed and two parts. MismatchError if c_1 does not
/// come from the seed: otherwise the file would hold other ciphertexts than `data`, if a program
/// changed `data` and kept the seed.
template <class Ciphertexts>
void write_residues(PayloadWriter& out, const Ciphertexts& value, const ResidueShape& shape) {
  const auto& p = value.parameters;
  const WordRule rule = residue_rule(p, shape, "data");
  out.words(value.data, rule, value.seed ? rule.rows / 2 : rule.rows);
  if (!value.seed) return;
  with_word(p.word_bytes(), [&]<class Word>(Word) {
    const auto masks = value.data.template as<Word>().subspan(value.data.size() / 2);
    const std::size_t N = p.N();
    std::vector<Word> expected;
    in_pieces(masks.size() / N, N * sizeof(Word), out.interrupt(),
              [&](std::size_t first, std::size_t some) {
                expected.resize(some * N);
                expand_masks<Word>(p, shape, *value.seed, value.numbers, first, expected);
                if (!std::ranges::equal(expected, masks.subspan(first * N, some * N)))
                  throw MismatchError(
                      "seed: c_1 does not come from the seed; whoever changes data must clear "
                      "seed");
              });
  });
}

/// Takes and unpacks the last array of a payload. Returns the ciphertexts whose fields were read.
template <class Ciphertexts, class Parameters, class Info>
Ciphertexts read_residues(PayloadReader& in, const Parameters& p, const Info& info,
                          const ResidueShape& shape, const std::optional<Seed>& seed,
                          const ArrayFields& fields) {
  in.align();
  const WordRule rule = residue_rule(p, shape, "ciphertexts");
  const TakenWords taken = in.take(rule, seed ? rule.rows / 2 : rule.rows);
  in.finish(shape.count, rule.bytes(), seed.has_value());
  std::vector<std::uint32_t> numbers = PayloadReader::numbers(fields, shape.count);
  const auto with_masks = [&]<class Word>(Word) {
    const std::size_t N = p.N(), size = static_cast<std::size_t>(rule.count());
    const auto data = in.part<Word>(taken);
    const std::span<Word> masks{data.get() + size / 2, size / 2};
    in_pieces(masks.size() / N, N * sizeof(Word), in.options().interrupt,
              [&](std::size_t first, std::size_t some) {
                expand_masks<Word>(p, shape, *seed, numbers, first,
                                   masks.subspan(first * N, some * N));
              });
    return WordArray(data, data.get(), size, sizeof(Word));
  };
  WordArray data = seed ? with_word(p.word_bytes(), with_masks) : in.words(taken);
  return {p, in.header().key_id, info, std::move(data), seed, fields.shape, std::move(numbers)};
}

/// A seed, and b of (primes, N), where `primes(parameters)` are those of fresh ciphertexts.
template <class Key, FrameType type, auto primes>
struct PublicKeyCodec {
  static constexpr FrameKind kind{type};

  static void write(const Key& value, PayloadWriter& out) {
    out.fields().bytes(value.seed);
    out.align();
    out.words(value.b, rule(value.parameters));
  }

  template <class Parameters>
  static Key read(PayloadReader& in, const Parameters& parameters) {
    const auto seed = in.fields().array<32>("seed");
    in.align();
    const auto b = in.take(rule(parameters));
    in.finish();
    return {parameters, in.header().key_id, seed, in.words(b)};
  }

 private:
  template <class Parameters>
  static WordRule rule(const Parameters& p) {
    return residue_rule(p, {1, primes(p), 1}, "b");
  }
};

/// Writes g, power, kind and seed of each key; then the bodies (digits, rows, N) of them all.
/// `layout_of` says what keys of a kind are over; without it there are only usual keys, over all
/// primes.
template <class Keys, FrameType type, auto layout_of = nullptr>
struct SwitchKeysCodec {
  static constexpr FrameKind kind{.type = type};

  static void write(const Keys& value, PayloadWriter& out) {
    Entries entries(value.parameters.N());
    out.fields().value(static_cast<std::uint32_t>(value.keys.size()));
    out.fields().zeros(4);
    for (const auto& key : value.keys) {
      const std::uint32_t power = key.power | key.kind.level << level_shift |
                                  static_cast<std::uint32_t>(key.kind.role) << role_shift;
      entries.check(key.g, key.power, checked_kind(value.parameters, power));
      out.fields().value(key.g);
      out.fields().value(power);
      out.fields().bytes(key.seed);
    }
    out.align();
    // N is a multiple of 64: each key ends aligned.
    for (const auto& key : value.keys) out.words(key.b, body_rule(value.parameters, key.kind));
  }

  template <class Parameters>
  static Keys read(PayloadReader& in, const Parameters& parameters) {
    const auto count = in.fields().value<std::uint32_t>(what);
    in.fields().zeros(4, what);
    ByteReader heads(in.fields().skip(std::uint64_t{count} * entry_bytes, what));
    in.align();
    struct Head {
      std::uint32_t g, power;
      Seed seed;
      SwitchKind kind;
      ByteSpan body;
    };
    std::vector<Head> each;
    Entries entries(parameters.N());
    std::map<SwitchKind, WordRule> rules;
    while (heads.remaining() != 0) {
      const auto g = heads.value<std::uint32_t>(what);
      const auto power = heads.value<std::uint32_t>(what);
      const SwitchKind kind = checked_kind(parameters, power);
      if (!rules.contains(kind)) rules.emplace(kind, body_rule(parameters, kind));
      const auto seed = heads.array<32>(what);
      entries.check(g, power & power_mask, kind);
      each.push_back(
          {g, power & power_mask, seed, kind, in.fields().skip(rules.at(kind).bytes(), what)});
    }
    check_proportion(in, parameters, count);
    in.finish();

    Keys result{parameters, in.header().key_id, {}};
    reserve(result.keys, count, what);
    for (const Head& head : each)
      result.keys.push_back(
          {head.g, head.power, head.seed, in.words({rules.at(head.kind), head.body}), head.kind});
    return result;
  }

 private:
  static constexpr const char* what = "evaluation keys";
  static constexpr unsigned max_power = 7;
  static constexpr std::size_t entry_bytes = 40;
  /// The lowest byte of a power is the power itself, the highest one the role, and the level lies
  /// between.
  static constexpr unsigned level_shift = 8, role_shift = 24, roles = 4;
  static constexpr std::uint32_t power_mask = 0xff, level_mask = 0xffff;
  static constexpr bool has_roles =
      !std::is_same_v<std::remove_const_t<decltype(layout_of)>, std::nullptr_t>;

  /// FormatError for a role or a level that keys of these parameters do not have.
  template <class Parameters>
  static SwitchKind checked_kind(const Parameters& p, std::uint32_t power) {
    const std::uint32_t role = power >> role_shift, level = power >> level_shift & level_mask;
    std::uint32_t most = 0, top = 0;
    if constexpr (has_roles) {
      most = p.literal().bootstrap ? roles - 1 : static_cast<std::uint32_t>(SwitchRole::low);
      if (role == static_cast<std::uint32_t>(SwitchRole::low)) top = p.top();
    }
    if (role > most)
      throw FormatError(std::string(what) + ": the role of a key is " + std::to_string(role) +
                        "; under these parameters it may be at most " + std::to_string(most));
    if (level > top)
      throw FormatError(std::string(what) + ": the level of a key of role " + std::to_string(role) +
                        " is " + std::to_string(level) +
                        "; under these parameters it may be at most " + std::to_string(top));
    return {static_cast<SwitchRole>(role), level};
  }

  /// FormatError for a power of s(X^g) that no client makes a key of, or that is there twice.
  class Entries {
   public:
    explicit Entries(std::uint32_t N) : N_(N) {}
    void check(std::uint32_t g, std::uint32_t power, SwitchKind kind) {
      const SwitchRole role = kind.role;
      const bool relinearises =
          role == SwitchRole::usual && g == 1 && power >= 2 && power <= max_power;
      const bool rotates = (role == SwitchRole::usual || role == SwitchRole::low) && power == 1 &&
                           g > 1 && g % 2 == 1 && g < 2 * N_;
      const bool changes_secret =
          (role == SwitchRole::to_sparse || role == SwitchRole::from_sparse) && g == 1 &&
          power == 1;
      const std::string which =
          "for s(X^" + std::to_string(g) + ")^" + std::to_string(power) +
          (role == SwitchRole::usual ? ""
                                     : " of role " + std::to_string(static_cast<unsigned>(role))) +
          (role == SwitchRole::low ? " and level " + std::to_string(kind.level) : "");
      if (!relinearises && !rotates && !changes_secret)
        throw FormatError(std::string(what) + ": no client makes a key " + which);
      if (!seen_.emplace(g, power, kind).second)
        throw FormatError(std::string(what) + ": there are two keys " + which);
    }

   private:
    std::uint32_t N_;
    std::set<std::tuple<std::uint32_t, std::uint32_t, SwitchKind>> seen_;
  };

  /// A server makes tables for the keys' parameters: 8 words for each coefficient of each prime, in
  /// the plan and on a device. A small frame must not make it allocate large tables, unless the
  /// caller expects these parameters. (A single key has an eighth of the tables' size.)
  template <class Parameters>
  static void check_proportion(const PayloadReader& in, const Parameters& p, std::uint32_t count) {
    constexpr std::uint64_t most_times = 16, little = std::uint64_t{1} << 24;
    const std::uint64_t primes = p.literal().chain.size() + p.literal().special.size(),
                        tables = 8 * primes * p.N() * p.word_bytes(),
                        payload = in.header().payload_bytes;
    if (in.options().expect_parameters || tables <= little || tables / most_times <= payload)
      return;
    throw OversizedError(std::string(what) + ": the payload has " + std::to_string(count) +
                         " keys and " + std::to_string(payload) +
                         " bytes, but the tables of its parameters take " + std::to_string(tables) +
                         " bytes; at most " +
                         std::to_string(std::max(little, most_times * payload)) +
                         " are accepted; expect_parameters accepts parameters that are known");
  }

  template <class Parameters>
  static WordRule body_rule(const Parameters& p, SwitchKind kind) {
    std::vector<std::uint64_t> primes = p.literal().chain;
    primes.insert(primes.end(), p.literal().special.begin(), p.literal().special.end());
    std::uint64_t digits = p.digits();
    if constexpr (has_roles) {
      const ring::KeyLayout layout = layout_of(p.literal(), kind);
      std::vector<std::uint64_t> rows;
      layout.rows().for_each([&](unsigned i) { rows.push_back(primes[i]); });
      primes = std::move(rows);
      digits = layout.digits.size();
    }
    return {digits * primes.size(), p.N(), p.word_bytes(), primes, "b"};
  }
};

}  // namespace whorl::io
