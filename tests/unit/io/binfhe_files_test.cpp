// What is saved is what is loaded, as bytes and as files, for several parameter sets.
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

using samples::expect_same_words;
using samples::insecure;
using samples::loading;

using IoRoundtrip = samples::Files;

void expect_info(const FrameInfo& info, FrameType type, const binfhe::Parameters& parameters,
                 const KeyId& key_id, std::size_t frame_bytes) {
  EXPECT_EQ(info.type, type);
  EXPECT_EQ(info.version, 2);
  EXPECT_EQ(info.parameters_digest, parameters.digest());
  EXPECT_EQ(info.key_id, key_id);
  EXPECT_EQ(info.payload_bytes + samples::payload_at + samples::trailer_bytes, frame_bytes);
}

TEST_F(IoRoundtrip, Parameters) {
  for (const auto& literal : samples::literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::parameters(literal);
    const Bytes bytes = dump(value);
    EXPECT_EQ(load<binfhe::Parameters>(bytes, insecure()).literal(), literal);
    save(folder / "parameters", value);
    EXPECT_EQ(load<binfhe::Parameters>(folder / "parameters", insecure()).literal(), literal);
    expect_info(info(bytes), FrameType::binfhe_parameters, value, {}, bytes.size());
    expect_info(info(folder / "parameters"), FrameType::binfhe_parameters, value, {}, bytes.size());
    EXPECT_EQ(bytes.size(),
              samples::payload_at + samples::literal_bytes(literal) + samples::trailer_bytes);
  }
}

TEST_F(IoRoundtrip, Ciphertexts) {
  for (const auto& literal : samples::literals()) {
    const auto parameters = samples::parameters(literal);
    for (const bool seeded : {false, true}) {
      // Around the 4096 words in which the words are converted, too.
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2},
                                      std::size_t{4096}, std::size_t{1 + random() % 5000}}) {
        SCOPED_TRACE(literal.name + (seeded ? " seeded " : " ") + std::to_string(count));
        const auto value = samples::ciphertexts(parameters, count, seeded, random);
        const Bytes bytes = dump(value);
        save(folder / "ciphertexts", value);
        for (const auto& loaded : {load<binfhe::Ciphertexts>(bytes, insecure()),
                                   load<binfhe::Ciphertexts>(folder / "ciphertexts", insecure())}) {
          EXPECT_EQ(loaded.parameters.literal(), literal);
          EXPECT_EQ(loaded.key_id, value.key_id);
          EXPECT_EQ(loaded.encoding, value.encoding);
          EXPECT_EQ(loaded.count, count);
          EXPECT_EQ(loaded.data, value.data);
          EXPECT_EQ(loaded.seed, value.seed);
        }
        expect_info(info(bytes), FrameType::binfhe_ciphertexts, parameters, value.key_id,
                    bytes.size());
        const std::size_t word_bytes = literal.q <= 65536 ? 2 : 4;
        EXPECT_EQ(bytes.size(),
                  samples::payload_at + samples::literal_bytes(literal) + 16 +
                      samples::no_shape_bytes +
                      (seeded ? 32 + count * word_bytes : count * (literal.n + 1) * word_bytes) +
                      samples::trailer_bytes);
      }
    }
  }
}

/// A frame whose array has one tagged field.
template <class T>
Bytes with_field(const binfhe::Ciphertexts& value, std::uint16_t tag, T content) {
  Bytes bytes = dump(value);
  const std::size_t at = samples::payload_at + samples::literal_bytes(value.parameters.literal()) +
                         16 + (value.seed ? 32 : 0);
  constexpr std::size_t added = 6 + sizeof(T);
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at + 4), added, 0);
  samples::put(bytes, at, static_cast<std::uint32_t>(added));
  samples::put(bytes, at + 4, tag);
  samples::put(bytes, at + 6, static_cast<std::uint32_t>(sizeof(T)));
  samples::put(bytes, at + 10, content);
  samples::put(bytes, samples::length_at,
               std::uint64_t{bytes.size() - samples::payload_at - samples::trailer_bytes});
  samples::reseal(bytes);
  return bytes;
}

TEST_F(IoRoundtrip, CiphertextsUnderTheRingKey) {
  constexpr auto ring = binfhe::Under::ring;
  for (const auto& literal : samples::literals()) {
    const auto parameters = samples::parameters(literal);
    for (const bool seeded : {false, true})
      for (const std::size_t count : {0, 1, 2, 37}) {
        SCOPED_TRACE(literal.name + (seeded ? " seeded " : " ") + std::to_string(count));
        const auto value = samples::ciphertexts(parameters, count, seeded, random, ring);
        const Bytes bytes = dump(value);
        const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
        EXPECT_EQ(loaded.under, ring);
        EXPECT_EQ(loaded.data, value.data);
        EXPECT_EQ(loaded.wide, value.wide);
        EXPECT_EQ(loaded.seed, value.seed);
        EXPECT_EQ(loaded.noise, seeded ? binfhe::fresh_noise(parameters, ring) : 1);
        EXPECT_EQ(dump(loaded), bytes);
        const std::size_t word_bytes = literal.Q < (1U << 31) ? 4 : 8;
        EXPECT_EQ(bytes.size(),
                  samples::payload_at + samples::literal_bytes(literal) + 16 +
                      samples::no_shape_bytes + 7 +
                      (seeded ? 32 + count * word_bytes : count * (literal.N + 1) * word_bytes) +
                      samples::trailer_bytes);
        if (count == 0) continue;
        // Words of Q are refused where they are no residues, or do not come from the seed.
        auto wrong = value;
        binfhe::with_words(wrong, [&](auto& words) { words.back() += literal.Q; });
        EXPECT_THROW(dump(wrong), RangeError);
        Bytes changed = bytes;
        const std::size_t last = bytes.size() - samples::trailer_bytes - word_bytes;
        std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(last), word_bytes, 0xff);
        samples::reseal(changed);
        EXPECT_EQ(loading<binfhe::Ciphertexts>(changed), "Range");
        if (!seeded) continue;
        wrong = value;
        binfhe::with_words(wrong, [](auto& words) { words.front() ^= 1; });
        EXPECT_THROW(dump(wrong), MismatchError);
      }
  }
}

TEST_F(IoRoundtrip, TheKeyIsAFieldOfItsOwn) {
  const auto parameters = samples::parameters(samples::literals()[0]);
  const auto value = samples::ciphertexts(parameters, 1, false, random);
  const auto field = [&](std::uint8_t content) {
    const Bytes bytes = with_field(value, 11, content);
    return loading<binfhe::Ciphertexts>(bytes);
  };
  EXPECT_EQ(field(0), "Format");     // the default
  EXPECT_EQ(field(1), "Truncated");  // there are fewer words than N + 1
  EXPECT_EQ(field(2), "Format");
}

TEST_F(IoRoundtrip, NoiseOfSums) {
  const auto parameters = samples::parameters(samples::literals()[0]);
  auto value = samples::ciphertexts(parameters, 3, false, random);
  const std::size_t plain = dump(value).size();
  for (const bool sum : {false, true})
    for (const double noise : {1.0, 2.0, 1e9, binfhe::fresh_noise(parameters)}) {
      value.noise = noise;
      value.sum = sum;
      const Bytes bytes = dump(value);
      const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
      EXPECT_EQ(loaded.noise, noise);
      EXPECT_EQ(loaded.sum, sum);
      EXPECT_EQ(dump(loaded), bytes);
      // What is bootstrapped takes no more bytes than before: tag, length, value.
      EXPECT_EQ(bytes.size(), plain + (noise == 1 ? 0 : 6 + 8) + (sum ? 6 + 1 : 0));
    }
  value.sum = false;
  for (const double wrong :
       {-1.0, std::nan(""), HUGE_VAL, 0.0, 0.9 * std::min(1.0, binfhe::fresh_noise(parameters))}) {
    value.noise = wrong;
    EXPECT_THROW(dump(value), RangeError) << wrong;
  }
  // Without a mask there are no errors.
  value.noise = 0;
  std::fill(value.data.begin(), value.data.end(), 0);
  EXPECT_EQ(load<binfhe::Ciphertexts>(dump(value), insecure()).noise, 0);
  // Encryptions say by their seed what their noise is.
  auto fresh = samples::ciphertexts(parameters, 3, true, random);
  const Bytes before = dump(fresh);
  fresh.noise = 7;
  EXPECT_EQ(dump(fresh), before);
  EXPECT_EQ(load<binfhe::Ciphertexts>(before, insecure()).noise, binfhe::fresh_noise(parameters));
}

TEST_F(IoRoundtrip, NoiseFromOutsideIsChecked) {
  const auto parameters = samples::parameters(samples::literals()[0]);
  const auto value = samples::ciphertexts(parameters, 3, false, random),
             fresh = samples::ciphertexts(parameters, 3, true, random);
  const auto noise = [&](const binfhe::Ciphertexts& of, double stated) {
    const Bytes bytes = with_field(of, 5, stated);
    return loading<binfhe::Ciphertexts>(bytes);
  };
  EXPECT_EQ(noise(value, 2), "nothing");
  for (const double wrong : {-1.0, 0.0, 1e-300, std::nan(""), HUGE_VAL, -HUGE_VAL})
    EXPECT_EQ(noise(value, wrong), "Range") << wrong;
  EXPECT_EQ(noise(value, 1), "Format");  // the default
  EXPECT_EQ(noise(fresh, 2), "Format");
  const auto sum = [&](const binfhe::Ciphertexts& of, std::uint8_t stated) {
    const Bytes bytes = with_field(of, 6, stated);
    return loading<binfhe::Ciphertexts>(bytes);
  };
  EXPECT_EQ(sum(value, 1), "nothing");
  EXPECT_EQ(sum(value, 0), "Format");
  EXPECT_EQ(sum(value, 2), "Format");
  EXPECT_EQ(sum(fresh, 1), "Format");
}

TEST_F(IoRoundtrip, LargestMessages) {
  const auto parameters = samples::parameters(samples::literals()[0]);
  auto value = samples::ciphertexts(parameters, 3, false, random);
  value.encoding = {4, true};
  const Bytes older = dump(value);
  EXPECT_EQ(load<binfhe::Ciphertexts>(older, insecure()).largest, std::nullopt);
  for (const std::uint32_t largest : {0U, 3U, 7U})
    for (const std::uint32_t as_bits : {0U, largest}) {
      value.largest = largest;
      value.as_bits = as_bits;
      const Bytes bytes = dump(value);
      const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
      EXPECT_EQ(binfhe::largest_message(loaded), largest);
      EXPECT_EQ(loaded.as_bits.value_or(largest), as_bits);
      EXPECT_EQ(bytes.size(), older.size() + 10 + (as_bits == largest ? 0 : 10));
      EXPECT_EQ(dump(loaded), bytes);
    }
  const auto refuses = [&](binfhe::Encoding encoding, std::uint32_t largest,
                           std::uint32_t as_bits) {
    auto wrong = value;
    wrong.encoding = encoding;
    wrong.largest = largest;
    wrong.as_bits = as_bits;
    return samples::thrown([&] { dump(wrong); }) == "Range";
  };
  EXPECT_TRUE(refuses({4, true}, 8, 0));
  EXPECT_TRUE(refuses({4, false}, 4, 0));
  EXPECT_TRUE(refuses({4, true}, 3, 4));
  // From outside.
  value.largest = value.as_bits = std::nullopt;
  const auto fresh = samples::ciphertexts(parameters, 3, true, random);
  const auto found = [&](const binfhe::Ciphertexts& of, std::uint16_t tag, std::uint32_t stated) {
    const Bytes bytes = with_field(of, tag, stated);
    return loading<binfhe::Ciphertexts>(bytes);
  };
  EXPECT_EQ(found(value, 7, 7), "nothing");
  EXPECT_EQ(found(value, 7, 8), "Range");
  EXPECT_EQ(found(value, 8, 1), "Format");  // beside nothing
  EXPECT_EQ(found(fresh, 7, 3), "Format");
  // Encryptions are below p, and may be bits.
  const auto encrypted = load<binfhe::Ciphertexts>(dump(fresh), insecure());
  EXPECT_EQ(encrypted.largest, fresh.encoding.p - 1);
  EXPECT_EQ(encrypted.as_bits, 1U);
}

TEST_F(IoRoundtrip, RangesOfMessages) {
  const auto parameters = samples::parameters(samples::literals()[0]);
  auto value = samples::ciphertexts(parameters, 3, false, random);
  value.encoding = {4, false};
  value.largest = 3;
  constexpr std::int64_t end = binfhe::MessageRange::most;
  for (const binfhe::MessageRange range : {binfhe::MessageRange{end - 3, end}, {-end, 3 - end}}) {
    value.range = range;
    Bytes bytes = dump(value);
    const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
    ASSERT_TRUE(loaded.range);
    EXPECT_EQ(loaded.range->low, range.low);
    EXPECT_EQ(loaded.range->high, range.high);
    // What is beyond is neither written nor read.
    const std::int64_t last = range.low < 0 ? range.low : range.high;
    const std::int64_t beyond = last + (last < 0 ? -1 : 1);
    (last < 0 ? value.range->low : value.range->high) = beyond;
    EXPECT_EQ(samples::thrown([&] { dump(value); }), "Range");
    const auto bytes_of = [](std::int64_t number) {
      return std::bit_cast<std::array<std::uint8_t, 8>>(static_cast<double>(number));
    };
    const auto found = std::ranges::search(bytes, bytes_of(last));
    ASSERT_FALSE(found.empty());
    std::ranges::copy(bytes_of(beyond), found.begin());
    samples::reseal(bytes);
    EXPECT_EQ(loading<binfhe::Ciphertexts>(bytes), "Format");
  }
}

TEST_F(IoRoundtrip, PromisesOfMessagesThatAreKnownNearly) {
  const auto parameters = samples::parameters(samples::literals()[0]);
  auto value = samples::ciphertexts(parameters, 3, false, random);
  value.failure_log2 = -50;
  const Bytes exact = dump(value);  // of exact tables only: not kept
  EXPECT_EQ(load<binfhe::Ciphertexts>(exact, insecure()).failure_log2, -HUGE_VAL);
  for (const double off : {0.0, 2.5}) {
    value.off = off;
    const Bytes bytes = dump(value);
    EXPECT_EQ(bytes.size(), exact.size() + 2 * (6 + 8));
    const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
    EXPECT_EQ(loaded.off, off);
    EXPECT_EQ(loaded.failure_log2, -50);
    EXPECT_EQ(dump(loaded), bytes);
  }
  for (const auto& [off, failure_log2] :
       {std::pair{-1.0, -50.0}, {HUGE_VAL, -50.0}, {1.0, 0.5}, {1.0, -HUGE_VAL}, {NAN, -1.0}}) {
    value.off = off;
    value.failure_log2 = failure_log2;
    EXPECT_EQ(samples::thrown([&] { dump(value); }), "Range");
  }
  value.off.reset();
  // One without the other, and with a seed.
  for (const std::uint16_t tag : {12, 13})
    EXPECT_EQ(loading<binfhe::Ciphertexts>(with_field(value, tag, -1.0)), "Format");
  const auto fresh = samples::ciphertexts(parameters, 3, true, random);
  EXPECT_EQ(loading<binfhe::Ciphertexts>(with_field(fresh, 12, 1.0)), "Format");
  // From outside.
  value.off = 2.5;
  value.failure_log2 = -50;
  Bytes bytes = dump(value);
  const auto bytes_of = [](double number) {
    return std::bit_cast<std::array<std::uint8_t, 8>>(number);
  };
  const auto found = std::ranges::search(bytes, bytes_of(2.5));
  ASSERT_FALSE(found.empty());
  std::ranges::copy(bytes_of(-2.5), found.begin());
  samples::reseal(bytes);
  EXPECT_EQ(loading<binfhe::Ciphertexts>(bytes), "Format");
}

TEST_F(IoRoundtrip, EvaluationKeys) {
  for (const auto& literal : samples::literals()) {
    SCOPED_TRACE(literal.name);
    const auto parameters = samples::parameters(literal);
    const auto value = samples::evaluation_keys(parameters, random);
    const Bytes bytes = dump(value);
    save(folder / "keys", value);
    // The last of the loaded keys outlives what it was loaded from.
    for (const bool from_file : {false, true}) {
      auto loaded = from_file ? load<binfhe::EvaluationKeys>(folder / "keys", insecure())
                              : load<binfhe::EvaluationKeys>(bytes, insecure());
      if (from_file) std::filesystem::remove(folder / "keys");
      EXPECT_EQ(loaded.parameters.literal(), literal);
      EXPECT_EQ(loaded.key_id, value.key_id);
      EXPECT_EQ(loaded.rotation_seed, value.rotation_seed);
      EXPECT_EQ(loaded.switch_seed, value.switch_seed);
      expect_same_words(loaded.rotation_b, value.rotation_b);
      expect_same_words(loaded.switch_b, value.switch_b);
      ASSERT_EQ(loaded.small_modulus_rotations.size(), value.small_modulus_rotations.size());
      for (std::size_t k = 0; k < value.small_modulus_rotations.size(); ++k) {
        EXPECT_EQ(loaded.small_modulus_rotations[k].seed, value.small_modulus_rotations[k].seed);
        expect_same_words(loaded.small_modulus_rotations[k].b, value.small_modulus_rotations[k].b);
      }
    }
    if (!value.small_modulus_rotations.empty()) {
      auto few = value;
      few.small_modulus_rotations.pop_back();
      EXPECT_THROW(dump(few), ShapeError);
    }
    expect_info(info(bytes), FrameType::binfhe_evaluation_keys, parameters, value.key_id,
                bytes.size());
  }
}

TEST_F(IoRoundtrip, OtherWaysOfRotation) {
  using binfhe::RotationKind;
  for (const binfhe::Rotation& rotation :
       {binfhe::Rotation{RotationKind::unrolled, 2, 1}, binfhe::Rotation{RotationKind::ap, 32, 1},
        binfhe::Rotation{RotationKind::automorphism, 10, 1},
        binfhe::Rotation{RotationKind::unrolled_all, 2, 1},
        binfhe::Rotation{RotationKind::ginx, 1, 134215681}}) {
    auto literal = samples::literals()[0];
    literal.rotation = rotation;
    const auto parameters = samples::parameters(literal);
    SCOPED_TRACE(static_cast<unsigned>(rotation.kind));
    EXPECT_EQ(load<binfhe::Parameters>(dump(parameters), insecure()).literal(), literal);
    auto value = samples::evaluation_keys(parameters, random);
    const std::uint64_t P = rotation.raised_by;
    if (P != 1) {
      EXPECT_THROW(dump(value), ShapeError);
      std::vector<std::uint32_t> words(value.rotation_b.size() * 2,
                                       static_cast<std::uint32_t>(literal.Q) - 1);
      // Q is the smaller one: N words below it, N below P.
      ASSERT_LT(literal.Q, P);
      words[literal.N] = static_cast<std::uint32_t>(P) - 1;
      value.rotation_b = WordArray(words);
      const auto loaded = load<binfhe::EvaluationKeys>(dump(value), insecure());
      expect_same_words(loaded.rotation_b, value.rotation_b);
      words[0] = static_cast<std::uint32_t>(P) - 1;
      value.rotation_b = WordArray(words);
      EXPECT_THROW(dump(value), RangeError);
    } else {
      const auto loaded = load<binfhe::EvaluationKeys>(dump(value), insecure());
      expect_same_words(loaded.rotation_b, value.rotation_b);
    }
  }
}

TEST_F(IoRoundtrip, EvaluationKeysFromUnalignedBytes) {
  const auto value = samples::evaluation_keys(samples::parameters(samples::literals()[2]), random);
  Bytes bytes = dump(value);
  bytes.insert(bytes.begin(), 0);
  const auto loaded =
      load<binfhe::EvaluationKeys>(std::span<const std::uint8_t>(bytes).subspan(1), insecure());
  expect_same_words(loaded.rotation_b, value.rotation_b);
  expect_same_words(loaded.switch_b, value.switch_b);
}

TEST_F(IoRoundtrip, Lut) {
  for (const auto& literal : samples::literals()) {
    const auto parameters = samples::parameters(literal);
    for (const auto& [input, output] :
         {std::pair{binfhe::Encoding{4, false}, binfhe::Encoding{4, false}},
          std::pair{binfhe::Encoding{8, true}, binfhe::Encoding{6, false}},
          std::pair{binfhe::Encoding{5, true}, binfhe::Encoding{4, true}}}) {
      SCOPED_TRACE(literal.name + " p " + std::to_string(input.p));
      const auto value = samples::lut(parameters, input, output, random);
      const Bytes bytes = dump(value);
      save(folder / "lut", value);
      for (const auto& loaded :
           {load<binfhe::Lut>(bytes, insecure()), load<binfhe::Lut>(folder / "lut", insecure())}) {
        EXPECT_EQ(loaded.parameters().literal(), literal);
        EXPECT_TRUE(std::ranges::equal(loaded.values(), value.values()));
        EXPECT_EQ(loaded.input(), input);
        EXPECT_EQ(loaded.output(), output);
        EXPECT_EQ(loaded.kind(), value.kind());
      }
      expect_info(info(bytes), FrameType::binfhe_lut, parameters, {}, bytes.size());
    }
    const auto one =
        binfhe::Lut::create(parameters, {0, 1, 0, 0}, {4, false}, {2, false}, true, true);
    EXPECT_EQ(load<binfhe::Lut>(dump(one), insecure()).kind(), binfhe::LutKind::near_negacyclic);
    EXPECT_EQ(load<binfhe::Lut>(dump(one), insecure()).weight(), 1);
  }
}

TEST_F(IoRoundtrip, SecretKey) {
  for (const auto& literal : samples::literals()) {
    SCOPED_TRACE(literal.name);
    const auto parameters = samples::parameters(literal);
    const auto value = samples::secret_key(parameters, random);
    const Bytes bytes = dump_secret(value, samples::passphrase, samples::cheap_cost);
    const auto loaded = load<binfhe::SecretKey>(bytes, samples::passphrase, insecure());
    EXPECT_EQ(loaded.parameters().literal(), literal);
    EXPECT_EQ(loaded.key_id(), value.key_id());
    EXPECT_TRUE(std::ranges::equal(loaded.lwe(), value.lwe()));
    EXPECT_TRUE(std::ranges::equal(loaded.ring(), value.ring()));
    expect_info(info(bytes), FrameType::binfhe_secret_key, parameters, value.key_id(),
                bytes.size());
  }
}

TEST_F(IoRoundtrip, NamedSet) {
  const auto names = binfhe::Parameters::names();
  ASSERT_FALSE(names.empty());
  for (const auto& name : names) {
    SCOPED_TRACE(name);
    const auto value = binfhe::Parameters::named(name, true);
    const auto loaded = load<binfhe::Parameters>(dump(value), insecure());
    EXPECT_EQ(loaded.literal(), value.literal());
    EXPECT_EQ(loaded, value);
  }
}

// Equal objects have equal bytes: what a file's hash says about its content, others may rely on.
TEST_F(IoRoundtrip, Canonical) {
  const auto value = samples::ciphertexts(samples::tiny_parameters(), 3, true, random);
  EXPECT_EQ(dump(value), dump(load<binfhe::Ciphertexts>(dump(value), insecure())));
  const auto keys = samples::evaluation_keys(samples::tiny_parameters(), random);
  EXPECT_EQ(dump(keys), dump(load<binfhe::EvaluationKeys>(dump(keys), insecure())));
}

TEST_F(IoRoundtrip, LargeArraysLieAligned) {
  for (const auto& literal : samples::literals()) {
    const auto value = samples::evaluation_keys(samples::parameters(literal), random);
    const Bytes bytes = dump(value);
    for (const WordArray* words : {&value.rotation_b, &value.switch_b}) {
      const auto* start = static_cast<const std::uint8_t*>(words->data());
      const auto found = std::search(bytes.begin(), bytes.end(), start,
                                     start + std::min<std::size_t>(words->bytes(), 512));
      ASSERT_NE(found, bytes.end());
      EXPECT_EQ((found - bytes.begin()) % 64, 0);
    }
  }
}

// ---- objects that could not be loaded again are not written

TEST_F(IoRoundtrip, RefusesToWriteBrokenObjects) {
  const auto parameters = samples::tiny_parameters();
  auto value = samples::ciphertexts(parameters, 3, true, random);
  value.data[value.row()] ^= 1;
  EXPECT_THROW(dump(value), MismatchError);
  value.seed.reset();
  EXPECT_NO_THROW(dump(value));
  value.data.back() = static_cast<std::uint32_t>(parameters.q());
  EXPECT_THROW(dump(value), RangeError);
  value.data.pop_back();
  EXPECT_THROW(dump(value), ShapeError);

  auto keys = samples::evaluation_keys(parameters, random);
  const auto switch_b = keys.switch_b;
  keys.switch_b = WordArray(std::vector<std::uint32_t>(switch_b.size()));
  EXPECT_THROW(dump(keys), ShapeError);
  keys.switch_b = WordArray(std::vector<std::uint16_t>(switch_b.size() + 1));
  EXPECT_THROW(dump(keys), ShapeError);
  keys.switch_b = WordArray(std::vector<std::uint16_t>(switch_b.size(), 0xffff));
  EXPECT_THROW(dump(keys), RangeError);
}

// One rule for words: what generates keys and what saves them agree on their width.
// Primes between 2^31 and 2^32 fit 32 bits, but are computed with, and so saved, in 64.
TEST(IoWords, RingModuliOf32Bits) {
  const std::uint64_t largest = math::ntt_primes(32, 256, 1)[0];
  std::uint64_t least = (std::uint64_t{1} << 31) + 1;
  while (!math::is_prime(least)) least += 512;
  for (const std::uint64_t Q : {least, largest}) {
    ASSERT_GT(Q, std::uint64_t{1} << 31);
    ASSERT_LT(Q, std::uint64_t{1} << 32);
    EXPECT_EQ(ring_word_bytes(Q), 8U);
    for (const bool modulus_of_ring : {false, true}) {
      auto literal = test::small_literal();
      literal.Q = Q;
      literal.gadget = {{16, 8, 4}};
      if (modulus_of_ring) literal.Q_ks = Q;
      const auto parameters = test::insecure(literal);
      const binfhe::Client client(parameters);
      const auto keys = client.evaluation_keys(1);
      EXPECT_EQ(keys.rotation_b.word_bytes(), 8U);
      EXPECT_EQ(keys.switch_b.word_bytes(), word_bytes_for(parameters.Q_ks()));
      const Bytes bytes = dump(keys);
      const auto loaded = load<binfhe::EvaluationKeys>(bytes, samples::insecure());
      samples::expect_same_words(loaded.rotation_b, keys.rotation_b);
      EXPECT_EQ(dump(loaded), bytes);
      const std::vector<std::uint32_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
      const auto x = client.encrypt(a), y = client.encrypt(b);
      const binfhe::Ciphertexts* const inputs[] = {&x, &y};
      for (const auto transform : {binfhe::Transform::ntt, binfhe::Transform::fft}) {
        const binfhe::Server server(loaded, SessionOptions{}, {.transform = transform});
        EXPECT_EQ(client.decrypt(server.gate(binfhe::Gate::nand, inputs)),
                  (std::vector<std::uint32_t>{1, 1, 1, 0}));
      }
    }
  }
}

}  // namespace
}  // namespace whorl::io
