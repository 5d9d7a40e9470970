// The payloads of FHEW/TFHE's frames; docs/file-format.md has the bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "io/native/binfhe_literal.h"
#include "io/native/files.h"
#include "lattice/lwe/uniform.h"
#include "math/text.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/origin.h"

namespace whorl::io {

namespace {

using binfhe::Ciphertexts;
using binfhe::Encoding;
using binfhe::EvaluationKeys;
using binfhe::Lut;
using binfhe::Parameters;

constexpr std::size_t chunk_words = 4096;

/// Words of the width in the file, `chunk_words` at a time, from or to every `stride`-th word of
/// `data` starting at `offset`.
template <class Word, class Held>
void write_words(FrameWriter& frame, std::span<const Held> data, std::size_t offset,
                 std::size_t stride) {
  std::array<Word, chunk_words> chunk;
  for (std::size_t at = offset; at < data.size();) {
    std::size_t filled = 0;
    for (; filled < chunk_words && at < data.size(); at += stride)
      chunk[filled++] = static_cast<Word>(data[at]);
    frame.write(bytes_of(std::span<const Word>(chunk.data(), filled)));
  }
}

/// `begin`: how many words the file has before these.
template <class Word, class Held>
void read_words(ByteSpan bytes, std::uint64_t modulus, std::span<Held> data, std::size_t offset,
                std::size_t stride, std::size_t begin) {
  std::array<Word, chunk_words> chunk;
  const std::size_t count = bytes.size() / sizeof(Word);
  for (std::size_t first = 0; first < count; first += chunk_words) {
    const std::size_t filled = std::min(chunk_words, count - first);
    std::memcpy(chunk.data(), bytes.data() + first * sizeof(Word), filled * sizeof(Word));
    check_residues(std::span<const Word>(chunk.data(), filled), modulus, "ciphertexts",
                   begin + first);
    for (std::size_t k = 0; k < filled; ++k)
      data[offset + (first + k) * stride] = static_cast<Held>(chunk[k]);
  }
}

/// Returns the bytes of a word in memory.
std::size_t word_bytes_of(const Ciphertexts& value) { return value.is_wide() ? 8 : 4; }

/// Whoever altered `data` and kept the seed would find other ciphertexts in the file.
void check_seed(const Ciphertexts& value, const Interrupt& interrupt) {
  binfhe::check_numbers(value);
  const std::size_t row_bytes = value.row() * word_bytes_of(value);
  in_pieces(value.count, row_bytes, interrupt, [&](std::size_t first, std::size_t some) {
    for (std::size_t i = first; i < first + some; ++i) binfhe::check_mask(value, i);
  });
}

/// Each row modulo Q, then modulo P where the modulus is raised by it.
WordRule rotation_rule(const Parameters& p, std::size_t key) {
  std::vector<std::uint64_t> moduli = {p.Q()};
  if (const std::uint64_t P = p.literal().rotation.raised_by; P != 1) moduli.push_back(P);
  return {p.rotation_key_rows(key) * moduli.size(), p.N(), ring_word_bytes(p.Q()), moduli,
          key == 0 ? "rotation_b" : "small_modulus_rotations"};
}
/// Throws unless messages are off by a number of sectors, with a probability.
template <class Exception>
void check_promise(double off, double failure_log2) {
  if (!(off >= 0 && std::isfinite(off)) || !(failure_log2 <= 0 && std::isfinite(failure_log2)))
    throw Exception("off and failure_log2 are " + math::text_of(off) + " and " +
                    math::text_of(failure_log2) +
                    "; they must be finite, at least 0 and at most 0");
}

WordRule switch_rule(const Parameters& p) {
  return {1, p.key_switch_rows(), word_bytes_for(p.Q_ks()), {p.Q_ks()}, "switch_b"};
}

}  // namespace

template <>
struct Codec<Parameters> : ParametersCodec<Parameters, FrameType::binfhe_parameters> {};

template <>
struct Codec<Ciphertexts> {
  static constexpr FrameKind kind{.type = FrameType::binfhe_ciphertexts, .seeded = true};

  static void write(const Ciphertexts& value, PayloadWriter& out) {
    const std::uint64_t modulus = value.modulus();
    checked_product(value.count, value.row(), "ciphertexts");
    binfhe::check_words(value);
    binfhe::with_words(value, [&]<class Held>(const std::vector<Held>& words) {
      const std::span<const Held> all(words);
      in_pieces(all.size(), sizeof(Held), out.interrupt(),
                [&](std::size_t first, std::size_t some) {
                  check_residues(all.subspan(first, some), modulus, "data", first);
                });
    });
    if (value.seed) check_seed(value, out.interrupt());

    write_encoding(out.fields(), value.encoding);
    out.fields().value(static_cast<std::uint64_t>(value.count));
    out.seed(value.seed);
    ArrayFields fields{out.shape_of(value.shape), runs_of(value.numbers)};
    fields.ring_key = value.under == binfhe::Under::ring;
    if (!value.seed) {
      binfhe::check_noise(value);
      fields.noise = value.noise;
      fields.sum = value.sum;
      const binfhe::Largest largest = binfhe::largest_of(value);
      fields.largest = value.largest;
      if (value.largest && largest.as_bits != largest.any) fields.as_bits = largest.as_bits;
      if (value.off) {
        check_promise<RangeError>(*value.off, value.failure_log2);
        fields.off = value.off;
        fields.failure_log2 = value.failure_log2;
      }
      if (value.range) {
        fields.low = static_cast<double>(value.range->low);
        fields.high = static_cast<double>(value.range->high);
      }
    }
    out.array(std::move(fields), value.count);
    const std::size_t words = value.seed ? value.count : value.count * value.row();
    const std::size_t offset = value.seed ? value.row() - 1 : 0;
    const std::size_t stride = value.seed ? value.row() : 1;
    with_word(word_bytes_for(modulus), [&]<class Word>(Word) {
      out.stream(words * sizeof(Word), [&value, offset, stride](FrameWriter& frame) {
        binfhe::with_words(value, [&]<class Held>(const std::vector<Held>& held) {
          write_words<Word, Held>(frame, held, offset, stride);
        });
      });
    });
  }

  static Ciphertexts read(PayloadReader& in, const Parameters& parameters) {
    const Encoding encoding = read_encoding(in.fields(), parameters, "encoding");
    const auto count = in.fields().value<std::uint64_t>("count");
    const auto seed = in.seed();
    const ArrayFields fields = in.array(count);
    if (fields.length != 0 || fields.rest != 0)
      throw FormatError("length and rest describe vectors, which these ciphertexts do not hold");
    if (seed && (fields.of_lwe() || fields.of_reals()))
      throw FormatError(
          "noise, sum, largest, as_bits, off, failure_log2, low and high describe computed "
          "ciphertexts, but these "
          "have the seed of encryptions");
    const auto end = [&](const std::optional<double>& of) -> std::int64_t {
      constexpr auto most = binfhe::MessageRange::most;
      if (!of || !(std::abs(*of) <= static_cast<double>(most)) || *of != std::floor(*of) ||
          !fields.largest)
        throw FormatError("low and high must be there together, as integers " +
                          std::to_string(-most) + " … " + std::to_string(most) +
                          ", and with largest");
      return static_cast<std::int64_t>(*of);
    };
    std::optional<binfhe::MessageRange> range;
    if (fields.of_reals()) range = {end(fields.low), end(fields.high)};
    if (fields.as_bits && !(fields.largest && *fields.as_bits < *fields.largest))
      throw FormatError("as_bits is " + std::to_string(*fields.as_bits) +
                        "; it must be below largest, which must be there");
    if (fields.off.has_value() != fields.failure_log2.has_value())
      throw FormatError("off and failure_log2 must be there together");
    if (fields.off) check_promise<FormatError>(*fields.off, *fields.failure_log2);
    const auto under = fields.ring_key ? binfhe::Under::ring : binfhe::Under::lwe;
    Ciphertexts value{parameters,
                      in.header().key_id,
                      encoding,
                      static_cast<std::size_t>(count),
                      {},
                      seed,
                      fields.shape,
                      fields.noise,
                      {},
                      fields.sum,
                      {},
                      fields.largest,
                      fields.as_bits,
                      range,
                      under};
    value.off = fields.off;
    if (fields.failure_log2) value.failure_log2 = *fields.failure_log2;
    const std::uint64_t modulus = value.modulus();
    const std::size_t row = value.row();
    const std::uint64_t words = checked_product(count, row, "ciphertexts");
    const ByteSpan bytes = in.fields().skip(
        checked_product(seed ? count : words, word_bytes_for(modulus), "ciphertexts"),
        "ciphertexts");
    in.finish(count, checked_product(words, word_bytes_of(value), "ciphertexts"), seed.has_value());

    value.numbers = PayloadReader::numbers(fields, count);
    const std::vector<std::uint32_t>& numbers = value.numbers;
    const auto unpack = [&]<class Word, class Held>(Word, std::vector<Held>& data) {
      const std::size_t in_file = seed ? 1 : row;  // words of each ciphertext
      reserve(data, words, "ciphertexts");
      in_pieces(
          count, row * sizeof(Held), in.options().interrupt,
          [&](std::size_t first, std::size_t some) {
            data.resize((first + some) * row);
            const auto here = std::span(data).subspan(first * row);
            const std::size_t begin = first * in_file;
            read_words<Word>(bytes.subspan(begin * sizeof(Word), some * in_file * sizeof(Word)),
                             modulus, here, row - in_file, seed ? row : 1, begin);
            for (std::size_t i = 0; seed && i < some; ++i)
              lattice::lwe::ciphertext_uniform(*seed,
                                               numbers.empty() ? first + i : numbers[first + i],
                                               modulus, here.subspan(i * row, row - 1));
          });
    };
    binfhe::with_words(value, [&](auto& data) {
      with_word(word_bytes_for(modulus), [&](auto word) { unpack(word, data); });
    });
    static_cast<void>(binfhe::largest_of(value));  // refuses what the encoding does not hold
    if (seed)
      binfhe::set_fresh(value, binfhe::fresh_noise(parameters, under));
    else
      binfhe::check_noise(value);
    return value;
  }
};

template <>
struct Codec<EvaluationKeys> {
  static constexpr FrameKind kind{.type = FrameType::binfhe_evaluation_keys};

  static void write(const EvaluationKeys& value, PayloadWriter& out) {
    out.fields().bytes(value.rotation_seed);
    out.fields().bytes(value.switch_seed);
    if (value.small_modulus_rotations.size() + 1 != value.parameters.rotation_keys())
      throw ShapeError(
          "small_modulus_rotations has " + std::to_string(value.small_modulus_rotations.size()) +
          " keys; it must have " + std::to_string(value.parameters.rotation_keys() - 1));
    for (const EvaluationKeys::RotationKey& key : value.small_modulus_rotations)
      out.fields().bytes(key.seed);
    out.align();
    out.words(value.rotation_b, rotation_rule(value.parameters, 0));
    out.align();
    out.words(value.switch_b, switch_rule(value.parameters));
    for (std::size_t k = 1; k < value.parameters.rotation_keys(); ++k) {
      out.align();
      out.words(value.small_modulus_rotations[k - 1].b, rotation_rule(value.parameters, k));
    }
  }

  static EvaluationKeys read(PayloadReader& in, const Parameters& parameters) {
    const auto rotation_seed = in.fields().array<32>("rotation_seed");
    const auto switch_seed = in.fields().array<32>("switch_seed");
    std::vector<Seed> seeds;
    for (std::size_t k = 1; k < parameters.rotation_keys(); ++k)
      seeds.push_back(in.fields().array<32>("seed of small_modulus_rotations"));
    in.align();
    const auto rotation = in.take(rotation_rule(parameters, 0));
    in.align();
    const auto switching = in.take(switch_rule(parameters));
    std::vector<TakenWords> further;
    for (std::size_t k = 1; k < parameters.rotation_keys(); ++k) {
      in.align();
      further.push_back(in.take(rotation_rule(parameters, k)));
    }
    in.finish();
    EvaluationKeys keys{parameters,         in.header().key_id, rotation_seed,
                        in.words(rotation), switch_seed,        in.words(switching)};
    for (std::size_t k = 0; k < further.size(); ++k)
      keys.small_modulus_rotations.push_back({seeds[k], in.words(further[k])});
    return keys;
  }
};

template <>
struct Codec<Lut> {
  static constexpr FrameKind kind{.type = FrameType::binfhe_lut, .keyed = false};

  static void write(const Lut& value, PayloadWriter& out) {
    write_encoding(out.fields(), value.input());
    write_encoding(out.fields(), value.output());
    out.fields().value(static_cast<std::uint8_t>(value.kind()));
    out.fields().value(static_cast<std::uint8_t>(!value.exact()));
    out.fields().zeros(6);
    out.fields().bytes(bytes_of(value.values()));
  }

  static Lut read(PayloadReader& in, const Parameters& parameters) {
    const Encoding input = read_encoding(in.fields(), parameters, "input");
    const Encoding output = read_encoding(in.fields(), parameters, "output");
    const auto kind_read = in.fields().value<std::uint8_t>("kind");
    const auto approximate = in.fields().value<std::uint8_t>("approximate");
    if (approximate > 1)
      throw FormatError("approximate is " + std::to_string(approximate) + "; it must be at most 1");
    in.fields().zeros(6, "approximate");
    const auto taken = in.take({1, input.p, sizeof(std::uint32_t), {output.p}, "values"});
    in.finish();
    const auto values = in.part<std::uint32_t>(taken);
    const bool one_rotation =
        kind_read == static_cast<std::uint8_t>(binfhe::LutKind::near_negacyclic);
    Lut lut = Lut::create(parameters, {values.get(), values.get() + input.p}, input, output,
                          approximate == 0, one_rotation);
    // The kind follows from the rest; a file that says otherwise was not made by Whorl.
    if (kind_read != static_cast<std::uint8_t>(lut.kind()))
      throw FormatError("kind is " + std::to_string(kind_read) + ", but these values make it " +
                        std::to_string(static_cast<unsigned>(lut.kind())));
    return lut;
  }
};

WHORL_INSTANTIATE_FILES(Parameters);
WHORL_INSTANTIATE_FILES(Ciphertexts);
WHORL_INSTANTIATE_FILES(EvaluationKeys);
WHORL_INSTANTIATE_FILES(Lut);

}  // namespace whorl::io
