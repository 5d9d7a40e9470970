// Files of compact bits.
#include "support/test.h"
#include "unit/io/ckks_samples.h"
#include "unit/io/rlwe_frames.h"

namespace whorl::io {
namespace {

using ckks::CompactBits;
using samples::aligned;
using samples::insecure;
using samples::loading;
using samples::patched;

class IoCompactBits : public samples::BinfheFiles {
 protected:
  ckks::Parameters ring = samples::ckks_parameters(samples::ckks_literals().back());
  ckks::Client client{ring};
  CompactBits bits = client.encrypt_bits(std::vector<std::uint8_t>(3 * 40, 1), 40);
  Bytes frame = dump(bits);
  std::size_t fields_at =
      samples::payload_at + samples::Ckks::literal_bytes(samples::ckks_literals().back());
};

TEST_F(IoCompactBits, BitsComeBack) {
  for (const std::optional<Shape>& shape :
       {std::optional<Shape>(), std::optional<Shape>({1, 3}), std::optional<Shape>({3, 1, 1})}) {
    bits.shape = shape;
    frame = dump(bits);
    save(folder / "bits", bits);
    for (const CompactBits& back :
         {load<CompactBits>(frame, insecure()), load<CompactBits>(folder / "bits", insecure())}) {
      EXPECT_EQ(back.parameters, ring);
      EXPECT_EQ(back.key_id, client.key_id());
      EXPECT_EQ(back.count, 3u);
      EXPECT_EQ(back.length, 40u);
      EXPECT_EQ(back.seed, bits.seed);
      EXPECT_EQ(back.shape, shape);
      samples::expect_same_words(back.data, bits.data);
      EXPECT_EQ(dump(back), frame);
    }
  }
  EXPECT_EQ(info(frame).type, FrameType::ckks_compact_bits);
  EXPECT_EQ(type_name(FrameType::ckks_compact_bits), "CKKS compact bits");
}

TEST_F(IoCompactBits, BadBytesAreRefused) {
  // 1. Cut, and altered anywhere.
  for (std::size_t size = 0; size < frame.size(); size += 1 + size / 8)
    EXPECT_EQ(loading<CompactBits>(std::span(frame).first(size)), "Truncated") << size;
  for (std::size_t i = 0; i < 64; ++i) {
    Bytes bad = frame;
    bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    EXPECT_THROW(load<CompactBits>(bad, insecure()), Error);
  }
  // 2. Numbers of vectors and lengths that cannot be, or that other words belong to.
  const auto with = [&](std::uint64_t count, std::uint64_t length) {
    return loading<CompactBits>(patched(patched(frame, fields_at, count), fields_at + 8, length));
  };
  EXPECT_EQ(with(3, 40), "nothing");
  EXPECT_EQ(with(3, 33), "nothing");  // as many slots
  EXPECT_EQ(with(0, 40), "Range");
  EXPECT_EQ(with((1u << 24) + 1, 40), "Range");
  EXPECT_EQ(with(~std::uint64_t{0}, 40), "Range");
  EXPECT_EQ(with(3, 0), "Range");
  EXPECT_EQ(with(3, 513), "Range");
  EXPECT_EQ(with(4, 40), "Truncated");
  EXPECT_EQ(with(2, 40), "Oversized");
  EXPECT_EQ(with(3, 65), "Truncated");
  EXPECT_EQ(with(3, 32), "Oversized");
  // 3. Zeros between that are none, and another length.
  const std::size_t data = aligned(fields_at + 16 + 32);
  EXPECT_EQ(loading<CompactBits>(patched(frame, data - 1, std::uint8_t{1})), "Format");
  EXPECT_EQ(loading<CompactBits>(samples::with_payload_bytes(frame, frame.size() - 96 + 2)),
            "Oversized");
  // 4. What becomes too large on a server, and too many.
  LoadOptions options = insecure();
  options.max_expanded_bytes = 1 << 12;
  EXPECT_THROW(load<CompactBits>(frame, options), OversizedError);
  options = insecure();
  options.max_count = 2;
  EXPECT_THROW(load<CompactBits>(frame, options), OversizedError);
  // 5. Another type, secure sets only, parameters without bootstraps for bits.
  EXPECT_EQ(loading<CompactBits>(dump(ring)), "TypeMismatch");
  EXPECT_EQ(loading<ckks::Ciphertexts>(frame), "TypeMismatch");
  EXPECT_THROW(load<CompactBits>(frame), ParameterError);
}

/// What cannot be loaded is not saved.
TEST_F(IoCompactBits, BadBitsAreNotSaved) {
  CompactBits bad = bits;
  bad.count = 4;
  EXPECT_THROW(dump(bad), ShapeError);
  bad = bits;
  bad.length = 513;
  EXPECT_THROW(dump(bad), RangeError);
  bad = bits;
  bad.shape = Shape{2, 2};
  EXPECT_THROW(dump(bad), ShapeError);
  bad = bits;
  bad.parameters = samples::ckks_parameters(samples::ckks_literals().front());
  EXPECT_THROW(dump(bad), ParameterError);
}

}  // namespace
}  // namespace whorl::io
