#include "ring/ntt_plan.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

TEST(RingBitReverse, Definition) {
  EXPECT_EQ(bit_reverse(0b1, 1), 0b1u);
  EXPECT_EQ(bit_reverse(0b0011, 4), 0b1100u);
  EXPECT_EQ(bit_reverse(0b10110, 5), 0b01101u);
  EXPECT_EQ(bit_reverse(1, 32), 1u << 31);
  EXPECT_EQ(bit_reverse(0, 0), 0u);
  for (std::uint32_t i = 0; i < 512; ++i) EXPECT_EQ(bit_reverse(bit_reverse(i, 9), 9), i);
}

template <class Word>
void check_plan(std::uint32_t N, unsigned bits) {
  const auto q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
  SCOPED_TRACE("N = " + std::to_string(N) + ", q = " + std::to_string(q));
  const NttPlan<Word> plan(N, q);
  EXPECT_EQ(plan.N(), N);
  EXPECT_EQ(plan.modulus().value(), q);
  EXPECT_EQ(test::power(plan.psi(), N, q), q - 1);  // of order exactly 2N, N being a power of two
  // It is a power of the smallest number that gives one.
  std::uint64_t g = 2;
  while (test::power(test::power(g, (q - 1) / (2 * N), q), N, q) != q - 1) ++g;
  EXPECT_EQ(plan.psi(), test::power(g, (q - 1) / (2 * N), q));
  EXPECT_EQ(test::reduce(static_cast<test::Int128>(plan.inverse_N()) * N, q), 1u);
  const auto log_N = static_cast<unsigned>(std::bit_width(N) - 1);
  for (std::uint32_t slot = 0; slot < N; slot += slot < 64 ? 1 : 61) {
    const std::uint64_t root = test::power(plan.psi(), bit_reverse(slot, log_N), q);
    ASSERT_EQ(plan.roots()[slot], root) << slot;
    ASSERT_EQ(test::reduce(static_cast<test::Int128>(plan.inverse_roots()[slot]) * root, q), 1u);
    ASSERT_EQ(plan.roots_shoup()[slot],
              static_cast<Word>((static_cast<unsigned __int128>(root) << (8 * sizeof(Word))) / q));
    ASSERT_EQ(plan.inverse_roots_shoup()[slot],
              static_cast<Word>((static_cast<unsigned __int128>(plan.inverse_roots()[slot])
                                 << (8 * sizeof(Word))) /
                                q));
  }
}

TEST(RingNttPlan, Roots) {
  for (std::uint32_t N = 256; N <= 1u << 17; N *= 2) {
    for (const unsigned bits : {27u, 30u, 31u}) check_plan<std::uint32_t>(N, bits);
    for (const unsigned bits : {32u, 45u, 60u}) check_plan<std::uint64_t>(N, bits);
  }
}

TEST(RingNttPlan, Refusals) {
  const std::uint64_t q = math::ntt_primes(45, 1 << 17, 1)[0];
  EXPECT_NO_THROW(NttPlan<std::uint64_t>(256, q));
  for (const std::uint32_t N : {0u, 1u, 2u, 128u, 257u, 768u, 1u << 18, 1u << 31})
    EXPECT_THROW(NttPlan<std::uint64_t>(N, q), ParameterError) << N;
  EXPECT_THROW(NttPlan<std::uint64_t>(256, 0), ParameterError);
  EXPECT_THROW(NttPlan<std::uint64_t>(256, 1), ParameterError);
  EXPECT_THROW(NttPlan<std::uint64_t>(256, q + 2), ParameterError);
  EXPECT_THROW(NttPlan<std::uint32_t>(256, 513), ParameterError);    // 513 = 27·19 = 1 mod 512
  EXPECT_THROW(NttPlan<std::uint32_t>(1024, 7681), ParameterError);  // prime, not 1 mod 2048
  EXPECT_THROW(NttPlan<std::uint32_t>(256, 2147483647), ParameterError);  // prime, not 1 mod 512
  EXPECT_THROW(NttPlan<std::uint64_t>(256, (1ULL << 61) + 512 + 1), ParameterError);
}

}  // namespace
}  // namespace whorl::ring
