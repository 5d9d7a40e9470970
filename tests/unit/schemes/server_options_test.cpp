// Servers of all schemes take their common options under the same names, in the same order and with
// the same defaults.
#include <gtest/gtest.h>

#include <type_traits>

#include "whorl/bgv.h"
#include "whorl/binfhe.h"

namespace whorl {
namespace {

template <class Options>
class ServerOptions : public ::testing::Test {};
using Schemes = ::testing::Types<bgv::ServerOptions, binfhe::ServerOptions>;
TYPED_TEST_SUITE(ServerOptions, Schemes);

TYPED_TEST(ServerOptions, DefaultsAreTheBestDeviceAndAllCores) {
  const TypeParam options;
  EXPECT_EQ(options.device, "");
  EXPECT_EQ(options.threads, 0u);
  EXPECT_FALSE(options.interrupt);
  EXPECT_EQ(options.key_budget, 0u);
  EXPECT_FALSE(options.key_cache);
}

TYPED_TEST(ServerOptions, CommonOptionsComeFirstAndInOneOrder) {
  const TypeParam options{"cpu", 3, [] { return true; }, 1000, KeyCache(2000)};
  EXPECT_EQ(options.device, "cpu");
  EXPECT_EQ(options.threads, 3u);
  EXPECT_TRUE(options.interrupt());
  EXPECT_EQ(options.key_budget, 1000u);
  EXPECT_EQ(options.key_cache->bytes_a_device(), 2000u);
}

static_assert(std::is_constructible_v<bgv::Server, const bgv::EvaluationKeys&> &&
              !std::is_convertible_v<const bgv::EvaluationKeys&, bgv::Server>);
static_assert(std::is_constructible_v<binfhe::Server, const binfhe::EvaluationKeys&> &&
              !std::is_convertible_v<const binfhe::EvaluationKeys&, binfhe::Server>);

}  // namespace
}  // namespace whorl
