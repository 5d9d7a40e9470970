// The frame around every type: each kind of damage to header, lengths or digest gets its own
// exception, before the payload is understood.
#include "io/native/frame.h"
#include "support/test.h"
#include "unit/io/binfhe_frames.h"
#include "unit/io/expectations.h"
#include "unit/io/samples.h"

namespace whorl::io {
namespace {

using namespace samples;

using IoFrame = BinfheFrames;

TEST_F(IoFrame, SamplesAreGood) {
  for (const Sample& sample : all) EXPECT_EQ(loading(sample, sample.frame), "nothing");
}

TEST_F(IoFrame, EveryTruncation) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    for (std::size_t length = 0; length < sample.frame.size(); ++length)
      ASSERT_EQ(loading(sample, std::span(sample.frame).first(length)), "Truncated") << length;
  }
}

TEST_F(IoFrame, EverySingleBit) {
  for (Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    for (std::size_t bit = 0; bit < 8 * sample.frame.size(); ++bit) {
      const std::size_t at = bit / 8;
      auto& byte = sample.frame[at];
      byte ^= static_cast<std::uint8_t>(1U << bit % 8);
      const char* expected = at < version_at ? "Format" : at < type_at ? "Version" : "Corruption";
      ASSERT_EQ(loading(sample, sample.frame), expected) << "bit " << bit;
      byte ^= static_cast<std::uint8_t>(1U << bit % 8);
    }
    ASSERT_EQ(loading(sample, sample.frame), "nothing");
  }
}

TEST_F(IoFrame, TrailingBytes) {
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

TEST_F(IoFrame, AnnouncedLength) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const std::uint64_t payload = sample.frame.size() - payload_at - trailer_bytes;
    auto announcing = [&](std::uint64_t length) {
      return patched(sample.frame, length_at, length);
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
    EXPECT_EQ(loading(sample, std::span(sample.frame).first(payload_at), limited), "Oversized");
  }
}

TEST_F(IoFrame, OtherType) {
  for (const Sample& given : all) {
    for (const Sample& wanted : all) {
      if (given.type == wanted.type) continue;
      EXPECT_EQ(loading(wanted, given.frame), "TypeMismatch");
      // The header alone says so.
      EXPECT_EQ(loading(wanted, std::span(given.frame).first(payload_at)), "TypeMismatch");
    }
    for (const int type : {0, 6, 255, 0x7fff, 0x8000, 65535}) {
      const Bytes bytes = patched(given.frame, type_at, static_cast<std::uint16_t>(type));
      EXPECT_EQ(loading(given, bytes), "TypeMismatch");
      // Numbers above are others' own.
      EXPECT_EQ(thrown([&] { info(bytes); }), type < 0x8000 ? "TypeMismatch" : "nothing");
    }
  }
}

TEST_F(IoFrame, SecretWhereKeysWereDue) {
  EXPECT_EQ(
      test::message_of<TypeMismatchError>(
          [&] { load<binfhe::EvaluationKeys>(all[1].frame, insecure()); }),
      "type: the frame holds a FHEW/TFHE secret key, but the caller expects FHEW/TFHE evaluation "
      "keys");
}

TEST_F(IoFrame, OtherVersionsAndMagics) {
  for (const Sample& sample : all) {
    for (const int version : {0, 3, 256, 65535})
      EXPECT_EQ(
          loading(sample, patched(sample.frame, version_at, static_cast<std::uint16_t>(version))),
          "Version");
    EXPECT_EQ(loading(sample, patched(sample.frame, 0, std::uint8_t{'w'})), "Format");
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

TEST_F(IoFrame, FlagsReservedAndKeyId) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, patched(sample.frame, flags_at, std::uint32_t{2})), "Format");
    EXPECT_EQ(loading(sample, patched(sample.frame, reserved_at, 1)), "Format");
    if (sample.type == FrameType::binfhe_parameters || sample.type == FrameType::binfhe_lut) {
      EXPECT_EQ(loading(sample, patched(sample.frame, key_id_at, 1)), "Format");
    }
  }
}

TEST_F(IoFrame, OtherParametersAndKeys) {
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
    EXPECT_EQ(loading(sample,
                      patched(sample.frame, digest_at,
                              std::uint64_t{random() | 1} ^ *reinterpret_cast<const std::uint64_t*>(
                                                                sample.frame.data() + digest_at))),
              "ParameterMismatch");
  }
}

// ---- writing

TEST_F(IoFrame, HeadersReturn) {
  Header header = make_header(FrameType::binfhe_ciphertexts, random_array<16>(random),
                              random_array<16>(random), random(), flag_seeded);
  const auto bytes = encode_header(header);
  const Header got = decode_header(bytes);
  EXPECT_EQ(got.type, header.type);
  EXPECT_EQ(got.version, format_version);
  EXPECT_EQ(got.flags, flag_seeded);
  EXPECT_EQ(got.payload_bytes, header.payload_bytes);
  EXPECT_EQ(got.parameters_digest, header.parameters_digest);
  EXPECT_EQ(got.key_id, header.key_id);
}

TEST_F(IoFrame, PayloadsAreAsLongAsAnnounced) {
  const auto written = [](std::uint64_t announced, std::size_t bytes) {
    Bytes out;
    MemorySink sink(out);
    FrameWriter frame(sink, make_header(FrameType::binfhe_lut, {}, {}, announced));
    frame.write(Bytes(bytes, 7));
    frame.align();
    frame.finish();
    return out;
  };
  const Bytes frame = written(64, 5);
  ASSERT_EQ(frame.size(), header_bytes + 64 + digest_bytes);
  const OpenFrame open = open_frame(frame, {.type = FrameType::binfhe_lut, .keyed = false}, {});
  EXPECT_EQ(Bytes(open.payload.begin(), open.payload.begin() + 6), (Bytes{7, 7, 7, 7, 7, 0}));
  EXPECT_EQ(written(0, 0).size(), header_bytes + digest_bytes);
  EXPECT_EQ(test::message_of<FormatError>([&] { written(63, 5); }),
            "payload length is 63 bytes, but 64 were written");
}

TEST_F(IoFrame, NamesOfTypes) {
  EXPECT_EQ(frame_type_name(FrameType::binfhe_secret_key), "a FHEW/TFHE secret key");
  EXPECT_EQ(frame_type_name(FrameType::binfhe_evaluation_keys), "FHEW/TFHE evaluation keys");
  EXPECT_EQ(frame_type_name(FrameType::first_foreign), "type 32768, of another scheme");
}

}  // namespace
}  // namespace whorl::io
