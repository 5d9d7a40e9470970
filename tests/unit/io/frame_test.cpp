// The frame around every type: each kind of damage to header, lengths or digest gets its own
// exception, before the payload is understood.
#include "io/native/frame.h"
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/ckks_samples.h"
#include "unit/io/rlwe_frames.h"

namespace whorl::io {
namespace {

using namespace samples;

/// A small frame of every type of a scheme.
template <class Scheme>
struct IoFrames : Files {
  std::vector<Sample> all = [this] {
    if constexpr (std::is_same_v<Scheme, binfhe::Client>)
      return binfhe_frames(random);
    else
      return rlwe_frames<Scheme>(random);
  }();
};
using Schemes = testing::Types<binfhe::Client, Bgv, Ckks>;
struct Names {
  template <class Scheme>
  static std::string GetName(int) {
    if constexpr (std::is_same_v<Scheme, binfhe::Client>)
      return "Binfhe";
    else
      return Scheme::name;
  }
};
TYPED_TEST_SUITE(IoFrames, Schemes, Names);

TYPED_TEST(IoFrames, EveryTruncation) {
  for (const Sample& sample : this->all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, sample.frame), "nothing");
    for (std::size_t length = 0; length < sample.frame.size(); ++length)
      ASSERT_EQ(loading(sample, std::span(sample.frame).first(length)), "Truncated") << length;
  }
}

// Of FHEW/TFHE every one; of the larger frames all of header and literal, then some.
TYPED_TEST(IoFrames, SingleBits) {
  const bool every = std::is_same_v<TypeParam, binfhe::Client>;
  for (Sample& sample : this->all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    for (std::size_t bit = 0; bit < 8 * sample.frame.size();
         bit += every || bit < 2048 ? 1 : 1 + this->random() % 200) {
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

TYPED_TEST(IoFrames, LengthsThatDoNotFit) {
  for (const Sample& sample : this->all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    Bytes longer = sample.frame;
    longer.push_back(0);
    EXPECT_EQ(loading(sample, longer), "Oversized");
    // Two frames in a row are not one.
    longer = sample.frame;
    longer.insert(longer.end(), sample.frame.begin(), sample.frame.end());
    EXPECT_EQ(loading(sample, longer), "Oversized");
    // The frame is right, but its payload is shorter or longer than its content.
    const std::uint64_t payload = sample.frame.size() - payload_at - trailer_bytes;
    for (std::uint64_t length = payload < 2000 ? 0 : payload - 100; length < payload; ++length)
      ASSERT_EQ(loading(sample, with_payload_bytes(sample.frame, length)), "Truncated") << length;
    for (const std::uint64_t more : {1, 2, 64, 4096})
      EXPECT_EQ(loading(sample, with_payload_bytes(sample.frame, payload + more)), "Oversized");
    // The header alone says otherwise.
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

TYPED_TEST(IoFrames, OtherType) {
  std::vector<Sample> given = this->all;
  for (const Sample& other : {binfhe_frames(this->random)[0], rlwe_frames<Bgv>(this->random)[0],
                              rlwe_frames<Ckks>(this->random)[0]})
    given.push_back(other);
  for (const Sample& wanted : this->all) {
    SCOPED_TRACE(frame_type_name(wanted.type));
    for (const Sample& other : given) {
      if (other.type == wanted.type) continue;
      EXPECT_EQ(loading(wanted, other.frame), "TypeMismatch");
      // The header alone says so.
      EXPECT_EQ(loading(wanted, std::span(other.frame).first(payload_at)), "TypeMismatch");
    }
    for (const int type : {0, 12, 15, 21, 31, 38, 255, 0x7fff, 0x8000, 65535}) {
      const Bytes bytes = patched(wanted.frame, type_at, static_cast<std::uint16_t>(type));
      EXPECT_EQ(loading(wanted, bytes), "TypeMismatch");
      // Numbers above are others' own.
      EXPECT_EQ(thrown([&] { info(bytes); }), type < 0x8000 ? "TypeMismatch" : "nothing");
    }
  }
}

TYPED_TEST(IoFrames, OtherVersionsAndMagics) {
  for (const Sample& sample : this->all) {
    for (const int version : {0, 3, 256, 65535})
      EXPECT_EQ(
          loading(sample, patched(sample.frame, version_at, static_cast<std::uint16_t>(version))),
          "Version");
    EXPECT_EQ(loading(sample, patched(sample.frame, 0, std::uint8_t{'w'})), "Format");
  }
}

TYPED_TEST(IoFrames, FlagsReservedAndKeyId) {
  for (const Sample& sample : this->all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, patched(sample.frame, flags_at, std::uint32_t{2})), "Format");
    EXPECT_EQ(loading(sample, patched(sample.frame, reserved_at, 1)), "Format");
    if (info(sample.frame).key_id == KeyId{}) {
      EXPECT_EQ(loading(sample, patched(sample.frame, key_id_at, 1)), "Format");
    }
  }
}

TYPED_TEST(IoFrames, OtherParametersAndKeys) {
  for (const Sample& sample : this->all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, sample.frame, {}), "Parameter") << "insecure";
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
    std::uint64_t digest;
    std::memcpy(&digest, &sample.frame[digest_at], sizeof digest);
    digest ^= this->random() | 1;
    EXPECT_EQ(loading(sample, patched(sample.frame, digest_at, digest)), "ParameterMismatch");
  }
}

class IoFrame : public IoFrames<binfhe::Client> {};

TEST_F(IoFrame, KeysAndParametersAreKeyedAsTheyShould) {
  for (const Sample& sample : all)
    EXPECT_EQ(info(sample.frame).key_id == KeyId{}, sample.type == FrameType::binfhe_parameters ||
                                                        sample.type == FrameType::binfhe_lut ||
                                                        sample.type == FrameType::binfhe_program ||
                                                        sample.type == FrameType::integer_program);
}

TEST_F(IoFrame, BytesThatAreNoFrame) {
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

TEST_F(IoFrame, SecretWhereKeysWereDue) {
  EXPECT_EQ(test::message_of<TypeMismatchError>(
                [&] { load<binfhe::EvaluationKeys>(all[1].frame, insecure()); }),
            "type: the frame holds a FHEW/TFHE secret key, but the caller expects FHEW/TFHE "
            "evaluation keys");
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
