// Bits that clients send in coefficients, and servers take into lanes.
#include "circuits/ckks/compact_lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "circuits/ckks/lane_errors.h"
#include "lattice/rlwe/secret.h"
#include "ring/ntt_plan.h"
#include "schemes/ckks/compact_bits.h"
#include "schemes/ckks/server_state.h"
#include "support/ckks_lanes.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

using Party = LaneParty;

CompactBits encrypted(const Party& party, const Bits& bits, std::size_t length) {
  return party.client.encrypt_bits(bits, length);
}

/// All numbers of vectors around those that fill coefficients and ciphertexts, in all slots and in
/// a part of them, and in vectors that fill no power of two.
TEST(CompactLanes, AllNumbersOfVectorsComeIn) {
  std::mt19937_64 random(1);
  for (const unsigned bits : {1u, 3u, 5u}) {
    const Parameters p = small_bits({.bits = bits, .levels = 7});
    for (const std::uint64_t length : {512u, 64u, 48u, 1u}) {
      const Party party(p, std::bit_ceil(length));
      for (const std::size_t count : {1u, 2u, 3u, 5u, 6u, 10u, 11u}) {
        SCOPED_TRACE(testing::Message()
                     << bits << " bits, " << count << " vectors of " << length << " lanes");
        const Bits given = random_bits(random, count * length);
        const CompactBits sent = encrypted(party, given, length);
        const LaneArray x = party.lanes.take_in(sent);
        EXPECT_EQ(x.info().count, count);
        EXPECT_EQ(x.info().length, length);
        EXPECT_EQ(x.info().level, p.depth());
        EXPECT_EQ(party.decrypt(x), given);
        // Two bytes for each coefficient.
        EXPECT_EQ(sent.bytes(), (count + bits - 1) / bits * std::bit_ceil(length) * 2 + 32);
        // They go on with bits that were sent in slots.
        const Bits other = random_bits(random, count * length);
        EXPECT_EQ(party.decrypt(party.lanes.bit_xor(x, party.encrypt(other, length))),
                  each(given, other, [](int u, int v) { return u ^ v; }));
      }
    }
  }
}

TEST(CompactLanes, BootstrapsAreCounted) {
  const Party party(small_bits({.bits = 5, .levels = 7}), 64);
  const CompactBits sent = encrypted(party, Bits(6 * 64, 1), 64);
  EXPECT_EQ(party.lanes.counts().bootstraps, 0u);
  static_cast<void>(party.lanes.take_in(sent));
  EXPECT_EQ(party.lanes.counts().bootstraps, 6u);
  EXPECT_LT(party.lanes.log2_failure(), -64);
  const Party strict(small_bits({.bits = 5, .levels = 7}), 64, {.most_log2_failure = -90});
  EXPECT_THROW(static_cast<void>(strict.lanes.take_in(encrypted(strict, Bits(64, 1), 64))),
               NoiseError);
}

/// Coefficients are within what is stated of their numbers. Most of the error is the rounding of
/// words, which is uniform.
TEST(CompactLanes, EncryptionHasTheStatedError) {
  std::mt19937_64 random(2);
  for (const unsigned bits : {1u, 5u}) {
    const Parameters p = small_bits({.bits = bits, .levels = 7});
    const std::uint64_t length = 512;
    const Party party(p, length);
    const std::size_t count = 8 * bits;
    const Bits given = random_bits(random, count * length);
    const lattice::rlwe::Array c =
        compact_ciphertexts(party.server, encrypted(party, given, length));
    const CompactLayout as(p, count, length);
    ASSERT_EQ(c.count(), 4u);
    const lattice::rlwe::Secret key(any_plan_of(p), party.client.secret_key().coefficients(),
                                    p.literal().sigma);
    const auto& evaluator = *Access::of(party.server).evaluator;
    const auto phases =
        key.phases_modulo({as.basis, 2, c.count(), evaluator.download(c)}, std::uint64_t{1} << 40,
                          1, [](std::size_t, std::span<std::uint64_t>) {});
    double worst = 0, squares = 0;
    for (std::size_t u = 0; u < as.numbers; ++u)
      for (std::size_t i = 0; i < length; ++i) {
        unsigned m = 0;
        for (unsigned j = 0; j < bits; ++j)
          m |= unsigned{given[(u * bits + j) * length +
                              ring::bit_reverse(static_cast<std::uint32_t>(i), 9)]}
               << j;
        const std::uint64_t x = phases[u / 2 * p.N() + as.gap * (u % 2 * length + i)];
        const double phase = (x < std::uint64_t{1} << 39 ? static_cast<double>(x)
                                                         : static_cast<double>(x) - 0x1p40) /
                             static_cast<double>(as.modulus);
        const double off = phase - (m + 0.5) / std::exp2(bits), e = off - std::round(off);
        worst = std::max(worst, std::abs(e));
        squares += e * e;
      }
    EXPECT_LE(worst, compact_error(p, gaussian_deviations));
    EXPECT_GT(worst, compact_error(p, gaussian_deviations) / 2);
    const double deviation = std::sqrt(squares / static_cast<double>(as.numbers * length));
    EXPECT_NEAR(deviation, 0x1p-16 / std::sqrt(12), 0.05 * 0x1p-16);
  }
}

TEST(CompactLanes, LevelZeroMayHaveSeveralPrimes) {
  ParameterLiteral literal = for_bits({.bits = 2, .levels = 7});
  literal.N = 1024;
  literal.levels.erase(literal.levels.begin());
  EXPECT_GT(CompactLayout(Parameters::create(literal, true), 1, 1).basis.size(), 1u);
  const Parameters p = Parameters::create(literal, true);
  const Client client = lane_client(p);
  KeyRequest none;
  none.relinearise = 2;
  const Server server(client.evaluation_keys(none), {.device = test::tested_device, .threads = 1});
  const Bits given{1, 0, 0, 1, 1, 1, 0, 1};
  const CompactLayout as(p, 1, 8);
  const lattice::rlwe::Array c = compact_ciphertexts(server, client.encrypt_bits(given, 8));
  const lattice::rlwe::Secret key(any_plan_of(p), client.secret_key().coefficients(),
                                  p.literal().sigma);
  const auto phases =
      key.phases_modulo({as.basis, 2, 1, Access::of(server).evaluator->download(c)},
                        std::uint64_t{1} << 60, 1, [](std::size_t, std::span<std::uint64_t>) {});
  for (std::size_t i = 0; i < 8; ++i) {
    const auto x = static_cast<double>(static_cast<std::int64_t>(phases[as.gap * i] << 4) >> 4);
    const double off = x / static_cast<double>(as.modulus) -
                       (given[ring::bit_reverse(static_cast<std::uint32_t>(i), 3)] + 0.5) / 2;
    EXPECT_LE(std::abs(off - std::round(off)), compact_error(p, gaussian_deviations));
  }
}

TEST(CompactLanes, WrongInputIsRefused) {
  const Parameters p = small_bits({.bits = 2, .levels = 7});
  const Party party(p, 64);
  const Bits bits(3 * 64, 1);
  // 1. What is no bits, or no vectors.
  EXPECT_THROW(static_cast<void>(party.client.encrypt_bits(bits, 65)), ShapeError);
  EXPECT_THROW(static_cast<void>(party.client.encrypt_bits(bits, 0)), ShapeError);
  EXPECT_THROW(static_cast<void>(party.client.encrypt_bits(Bits{}, 64)), ShapeError);
  EXPECT_THROW(static_cast<void>(party.client.encrypt_bits(Bits(513, 1), 513)), RangeError);
  EXPECT_THROW(static_cast<void>(party.client.encrypt_bits(Bits(64, 2), 64)), EncodingError);
  // 2. Others' bits.
  const CompactBits good = encrypted(party, bits, 64);
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(lane_client(p).encrypt_bits(bits, 64))),
               KeyMismatchError);
  const Client other = lane_client(small_bits({.bits = 3, .levels = 7}));
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(other.encrypt_bits(bits, 64))),
               ParameterMismatchError);
  // 3. Other numbers of lanes, and words that are missing.
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(encrypted(party, bits, 32))), ShapeError);
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(encrypted(party, bits, 96))), ShapeError);
  CompactBits bad = good;
  bad.count = 5;
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(bad)), ShapeError);
  bad = good;
  bad.data = WordArray(std::vector<std::uint32_t>(2 * 64));
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(bad)), ShapeError);
  bad = good;
  bad.count = 0;
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(bad)), RangeError);
  // 4. Bootstraps of real numbers.
  EXPECT_THROW(static_cast<void>(Client(small_ring(5)).encrypt_bits(bits, 64)), ParameterError);
}

}  // namespace
}  // namespace whorl::ckks
