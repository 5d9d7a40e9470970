// A CKKS server on several devices gives the bits of one on a single device: each operation, and
// circuits up to a whole bootstrap.
#include <gtest/gtest.h>

#include "support/ckks_bits.h"
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

}  // namespace
}  // namespace whorl::ckks
