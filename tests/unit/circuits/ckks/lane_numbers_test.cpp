// Counts and products of numbers of many bits, by sums in coefficients whose carries go on.
#include <bit>
#include <random>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "support/ckks_lanes.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

constexpr BitSet five{
    .bits = 5, .levels = 10, .scale_bits = 40, .lift = 6, .degree = 15, .doublings = 5};

using Numbers = std::vector<unsigned __int128>;

std::vector<LaneArray> encrypted(const LaneParty& party, const Numbers& numbers, unsigned bits) {
  std::vector<LaneArray> out;
  for (unsigned j = 0; j < bits; ++j) {
    Bits own;
    for (const auto n : numbers) own.push_back(static_cast<std::uint8_t>(n >> j & 1));
    out.push_back(party.encrypt(own, 64));
  }
  return out;
}

void expect(const LaneParty& party, std::span<const LaneArray> found, const Numbers& wanted) {
  for (std::size_t j = 0; j < found.size(); ++j) {
    EXPECT_EQ(found[j].info().level, party.server.parameters().depth());
    const Bits bits = party.decrypt(found[j]);
    ASSERT_EQ(bits.size(), wanted.size());
    for (std::size_t k = 0; k < bits.size(); ++k)
      ASSERT_EQ(bits[k], static_cast<unsigned>(wanted[k] >> j & 1))
          << "bit " << j << ", lane " << k;
  }
}

Numbers random_numbers(std::mt19937_64& random, std::size_t count, unsigned bits) {
  Numbers out(count);
  for (auto& n : out) n = bits == 64 ? random() : random() & ((std::uint64_t{1} << bits) - 1);
  out[0] = 0;
  out[1] = out[2] = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return out;
}

TEST(CkksLaneNumbers, Products) {
  std::mt19937_64 random(6);
  const auto check = [&](const LaneParty& party, unsigned n, unsigned m, unsigned gates) {
    SCOPED_TRACE(std::to_string(n) + " and " + std::to_string(m) + " bits after " +
                 std::to_string(gates) + " gates");
    const Numbers x = random_numbers(random, 3 * 64, n), y = random_numbers(random, 3 * 64, m);
    std::vector<LaneArray> a = encrypted(party, x, n), b = encrypted(party, y, m);
    // Operands that have errors of gates, and few levels.
    for (LaneArray& bit : a)
      for (unsigned i = 0; i < gates; ++i) bit = party.lanes.bit_and(bit, bit);
    const std::uint64_t before = party.lanes.counts().bootstraps;
    const std::vector<LaneArray> found = party.lanes.multiply_numbers(a, b);
    EXPECT_EQ(found.size(), n + m);
    Numbers wanted;
    for (std::size_t i = 0; i < x.size(); ++i) wanted.push_back(x[i] * y[i]);
    expect(party, found, wanted);
    return party.lanes.counts().bootstraps - before;
  };
  const LaneParty party(small_bits(five), 64);
  // Three vectors each: 26 digits of 5 bits at this N, and 6 of those of a number of 30 bits.
  EXPECT_LE(check(party, 64, 64, 0), 3 * 32u);
  check(party, 7, 5, 2);
  check(party, 1, 1, 0);
  check(party, 1, 30, 9);
  // One and three bits in a coefficient; few levels.
  check(LaneParty(small_bits({.bits = 1, .levels = 8, .scale_bits = 40}), 64), 6, 4, 0);
  check(LaneParty(small_bits({.bits = 3, .levels = 7, .scale_bits = 40}), 64), 20, 30, 3);
}

TEST(CkksLaneNumbers, CountsOfMoreOnesThanACoefficientHolds) {
  std::mt19937_64 random(7);
  for (const BitSet& set : {five, BitSet{.bits = 2, .levels = 7, .scale_bits = 40}}) {
    const LaneParty party(small_bits(set), 64);
    for (const std::size_t arrays : {32u, 100u}) {
      std::vector<LaneArray> all;
      Numbers wanted(64);
      for (std::size_t i = 0; i < arrays; ++i) {
        const Bits bits = i % 9 == 8 ? Bits(64, 1) : random_bits(random, 64);
        LaneArray x = party.encrypt(bits, 64);
        for (unsigned gates = 0; i % 3 == 1 && gates < 6; ++gates) x = party.lanes.bit_or(x, x);
        all.push_back(i % 2 == 0 ? x : party.lanes.bit_not(x));
        for (std::size_t k = 0; k < 64; ++k) wanted[k] += i % 2 == 0 ? bits[k] : 1u - bits[k];
      }
      const std::vector<LaneArray> found = party.lanes.count_ones(all);
      ASSERT_EQ(found.size(), std::bit_width(arrays));
      expect(party, found, wanted);
    }
  }
}

TEST(CkksLaneNumbers, Sums) {
  std::mt19937_64 random(8);
  const LaneParty party(small_bits(five), 64),
      narrow(small_bits({.bits = 2, .levels = 7, .scale_bits = 40}), 64);
  for (const auto& [on, widths] :
       {std::pair<const LaneParty*, std::vector<unsigned>>{&party, {64, 64}},
        {&party, {3}},
        {&party, {9, 40, 1, 17, 33, 64, 64, 2, 5}},
        {&narrow, {12, 7, 12}}}) {
    SCOPED_TRACE(widths.size());
    std::vector<std::vector<LaneArray>> numbers;
    Numbers wanted(64);
    for (const unsigned bits : widths) {
      const Numbers own = random_numbers(random, 64, bits);
      numbers.push_back(encrypted(*on, own, bits));
      // Some have errors of gates.
      LaneArray& worn = numbers.back().back();
      for (unsigned gates = 0; gates < numbers.size() % 8; ++gates)
        worn = on->lanes.bit_and(worn, worn);
      for (std::size_t k = 0; k < 64; ++k) wanted[k] += own[k];
    }
    const std::vector<LaneArray> found = on->lanes.sum_numbers(numbers);
    ASSERT_EQ(found.size(), *std::ranges::max_element(widths) +
                                static_cast<unsigned>(std::bit_width(widths.size() - 1)));
    expect(*on, found, wanted);
  }
}

TEST(CkksLaneNumbers, Refuse) {
  const LaneParty party(small_bits(five), 64), plain(small_ring(9), 64);
  const Lanes& lanes = party.lanes;
  const LaneArray x = party.encrypt(Bits(64, 1), 64), two = party.encrypt(Bits(128, 1), 64);
  const std::array one{x};
  EXPECT_THROW(static_cast<void>(lanes.multiply_numbers({}, one)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.multiply_numbers(one, std::array{two})), ShapeError);
  EXPECT_THROW(static_cast<void>(lanes.multiply_numbers(one, std::array{lanes.integers(one, 4)})),
               ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.sum_numbers({})), ParameterError);
  const std::array<std::vector<LaneArray>, 2> none{std::vector<LaneArray>{x}, {}};
  EXPECT_THROW(static_cast<void>(lanes.sum_numbers(none)), ParameterError);
  const LaneArray real = plain.encrypt(Bits(64, 1), 64);
  EXPECT_THROW(static_cast<void>(plain.lanes.multiply_numbers(std::array{real}, std::array{real})),
               ParameterError);
}

/// The bits of m·by modulo 32, whatever m·by is. What SlotsToCoeffs rounds grows with it.
TEST(CkksLaneNumbers, ErrorsOfLargeNumbersAreStated) {
  std::mt19937_64 random(5);
  const LaneParty party(small_bits(five), 512);
  const EncodedBootstrap maps = encode_bootstrap(party.server, 512);
  std::vector<double> numbers;
  for (unsigned i = 0; i < 2 * 512; ++i) numbers.push_back(static_cast<double>(random() % 32));
  const Array x =
      party.server.upload(party.client.encrypt(numbers, {.length = 512, .bound = Bounds(0, 31)}));
  for (const std::int64_t by : {1, 257, 2049, 16385}) {
    const Array turns = as_turns(party.server, party.server.multiply_integer(x, by), 5);
    const std::vector<Array> bits = bootstrap_bits(party.server, turns, 5, maps, deviations);
    double worst = 0;
    for (unsigned j = 0; j < 5; ++j) {
      const auto raw = party.client.decrypt_raw(party.server.download(bits[j]));
      for (std::size_t i = 0; i < numbers.size(); ++i)
        worst =
            std::max(worst, std::abs(raw[i].real() - (static_cast<unsigned>(numbers[i]) >> j & 1)));
    }
    const double stated = error_of(bits[0].info());
    EXPECT_LT(worst, stated) << by;
    // Of what is stated the roundings are most; a square of 11.8 deviations of the largest number.
    if (by > 2000)
      EXPECT_GT(worst, stated / 1000) << by;
    else
      EXPECT_LT(stated, 1e-4) << by;
  }
}

}  // namespace
}  // namespace whorl::ckks
