// Payloads: what the writer puts down the reader takes up, arrays and their shapes, and nothing may
// be left over.
#include "io/native/payload.h"
#include "io/native/sink.h"
#include "support/test.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

using namespace samples;

constexpr FrameKind kind{.type = FrameType::first_foreign, .keyed = false, .seeded = true};

Bytes frame_of(const PayloadWriter& payload) {
  Bytes out;
  MemorySink sink(out);
  payload.write_frame(sink, kind.type, {}, {});
  return out;
}

/// read(PayloadReader&) of a frame.
template <class Read>
auto reading(const Bytes& bytes, const Read& read, const LoadOptions& options = {}) {
  const OpenFrame frame = open_frame(bytes, kind, options);
  PayloadReader in(frame, options, nullptr);
  return read(in);
}

// ---- fields and arrays

const WordRule rule{3, 2, 4, {5, 7}, "data"};
const std::vector<std::uint32_t> good = {4, 0, 6, 1, 4, 3};

Bytes array_frame(std::optional<Seed> seed, std::uint64_t rows = 3) {
  const WordArray words(good);
  PayloadWriter out;
  out.fields().value(std::uint16_t{77});
  out.seed(seed);
  out.align();
  out.words(words, rule, rows);
  return frame_of(out);
}

TEST(IoPayload, WhatIsPutDownIsTakenUp) {
  for (const std::optional<Seed>& seed : {std::optional<Seed>(), {Seed{9, 8}}}) {
    const Bytes bytes = array_frame(seed);
    EXPECT_EQ(bytes.size(), header_bytes + 64 + 6 * 4 + digest_bytes) << "aligned in the frame";
    reading(bytes, [&](PayloadReader& in) {
      EXPECT_EQ(in.fields().value<std::uint16_t>("number"), 77u);
      EXPECT_EQ(in.seed(), seed);
      in.align();
      const TakenWords taken = in.take(rule);
      in.finish();
      const WordArray words = in.words(taken);
      EXPECT_EQ(std::vector(words.as<std::uint32_t>().begin(), words.as<std::uint32_t>().end()),
                good);
      const auto part = in.part<std::uint32_t>(taken);
      EXPECT_TRUE(std::ranges::equal(good, std::span(part.get(), good.size())));
    });
  }
}

TEST(IoPayload, PartsLeaveRoomForWhatASeedGives) {
  reading(array_frame(Seed{1}, 2), [&](PayloadReader& in) {
    in.fields().value<std::uint16_t>("number");
    in.seed();
    in.align();
    const TakenWords taken = in.take(rule, 2);
    in.finish();
    const auto room = in.part<std::uint32_t>(taken);  // for 6, of which the last are not there yet
    std::fill_n(room.get() + 4, 2, 0);
    EXPECT_TRUE(
        std::ranges::equal(std::vector<std::uint32_t>{4, 0, 6, 1, 0, 0}, std::span(room.get(), 6)));
  });
}

TEST(IoPayload, ArraysAreThoseOfTheirRule) {
  PayloadWriter out;
  EXPECT_THROW(out.words(WordArray(std::vector<std::uint32_t>(5)), rule), ShapeError);
  EXPECT_THROW(out.words(WordArray(std::vector<std::uint64_t>(6)), rule), ShapeError);
  auto bad = good;
  bad[4] = 5;  // the third row is modulo the first modulus again
  EXPECT_EQ(test::message_of<RangeError>([&] { out.words(WordArray(bad), rule); }),
            "data: word 4 is 5; it must be below its modulus 5");
  EXPECT_THROW(out.words(WordArray(bad), rule, 2), RangeError) << "checked as a whole";
  // Of a file: what it holds of the array is checked.
  const Bytes bytes = patched(array_frame({}), header_bytes + 64 + 4 * 2, 7u);
  reading(bytes, [&](PayloadReader& in) {
    in.fields().value<std::uint16_t>("number");
    in.align();
    const TakenWords taken = in.take(rule);
    EXPECT_THROW(in.words(taken), RangeError);
    EXPECT_THROW(in.part<std::uint32_t>(taken), RangeError);
  });
}

TEST(IoPayload, NothingIsAllocatedThatIsNotThere) {
  const Bytes bytes = array_frame({});
  reading(bytes, [&](PayloadReader& in) {
    in.fields().value<std::uint16_t>("number");
    in.align();
    WordRule longer = rule;
    longer.rows = 4;
    EXPECT_THROW(in.take(longer), TruncatedError);
    longer.rows = std::uint64_t{1} << 62;
    EXPECT_THROW(in.take(longer, 1), OversizedError) << "the whole is beyond 64 bits";
    EXPECT_THROW(in.finish(), OversizedError) << "the array is left";
    in.take(rule);
    EXPECT_NO_THROW(in.finish());
    EXPECT_NO_THROW(in.finish(7, in.options().max_bytes, false));
    EXPECT_THROW(in.finish(7, in.options().max_bytes + 1, false), OversizedError);
  });
  reading(patched(bytes, header_bytes + 63, std::uint8_t{1}), [&](PayloadReader& in) {
    in.fields().value<std::uint16_t>("number");
    EXPECT_THROW(in.align(), FormatError) << "padding that is not zero";
  });
}

// ---- shapes

class IoShape : public BinfheFiles {
 protected:
  binfhe::Ciphertexts of(std::size_t count, std::optional<Shape> shape, bool seeded = true) {
    auto value = ciphertexts(parameters, count, seeded, random);
    value.shape = std::move(shape);
    return value;
  }
};

TEST_F(IoShape, Returns) {
  for (const bool seeded : {false, true})
    for (const auto& [count, shape] :
         {std::pair{6U, Shape{2, 3}}, std::pair{1U, Shape{}}, std::pair{6U, Shape{1, 6, 1}},
          std::pair{0U, Shape{4, 0}}, std::pair{1U, Shape(32, 1)}}) {
      const auto value = of(count, shape, seeded);
      const Bytes bytes = dump(value);
      const auto loaded = load<binfhe::Ciphertexts>(bytes, insecure());
      EXPECT_EQ(loaded.shape, shape);
      EXPECT_EQ(loaded.data, value.data);
      EXPECT_EQ(dump(loaded), bytes);
    }
}

TEST_F(IoShape, ARowNeedsNone) {
  auto value = of(5, Shape{5});
  const Bytes bytes = dump(value);
  EXPECT_EQ(load<binfhe::Ciphertexts>(bytes, insecure()).shape, std::nullopt);
  value.shape.reset();
  EXPECT_EQ(dump(value), bytes);
}

TEST_F(IoShape, IsThatOfTheCount) {
  EXPECT_THROW(dump(of(6, Shape{2, 4})), ShapeError);
  EXPECT_THROW(dump(of(6, Shape{})), ShapeError);
  EXPECT_THROW(dump(of(6, Shape{7})), ShapeError);
  EXPECT_THROW(dump(of(1, Shape(33, 1))), ShapeError);
  EXPECT_THROW(dump(of(0, Shape{std::uint64_t{1} << 32, std::uint64_t{1} << 32})), OversizedError);
}

TEST_F(IoShape, NumPyHoldsIt) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  for (const Shape& shape : {Shape{0, most}, Shape{most, 0, 0}, Shape{most / 2, 0, 2}}) {
    const Bytes frame = dump(of(0, shape));
    EXPECT_EQ(load<binfhe::Ciphertexts>(frame, insecure()).shape, shape);
  }
  for (const Shape& shape : {Shape{0, most + 1}, Shape{std::uint64_t{1} << 62, 0}})
    EXPECT_EQ(test::message_of([&] { dump(of(0, shape)); }),
              "shape: its axes that are not 0 have the product " +
                  std::to_string(std::max(shape[0], shape[1])) + "; it may be at most " +
                  std::to_string(most) + ", since NumPy holds no larger arrays");
  EXPECT_THROW(dump(of(0, Shape{0, most + 1})), ShapeError);
  const Bytes frame = dump(of(0, Shape{0, most}));
  const auto at = std::ranges::search(frame, bytes_of(std::span(&most, 1))).begin();
  for (const std::uint64_t length : {most + 1, std::uint64_t{1} << 62, ~std::uint64_t{0}})
    EXPECT_EQ(loading<binfhe::Ciphertexts>(
                  patched(frame, static_cast<std::size_t>(at - frame.begin()), length)),
              "Format");
}

TEST_F(IoShape, BadBytes) {
  const Bytes frame = dump(of(6, Shape{2, 3}));
  // Behind literal, encoding, count and seed: length of the fields, tag, length, two axes.
  const std::size_t at = payload_at + literal_bytes(parameters.literal()) + 16 + 32;
  const auto with = [&](std::size_t offset, auto value) {
    return loading<binfhe::Ciphertexts>(patched(frame, at + offset, value));
  };
  EXPECT_EQ(with(10, std::uint64_t{3}), "Format");
  EXPECT_EQ(with(10, std::uint64_t{0}), "Format");
  EXPECT_EQ(with(10, ~std::uint64_t{0}), "Oversized");
  EXPECT_EQ(with(4, std::uint16_t{2}), "Format");
  EXPECT_EQ(with(6, std::uint32_t{15}), "Format");
  EXPECT_EQ(with(6, std::uint32_t{17}), "Truncated");
  EXPECT_EQ(with(0, std::uint32_t{23}), "Truncated");
  EXPECT_EQ(with(0, ~std::uint32_t{0}), "Truncated");
}

}  // namespace
}  // namespace whorl::io
