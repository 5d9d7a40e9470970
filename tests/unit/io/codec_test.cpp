// A scheme that does nothing has files as soon as it has codecs.
#include "io/native/files.h"
#include "io/native/secret_files.h"
#include "support/test.h"
#include "unit/io/expectations.h"
#include "unit/io/samples.h"
#include "unit/io/temporary_folder.h"

namespace whorl::idle {

struct ParameterLiteral {
  std::uint32_t size = 0;
  std::string name;
};
class Parameters {
 public:
  static Parameters create(ParameterLiteral literal, bool) {
    Parameters made;
    if (literal.size == 0) throw ParameterError("size = 0: at least 1");
    made.literal_ = std::move(literal);
    made.digest_[0] = static_cast<std::uint8_t>(made.literal_.size);
    return made;
  }
  const ParameterLiteral& literal() const { return literal_; }
  const Digest& digest() const { return digest_; }

 private:
  ParameterLiteral literal_;
  Digest digest_{};
};
struct Ciphertexts {
  Parameters parameters;
  KeyId key_id;
  std::uint64_t count = 0;
  WordArray data;  ///< (count, size) words below 97
  std::optional<Shape> shape{};
};
struct SecretKey {
  Parameters held;
  KeyId id;
  std::vector<std::int32_t> coefficients;
  const Parameters& parameters() const { return held; }
  const KeyId& key_id() const { return id; }
};

}  // namespace whorl::idle

namespace whorl::io {

constexpr auto idle_type = [](std::uint16_t n) {
  return static_cast<FrameType>(static_cast<std::uint16_t>(FrameType::first_foreign) + n);
};

template <>
inline constexpr bool is_saved<idle::Parameters> = true;
template <>
inline constexpr bool is_saved<idle::Ciphertexts> = true;
template <>
inline constexpr bool is_saved_secret<idle::SecretKey> = true;

template <>
struct LiteralCodec<idle::Parameters> {
  using Literal = idle::ParameterLiteral;
  static constexpr std::tuple fields{Field{1, "size", &Literal::size},
                                     Field{2, "name", &Literal::name, max_name_bytes}};
};
template <>
struct Codec<idle::Parameters> : ParametersCodec<idle::Parameters, idle_type(0)> {};
template <>
struct Codec<idle::Ciphertexts> {
  static constexpr FrameKind kind{.type = idle_type(1)};
  static WordRule rule(const idle::Parameters& p, std::uint64_t count) {
    return {count, p.literal().size, 4, {97}, "data"};
  }
  static void write(const idle::Ciphertexts& value, PayloadWriter& out) {
    out.fields().value(value.count);
    out.shape(value.shape, value.count);
    out.align();
    out.words(value.data, rule(value.parameters, value.count));
  }
  static idle::Ciphertexts read(PayloadReader& in, const idle::Parameters& parameters) {
    const auto count = in.fields().value<std::uint64_t>("count");
    auto shape = in.shape(count);
    in.align();
    const auto taken = in.take(rule(parameters, count));
    in.finish();
    return {parameters, in.header().key_id, count, in.words(taken), shape};
  }
};
template <>
struct SecretCodec<idle::SecretKey> {
  static constexpr FrameKind kind{idle_type(2)};
  static std::size_t coefficients(const idle::Parameters& p) { return p.literal().size; }
  static std::array<Coefficients, 1> parts(const idle::SecretKey& key) {
    return {key.coefficients};
  }
  static idle::SecretKey make(const idle::Parameters& p, const KeyId& id, Coefficients all) {
    return {p, id, {all.begin(), all.end()}};
  }
};

namespace {

TEST(IoCodec, ASchemeOfOthers) {
  const TemporaryFolder folder;
  const auto parameters = idle::Parameters::create({5, "idle"}, false);
  save(folder / "p", parameters);
  EXPECT_EQ(load<idle::Parameters>(folder / "p").literal().name, "idle");
  EXPECT_EQ(info(folder / "p").type, idle_type(0));

  std::vector<std::uint32_t> words(20);
  std::iota(words.begin(), words.end(), 1);
  const idle::Ciphertexts value{parameters, KeyId{7}, 4, WordArray(words), Shape{2, 2}};
  save(folder / "c", value);
  const auto loaded = load<idle::Ciphertexts>(folder / "c");
  EXPECT_EQ(loaded.shape, value.shape);
  EXPECT_EQ(loaded.key_id, value.key_id);
  samples::expect_same_words(loaded.data, value.data);
  auto broken = value;
  words[3] = 97;
  broken.data = WordArray(words);
  EXPECT_THROW(dump(broken), RangeError);
  broken.count = 3;
  EXPECT_THROW(dump(broken), ShapeError);
  LoadOptions options;
  options.expect_key = KeyId{8};
  EXPECT_THROW(load<idle::Ciphertexts>(dump(value), options), KeyMismatchError);
  EXPECT_THROW(load<idle::Parameters>(dump(value)), TypeMismatchError);

  const idle::SecretKey key{parameters, KeyId{7}, {1, 0, -1, 1, 0}};
  const Bytes secret = dump_secret(key, "phrase", samples::cheap_cost);
  EXPECT_EQ(load<idle::SecretKey>(secret, "phrase").coefficients, key.coefficients);
  EXPECT_THROW(load<idle::SecretKey>(secret, "praise"), PassphraseError);
}

}  // namespace
}  // namespace whorl::io
