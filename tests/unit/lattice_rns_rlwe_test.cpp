// Encryptions over a chain and switching keys, decrypted by schoolbook arithmetic modulo each
// prime.
#include <gtest/gtest.h>

#include "backend/parallel.h"
#include "lattice/rns_rlwe.h"
#include "ring/automorphism.h"
#include "support/rns.h"
#include "support/schoolbook.h"
#include "support/targets.h"
#include "whorl/error.h"

namespace whorl::lattice {
namespace {

using test::centred;
using test::Int128;

template <class Word>
struct Scene {
  test::Random random;
  std::uint64_t t = random.below(2) ? 65537 : 256;
  std::shared_ptr<const ring::RnsPlan<Word>> plan =
      test::random_rns_plan<Word>(256, 5, 2, static_cast<unsigned>(1 + random.below(3)), random);
  math::GaussianSampler error{3.19};
  std::vector<std::int32_t> s;
  RnsSecret<Word> secret;

  Scene() : s(ternary(plan->N(), random)), secret(plan, s, t, error) {}
  static std::vector<std::int32_t> ternary(std::size_t N, test::Random& random) {
    std::vector<std::int32_t> s(N);
    for (auto& x : s) x = static_cast<std::int32_t>(random.between(-1, 1));
    return s;
  }
  math::Seed seed() {
    math::Seed out;
    for (auto& byte : out) byte = static_cast<std::uint8_t>(random.word());
    return out;
  }
  /// Coefficients of a row of evaluations modulo limb l, (q).
  std::vector<std::uint64_t> coefficients(unsigned l, std::span<const Word> row) const {
    const auto device = test::cpu();
    auto buffer = test::put(*device, std::vector<Word>(row.begin(), row.end()));
    const ring::NttPlan<Word>* plans[] = {&plan->ntt(l)};
    device->intt(plans, buffer.slice());
    const auto out = test::get(*device, buffer);
    return {out.begin(), out.end()};
  }
  /// b + a·s modulo limb l.
  std::vector<std::uint64_t> phase(unsigned l, std::span<const Word> a,
                                   std::span<const Word> b) const {
    const std::uint64_t q = plan->moduli()[l].value();
    const auto product = test::negacyclic(s, coefficients(l, a), q);
    auto out = coefficients(l, b);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = (out[j] + product[j]) % q;
    return out;
  }
};

template <class Word>
class LatticeRnsRlwe : public ::testing::Test {};
using Words = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(LatticeRnsRlwe, Words);

TYPED_TEST(LatticeRnsRlwe, EncryptionsCarryMessageAndMultiplesOfT) {
  using Word = TypeParam;
  Scene<Word> scene;
  SCOPED_TRACE(test::describe(*scene.plan));
  const std::uint32_t N = scene.plan->N();
  for (const bool special : {false, true}) {
    const unsigned limbs = static_cast<unsigned>(1 + scene.random.below(5));
    const std::size_t rows = limbs + (special ? 2 : 0);
    const auto a = test::random_rows(*scene.plan, limbs, special, 1, 1, scene.random);
    std::vector<std::int64_t> m(N);
    const auto half = static_cast<std::int64_t>(scene.t / 2);
    for (auto& x : m) x = scene.random.between(-half, half);
    math::PrivateStream stream("test");
    std::vector<Word> b(rows * N);
    scene.secret.encrypt(limbs, special, a, m, stream, b);
    std::vector<std::int64_t> errors;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto l = static_cast<unsigned>(r < limbs ? r : 5 + r - limbs);
      const std::uint64_t q = scene.plan->moduli()[l].value();
      const auto v = scene.phase(l, std::span(a).subspan(r * N, N), std::span(b).subspan(r * N, N));
      for (std::size_t j = 0; j < N; ++j) {
        const std::int64_t difference =
            centred(test::reduce(Int128{centred(v[j], q)} - m[j], q), q);
        ASSERT_EQ(difference % static_cast<std::int64_t>(scene.t), 0);
        const std::int64_t e = difference / static_cast<std::int64_t>(scene.t);
        ASSERT_LE(std::abs(e), scene.error.bound());
        if (r == 0)
          errors.push_back(e);
        else
          ASSERT_EQ(errors[j], e) << "other errors modulo another prime";
      }
    }
    // 256 zeros have probability below 2^-700.
    EXPECT_NE(std::count(errors.begin(), errors.end(), 0), 256);
  }
}

TYPED_TEST(LatticeRnsRlwe, PhaseOfSeveralParts) {
  using Word = TypeParam;
  Scene<Word> scene;
  const std::uint32_t N = scene.plan->N();
  for (const std::size_t parts : {1u, 2u, 3u, 5u}) {
    const unsigned limbs = static_cast<unsigned>(1 + scene.random.below(5));
    const auto c = test::random_rows(*scene.plan, limbs, false, parts, 1, scene.random);
    std::vector<Word> out(limbs * N);
    scene.secret.phase(limbs, parts, c, out);
    for (unsigned l = 0; l < limbs; ++l) {
      const std::uint64_t q = scene.plan->moduli()[l].value();
      std::vector<std::uint64_t> sum(N, 0);
      for (std::size_t k = parts; k-- > 0;) {
        sum = test::negacyclic(scene.s, sum, q);
        const auto part = scene.coefficients(l, std::span(c).subspan((k * limbs + l) * N, N));
        for (std::size_t j = 0; j < N; ++j) sum[j] = (sum[j] + part[j]) % q;
      }
      const std::vector<std::uint64_t> got(out.begin() + l * N, out.begin() + (l + 1) * N);
      ASSERT_EQ(got, sum) << parts << " parts, limb " << l;
    }
  }
}

TYPED_TEST(LatticeRnsRlwe, SwitchingKeysDecryptToTheirSource) {
  using Word = TypeParam;
  Scene<Word> scene;
  SCOPED_TRACE(test::describe(*scene.plan));
  const std::uint32_t N = scene.plan->N();
  const unsigned rows = 7, alpha = scene.plan->digit_limbs();
  for (const auto& [g, power] : {std::pair{1u, 2u}, {1u, 4u}, {3u, 1u}, {2 * N - 1, 1u}}) {
    const math::Seed seed = scene.seed();
    const WordArray bodies = scene.secret.switch_key_bodies(g, power, seed, 2, {});
    ASSERT_EQ(bodies.size(), scene.plan->digits() * rows * N);
    std::vector<std::int64_t> moved(N, 0);
    const auto to = ring::coefficient_permutation(N, g);
    for (std::uint32_t j = 0; j < N; ++j) moved[to[j] % N] = to[j] < N ? scene.s[j] : -scene.s[j];
    const auto source = key_rows<Word>(*scene.plan, seed, bodies.as<Word>());
    for (unsigned d = 0; d < scene.plan->digits(); ++d) {
      std::vector<Word> a(rows * N), b(rows * N), expanded(rows * N);
      source(d, a, b);
      key_uniform<Word>(*scene.plan, seed, d, expanded);
      ASSERT_EQ(a, expanded);
      for (unsigned l = 0; l < rows; ++l) {
        math::expand_uniform<Word>(seed, d * rows + l, scene.plan->moduli()[l].value(),
                                   std::span(expanded).subspan(l * N, N));
        const std::uint64_t q = scene.plan->moduli()[l].value();
        auto v = scene.phase(l, std::span(a).subspan(l * N, N), std::span(b).subspan(l * N, N));
        if (l < 5 && l / alpha == d) {
          std::vector<std::uint64_t> wanted(N);
          for (std::size_t j = 0; j < N; ++j) wanted[j] = test::reduce(moved[j], q);
          for (unsigned k = 1; k < power; ++k) wanted = test::negacyclic(moved, wanted, q);
          for (std::size_t j = 0; j < N; ++j)
            v[j] = test::reduce(Int128{v[j]} - Int128{wanted[j]} * scene.plan->P(l), q);
        }
        for (std::size_t j = 0; j < N; ++j) {
          const std::int64_t e = centred(v[j], q);
          ASSERT_EQ(e % static_cast<std::int64_t>(scene.t), 0)
              << "g = " << g << ", power " << power << ", digit " << d << ", limb " << l;
          ASSERT_LE(std::abs(e) / static_cast<std::int64_t>(scene.t), scene.error.bound());
        }
      }
      ASSERT_EQ(a, expanded);
    }
  }
}

TYPED_TEST(LatticeRnsRlwe, UniformPartsFollowTheirSeed) {
  using Word = TypeParam;
  Scene<Word> scene;
  const std::uint32_t N = scene.plan->N();
  const math::Seed seed = scene.seed();
  const std::size_t row = scene.random.below(100);
  std::vector<Word> a(3 * N), expected(3 * N);
  ciphertext_uniform<Word>(*scene.plan, seed, row, 3, a);
  for (unsigned l = 0; l < 3; ++l)
    math::expand_uniform<Word>(seed, row * 5 + l, scene.plan->moduli()[l].value(),
                               std::span(expected).subspan(l * N, N));
  EXPECT_EQ(a, expected);
}

TYPED_TEST(LatticeRnsRlwe, ProgressStopsAKey) {
  Scene<TypeParam> scene;
  EXPECT_THROW(scene.secret.switch_key_bodies(1, 2, scene.seed(), 1,
                                              [](std::size_t, std::size_t) { return false; }),
               InterruptedError);
  std::size_t most = 0;
  scene.secret.switch_key_bodies(1, 2, scene.seed(), 1, [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, scene.plan->digits());
    EXPECT_LE(done, total);
    most = std::max(most, done);
    return true;
  });
  EXPECT_GT(scene.plan->digits(), 0u);
  EXPECT_LE(most, scene.plan->digits());
}

}  // namespace
}  // namespace whorl::lattice
