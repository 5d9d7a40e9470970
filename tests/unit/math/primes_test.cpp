#include "math/modulus.h"
#include "support/test.h"

namespace whorl::math {
namespace {

TEST(MathPrimes, is_prime_matches_a_sieve) {
  constexpr size_t limit = 1 << 20;
  std::vector<bool> composite(limit, false);
  composite[0] = composite[1] = true;
  for (size_t p = 2; p * p < limit; ++p) {
    if (composite[p]) continue;
    for (size_t m = p * p; m < limit; m += p) composite[m] = true;
  }
  for (size_t n = 0; n < limit; ++n) ASSERT_EQ(is_prime(n), !composite[n]) << n;
}

TEST(MathPrimes, is_prime_of_hard_numbers) {
  // Strong pseudoprimes to the first 1 to 11 prime bases (OEIS A014233), and Carmichael numbers.
  for (const uint64_t n :
       {2047ULL, 1373653ULL, 25326001ULL, 3215031751ULL, 2152302898747ULL, 3474749660383ULL,
        341550071728321ULL, 3825123056546413051ULL, 561ULL, 9746347772161ULL,
        18446744073709551615ULL, 18446744030759878681ULL /* 4294967291^2 */}) {
    EXPECT_FALSE(is_prime(n)) << n;
  }
  for (const uint64_t n : {2147483647ULL, 2305843009213693951ULL, 18446744073709551557ULL}) {
    EXPECT_TRUE(is_prime(n)) << n;
  }
}

TEST(MathPrimes, known_primes) {
  EXPECT_EQ(ntt_prime_below(uint64_t{1} << 27, 1024), 134215681U);
  EXPECT_EQ(ntt_prime_below(uint64_t{1} << 54, 2048), 18014398509404161U);
  EXPECT_EQ(ntt_prime_below(18, 8), 17U);
  EXPECT_THROW(ntt_prime_below(17, 8), ParameterError);
}

class MathPrimesOfLength : public testing::TestWithParam<unsigned> {};

template <class Word>
void check_prime(uint64_t q, uint64_t N) {
  ASSERT_TRUE(is_prime(q)) << q;
  ASSERT_EQ(q % (2 * N), 1U) << q;
  const uint64_t root = primitive_root_of_unity(q, 2 * N);
  const Modulus<Word> modulus(static_cast<Word>(q));
  // Order 2N exactly: its N-th power is -1.
  ASSERT_EQ(modulus.pow(static_cast<Word>(root), N), q - 1);
  ASSERT_EQ(root, primitive_root_of_unity(q, 2 * N));
}

TEST_P(MathPrimesOfLength, both_widths) {
  const uint64_t N = uint64_t{1} << GetParam();
  for (const unsigned bits : {27U, 31U}) {
    const std::vector<uint64_t> primes = ntt_primes(bits, N, 3);
    ASSERT_EQ(primes.size(), 3U);
    uint64_t above = uint64_t{1} << bits;
    for (const uint64_t q : primes) {
      ASSERT_EQ(q, ntt_prime_below(above, N));
      // No prime of this form was passed over.
      for (uint64_t between = q + 2 * N; between < above; between += 2 * N) {
        ASSERT_FALSE(is_prime(between)) << between;
      }
      check_prime<uint32_t>(q, N);
      check_prime<uint64_t>(q, N);
      above = q;
    }
  }
  for (const unsigned bits : {36U, 54U, 60U, 61U}) {
    for (const uint64_t q : ntt_primes(bits, N, 5)) check_prime<uint64_t>(q, N);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, MathPrimesOfLength, testing::Range(8U, 18U));

TEST(MathPrimes, the_smallest_generator_is_taken) {
  // 3 is the smallest non-residue of 17; its order is 16.
  EXPECT_EQ(primitive_root_of_unity(17, 16), 3U);
  EXPECT_EQ(primitive_root_of_unity(17, 2), 16U);
  EXPECT_EQ(primitive_root_of_unity(17, 1), 1U);
  EXPECT_EQ(primitive_root_of_unity(2, 1), 1U);
}

TEST(MathPrimes, the_largest_that_are_not_taken) {
  constexpr uint64_t N = 1024;
  const std::vector<uint64_t> five = ntt_primes_below(27, N, 5);
  EXPECT_EQ(five, ntt_primes(27, N, 5));
  EXPECT_EQ(ntt_primes_below(27, N, 3, std::vector{five[0], five[2]}),
            (std::vector{five[1], five[3], five[4]}));
  EXPECT_LT(ntt_primes_below(26.5, N, 1)[0], 94906266U);
  EXPECT_NEAR(log2_of_product(five), 5 * 27, 0.01);
  EXPECT_EQ(log2_of_product(std::vector<uint64_t>{}), 0);
  EXPECT_THROW(ntt_primes_below(14, N, 50), ParameterError);
}

TEST(MathPrimes, bad_arguments_throw) {
  EXPECT_THROW(ntt_prime_below(uint64_t{1} << 27, 1000), ParameterError);
  EXPECT_THROW(ntt_prime_below(uint64_t{1} << 27, 0), ParameterError);
  EXPECT_THROW(ntt_prime_below((uint64_t{1} << 61) + 1, 1024), ParameterError);
  EXPECT_THROW(ntt_prime_below(0, 1024), ParameterError);
  EXPECT_THROW(ntt_primes(62, 1024, 1), ParameterError);
  EXPECT_THROW(ntt_primes(1, 1024, 1), ParameterError);
  EXPECT_THROW(ntt_primes(20, 1 << 17, 50), ParameterError);
  EXPECT_THROW(primitive_root_of_unity(15, 2), ParameterError);
  EXPECT_THROW(primitive_root_of_unity(17, 32), ParameterError);
  EXPECT_THROW(primitive_root_of_unity(17, 3), ParameterError);
  EXPECT_THROW(primitive_root_of_unity(17, 0), ParameterError);
}

}  // namespace
}  // namespace whorl::math
