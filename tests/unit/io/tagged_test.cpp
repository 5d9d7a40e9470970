// Tagged fields: the literals at the head of every payload.
#include "io/native/bgv_literal.h"
#include "io/native/binfhe_literal.h"
#include "io/native/ckks_literal.h"
#include "support/test.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

using samples::insecure;
using samples::loading;
using samples::Random;
using samples::thrown;

using Literals = LiteralCodec<binfhe::Parameters>;

struct Record {
  std::uint16_t tag;
  Bytes value;
};
template <class T>
Record record(std::uint16_t tag, T value) {
  const ByteSpan bytes = bytes_of(std::span<const T>(&value, 1));
  return {tag, Bytes(bytes.begin(), bytes.end())};
}
Record text(std::uint16_t tag, std::string_view value) {
  return {tag, Bytes(value.begin(), value.end())};
}

Bytes section(const std::vector<Record>& records) {
  ByteWriter fields;
  for (const Record& one : records) {
    fields.value(one.tag);
    fields.value(static_cast<std::uint32_t>(one.value.size()));
    fields.bytes(one.value);
  }
  ByteWriter out;
  out.value(static_cast<std::uint32_t>(fields.size()));
  out.bytes(fields.data());
  return out.data();
}

binfhe::ParameterLiteral read(const Bytes& bytes) {
  ByteReader reader(bytes);
  auto literal = read_literal<binfhe::Parameters>(reader);
  reader.finish("test");
  return literal;
}
std::string refusal_of(const Bytes& bytes) {
  return test::message_of<FormatError>([&] { read(bytes); });
}
std::string refusal(const std::vector<Record>& records) { return refusal_of(section(records)); }

TEST(IoTagged, NothingButDefaults) {
  EXPECT_EQ(read(section({})), binfhe::ParameterLiteral{});
  ByteWriter out;
  write_fields(binfhe::ParameterLiteral{}, Literals::fields, out);
  EXPECT_EQ(out.data(), Bytes(4));
}

// Files leave defaults out: they are part of the format.
TEST(IoTagged, DefaultsNeverChange) {
  binfhe::ParameterLiteral binfhe;
  binfhe.n = binfhe.N = binfhe.log_B_ks = binfhe.ks_digits = 0;
  binfhe.q = binfhe.Q = binfhe.Q_ks = 0;
  binfhe.key_switch = binfhe::KeySwitch::table;
  binfhe.lwe_secret = binfhe.ring_secret = binfhe::SecretDistribution::ternary;
  binfhe.transform = binfhe::Transform::fft;
  binfhe.sigma_lwe = binfhe.sigma_ring = 3.19;
  binfhe.max_p = 4;
  binfhe.padding = false;
  binfhe.rotation = {binfhe::RotationKind::ginx, 1, 1};
  EXPECT_EQ(read(section({})), binfhe);
  bgv::ParameterLiteral bgv;
  bgv.N = bgv.depth = 0;
  bgv.t = 0;
  bgv.digit_limbs = 1;
  bgv.sigma = 3.19;
  const Bytes none = section({});
  ByteReader reader(none);
  EXPECT_EQ(read_literal<bgv::Parameters>(reader), bgv);
  ckks::ParameterLiteral ckks;
  ckks.N = ckks.terminals = 0;
  ckks.digit_limbs = 1;
  ckks.sigma = 3.19;
  ckks.log2_scale = 40;
  ByteReader again(none);
  EXPECT_EQ(read_literal<ckks::Parameters>(again), ckks);
}

TEST(IoTagged, FieldsAreReadByTheirTags) {
  const auto literal = read(section({record<std::uint32_t>(1, 16), record<std::uint64_t>(4, 12289),
                                     record<std::uint8_t>(10, 1), text(17, "é")}));
  binfhe::ParameterLiteral expected;
  expected.n = 16;
  expected.Q = 12289;
  expected.padding = true;
  expected.name = "é";
  EXPECT_EQ(literal, expected);
}

TEST(IoTagged, RefusalsNameTheField) {
  EXPECT_EQ(refusal({record<std::uint32_t>(99, 1)}),
            "parameters: field 99 is unknown to this build");
  EXPECT_EQ(refusal({record<std::uint32_t>(0, 1)}), "parameters: field 0 is unknown to this build");
  EXPECT_EQ(refusal({record<std::uint32_t>(1, 16), record<std::uint32_t>(1, 16)}),
            "parameters: field 1 (n) is there twice");
  EXPECT_EQ(refusal({record<std::uint32_t>(3, 256), record<std::uint32_t>(1, 16)}),
            "parameters: field 1 (n) stands behind field 3");
  EXPECT_EQ(refusal({record<std::uint32_t>(13, 4)}),
            "max_p: it holds its default, which must be left out");
  EXPECT_EQ(refusal({text(17, "")}), "name: it holds its default, which must be left out");
  EXPECT_EQ(refusal({record<std::uint64_t>(1, 16)}), "n has 8 bytes; it must have 4");
  EXPECT_EQ(refusal({record<std::uint16_t>(1, 16)}), "n has 2 bytes; it must have 4");
  EXPECT_EQ(refusal({text(2, "")}), "q has 0 bytes; it must have 8");
  EXPECT_EQ(refusal({record<std::uint8_t>(6, 2)}), "key_switch is 2; it must be at most 1");
  EXPECT_EQ(refusal({record<std::uint8_t>(7, 4)}), "lwe_secret is 4; it must be at most 3");
  EXPECT_EQ(refusal({record<std::uint8_t>(8, 3)}), "ring_secret is 3; it must be at most 2");
  EXPECT_EQ(refusal({record<std::uint16_t>(7, 0)}), "lwe_secret has 2 bytes; it must have 1");
  EXPECT_EQ(refusal({record<std::uint8_t>(10, 2)}), "padding is 2; it must be at most 1");
  EXPECT_EQ(refusal({{16, Bytes(13)}}), "gadget has 13 bytes; the number must be a multiple of 12");
  EXPECT_EQ(refusal({{16, Bytes(std::size_t{12} * 17)}}),
            "gadget has 17 elements; it may have at most 16");
  EXPECT_EQ(refusal({{19, section({record<std::uint8_t>(1, 6)})}}),
            "rotation.kind is 6; it must be at most 5");
  EXPECT_EQ(refusal({{17, Bytes(65, 'x')}}), "name has 65 bytes; it may have at most 64");
  EXPECT_EQ(refusal({{18, Bytes(1025, 'x')}}), "source has 1025 bytes; it may have at most 1024");
}

TEST(IoTagged, LengthsThatDoNotFit) {
  const Bytes good = section({record<std::uint32_t>(1, 16), text(17, "name")});
  EXPECT_NO_THROW(read(good));
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_THROW(read(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes))),
                 TruncatedError);
  // The whole, then the name, is said to be longer or shorter than it is.
  for (const std::size_t at : {std::size_t{0}, good.size() - 8})
    for (const std::uint32_t change : {1U, 100U, 0xffff0000U, ~0U}) {
      Bytes bad = good;
      std::uint32_t length;
      std::memcpy(&length, &bad[at], 4);
      length += change;
      std::memcpy(&bad[at], &length, 4);
      EXPECT_THROW(read(bad), FormatError) << at << " " << change;
    }
}

TEST(IoTagged, Texts) {
  for (const std::string_view letter : {"\x1b", "\x7f", "\x80", "\xc3", "\xff"})
    EXPECT_EQ(refusal({text(17, letter)}), "name is not printable UTF-8");
  EXPECT_EQ(refusal({{18, {0}}}), "source is not printable UTF-8");
  for (const auto& [written, good] : {std::pair{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x80", true},
                                      std::pair{"\xc0\xaf", false},          // overlong
                                      std::pair{"\xed\xa0\x80", false},      // surrogate
                                      std::pair{"\xf4\x90\x80\x80", false},  // beyond U+10FFFF
                                      std::pair{"\xc2\x85", false},          // control
                                      std::pair{"\xe2\x82", false}}) {
    auto literal = samples::literals()[0];
    literal.source = written;
    EXPECT_EQ(thrown([&] { dump(samples::parameters(literal)); }), good ? "nothing" : "Parameter");
    EXPECT_EQ(refusal({text(18, written)}).empty(), good);
  }
}

TEST(IoTagged, WhatIsReadIsChecked) {
  const Bytes frame = dump(samples::tiny_parameters());
  const auto with = [&](std::uint16_t tag, auto value) {
    return loading<binfhe::Parameters>(
        samples::patched(frame, samples::field_at(frame, tag), value));
  };
  EXPECT_EQ(with(1, std::uint32_t{15}), "Parameter");
  EXPECT_EQ(with(2, std::uint64_t{3}), "Parameter");
  EXPECT_EQ(with(2, std::uint64_t{1024}), "ParameterMismatch");
  EXPECT_EQ(with(17, std::uint8_t{'T'}), "nothing");  // the digest does not cover names
}

// ---- structs within

struct Inner {
  std::uint8_t kind = 0;
  std::uint64_t size = 1;
  bool operator==(const Inner&) const = default;
};
struct Outer {
  std::uint32_t n = 0;
  Inner inner{};
};

}  // namespace

template <>
struct StructFields<Inner> {
  static constexpr std::tuple fields{Field{1, "kind", &Inner::kind},
                                     Field{2, "size", &Inner::size}};
};

namespace {

TEST(IoTagged, StructsAreFieldsAgain) {
  constexpr std::tuple fields{Field{1, "n", &Outer::n}, Field{2, "inner", &Outer::inner}};
  for (const Inner& inner : {Inner{}, Inner{3, 1}, Inner{0, 7}, Inner{3, 7}}) {
    ByteWriter out;
    write_fields(Outer{5, inner}, fields, out);
    ByteReader reader(out.data());
    const auto loaded = read_fields<Outer>(reader, fields, "outer");
    EXPECT_EQ(loaded.n, 5U);
    EXPECT_EQ(loaded.inner, inner);
  }
  const auto reading = [&](const Bytes& inner) {
    const Bytes bytes = section({{2, inner}});
    ByteReader reader(bytes);
    return thrown([&] { read_fields<Outer>(reader, fields, "outer"); });
  };
  Bytes longer = section({record<std::uint8_t>(1, 3)});
  EXPECT_EQ(reading(longer), "nothing");
  longer.push_back(0);
  EXPECT_EQ(reading(longer), "Oversized");
  EXPECT_EQ(reading(section({record<std::uint8_t>(3, 3)})), "Format");
  EXPECT_EQ(reading(section({})), "Format");  // the default
}

}  // namespace
}  // namespace whorl::io
