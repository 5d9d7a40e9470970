#include "ring/automorphism.h"
#include "ring/ntt_plan.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

TEST(RingAutomorphism, PermutationsAreThoseOfPolynomials) {
  test::Random random;
  const std::uint32_t N = 256, q = 12289;
  const NttPlan<std::uint32_t> plan(N, q);
  const unsigned bits = 8;
  const auto values = [&](const std::vector<std::uint32_t>& a) {
    std::vector<std::uint64_t> out(N);
    for (std::uint32_t j = 0; j < N; ++j)
      out[j] =
          test::evaluate(a.data(), N, test::power(plan.psi(), 2 * bit_reverse(j, bits) + 1, q), q);
    return out;
  };
  for (int round = 0; round < 10; ++round) {
    const auto g = static_cast<std::uint32_t>(2 * random.below(N) + 1);
    const auto a = random.residues<std::uint32_t>(N, q);
    // a(X^g), term by term.
    std::vector<std::uint32_t> moved(N);
    for (std::uint32_t j = 0; j < N; ++j) {
      const std::uint64_t e = std::uint64_t{j} * g % (2 * N);
      moved[e % N] = e < N ? a[j] : (q - a[j]) % q;
    }
    const auto to = coefficient_permutation(N, g);
    std::vector<std::uint32_t> by_table(N);
    for (std::uint32_t j = 0; j < N; ++j) by_table[to[j] % N] = to[j] < N ? a[j] : (q - a[j]) % q;
    EXPECT_EQ(by_table, moved) << "g = " << g;
    const auto from = evaluation_permutation(N, g);
    const auto before = values(a), after = values(moved);
    for (std::uint32_t j = 0; j < N; ++j) ASSERT_EQ(after[j], before[from[j]]) << "g = " << g;
  }
  for (const std::uint32_t g : {0u, 2u, 2 * N, 2 * N + 1}) {
    EXPECT_THROW(evaluation_permutation(N, g), ParameterError);
    EXPECT_THROW(coefficient_permutation(N, g), ParameterError);
  }
  EXPECT_THROW(evaluation_permutation(100, 3), ParameterError);
}

}  // namespace
}  // namespace whorl::ring
