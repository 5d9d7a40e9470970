#include "ring/gadget.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

std::string describe(const Gadget& g) {
  return "Q = " + std::to_string(g.modulus()) + ", log_base = " + std::to_string(g.log_base()) +
         ", digits = " + std::to_string(g.digits());
}

/// What the class promises of one value.
void check(const Gadget& gadget, std::int64_t x) {
  __int128 sum = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) {
    const std::int64_t d = gadget.digit(x, j);
    const std::int64_t half = (std::int64_t{1} << gadget.log_base()) / 2;
    ASSERT_LE(static_cast<std::uint64_t>(std::abs(d)), gadget.bound(j))
        << describe(gadget) << ", x = " << x << ", digit " << j;
    ASSERT_LE(std::abs(d), half) << describe(gadget) << ", x = " << x << ", digit " << j;
    if (j + 1 < gadget.digits()) {
      ASSERT_LT(d, half) << describe(gadget) << ", x = " << x << ", digit " << j;
    }
    sum += static_cast<__int128>(d) << gadget.shift(j);
  }
  const __int128 error = sum - x;
  const __int128 most = gadget.exact() ? 0 : __int128{1} << (gadget.dropped() - 1);
  ASSERT_TRUE(error <= most && -error <= most) << describe(gadget) << ", x = " << x;
}

template <class Body>
void each_gadget(std::uint64_t Q, const Body& body) {
  const auto bits = static_cast<unsigned>(std::bit_width(Q - 1));
  for (unsigned log_base = 1; log_base <= 31; ++log_base)
    for (unsigned digits = 1; log_base * (digits - 1) < bits; ++digits)
      body(Gadget(Q, log_base, digits));
}

TEST(RingGadget, SmallModuliExhaustively) {
  for (std::uint64_t Q = 2; Q <= 150; ++Q)
    each_gadget(Q, [&](const Gadget& gadget) {
      std::vector<std::uint64_t> largest(gadget.digits(), 0);
      for (std::uint64_t residue = 0; residue < Q; ++residue) {
        const std::int64_t x = test::centred(residue, Q);
        check(gadget, x);
        for (unsigned j = 0; j < gadget.digits(); ++j)
          largest[j] =
              std::max(largest[j], static_cast<std::uint64_t>(std::abs(gadget.digit(x, j))));
      }
      // One digit that covers Q takes values up to Q/2 but is not bounded by more than it needs.
      for (unsigned j = 0; j < gadget.digits(); ++j)
        ASSERT_EQ(largest[j], gadget.bound(j)) << describe(gadget) << ", digit " << j;
    });
}

TEST(RingGadget, LargeModuliAtRandomAndAtTheEdges) {
  test::Random random;
  std::vector<std::uint64_t> moduli = {134215681,   33550337,          2147473409,
                                       17179791361, 18014398509404161, (1ULL << 60) - 93};
  for (unsigned k = 8; k <= 60; k += 4) moduli.push_back(1ULL << k);
  for (int i = 0; i < 10; ++i)
    moduli.push_back((1ULL << 20) + random.below((1ULL << 60) - (1ULL << 20)));
  for (const std::uint64_t Q : moduli)
    each_gadget(Q, [&](const Gadget& gadget) {
      const auto half = static_cast<std::int64_t>(Q / 2);
      const std::int64_t low = Q % 2 ? -half : -half + 1;
      for (const std::int64_t x :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, half, low, half - 1, low + 1})
        check(gadget, x);
      for (int i = 0; i < 20; ++i) check(gadget, test::centred(random.below(Q), Q));
      // About the borders of every digit.
      for (unsigned j = 0; j < gadget.digits(); ++j)
        for (int delta = -1; delta <= 1; ++delta) {
          const unsigned at = gadget.shift(j) + gadget.log_base() - 1;
          if (at > 60) continue;
          const std::int64_t x = (std::int64_t{1} << at) + delta;
          if (x <= half) check(gadget, x);
          if (-x >= low) check(gadget, -x);
        }
      for (unsigned j = 0; j < gadget.digits(); ++j) {
        ASSERT_EQ(gadget.factor(j), test::power(2, gadget.shift(j), Q)) << describe(gadget);
      }
    });
}

TEST(RingGadget, MeanSquareOfDigits) {
  test::Random random;
  // 200,000 samples of d^2: the mean's deviation is at most 0.2 % of it; 2 % is beyond ten of those
  // (< 1e-20). A top digit of few values is not quite uniform: 0.25 more.
  constexpr int samples = 200'000;
  struct Case {
    std::uint64_t Q;
    unsigned log_base, digits;
  };
  for (const Case c :
       {Case{134215681, 7, 3}, Case{134215681, 7, 4}, Case{134215681, 9, 2}, Case{67104769, 8, 2},
        Case{281474976694273, 23, 1}, Case{18014398509404161, 27, 1}, Case{1ULL << 15, 4, 3},
        Case{1ULL << 20, 2, 8}, Case{1ULL << 35, 5, 7}, Case{268369921, 10, 2}}) {
    const Gadget gadget(c.Q, c.log_base, c.digits);
    for (unsigned j = 0; j < c.digits; ++j) {
      double sum = 0;
      for (int i = 0; i < samples; ++i) {
        const auto d = static_cast<double>(gadget.digit(test::centred(random.below(c.Q), c.Q), j));
        sum += d * d;
      }
      const double predicted = gadget.digit_mean_square(j);
      EXPECT_NEAR(sum / samples, predicted, 0.02 * predicted + 0.25)
          << describe(gadget) << ", " << j;
    }
  }
}

TEST(RingGadget, Refusals) {
  EXPECT_THROW(Gadget(134215681, 0, 1), ParameterError);
  EXPECT_THROW(Gadget(134215681, 32, 1), ParameterError);
  EXPECT_THROW(Gadget(134215681, 7, 0), ParameterError);
  EXPECT_NO_THROW(Gadget(134215681, 7, 4));
  EXPECT_THROW(Gadget(134215681, 7, 5), ParameterError);
  EXPECT_THROW(Gadget(134215681, 27, 2), ParameterError);
  EXPECT_THROW(Gadget(1, 1, 1), ParameterError);
  // 2·(2^31) wraps around in 32 bits.
  EXPECT_THROW(Gadget(134215681, 2, (1u << 31) + 1), ParameterError);
}

}  // namespace
}  // namespace whorl::ring
