#include "ring/rns_plan.h"

#include "ring/host/transforms.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

template <class Word>
class RingRnsPlan : public ::testing::Test {};
TYPED_TEST_SUITE(RingRnsPlan, test::BothWords);

TYPED_TEST(RingRnsPlan, IsItsPrimes) {
  using Word = TypeParam;
  test::Random random;
  for (int round = 0; round < 20; ++round) {
    const auto L = static_cast<unsigned>(1 + random.below(9));
    const auto K = static_cast<unsigned>(random.below(4));
    const auto alpha = static_cast<unsigned>(1 + random.below(L));
    const auto plan = test::random_rns_plan<Word>(256, L, K, alpha, random);
    SCOPED_TRACE(test::describe(*plan));
    EXPECT_EQ(plan->limbs(), L);
    EXPECT_EQ(plan->special(), K);
    ASSERT_EQ(plan->moduli().size(), L + K);
    double log2_P = 0;
    for (unsigned k = 0; k < K; ++k)
      log2_P += std::log2(static_cast<double>(plan->moduli()[L + k].value()));
    EXPECT_NEAR(plan->log2_P(), log2_P, 1e-9);
    double log2_Q = 0;
    for (unsigned l = 0; l < L; ++l) {
      const std::uint64_t q = plan->moduli()[l].value();
      log2_Q += std::log2(static_cast<double>(q));
      EXPECT_NEAR(plan->log2_Q(l + 1), log2_Q, 1e-9);
      EXPECT_EQ(plan->digits(l + 1), l / alpha + 1);
      std::uint64_t P = 1;
      for (unsigned k = 0; k < K; ++k)
        P = test::reduce(static_cast<test::Int128>(P) * plan->moduli()[L + k].value(), q);
      EXPECT_EQ(plan->P(l), P);
      EXPECT_EQ(test::reduce(static_cast<test::Int128>(plan->inverse_P(l)) * P, q), 1u);
      EXPECT_EQ(plan->ntt(l).modulus().value(), q);
    }
    const auto used = static_cast<unsigned>(1 + random.below(L));
    const auto moduli = plan->moduli_of(plan->level(used) | plan->special_basis());
    const auto ntts = plan->ntts_of(plan->level(used) | plan->special_basis());
    ASSERT_EQ(moduli.size(), used + K);
    ASSERT_EQ(ntts.size(), used + K);
    for (unsigned r = 0; r < used + K; ++r) {
      EXPECT_TRUE(moduli[r] == plan->moduli()[r < used ? r : L + r - used]);
      EXPECT_TRUE(ntts[r]->modulus() == moduli[r]);
    }
    EXPECT_EQ(plan->moduli_of(plan->level(used)).size(), used);
    EXPECT_NO_THROW(plan->check_limbs("here", L));
    EXPECT_THROW(plan->check_limbs("here", 0), ParameterError);
    EXPECT_THROW(plan->check_limbs("here", L + 1), ParameterError);
  }
}

TYPED_TEST(RingRnsPlan, PolynomialsInAPowerAreThoseOfASmallerRing) {
  using Word = TypeParam;
  constexpr std::uint32_t N = 2048;
  test::Random random;
  const auto plan = test::random_rns_plan<Word>(N, 2, 1, 1, random);
  for (std::uint32_t n = 256; n <= N; n *= 2) {
    const RnsPlan<Word> small = plan->in_ring(n);
    EXPECT_EQ(small.N(), n);
    EXPECT_EQ(small.limbs(), 2u);
    EXPECT_EQ(small.special(), 1u);
    EXPECT_EQ(small.digit_limbs(), 1u);
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_TRUE(small.moduli()[i] == plan->moduli()[i]);
      std::vector<Word> few(n), all(N), repeated(N);
      for (std::uint32_t j = 0; j < n; ++j)
        all[j * (N / n)] = few[j] = static_cast<Word>(random.below(small.moduli()[i].value()));
      HostNtt<Word>(std::make_shared<const NttPlan<Word>>(small.ntt(i))).forward(few);
      HostNtt<Word>(std::make_shared<const NttPlan<Word>>(plan->ntt(i))).forward(all);
      for (std::uint32_t j = 0; j < N; ++j) repeated[j] = few[j / (N / n)];
      EXPECT_EQ(all, repeated);
    }
  }
  for (const std::uint32_t wrong : {0u, 128u, 1000u, 2 * N})
    EXPECT_THROW(plan->in_ring(wrong), ParameterError);
}

TYPED_TEST(RingRnsPlan, Refusals) {
  using Word = TypeParam;
  const unsigned bits = sizeof(Word) == 4 ? 28 : 50;
  const auto wide = math::ntt_primes(bits, 256, 4);
  const std::vector<Word> primes(wide.begin(), wide.end());
  const std::span<const Word> all = primes;
  const auto make = [&](std::vector<Word> chain, std::vector<Word> special, unsigned alpha) {
    return RnsPlan<Word>(256, chain, special, alpha);
  };
  EXPECT_NO_THROW(make({all[0], all[1]}, {all[2]}, 2));
  EXPECT_NO_THROW(make({all[0]}, {}, 1));
  EXPECT_THROW(make({}, {all[2]}, 1), ParameterError);
  EXPECT_THROW(make({all[0], all[1]}, {all[2]}, 0), ParameterError);
  EXPECT_THROW(make({all[0], all[1]}, {all[2]}, 3), ParameterError);
  EXPECT_THROW(make({all[0], all[0]}, {all[2]}, 1), ParameterError);
  EXPECT_THROW(make({all[0], all[1]}, {all[1]}, 1), ParameterError);
  EXPECT_THROW(make({all[0] + 2}, {all[2]}, 1), ParameterError);
  const auto small = math::ntt_primes(sizeof(Word) == 4 ? 24 : 44, 256, 1)[0];
  EXPECT_THROW(make({static_cast<Word>(small)}, {all[2]}, 1), ParameterError);
}

TYPED_TEST(RingRnsPlan, BasesAndLayoutsThatDoNotFit) {
  test::Random random;
  const auto plan = test::random_rns_plan<TypeParam>(256, 4, 2, 2, random);
  EXPECT_EQ(plan->key_layout().digits, (std::vector<Basis>{{0, 1}, {2, 3}}));
  EXPECT_EQ(plan->key_layout().rows(), plan->all());
  EXPECT_NO_THROW(plan->check_basis("here", {0, 5}));
  EXPECT_THROW(plan->check_basis("here", {}), ParameterError);
  EXPECT_THROW(plan->check_basis("here", {0, 6}), ParameterError);
  const auto fits = [&](const KeyLayout& layout) { plan->check_layout("here", layout); };
  EXPECT_NO_THROW(fits(plan->key_layout()));
  EXPECT_NO_THROW(fits({{0, 3, 4}, {{0, 4}, {3}}, {1}}));
  EXPECT_THROW(fits({{0, 1}, {{0}}, {4}}), ParameterError);
  EXPECT_THROW(fits({{0, 1}, {{0, 1}, {1}}, {4}}), ParameterError);
  EXPECT_THROW(fits({{0, 1}, {{0}, {1, 2}}, {4}}), ParameterError);
  EXPECT_THROW(fits({{0, 1}, {{0}, {1}}, {1}}), ParameterError);
  EXPECT_THROW(fits({{0, 1}, {{0}, {1}}, {}}), ParameterError);
  EXPECT_THROW(fits({{0, 1}, {{0}, {1}}, {6}}), ParameterError);
}

}  // namespace
}  // namespace whorl::ring
