#include "ring/fft_plan.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

TEST(RingFftPlan, ExponentsAreOneOfEachConjugatePair) {
  for (std::uint32_t N = 256; N <= 1u << 14; N *= 2) {
    const FftPlan plan(N);
    EXPECT_EQ(plan.M(), N / 2);
    std::set<std::uint32_t> seen;
    for (std::uint32_t s = 0; s < plan.M(); ++s) {
      const std::uint32_t e = plan.exponent(s);
      ASSERT_EQ(e % 4, 1u);
      ASSERT_LT(e, 2 * N);
      seen.insert(e);
      seen.insert(2 * N - e);
    }
    EXPECT_EQ(seen.size(), N);
    EXPECT_EQ(plan.exponent(1), 4 * (plan.M() / 2) + 1);
  }
}

TEST(RingFftPlan, RootsAreCorrectlyRounded) {
  for (const std::uint32_t N : {256u, 2048u, 1u << 17}) {
    const FftPlan plan(N);
    // In the first octant long double has 11 bits to spare.
    auto octant = [&](std::uint32_t e) {  // e <= N/4
      const long double angle = std::numbers::pi_v<long double> * e / N;
      return std::pair{static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
    };
    std::uint32_t wrong = 0, first_wrong = 0;
    for (std::uint32_t e = 0; e < 2 * N; ++e) {
      const std::uint32_t quadrant = e / (N / 2), r = e % (N / 2);
      auto [c, s] = r <= N / 4 ? octant(r) : octant(N / 2 - r);
      if (r > N / 4) std::swap(c, s);
      for (std::uint32_t turn = 0; turn < quadrant; ++turn) {
        const double t = c;
        c = -s;
        s = t;
      }
      const auto got = plan.roots()[e];
      ASSERT_NEAR(got.real(), c, 1.2e-16) << N << ", " << e;
      ASSERT_NEAR(got.imag(), s, 1.2e-16) << N << ", " << e;
      if (got.real() != c || got.imag() != s) {
        if (wrong++ == 0) first_wrong = e;
      }
    }
    // Rounding twice may differ in a last bit, about once in 2^11.
    EXPECT_LE(wrong, N / 512) << "N = " << N << ": first at e = " << first_wrong;
  }
}

TEST(RingFftPlan, Refusals) {
  for (const std::uint32_t N : {0u, 128u, 1000u, 1u << 18})
    EXPECT_THROW(FftPlan{N}, ParameterError);
}

}  // namespace
}  // namespace whorl::ring
