// Tables of base conversions against their definitions.
#include "ring/base_conversion.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

template <class Word>
class RingBaseConversion : public ::testing::Test {};
TYPED_TEST_SUITE(RingBaseConversion, test::BothWords);

template <class Word>
std::uint64_t product_mod(const std::vector<math::Modulus<Word>>& primes, std::size_t without,
                          std::uint64_t t, std::uint64_t p) {
  std::uint64_t out = t % p;
  for (std::size_t l = 0; l < primes.size(); ++l)
    if (l != without) out = test::reduce(static_cast<test::Int128>(out) * primes[l].value(), p);
  return out;
}

TYPED_TEST(RingBaseConversion, TablesAreTheirFormulas) {
  using Word = TypeParam;
  test::Random random;
  for (const std::uint64_t t : {1ULL, 2ULL, 65537ULL, 1000000ULL, (1ULL << 31) - 1}) {
    const std::size_t L = 1 + random.below(9), K = 1 + random.below(5);
    const auto plan = test::random_rns_plan<Word>(256, static_cast<unsigned>(L),
                                                  static_cast<unsigned>(K), 1, random);
    const std::vector<math::Modulus<Word>> from = plan->moduli_of(
                                               plan->level(static_cast<unsigned>(L))),
                                           to(plan->moduli().begin() + L, plan->moduli().end());
    const BaseConversion<Word> conversion(from, to, t);
    Word largest = 0;
    for (std::size_t l = 0; l < L; ++l) {
      const std::uint64_t q = from[l].value();
      largest = std::max(largest, from[l].value());
      const std::uint64_t inverse = conversion.inverse()[l];
      EXPECT_EQ(test::reduce(static_cast<test::Int128>(inverse) * product_mod(from, l, t, q), q),
                1u);
      EXPECT_EQ(conversion.inverse_shoup()[l], from[l].shoup(conversion.inverse()[l]));
      EXPECT_EQ(conversion.ratio()[l],
                static_cast<Word>((static_cast<unsigned __int128>(1)
                                   << (8 * sizeof(Word) + BaseConversion<Word>::fraction_bits)) /
                                  q));
    }
    EXPECT_EQ(conversion.largest(), largest);
    for (std::size_t k = 0; k < K; ++k) {
      const std::uint64_t p = to[k].value();
      const auto R =
          static_cast<std::uint64_t>((static_cast<unsigned __int128>(1) << (8 * sizeof(Word))) % p);
      const auto row = conversion.factors(k);
      ASSERT_EQ(row.size(), L + 1);
      for (std::size_t l = 0; l < L; ++l)
        EXPECT_EQ(row[l],
                  test::reduce(static_cast<test::Int128>(R) * product_mod(from, l, t, p), p));
      EXPECT_EQ(row[L],
                test::reduce(-static_cast<test::Int128>(R) * product_mod(from, L, t, p), p));
    }
  }
}

/// The conversion's own formula, in plain integers, gives the centred x but within its window of
/// -Q/2, where it may give the neighbour.
TYPED_TEST(RingBaseConversion, IntegerQuotientIsExactOutsideItsWindow) {
  using Word = TypeParam;
  using test::Int128;
  test::Random random;
  constexpr unsigned point = BaseConversion<Word>::fraction_bits;
  for (int round = 0; round < 20; ++round) {
    const auto L = static_cast<unsigned>(1 + random.below(sizeof(Word) == 4 ? 3 : 2));
    const auto plan =
        test::random_rns_plan<Word>(256, L, 1, 1, random, sizeof(Word) == 4 ? 31 : 58);
    const auto from = plan->moduli_of(plan->level(L));
    const std::vector<math::Modulus<Word>> to(plan->moduli().begin() + L, plan->moduli().end());
    const BaseConversion<Word> conversion(from, to);
    Int128 Q = 1;
    for (const auto& q : from) Q *= static_cast<Int128>(q.value());
    const Int128 window = (Q >> point) * L * 3 / 2 + 2;
    int neighbours = 0;
    for (int i = 0; i < 300; ++i) {
      // Near an end in two of three cases: below it, and in its window.
      Int128 x = static_cast<Int128>(random.word() >> 2) * static_cast<Int128>(random.word()) % Q;
      if (i % 3 == 1) x = Q / 2 - window - x % (Q / 1000);
      if (i % 3 == 2) x = Q / 2 - x % window;
      if (x > Q / 2) x -= Q;
      if (random.below(2)) x = -x;
      Word u = Word{1} << (point - 1);
      Int128 sum = 0;
      for (unsigned l = 0; l < L; ++l) {
        const auto& q = from[l];
        const auto q_wide = static_cast<Int128>(q.value());
        const Word y =
            q.mul(static_cast<Word>((x % q_wide + q_wide) % q_wide), conversion.inverse()[l]);
        u += math::mul_high<Word>(y, conversion.ratio()[l]);
        sum += static_cast<Int128>(y) * (Q / q_wide);
      }
      const Int128 got = sum - static_cast<Int128>(u >> point) * Q;
      if (got != x) {
        ++neighbours;
        // Rounded down: only -Q/2 and what is just above is taken for its neighbour.
        ASSERT_TRUE(got == x + Q) << "round " << round << ", " << i;
        ASSERT_LE(x, window - Q / 2) << "round " << round << ", " << i;
      }
    }
    EXPECT_LE(neighbours, 100);
  }
}

TYPED_TEST(RingBaseConversion, Refusals) {
  using Word = TypeParam;
  using M = math::Modulus<Word>;
  test::Random random;
  const auto primes = test::random_rns_primes<Word>(256, 3, random);
  const std::vector<M> to = {M(primes[2])};
  const auto make = [&](std::vector<M> from, std::uint64_t t) {
    return BaseConversion<Word>(from, to, t);
  };
  EXPECT_NO_THROW(make({M(primes[0]), M(primes[1])}, 65537));
  EXPECT_THROW(make({}, 1), ParameterError);
  EXPECT_THROW(make({M(primes[0]), M(primes[0])}, 1), ParameterError);
  EXPECT_THROW(make({M(primes[0] - 1)}, 1), ParameterError);
  EXPECT_THROW(make({M(65537)}, 1), ParameterError);
  EXPECT_THROW(make({M(primes[0])}, primes[0]), ParameterError);
}

}  // namespace
}  // namespace whorl::ring
