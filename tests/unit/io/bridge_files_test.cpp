// Files of keys between schemes.
#include "support/test.h"
#include "unit/io/ckks_samples.h"
#include "unit/io/rlwe_frames.h"
#include "whorl/bridges/client.h"

namespace whorl::io {
namespace {

using bridges::LweInputKeys;
using bridges::LweOutputKeys;
using samples::aligned;
using samples::insecure;
using samples::loading;
using samples::patched;

class IoBridges : public samples::BinfheFiles {
 protected:
  ckks::Parameters ring = samples::ckks_parameters(samples::ckks_literals().back());
  ckks::Client client{ring};
  binfhe::Client lwe{parameters};
  LweInputKeys keys = bridges::lwe_input_keys(client, lwe);
  Bytes frame = dump(keys);
  std::size_t literals_end() const {
    return samples::payload_at + samples::Ckks::literal_bytes(samples::ckks_literals().back()) +
           samples::literal_bytes(samples::literals()[0]);
  }
};

TEST_F(IoBridges, KeysComeBack) {
  save(folder / "keys", keys);
  for (const LweInputKeys& back :
       {load<LweInputKeys>(frame, insecure()), load<LweInputKeys>(folder / "keys", insecure())}) {
    EXPECT_EQ(back.parameters, ring);
    EXPECT_EQ(back.key_id, client.key_id());
    EXPECT_EQ(back.lwe_parameters, parameters);
    EXPECT_EQ(back.lwe_key_id, lwe.key_id());
    EXPECT_EQ(back.seed, keys.seed);
    EXPECT_EQ(back.switch_seed, keys.switch_seed);
    samples::expect_same_words(back.b, keys.b);
    samples::expect_same_words(back.switch_b, keys.switch_b);
    EXPECT_EQ(dump(back), frame);
  }
  EXPECT_EQ(info(frame).type, FrameType::lwe_input_keys);
  EXPECT_EQ(info(frame).key_id, client.key_id());
  EXPECT_EQ(type_name(FrameType::lwe_input_keys), "CKKS keys for LWE input");
}

TEST_F(IoBridges, BadBytesAreRefused) {
  // 1. Cut, and altered anywhere.
  for (std::size_t size = 0; size < frame.size(); size += 1 + size / 8)
    EXPECT_EQ(loading<LweInputKeys>(std::span(frame).first(size)), "Truncated") << size;
  for (std::size_t i = 0; i < 64; ++i) {
    Bytes bad = frame;
    bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    EXPECT_THROW(load<LweInputKeys>(bad, insecure()), Error);
  }
  // 2. Residues that are none, in the first and the last word of both arrays.
  const std::size_t b = aligned(literals_end() + 16 + 64), switch_b = aligned(b + keys.b.bytes());
  for (const std::size_t at :
       {b, b + keys.b.bytes() - 4, switch_b, switch_b + keys.switch_b.bytes() - 4})
    EXPECT_EQ(loading<LweInputKeys>(patched(frame, at, std::uint32_t{0xffffffff})), "Range") << at;
  // 3. Another length than the parameters make it; zeros between that are none.
  EXPECT_EQ(loading<LweInputKeys>(samples::with_payload_bytes(frame, frame.size() - 96 - 64)),
            "Truncated");
  EXPECT_EQ(loading<LweInputKeys>(samples::with_payload_bytes(frame, frame.size() - 96 + 64)),
            "Oversized");
  EXPECT_EQ(loading<LweInputKeys>(patched(frame, b - 1, std::uint8_t{1})), "Format");
  // 4. Another type, secure sets only.
  EXPECT_EQ(loading<LweInputKeys>(dump(ring)), "TypeMismatch");
  EXPECT_EQ(loading<ckks::EvaluationKeys>(frame), "TypeMismatch");
  EXPECT_THROW(load<LweInputKeys>(frame), ParameterError);
}

TEST_F(IoBridges, KeysForOutputComeBack) {
  const LweOutputKeys out = bridges::lwe_output_keys(client, lwe);
  const Bytes bytes = dump(out);
  const auto back = load<LweOutputKeys>(bytes, insecure());
  EXPECT_EQ(back.parameters, ring);
  EXPECT_EQ(back.key_id, client.key_id());
  EXPECT_EQ(back.lwe_parameters, parameters);
  EXPECT_EQ(back.lwe_key_id, lwe.key_id());
  EXPECT_EQ(back.seed, out.seed);
  EXPECT_EQ(back.switch_seed, out.switch_seed);
  samples::expect_same_words(back.b, out.b);
  samples::expect_same_words(back.switch_b, out.switch_b);
  EXPECT_EQ(dump(back), bytes);
  EXPECT_EQ(loading<LweInputKeys>(bytes), "TypeMismatch");
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 8)
    EXPECT_EQ(loading<LweOutputKeys>(std::span(bytes).first(size)), "Truncated") << size;
  const std::size_t switch_b = aligned(literals_end() + 16 + 64),
                    b = aligned(switch_b + out.switch_b.bytes());
  EXPECT_EQ(loading<LweOutputKeys>(patched(bytes, switch_b, std::uint32_t{0xffffffff})), "Range");
  EXPECT_EQ(loading<LweOutputKeys>(patched(bytes, b, std::uint16_t{0xffff})), "Range");
  EXPECT_EQ(loading<LweOutputKeys>(samples::with_payload_bytes(bytes, bytes.size() - 96 + 2)),
            "Oversized");
}

/// What cannot be loaded is not saved.
TEST_F(IoBridges, BadKeysAreNotSaved) {
  LweInputKeys bad = keys;
  bad.switch_b = bad.b;
  EXPECT_THROW(dump(bad), ShapeError);
  bad = keys;
  bad.b = WordArray(std::vector<std::uint32_t>(keys.b.size(), 0xffffffff));
  EXPECT_THROW(dump(bad), RangeError);
}

}  // namespace
}  // namespace whorl::io
