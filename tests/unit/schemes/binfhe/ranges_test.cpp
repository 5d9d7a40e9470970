// Ranges that a program states of messages: what follows from them, and what is refused.
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

bool operator==(MessageRange a, MessageRange b) { return a.low == b.low && a.high == b.high; }

class BinfheRanges : public ::testing::Test {
 protected:
  Array fresh(Encoding encoding) const {
    return server_.upload(pair_.client.encrypt({0, 1}, encoding, 1));
  }
  Array sum(std::vector<std::int32_t> weights, const std::vector<Array>& terms,
            std::int32_t constant = 0, bool modular = false) const {
    std::vector<const Array*> inputs;
    for (const Array& term : terms) inputs.push_back(&term);
    return server_.linear(weights, inputs, constant, modular);
  }
  void expect_range(const Array& got, MessageRange range, std::uint32_t largest) const {
    ASSERT_TRUE(got.range());
    EXPECT_TRUE(*got.range() == range) << got.range()->low << " … " << got.range()->high;
    EXPECT_EQ(got.largest(), largest);
  }
  const test::Pair& pair_ = test::pair_of(test::insecure(test::small_literal()));
  const Server server_{pair_.keys, {test::tested_device, 1}, test::failing()};
};

TEST_F(BinfheRanges, OfTablesAreStatedAnew) {
  const Array x = server_.with_range(fresh({8}), {0, 3});
  const Lut negate = Lut::create(server_.parameters(), {0, 7, 6, 5, 4, 3, 2, 1}, {8}, {8});
  const Array y = server_.apply(std::span(&negate, 1), {}, x);
  EXPECT_FALSE(y.range());
  EXPECT_EQ(y.largest(), 7u);
  const Array negative = server_.with_range(y, {-3, 0});
  expect_range(negative, {-3, 0}, 7);
  expect_range(sum({1}, {negative}, 3), {0, 3}, 3);
}

TEST_F(BinfheRanges, ThatReadAMessageInTwoWaysAreRefused) {
  constexpr std::int64_t p = 4, end = 9;
  const Array x = fresh({p});
  for (std::int64_t low = -end; low <= end; ++low)
    for (std::int64_t high = low; high <= std::min(end, low + p - 1); ++high) {
      const Array known = server_.with_range(x, {low, high});
      for (std::int64_t least = -end; least <= end; ++least)
        for (std::int64_t most = least; most <= end; ++most) {
          const MessageRange both{std::max(low, least), std::min(high, most)};
          bool refused = both.low > both.high;
          for (std::int64_t s = least; most - least < p && s <= most; ++s)
            for (std::int64_t k = low; k <= high; ++k) refused |= s != k && (s - k) % p == 0;
          SCOPED_TRACE(testing::Message()
                       << low << " … " << high << ", then " << least << " … " << most);
          if (refused)
            EXPECT_THROW(server_.with_range(known, {least, most}), EncodingError);
          else
            EXPECT_TRUE(*server_.with_range(known, {least, most}).range() == both);
        }
    }
}

TEST_F(BinfheRanges, OfBitsStayThoseOfBits) {
  const Array a = fresh({4}), b = fresh({4});
  const Array* both[] = {&a, &b};
  const Array bits = server_.gate(Gate::nand, both);
  const Array stated = server_.with_range(bits, {0, 3});
  expect_range(stated, {0, 1}, 1);
  const Array* again[] = {&stated, &a};
  EXPECT_NO_THROW(server_.gate(Gate::nand, again));
  EXPECT_THROW(server_.with_range(bits, {2, 3}), EncodingError);
  // Other ranges read 0 and 1 as other integers.
  expect_range(server_.with_range(bits, {-1, 2}), {-1, 2}, 3);
  expect_range(server_.with_range(bits, {4, 5}), {4, 5}, 3);
}

TEST_F(BinfheRanges, HaveEndsThatFilesHold) {
  constexpr std::int64_t top = (std::int64_t{1} << 31) - 1;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  const Array x = fresh({8});
  for (const MessageRange range : {MessageRange{least, most},
                                   {least, least},
                                   {most, most},
                                   {0, most},
                                   {least, 0},
                                   {-top - 1, -top},
                                   {top, top + 1}}) {
    EXPECT_THROW(server_.with_range(x, range), EncodingError) << range.low << " … " << range.high;
    EXPECT_THROW(server_.with_range(server_.with_range(x, {0, 7}), range), EncodingError);
    Ciphertexts host = server_.download(x);
    host.largest = 7;
    host.origin = {};
    host.range = range;
    EXPECT_THROW(static_cast<void>(largest_message(host)), RangeError);
  }
  expect_range(server_.with_range(x, {top - 7, top}), {top - 7, top}, 7);
  const Array a = server_.with_range(x, {-top, -top}),
              b = server_.with_range(x, {1 - top, 1 - top});
  EXPECT_THROW(sum({2}, {a}), EncodingError);
  // Each term is above 2^53, and the sum is not.
  constexpr auto weight = static_cast<std::int32_t>(top);
  expect_range(sum({weight, -weight}, {a, b}, weight), {0, 0}, 0);
}

TEST_F(BinfheRanges, OfJoinedArraysHoldAll) {
  const auto joined = [&](const Array& a, const Array& b) {
    const Array arrays[] = {a, b};
    Array out = server_.concatenate(arrays);
    const Ciphertexts x = server_.download(a), y = server_.download(b), got = server_.download(out);
    const Ciphertexts* batches[] = {&x, &y};
    const Ciphertexts host = concatenate(batches);
    EXPECT_EQ(host.largest, got.largest);
    EXPECT_EQ(host.as_bits, got.as_bits);
    EXPECT_EQ(host.range.has_value(), got.range.has_value());
    if (host.range && got.range) {
      EXPECT_TRUE(*host.range == *got.range);
    }
    return out;
  };
  for (const bool padding : {false, true}) {
    SCOPED_TRACE(padding);
    const Array x = fresh({8, padding}), ranged = server_.with_range(x, {0, 3});
    expect_range(joined(ranged, x), {0, 7}, 7);
    const Array below = server_.with_range(sum({-1}, {ranged}), {-3, 0});
    expect_range(joined(below, ranged), {-3, 3}, padding ? 15 : 7);
    // Messages modulo p beside integers.
    const Array modular = sum({1, -1}, {x, x}, 1, true);
    const Array all = joined(modular, below);
    EXPECT_FALSE(all.range());
    EXPECT_EQ(all.largest(), padding ? 15u : 7u);
    const Array far = sum({1}, {ranged}, 3);
    const Array apart[] = {below, far};
    EXPECT_EQ(far.range()->high, 6);
    EXPECT_THROW(server_.concatenate(apart), EncodingError);
    const Ciphertexts one = server_.download(below), other = server_.download(far);
    const Ciphertexts* batches[] = {&one, &other};
    EXPECT_THROW(concatenate(batches), EncodingError);
  }
}

}  // namespace
}  // namespace whorl::binfhe
