// Bad payloads of FHEW/TFHE's types, in frames that are right: each kind gets its own exception,
// none a crash and none a wrong object.
#include "support/test.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

using namespace samples;

class IoBadInput : public BinfheFiles {
 protected:
  std::vector<Sample> all = binfhe_frames(random);
  std::size_t literal_bytes = samples::literal_bytes(literals()[0]);
};

TEST_F(IoBadInput, EncodingOfCiphertexts) {
  for (const Sample& sample : all) {
    if (sample.type != FrameType::binfhe_ciphertexts) continue;
    const std::size_t encoding = payload_at + literal_bytes;
    for (const std::uint32_t p : {0U, 1U, (1U << 16) + 1, 0xffffffffU})
      EXPECT_EQ(loading(sample, patched(sample.frame, encoding, p)), "Encoding") << p;
    EXPECT_EQ(loading(sample, patched(sample.frame, encoding + 4, std::uint8_t{2})), "Format");
    EXPECT_EQ(loading(sample, patched(sample.frame, encoding + 5, std::uint8_t{1})), "Format");
  }
}

TEST_F(IoBadInput, CountOfCiphertexts) {
  for (const Sample& sample : all) {
    if (sample.type != FrameType::binfhe_ciphertexts) continue;
    const std::size_t count_at = payload_at + literal_bytes + 8;
    auto counting = [&](std::uint64_t count) {
      return loading(sample, patched(sample.frame, count_at, count));
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
  const Bytes frame = dump(ciphertexts(parameters, count, true, random));
  LoadOptions options = insecure();
  options.max_bytes = count * 17 * 4;
  ASSERT_LT(frame.size(), options.max_bytes);
  EXPECT_NO_THROW(load<binfhe::Ciphertexts>(frame, options));
  --options.max_bytes;
  EXPECT_THROW(load<binfhe::Ciphertexts>(frame, options), OversizedError);
}

// 3.3 MB became 4.3 GB: what a seed expands to has a bound of its own, and so has the count.
TEST_F(IoBadInput, SeededCiphertextsExpandWithinTheLimit) {
  const std::size_t count = 1000, bytes = count * 17 * 4;
  const Bytes seeded = dump(ciphertexts(parameters, count, true, random));
  const Bytes whole = dump(ciphertexts(parameters, count, false, random));
  const auto said = [&](const Bytes& frame, const LoadOptions& options) {
    return test::message_of<OversizedError>([&] { load<binfhe::Ciphertexts>(frame, options); });
  };
  LoadOptions options = insecure();
  options.max_expanded_bytes = bytes;
  EXPECT_EQ(said(seeded, options), "");
  options.max_expanded_bytes = bytes - 1;
  EXPECT_EQ(said(seeded, options),
            "FHEW/TFHE ciphertexts: 1000 unpack to 68000 bytes; at most 67999 are accepted "
            "(max_expanded_bytes = 68000 accepts them)");
  EXPECT_EQ(said(whole, options), "") << "nothing is expanded";
  options = insecure();
  options.max_count = count;
  EXPECT_EQ(said(seeded, options), "");
  options.max_count = count - 1;
  for (const Bytes& frame : {seeded, whole})
    EXPECT_EQ(said(frame, options),
              "FHEW/TFHE ciphertexts: 1000 unpack to 68000 bytes; at most 999 "
              "ciphertexts are accepted (max_count = 1000 accepts them)");
  EXPECT_EQ(insecure().max_expanded_bytes, std::uint64_t{1} << 28);
}

TEST_F(IoBadInput, ResiduesOfCiphertexts) {
  const Bytes& plain = all[3].frame;
  const Bytes& seeded = all[4].frame;
  const std::size_t plain_words = payload_at + literal_bytes + 16 + no_shape_bytes;
  for (std::size_t word = 0; word < 2 * 17; ++word)
    for (const int value : {512, 0xffff})
      EXPECT_EQ(loading(all[3],
                        patched(plain, plain_words + 2 * word, static_cast<std::uint16_t>(value))),
                "Range");
  for (std::size_t word = 0; word < 5; ++word)
    EXPECT_EQ(loading(all[4], patched(seeded, plain_words + 32 + 2 * word, std::uint16_t{512})),
              "Range");
}

TEST_F(IoBadInput, ResiduesOfEvaluationKeys) {
  for (const auto& literal : literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = evaluation_keys(samples::parameters(literal), random);
    const Bytes frame = dump(value);
    const auto align = [](std::size_t at) { return (at + 63) / 64 * 64; };
    const std::size_t seeds_end = payload_at + samples::literal_bytes(literal) + 64 +
                                  32 * value.small_modulus_rotations.size();
    const std::size_t rotation_at = align(seeds_end);
    const std::size_t switch_at = align(rotation_at + value.rotation_b.bytes());
    const auto expect_range = [&](std::size_t start, const WordArray& words,
                                  std::uint64_t modulus) {
      for (const std::size_t index :
           {std::size_t{0}, words.size() - 1, std::size_t{random() % words.size()}}) {
        const std::size_t at = start + index * words.word_bytes();
        // The modulus itself is the least that is too much.
        Bytes bad =
            words.word_bytes() == 2   ? patched(frame, at, static_cast<std::uint16_t>(modulus))
            : words.word_bytes() == 4 ? patched(frame, at, static_cast<std::uint32_t>(modulus))
                                      : patched(frame, at, modulus);
        EXPECT_EQ(loading<binfhe::EvaluationKeys>(bad), "Range") << index;
      }
    };
    expect_range(rotation_at, value.rotation_b, literal.Q);
    expect_range(switch_at, value.switch_b, literal.Q_ks);
    std::size_t further_at = align(switch_at + value.switch_b.bytes());
    for (const auto& key : value.small_modulus_rotations) {
      expect_range(further_at, key.b, literal.Q);
      further_at = align(further_at + key.b.bytes());
    }
    if (rotation_at > seeds_end) {
      EXPECT_EQ(thrown([&] {
                  load<binfhe::EvaluationKeys>(patched(frame, rotation_at - 1, std::uint8_t{1}),
                                               insecure());
                }),
                "Format");
    }
  }
}

TEST_F(IoBadInput, Lut) {
  const Sample& sample = all[5];
  const std::size_t input = payload_at + literal_bytes;
  const std::size_t output = input + 8, kind = output + 8, values = kind + 8;
  const auto with = [&](std::size_t at, auto value) {
    return loading(sample, patched(sample.frame, at, value));
  };
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(with(values + 4 * k, std::uint32_t{8}), "Range");
  EXPECT_EQ(with(values, std::uint32_t{0xffffffff}), "Range");
  EXPECT_EQ(with(input, std::uint32_t{5}), "Truncated");
  EXPECT_EQ(with(input, std::uint32_t{3}), "Oversized");
  EXPECT_EQ(with(input, std::uint32_t{0xffffffff}), "Encoding");
  EXPECT_EQ(with(output, std::uint32_t{0}), "Encoding");
  EXPECT_EQ(with(kind, std::uint8_t{2}), "Format");
  EXPECT_EQ(with(kind, std::uint8_t{7}), "Format");
  EXPECT_EQ(with(kind + 1, std::uint8_t{2}), "Format");  // exact or not
  EXPECT_EQ(with(kind + 2, std::uint8_t{1}), "Format");
}

TEST_F(IoBadInput, MessagesNameFieldValueAndBound) {
  const Bytes& frame = all[3].frame;
  const auto of_version = [&](std::uint16_t version) {
    return test::message_of(
        [&] { load<binfhe::Ciphertexts>(patched(frame, version_at, version)); });
  };
  for (const auto& [versions, remedy] :
       {std::pair{std::vector<std::uint16_t>{3, 7, 65535}, "a later Whorl reads it"},
        {{0, 1}, "earlier ones were never released, make the file again"}})
    for (const std::uint16_t version : versions)
      EXPECT_EQ(of_version(version), "format version is " + std::to_string(version) +
                                         "; this build reads version 2: " + remedy);
  EXPECT_EQ(test::message_of([&] {
              load<binfhe::Ciphertexts>(
                  patched(frame, payload_at + literal_bytes + 16 + no_shape_bytes + 6,
                          std::uint16_t{600}),
                  insecure());
            }),
            "ciphertexts: word 3 is 600; it must be below its modulus 512");
  LoadOptions limited;
  limited.max_bytes = 10;
  EXPECT_EQ(test::message_of([&] { load<binfhe::Ciphertexts>(frame, limited); }),
            "payload length is " + std::to_string(frame.size() - 96) +
                " bytes; at most 10 are accepted (max_bytes = " +
                std::to_string(frame.size() - 96) + " accepts them)");
}

}  // namespace
}  // namespace whorl::io
