// A CKKS server on several devices gives the bits of one on a single device: each operation, and
// circuits up to a whole bootstrap. Lanes keep their vectors on their devices.
#include <gtest/gtest.h>

#include <random>

#include "support/ckks_bits.h"
#include "support/ckks_lanes.h"
#include "support/named_devices.h"

namespace whorl::ckks {
namespace {

TEST(CkksServerDevices, SameBitsOnSeveral) {
  for (const Requirements& needs : test::bits_requirements()) {
    SCOPED_TRACE(testing::Message() << "words of " << needs.word_bits << " bits"
                                    << (needs.coefficients_last ? ", coefficients last" : ""));
    const test::CkksBits bits(needs);
    const Server alone(bits.keys(), {.device = "cpu", .threads = 1});
    ASSERT_EQ(alone.devices().size(), 1u);
    const auto circuits = bits.circuits(alone), bootstraps = bits.bootstraps(alone);
    // Three ciphertexts on two devices, and on three in pieces of one.
    for (const auto& [devices, most] : {std::pair<std::size_t, std::size_t>{2, 512}, {3, 1}}) {
      SCOPED_TRACE(testing::Message() << devices << " devices, pieces of " << most);
      const test::NamedStrains strained(devices, most);
      const Server server(bits.keys(), {.device = test::named_devices});
      EXPECT_EQ(server.devices().size(), devices);
      test::CkksBits::expect_same(bits.circuits(server), circuits);
      test::CkksBits::expect_same(bits.bootstraps(server), bootstraps);
      EXPECT_TRUE(server.failed_devices().empty());
      for (const auto& strain : strained.strains) EXPECT_LT(strain->calls_left, LONG_MAX);
    }
  }
}

// Devices of one host exchange vectors by way of it, which takes far longer than to refresh them.
TEST(CkksLanesOnSeveralDevices, VectorsAreRefreshedWhereTheyAre) {
  std::mt19937_64 random(5);
  const test::NamedStrains strained(2);
  const auto moved = [&] {
    return strained.strains[0]->bytes_out + strained.strains[1]->bytes_out;
  };
  for (const Parameters& parameters : {small_bits({.bits = 5, .levels = 9}), small_ring(9)}) {
    const LaneParty party(parameters, 64, {}, {}, test::named_devices);
    ASSERT_EQ(party.server.devices().size(), 2u);
    // 1. Of each array 10 vectors lie on either device, and so do those of 4 coefficients of 5 bits
    // or of 20 pairs. Two arrays share neither.
    std::vector<LaneArray> arrays;
    std::vector<Bits> bits;
    for (unsigned i = 0; i < 2; ++i) {
      bits.push_back(random_bits(random, 20 * 64));
      arrays.push_back(party.encrypt(bits.back(), 64));
    }
    party.lanes.refresh(arrays);  // makes plaintexts that stay
    const std::size_t before = moved();
    party.lanes.refresh(arrays);
    EXPECT_EQ(moved(), before);
    for (unsigned i = 0; i < 2; ++i) EXPECT_EQ(party.decrypt(arrays[i]), bits[i]);
    // 2. Arrays of several counts come back in their order too.
    bits.push_back(random_bits(random, 3 * 64));
    arrays.push_back(party.encrypt(bits.back(), 64));
    party.lanes.refresh(arrays);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(party.decrypt(arrays[i]), bits[i]);
  }
  // 3. Integers of which two share a coefficient.
  const LaneParty party(small_bits({.bits = 5, .levels = 9}), 64, {}, {}, test::named_devices);
  Bits messages;
  for (unsigned i = 0; i < 16 * 64; ++i)
    messages.push_back(static_cast<std::uint8_t>(random() % 4));
  const LaneArray integers = party.encrypt_integers(messages, 4, 64);
  party.lanes.refresh(std::span(&integers, 1));
  const std::size_t before = moved();
  party.lanes.refresh(std::span(&integers, 1));
  EXPECT_EQ(moved(), before);
  EXPECT_EQ(party.decrypt_integers(integers), messages);
}

}  // namespace
}  // namespace whorl::ckks
