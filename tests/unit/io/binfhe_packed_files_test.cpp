// Files of public keys of FHEW/TFHE, of messages in coefficients, and of compression keys.
#include "support/test.h"
#include "unit/io/rlwe_frames.h"
#include "unit/io/samples.h"
#include "whorl/bridges/client.h"

namespace whorl::io {
namespace {

using binfhe::PackedCiphertexts;
using binfhe::PublicKey;
using bridges::CompressionKeys;
using samples::aligned;
using samples::insecure;
using samples::loading;
using samples::patched;

class IoPacked : public samples::Files {
 protected:
  /// Some words of any value, modulo 2^k, or Q where k is 0.
  PackedCiphertexts packed(const binfhe::Parameters& p, std::size_t count, unsigned k) {
    PackedCiphertexts value{p, samples::random_array<16>(random), {4, false}, count, k};
    value.data = samples::random_words<std::uint64_t>(random, value.words(), value.modulus());
    return value;
  }
};

TEST_F(IoPacked, PublicKeysAndCompressionKeysComeBack) {
  for (const binfhe::ParameterLiteral& literal : samples::literals()) {
    SCOPED_TRACE(literal.name);
    const binfhe::Client client(samples::parameters(literal));
    const PublicKey key = client.public_key();
    const Bytes frame = dump(key);
    save(folder / "key", key);
    for (const PublicKey& back :
         {load<PublicKey>(frame, insecure()), load<PublicKey>(folder / "key", insecure())}) {
      EXPECT_EQ(back.parameters, key.parameters);
      EXPECT_EQ(back.key_id, client.key_id());
      EXPECT_EQ(back.seed, key.seed);
      samples::expect_same_words(back.b, key.b);
      EXPECT_EQ(dump(back), frame);
    }
    const CompressionKeys keys = bridges::compression_keys(client);
    const auto back = load<CompressionKeys>(dump(keys), insecure());
    EXPECT_EQ(back.key_id, client.key_id());
    EXPECT_EQ(back.seed, keys.seed);
    samples::expect_same_words(back.b, keys.b);
    // A residue that is none, in the first and the last word; another type.
    const std::size_t b = aligned(samples::payload_at + samples::literal_bytes(literal) + 32);
    for (const std::size_t at : {b, b + key.b.bytes() - key.b.word_bytes()})
      EXPECT_EQ(loading<PublicKey>(key.b.word_bytes() == 4 ? patched(frame, at, ~std::uint32_t{0})
                                                           : patched(frame, at, ~std::uint64_t{0})),
                "Range")
          << at;
    EXPECT_EQ(loading<CompressionKeys>(frame), "TypeMismatch");
    EXPECT_EQ(loading<PublicKey>(dump(keys)), "TypeMismatch");
  }
  EXPECT_EQ(type_name(FrameType::binfhe_public_key), "FHEW/TFHE public key");
  EXPECT_EQ(type_name(FrameType::binfhe_compression_keys), "FHEW/TFHE compression keys");
}

TEST_F(IoPacked, MessagesComeBackInAsFewBits) {
  for (const binfhe::ParameterLiteral& literal : samples::literals())
    for (const unsigned k : {0u, 3u, 14u, 17u})
      for (const std::size_t count : {0u, 1u, 3u, 256u, 2500u}) {
        const binfhe::Parameters p = samples::parameters(literal);
        SCOPED_TRACE(literal.name + ", " + std::to_string(k) + ", " + std::to_string(count));
        PackedCiphertexts value = packed(p, count, k);
        if (count == 3) value.shape = Shape{1, 3}, value.largest = 3, value.range = {-2, 1};
        const Bytes frame = dump(value);
        save(folder / "x", value);
        for (const PackedCiphertexts& back : {load<PackedCiphertexts>(frame, insecure()),
                                              load<PackedCiphertexts>(folder / "x", insecure())}) {
          EXPECT_EQ(back.parameters, p);
          EXPECT_EQ(back.key_id, value.key_id);
          EXPECT_TRUE(back.encoding == value.encoding);
          EXPECT_EQ(back.count, count);
          EXPECT_EQ(back.log2_modulus, k);
          EXPECT_EQ(back.data, value.data);
          EXPECT_EQ(back.shape, value.shape);
          EXPECT_EQ(back.largest, value.largest);
          EXPECT_EQ(back.range.has_value(), value.range.has_value());
          if (back.range) {
            EXPECT_EQ(back.range->low, -2);
            EXPECT_EQ(back.range->high, 1);
          }
          EXPECT_EQ(dump(back), frame);
        }
        // Behind the literal: encoding and modulus, count, tagged fields, words.
        const std::size_t fixed =
            samples::payload_at + samples::literal_bytes(literal) + 16 + samples::trailer_bytes;
        EXPECT_LE(frame.size(), fixed + value.bytes() + 80);
        EXPECT_GE(frame.size(), fixed + value.bytes());
      }
  EXPECT_EQ(type_name(FrameType::binfhe_packed_ciphertexts), "FHEW/TFHE packed ciphertexts");
}

TEST_F(IoPacked, BadBytesAreRefused) {
  const binfhe::ParameterLiteral literal = samples::literals()[0];
  const binfhe::Parameters p = samples::parameters(literal);
  const PackedCiphertexts value = packed(p, 3, 13);
  const Bytes frame = dump(value);
  const std::size_t head = samples::payload_at + samples::literal_bytes(literal);
  // 1. Cut, and altered anywhere.
  for (std::size_t size = 0; size < frame.size(); size += 1 + size / 8)
    EXPECT_EQ(loading<PackedCiphertexts>(std::span(frame).first(size)), "Truncated") << size;
  for (std::size_t i = 0; i < 64; ++i) {
    Bytes bad = frame;
    bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    EXPECT_THROW(load<PackedCiphertexts>(bad, insecure()), Error);
  }
  // 2. Encodings and moduli that cannot be; counts that other words belong to, also huge ones.
  const auto with = [&](std::size_t at, auto number) {
    return loading<PackedCiphertexts>(patched(frame, head + at, number));
  };
  EXPECT_EQ(with(0, std::uint32_t{4}), "nothing");
  EXPECT_EQ(with(0, std::uint32_t{0}), "Encoding");
  EXPECT_EQ(with(0, std::uint32_t{1} << 30), "Encoding");
  EXPECT_EQ(with(4, std::uint8_t{2}), "Format");
  for (const unsigned k : {1u, 2u, 27u, 64u, 255u})
    EXPECT_EQ(with(5, static_cast<std::uint8_t>(k)), "Encoding") << k;
  EXPECT_EQ(with(6, std::uint16_t{1}), "Format");
  EXPECT_EQ(with(8, std::uint64_t{2}), "Oversized");
  EXPECT_EQ(with(8, std::uint64_t{1} << 20), "Truncated");
  for (const unsigned shift : {40u, 54u, 55u, 56u, 63u})
    EXPECT_NE(with(8, std::uint64_t{1} << shift), "nothing") << shift;
  // 3. Words that are none; bits behind the last one.
  const std::size_t end = frame.size() - samples::trailer_bytes;
  ASSERT_NE(value.words() * 13 % 8, 0u);
  EXPECT_EQ(loading<PackedCiphertexts>(
                patched(frame, end - 1, static_cast<std::uint8_t>(frame[end - 1] | 0x80))),
            "Format");
  const PackedCiphertexts of_key = packed(p, 3, 0);
  const Bytes wide = dump(of_key);
  EXPECT_EQ(loading<PackedCiphertexts>(
                patched(wide, wide.size() - samples::trailer_bytes - 16, ~std::uint64_t{0})),
            "Range");
  // 4. Values that could not be loaded again are not saved.
  PackedCiphertexts bad = value;
  bad.data.pop_back();
  EXPECT_EQ(samples::thrown([&] { dump(bad); }), "Shape");
  bad = value, bad.data[5] = std::uint64_t{1} << 13;
  EXPECT_EQ(samples::thrown([&] { dump(bad); }), "Range");
  bad = value, bad.log2_modulus = 2;
  EXPECT_EQ(samples::thrown([&] { dump(bad); }), "Encoding");
  bad = value, bad.largest = 4;
  EXPECT_EQ(samples::thrown([&] { dump(bad); }), "Range");
  bad = value, bad.range = {0, 1};
  EXPECT_EQ(samples::thrown([&] { dump(bad); }), "Range");
  bad = value, bad.largest = 3, bad.range = {0, 9};
  EXPECT_EQ(samples::thrown([&] { dump(bad); }), "Range");
  // 5. Limits.
  LoadOptions few = insecure();
  few.max_count = 2;
  EXPECT_EQ(samples::thrown([&] { load<PackedCiphertexts>(frame, few); }), "Oversized");
  EXPECT_THROW(load<PackedCiphertexts>(frame), ParameterError);
}

}  // namespace
}  // namespace whorl::io
