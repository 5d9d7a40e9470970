// The noise model's own relations, and its schedule; bounds are measured in tests/noise.
#include "schemes/bgv/noise.h"
#include "support/bgv_sets.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

TEST(BgvNoiseModel, Sums) {
  test::Random random;
  for (int i = 0; i < 100; ++i) {
    const double a = static_cast<double>(random.below(400)) / 10,
                 b = static_cast<double>(random.below(400)) / 10;
    EXPECT_NEAR(std::exp2(log2_sum(a, b)) / (std::exp2(a) + std::exp2(b)), 1, 1e-12);
  }
  EXPECT_EQ(log2_sum(1000, 2000), 2000);
  EXPECT_EQ(log2_sum(3000, 3000), 3001);
}

TEST(BgvNoiseModel, Formulas) {
  // docs/bgv-noise.md, in powers of two that can be added by hand.
  const Parameters p = test::bgv_insecure({1024, 65537, 30, 4, 2});
  const NoiseModel model(p);
  const double N = 1024, t = 65537, sigma = 3.19, s = std::sqrt(2.0 / 3), u = t / std::sqrt(12.0);
  EXPECT_NEAR(model.plaintext(), std::log2(N * t / 2), 1e-9);
  const double fresh = N * t / 2 + 6 * std::sqrt(N) * sigma * t;
  EXPECT_NEAR(model.fresh_secret(), std::log2(fresh), 1e-9);
  EXPECT_NEAR(model.fresh_public(), std::log2(fresh + 2 * 16 * N * sigma * s * t), 1e-9);
  double rounding = 6 * std::sqrt(N) * u + 16 * N * u * s;
  EXPECT_NEAR(model.rounding(2), std::log2(rounding), 1e-9);
  double keys = rounding;
  for (const unsigned first : {0u, 2u})
    keys += 16 * N * std::exp2(p.log2_Q(first + 2) - p.log2_Q(first) - p.log2_P()) /
            std::sqrt(12.0) * sigma * t;
  EXPECT_NEAR(model.key_switch(4), std::log2(keys), 1e-9);
  EXPECT_LT(model.key_switch(3), model.key_switch(4));
  rounding += 40 * N * std::sqrt(N) * u * s * s;
  EXPECT_NEAR(model.rounding(3), std::log2(rounding), 1e-9);
  rounding += 6 * 6 * 6 * 6 * N * N * u * s * s * s;
  EXPECT_NEAR(model.rounding(4), std::log2(rounding), 1e-9);
  EXPECT_NEAR(model.dropped(60, 4, 2),
              std::log2(std::exp2(60 - p.log2_Q(4) + p.log2_Q(3)) + std::exp2(model.rounding(2))),
              1e-9);
  EXPECT_NEAR(model.budget(50, 3), p.log2_Q(3) - 51, 1e-9);
}

TEST(BgvNoiseModel, LimbsToMultiplyAreTheBest) {
  test::Random random;
  const Parameters p = test::bgv_insecure({1024, 65537, 30, 9, 3});
  const NoiseModel model(p);
  for (int i = 0; i < 200; ++i) {
    const auto limbs = static_cast<unsigned>(1 + random.below(9));
    const auto parts = static_cast<unsigned>(2 + random.below(3));
    const double noise = static_cast<double>(random.below(2000)) / 10;
    const unsigned best = model.limbs_to_multiply(noise, limbs, parts);
    const auto budget_at = [&](unsigned left) {
      double at = noise;
      for (unsigned l = limbs; l > left; --l) at = model.dropped(at, l, parts);
      return model.budget(2 * at, left);
    };
    for (unsigned left = 1; left <= limbs; ++left) EXPECT_LE(budget_at(left), budget_at(best));
  }
}

TEST(BgvNoiseModel, ScheduleIsThatOfTheRatedCircuit) {
  for (const unsigned depth : {1u, 2u, 5u, 9u})
    for (const unsigned bits : {28u, 30u, 50u, 60u}) {
      const Parameters p = test::bgv_rated({1024, 65537, bits}, depth);
      SCOPED_TRACE(p.literal().name);
      const NoiseModel model(p);
      Requirements r;
      r.depth = depth;
      const auto levels = model.schedule();
      ASSERT_EQ(levels.size(), depth);
      EXPECT_EQ(levels[0].limbs, p.limbs());
      EXPECT_EQ(levels[0].least, 0);
      unsigned limbs = p.limbs();
      // Three bits of sums are within the schedule at each level, and last to its end.
      double noise = model.fresh_public();
      for (const auto& level : levels) {
        EXPECT_EQ(level.limbs, limbs);
        EXPECT_LE(level.left, limbs);
        noise = log2_sum(noise, model.key_switch(limbs)) + r.sums;
        EXPECT_LE(noise, level.most);
        EXPECT_GE(noise, level.least);
        for (; limbs > level.left; --limbs) noise = model.dropped(noise, limbs, 2);
        noise = log2_sum(2 * noise, model.key_switch(limbs));
      }
      EXPECT_GE(model.budget(log2_sum(noise, model.key_switch(limbs)) + r.sums, limbs), 0);
    }
  // Not rated: nothing to keep to.
  EXPECT_TRUE(NoiseModel(test::bgv_insecure()).schedule().empty());
  ParameterLiteral literal = test::bgv_literal({1024, 65537, 30, 2, 1});
  literal.depth = 9;
  EXPECT_TRUE(NoiseModel(Parameters::create(literal, true)).schedule().empty());
}

}  // namespace
}  // namespace whorl::bgv
