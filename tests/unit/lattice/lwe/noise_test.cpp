#include "lattice/lwe/noise.h"
#include "support/test.h"

namespace whorl::lattice {
namespace {

TEST(LatticeNoise, FiniteAndGrowingWithWhatFeedsIt) {
  test::Random random;
  for (int i = 0; i < 200; ++i) {
    const unsigned log_base = static_cast<unsigned>(2 + random.below(12));
    const unsigned all = 54 / log_base;
    const unsigned digits = all;  // fewer, and what they drop outweighs all else
    const std::uint64_t Q = 18014398509404161;
    const ring::Gadget gadget(Q, log_base, digits);
    const std::uint32_t N = 256u << random.below(5);
    const double row = 1 + static_cast<double>(random.below(1000)) / 10;
    const auto product = [&](std::uint32_t dimension, unsigned keys, double variance) {
      return external_product_variance(gadget, dimension, keys, variance, 2.0 / 3, 2.0 / 3);
    };
    const double base = product(N, 1, row);
    ASSERT_TRUE(std::isfinite(base) && base > 0);
    EXPECT_GT(product(2 * N, 1, row), base);
    EXPECT_GT(product(N, 2, row), base);
    EXPECT_GT(product(N, 1, 2 * row), base);
    const double rounding = fft_rounding_variance(gadget, Q, N, 1, 2.0 / 3);
    ASSERT_TRUE(std::isfinite(rounding) && rounding > 0);
    EXPECT_GT(fft_rounding_variance(gadget, Q, 2 * N, 1, 2.0 / 3), rounding);
    EXPECT_GT(key_spectrum_variance(1 << 28, N, 32), key_spectrum_variance(1 << 27, N, 32));
    EXPECT_GT(key_spectrum_variance(1 << 27, N, 31), key_spectrum_variance(1 << 27, N, 32));
    const double table = key_switch_variance(gadget, N, 3.19, true, 2.0 / 3);
    const double multiplied = key_switch_variance(gadget, N, 3.19, false, 2.0 / 3);
    ASSERT_TRUE(std::isfinite(table) && table > 0);
    ASSERT_TRUE(std::isfinite(multiplied) && multiplied > 0);
    EXPECT_GE(multiplied, 0.99 * table) << "log_base " << log_base << ", digits " << digits;
    EXPECT_GT(key_switch_variance(gadget, N, 6, true, 2.0 / 3), table);
  }
  EXPECT_DOUBLE_EQ(modulus_switch_variance(600, 2.0 / 3), 401.0 / 12);
  EXPECT_DOUBLE_EQ(centred_modulus_switch_variance(600, 2), 151.0 / 12);
  // Blocks of 3 and of 4: a quarter and a fifth of the coefficients are 1.
  EXPECT_DOUBLE_EQ(centred_modulus_switch_variance(600, 4), (1 + 600 * 3.0 / 16) / 12);
  EXPECT_DOUBLE_EQ(centred_modulus_switch_variance(600, 5), (1 + 600 * 4.0 / 25) / 12);
  EXPECT_DOUBLE_EQ(secret_mean_square(SecretKind::binary, 3), 0.5);
  EXPECT_DOUBLE_EQ(secret_mean_square(SecretKind::ternary, 3), 2.0 / 3);
  EXPECT_DOUBLE_EQ(secret_mean_square(SecretKind::gaussian, 3), 9.0);
  EXPECT_DOUBLE_EQ(secret_mean_square(SecretKind::block_binary, 3, 4), 0.2);
  EXPECT_EQ(secret_centre(SecretKind::binary), 2u);
  EXPECT_EQ(secret_centre(SecretKind::ternary), 0u);
  EXPECT_EQ(secret_centre(SecretKind::gaussian), 0u);
  EXPECT_EQ(secret_centre(SecretKind::block_binary, 3), 4u);
}

TEST(LatticeNoise, FailureProbability) {
  EXPECT_EQ(failure_log2(0, 1), 0);
  EXPECT_EQ(failure_log2(-1, 1), 0);
  EXPECT_EQ(failure_log2(1, 0), -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(failure_log2(1, 1), std::log2(0.31731050786291410), 1e-9);
  EXPECT_NEAR(failure_log2(6, 1), std::log2(1.973175290075396e-9), 1e-6);
  double last = 0;
  for (double margin = 0.5; margin < 200; margin *= 1.01) {
    const double now = failure_log2(margin, 1);
    ASSERT_TRUE(std::isfinite(now));
    ASSERT_LT(now, last) << margin;
    last = now;
  }
  // No step where the series takes over.
  const double border = 25 * std::sqrt(2.0);
  EXPECT_NEAR(failure_log2(border * (1 - 1e-9), 1), failure_log2(border * (1 + 1e-9), 1), 1e-3);
}

}  // namespace
}  // namespace whorl::lattice
