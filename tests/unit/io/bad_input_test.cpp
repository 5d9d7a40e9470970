// Bad bytes of every kind, for every type of frame: each gets its own exception, none a crash and
// none a wrong object.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "io/frame.h"
#include "support/message.h"
#include "unit/io/expectations.h"
#include "unit/io/samples.h"

namespace whorl::io {
namespace {

using samples::insecure;
using samples::loading;
using samples::Random;
using samples::Sample;
using samples::thrown;

/// One small frame a type, ciphertexts with and without seed.
std::vector<Sample> make_samples(Random& random) {
  const auto parameters = samples::tiny_parameters();
  return {
      samples::sample_of(FrameType::parameters, parameters),
      samples::secret_sample(FrameType::secret_key, samples::secret_key(parameters, random),
                             samples::passphrase),
      samples::sample_of(FrameType::evaluation_keys, samples::evaluation_keys(parameters, random)),
      samples::sample_of(FrameType::ciphertexts,
                         samples::ciphertexts(parameters, 2, false, random)),
      samples::sample_of(FrameType::ciphertexts, samples::ciphertexts(parameters, 5, true, random)),
      samples::sample_of(FrameType::lut, samples::lut(parameters, {4, true}, {8, false}, random))};
}

class IoBadInput : public testing::Test {
 protected:
  std::uint64_t seed = std::random_device{}();
  Random random{seed};
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::vector<Sample> all = make_samples(random);
  binfhe::Parameters parameters = samples::tiny_parameters();
  std::size_t literal_bytes = samples::literal_bytes(samples::literals()[0]);
};

TEST_F(IoBadInput, SamplesAreGood) {
  for (const Sample& sample : all) EXPECT_EQ(loading(sample, sample.frame), "nothing");
}

TEST_F(IoBadInput, EveryTruncation) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    for (std::size_t length = 0; length < sample.frame.size(); ++length)
      ASSERT_EQ(loading(sample, std::span(sample.frame).first(length)), "Truncated") << length;
  }
}

TEST_F(IoBadInput, EverySingleBit) {
  for (Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    for (std::size_t bit = 0; bit < 8 * sample.frame.size(); ++bit) {
      const std::size_t at = bit / 8;
      auto& byte = sample.frame[at];
      byte ^= static_cast<std::uint8_t>(1U << bit % 8);
      const char* expected = at < samples::version_at ? "Format"
                             : at < samples::type_at  ? "Version"
                                                      : "Corruption";
      ASSERT_EQ(loading(sample, sample.frame), expected) << "bit " << bit;
      byte ^= static_cast<std::uint8_t>(1U << bit % 8);
    }
    ASSERT_EQ(loading(sample, sample.frame), "nothing");
  }
}

TEST_F(IoBadInput, TrailingBytes) {
  for (const Sample& sample : all) {
    Bytes longer = sample.frame;
    longer.push_back(0);
    EXPECT_EQ(loading(sample, longer), "Oversized");
    // Two frames in a row are not one.
    longer = sample.frame;
    longer.insert(longer.end(), sample.frame.begin(), sample.frame.end());
    EXPECT_EQ(loading(sample, longer), "Oversized");
  }
}

TEST_F(IoBadInput, AnnouncedLength) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const std::uint64_t payload =
        sample.frame.size() - samples::payload_at - samples::trailer_bytes;
    auto announcing = [&](std::uint64_t length) {
      return samples::patched(sample.frame, samples::length_at, length);
    };
    EXPECT_EQ(loading(sample, announcing(payload + 1)), "Truncated");
    EXPECT_EQ(loading(sample, announcing(payload - 1)), "Oversized");
    for (const std::uint64_t huge :
         {std::uint64_t{1} << 33, std::numeric_limits<std::uint64_t>::max(),
          std::numeric_limits<std::uint64_t>::max() - 63}) {
      EXPECT_EQ(loading(sample, announcing(huge)), "Oversized");
      LoadOptions unlimited = insecure();
      unlimited.max_bytes = std::numeric_limits<std::uint64_t>::max();
      EXPECT_EQ(loading(sample, announcing(huge), unlimited), "Truncated");
    }
    LoadOptions limited = insecure();
    limited.max_bytes = payload - 1;
    EXPECT_EQ(loading(sample, sample.frame, limited), "Oversized");
    // Refused unread: the rest need not even be there.
    EXPECT_EQ(loading(sample, std::span(sample.frame).first(samples::payload_at), limited),
              "Oversized");
  }
}

TEST_F(IoBadInput, PayloadShorterOrLongerThanItsContent) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const std::uint64_t payload =
        sample.frame.size() - samples::payload_at - samples::trailer_bytes;
    for (std::uint64_t length = payload < 2000 ? 0 : payload - 100; length < payload; ++length)
      ASSERT_EQ(loading(sample, samples::with_payload_bytes(sample.frame, length)), "Truncated")
          << length;
    for (const std::uint64_t more : {1, 2, 64, 4096})
      EXPECT_EQ(loading(sample, samples::with_payload_bytes(sample.frame, payload + more)),
                "Oversized");
  }
}

TEST_F(IoBadInput, OtherType) {
  for (const Sample& given : all) {
    for (const Sample& wanted : all) {
      if (given.type == wanted.type) continue;
      EXPECT_EQ(loading(wanted, given.frame), "TypeMismatch");
      // The header alone says so.
      EXPECT_EQ(loading(wanted, std::span(given.frame).first(samples::payload_at)), "TypeMismatch");
    }
    for (const int type : {0, 6, 255, 0x7fff, 0x8000, 65535}) {
      const Bytes bytes =
          samples::patched(given.frame, samples::type_at, static_cast<std::uint16_t>(type));
      EXPECT_EQ(loading(given, bytes), "TypeMismatch");
      // Numbers above are others' own.
      EXPECT_EQ(thrown([&] { info(bytes); }), type < 0x8000 ? "TypeMismatch" : "nothing");
    }
  }
}

TEST_F(IoBadInput, SecretWhereKeysWereDue) {
  try {
    load<binfhe::EvaluationKeys>(all[1].frame, insecure());
    FAIL();
  } catch (const TypeMismatchError& error) {
    EXPECT_STREQ(error.what(), "type: the frame holds a secret key, expected evaluation keys");
  }
}

TEST_F(IoBadInput, OtherVersionsAndMagics) {
  for (const Sample& sample : all) {
    for (const int version : {0, 3, 256, 65535})
      EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::version_at,
                                                 static_cast<std::uint16_t>(version))),
                "Version");
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, 0, std::uint8_t{'w'})), "Format");
  }
  for (const std::string text : {"hello", "X",
                                 "\x7f"
                                 "ELF",
                                 "WHRX"}) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    EXPECT_EQ(loading(all[0], bytes), "Format");
    EXPECT_EQ(thrown([&] { info(bytes); }), "Format");
  }
  EXPECT_EQ(loading(all[0], {}), "Truncated");
}

TEST_F(IoBadInput, FlagsReservedAndKeyId) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::flags_at, std::uint32_t{2})),
              "Format");
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::reserved_at, 1)), "Format");
    if (sample.type == FrameType::parameters || sample.type == FrameType::lut) {
      EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::key_id_at, 1)), "Format");
    }
  }
}

TEST_F(IoBadInput, OtherParametersAndKeys) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const FrameInfo there = info(sample.frame);
    LoadOptions options = insecure();
    options.expect_parameters = there.parameters_digest;
    options.expect_key = there.key_id;
    EXPECT_EQ(loading(sample, sample.frame, options), "nothing");
    (*options.expect_key)[15] ^= 0x80;
    const bool keyed = there.key_id != KeyId{};
    EXPECT_EQ(loading(sample, sample.frame, options), keyed ? "KeyMismatch" : "nothing");
    (*options.expect_parameters)[0] ^= 1;
    EXPECT_EQ(loading(sample, sample.frame, options), "ParameterMismatch");
    // A header whose digest is not that of the parameters inside.
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::digest_at,
                                               std::uint64_t{random() | 1} ^
                                                   *reinterpret_cast<const std::uint64_t*>(
                                                       sample.frame.data() + samples::digest_at))),
              "ParameterMismatch");
  }
}

TEST_F(IoBadInput, InsecureParametersNeedLeave) {
  for (const Sample& sample : all) EXPECT_EQ(loading(sample, sample.frame, {}), "Parameter");
}

// ---- what only one type has

TEST_F(IoBadInput, EncodingOfCiphertexts) {
  for (const Sample& sample : all) {
    if (sample.type != FrameType::ciphertexts) continue;
    const std::size_t encoding = samples::payload_at + literal_bytes;
    for (const std::uint32_t p : {0U, 1U, 1024U, 0xffffffffU})
      EXPECT_EQ(loading(sample, samples::patched(sample.frame, encoding, p)), "Encoding") << p;
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, encoding + 4, std::uint8_t{2})),
              "Format");
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, encoding + 5, std::uint8_t{1})),
              "Format");
  }
}

TEST_F(IoBadInput, CountOfCiphertexts) {
  for (const Sample& sample : all) {
    if (sample.type != FrameType::ciphertexts) continue;
    const std::size_t count_at = samples::payload_at + literal_bytes + 8;
    auto counting = [&](std::uint64_t count) {
      return loading(sample, samples::patched(sample.frame, count_at, count));
    };
    std::uint64_t count;
    std::memcpy(&count, sample.frame.data() + count_at, sizeof count);
    EXPECT_EQ(counting(count + 1), "Truncated");
    EXPECT_EQ(counting(count - 1), "Oversized");
    EXPECT_EQ(counting(0), "Oversized");
    EXPECT_EQ(counting(1000000), "Truncated");
    // Products that wrap around to something small.
    EXPECT_EQ(counting(std::numeric_limits<std::uint64_t>::max()), "Oversized");
    EXPECT_EQ(counting((std::uint64_t{1} << 63) + count), "Oversized");
  }
}

// A seed makes n words out of one; what comes out is bounded as what goes in.
TEST_F(IoBadInput, SeededCiphertextsUnpackWithinTheLimit) {
  const std::size_t count = 1000;
  const Bytes frame = dump(samples::ciphertexts(parameters, count, true, random));
  LoadOptions options = insecure();
  options.max_bytes = count * 17 * 4;
  ASSERT_LT(frame.size(), options.max_bytes);
  EXPECT_NO_THROW(load<binfhe::Ciphertexts>(frame, options));
  --options.max_bytes;
  EXPECT_THROW(load<binfhe::Ciphertexts>(frame, options), OversizedError);
}

TEST_F(IoBadInput, ResiduesOfCiphertexts) {
  const Bytes& plain = all[3].frame;
  const Bytes& seeded = all[4].frame;
  const std::size_t plain_words =
      samples::payload_at + literal_bytes + 16 + samples::no_shape_bytes;
  for (std::size_t word = 0; word < 2 * 17; ++word)
    for (const int value : {512, 0xffff})
      EXPECT_EQ(loading(all[3], samples::patched(plain, plain_words + 2 * word,
                                                 static_cast<std::uint16_t>(value))),
                "Range");
  for (std::size_t word = 0; word < 5; ++word)
    EXPECT_EQ(
        loading(all[4], samples::patched(seeded, plain_words + 32 + 2 * word, std::uint16_t{512})),
        "Range");
}

TEST_F(IoBadInput, ResiduesOfEvaluationKeys) {
  for (const auto& literal : samples::literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::evaluation_keys(samples::parameters(literal), random);
    const Bytes frame = dump(value);
    const auto align = [](std::size_t at) { return (at + 63) / 64 * 64; };
    const std::size_t rotation_at =
        align(samples::payload_at + samples::literal_bytes(literal) + 64);
    const std::size_t switch_at = align(rotation_at + value.rotation_b.bytes());
    const auto expect_range = [&](std::size_t start, const WordArray& words,
                                  std::uint64_t modulus) {
      for (const std::size_t index :
           {std::size_t{0}, words.size() - 1, std::size_t{random() % words.size()}}) {
        const std::size_t at = start + index * words.word_bytes();
        // The modulus itself is the least that is too much.
        Bytes bad = words.word_bytes() == 2
                        ? samples::patched(frame, at, static_cast<std::uint16_t>(modulus))
                    : words.word_bytes() == 4
                        ? samples::patched(frame, at, static_cast<std::uint32_t>(modulus))
                        : samples::patched(frame, at, modulus);
        EXPECT_EQ(thrown([&] { load<binfhe::EvaluationKeys>(bad, insecure()); }), "Range") << index;
      }
    };
    expect_range(rotation_at, value.rotation_b, literal.Q);
    expect_range(switch_at, value.switch_b, literal.Q_ks);
    if (rotation_at > samples::payload_at + samples::literal_bytes(literal) + 64) {
      EXPECT_EQ(thrown([&] {
                  load<binfhe::EvaluationKeys>(
                      samples::patched(frame, rotation_at - 1, std::uint8_t{1}), insecure());
                }),
                "Format");
    }
  }
}

TEST_F(IoBadInput, Lut) {
  const Sample& sample = all[5];
  const std::size_t input = samples::payload_at + literal_bytes;
  const std::size_t output = input + 8, kind = output + 8, values = kind + 8;
  const auto with = [&](std::size_t at, auto value) {
    return loading(sample, samples::patched(sample.frame, at, value));
  };
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(with(values + 4 * k, std::uint32_t{8}), "Range");
  EXPECT_EQ(with(values, std::uint32_t{0xffffffff}), "Range");
  EXPECT_EQ(with(input, std::uint32_t{5}), "Truncated");
  EXPECT_EQ(with(input, std::uint32_t{3}), "Oversized");
  EXPECT_EQ(with(input, std::uint32_t{0xffffffff}), "Encoding");
  EXPECT_EQ(with(output, std::uint32_t{0}), "Encoding");
  EXPECT_EQ(with(kind, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(kind, std::uint8_t{7}), "Format");
  EXPECT_EQ(with(kind + 1, std::uint8_t{1}), "Format");
}

TEST_F(IoBadInput, MessagesNameFieldValueAndBound) {
  const Bytes& frame = all[3].frame;
  EXPECT_EQ(
      test::message_of([&] {
        load<binfhe::Ciphertexts>(samples::patched(frame, samples::version_at, std::uint16_t{7}));
      }),
      "format version: 7, this build reads 1 … 2");
  EXPECT_EQ(test::message_of([&] {
              load<binfhe::Ciphertexts>(
                  samples::patched(
                      frame, samples::payload_at + literal_bytes + 16 + samples::no_shape_bytes + 6,
                      std::uint16_t{600}),
                  insecure());
            }),
            "ciphertexts: word 3 is 600, its modulus 512");
  LoadOptions limited;
  limited.max_bytes = 10;
  EXPECT_EQ(test::message_of([&] { load<binfhe::Ciphertexts>(frame, limited); }),
            "payload length: " + std::to_string(frame.size() - 96) +
                " bytes announced, at most 10 accepted (max_bytes)");
}

}  // namespace
}  // namespace whorl::io
