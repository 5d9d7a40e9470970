// Files of another format beside ours: the bytes in front say which reader they are for, and both
// hold to the same limits.
#include "seams/io/foreign_format.h"
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

/// What others write.
struct Records : ByteWriter {
  void number(std::uint64_t x) {
    bytes(turned(bytes_of(std::span<const std::uint64_t>(&x, 1)), 8));
  }
  Records& add(const std::string& name, ByteSpan value) {
    number(name.size());
    bytes(bytes_of(std::span<const char>(name)));
    number(value.size());
    bytes(value);
    return *this;
  }
  template <class Object, class... Values>
  Records& add(const Object& object, const std::tuple<Field<Object, Values>...>& fields) {
    const auto one = [&]<class Value>(const Field<Object, Value>& field) {
      ByteWriter value;
      FieldValue<Value>::write(object.*field.member, ~std::uint64_t{0}, field.name, value);
      add(field.name, turned(value.data(), unit<Value>));
    };
    std::apply([&](const auto&... field) { (one(field), ...); }, fields);
    return *this;
  }
};

struct Foreign {
  bgv::ParameterLiteral literal;
  Info info;
  KeyId key{};
  Bytes data;

  explicit Foreign(const bgv::Ciphertexts& c)
      : literal(c.parameters.literal()),
        info(c.info),
        key(c.key_id),
        data(turned(bytes_of(c.data), c.data.word_bytes())) {}
  Bytes bytes() const {
    Records all, file;
    all.add("parameters", Records().add(literal, LiteralCodec<bgv::Parameters>::fields).data());
    all.add("ciphertexts", Records().add(info, info_fields).data())
        .add("key", key)
        .add("data", data);
    file.bytes(bytes_of(std::span(foreign_magic)));
    file.number(all.size());
    file.bytes(all.data());
    return file.data();
  }
};

LoadOptions insecure(std::uint64_t max_bytes = 1 << 20) {
  LoadOptions options;
  options.max_bytes = max_bytes;
  options.allow_insecure = true;
  return options;
}

TEST(ForeignFormat, StandsBesideOurs) {
  samples::Random random(1);
  for (const auto& literal : samples::bgv_literals()) {
    const auto parameters = samples::bgv_parameters(literal);
    const auto value = samples::bgv_ciphertexts(parameters, 3, 2, parameters.limbs(), random);
    const Bytes ours = dump(value), foreign = Foreign(value).bytes();
    EXPECT_EQ(dump(load_any(foreign, insecure())), ours) << literal.name;
    EXPECT_EQ(dump(load_any(ours, insecure())), ours) << literal.name;
    // Who takes ours alone says why not.
    test::expect_message<FormatError>([&] { load<bgv::Ciphertexts>(foreign, insecure()); },
                                      {"magic: these bytes are not a Whorl frame"});
  }
}

TEST(ForeignFormat, HasTheSameLimits) {
  samples::Random random(2);
  const auto parameters = samples::bgv_parameters(samples::bgv_literals()[1]);
  const Foreign good(samples::bgv_ciphertexts(parameters, 1, 2, 2, random));
  const auto said = [&](const Bytes& bytes, const LoadOptions& options = insecure()) {
    return samples::thrown([&] { load_any(bytes, options); });
  };
  const auto changed = [&](const auto& change) {
    Foreign bad = good;
    change(bad);
    return said(bad.bytes());
  };
  EXPECT_EQ(said(good.bytes()), "nothing");
  EXPECT_EQ(said(good.bytes(), {}), "Parameter") << "insecure";
  EXPECT_EQ(said(good.bytes(), insecure(1000)), "Oversized");
  Bytes cut = good.bytes(), more = cut;
  more.push_back(0);
  EXPECT_EQ(said(more), "Oversized");
  Bytes renamed = good.bytes();
  constexpr std::string_view name = "noise", other = "sound";
  const auto place = std::search(renamed.begin(), renamed.end(), name.begin(), name.end());
  ASSERT_NE(place, renamed.end());
  std::copy(other.begin(), other.end(), place);
  EXPECT_EQ(test::message_of<FormatError>([&] { load_any(renamed, insecure()); }),
            "ciphertexts: field sound is unknown to this build");
  for (; cut.size() > 64; cut.resize(cut.size() / 2)) {
    if (cut.size() < good.bytes().size()) {
      EXPECT_EQ(said(cut), "Truncated") << cut.size();
    }
  }
  EXPECT_EQ(changed([](Foreign& f) { f.literal.name.assign(max_name_bytes + 1, 'x'); }), "Format");
  EXPECT_EQ(changed([](Foreign& f) { f.literal.t = 0; }), "Parameter");
  EXPECT_EQ(changed([](Foreign& f) { f.info.parts = 99; }), "Range");
  EXPECT_EQ(changed([](Foreign& f) { f.info.count = std::size_t{1} << 62; }), "Oversized");
  EXPECT_EQ(changed([](Foreign& f) { f.info.count = 2; }), "Truncated");
  EXPECT_EQ(changed([](Foreign& f) { f.info.packing = static_cast<bgv::Packing>(2); }), "Format");
  EXPECT_EQ(changed([](Foreign& f) { f.data[0] = 0xff; }), "Range") << "above its prime";
}

}  // namespace
}  // namespace whorl::io
