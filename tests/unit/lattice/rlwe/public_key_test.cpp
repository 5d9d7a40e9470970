// Encryptions under a public key, decrypted by who has the secret.
#include "lattice/rlwe/public_key.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

template <class Word>
class LatticeRlwePublicKey : public ::testing::Test {};
TYPED_TEST_SUITE(LatticeRlwePublicKey, test::BothWords);

/// A rig, a secret whatever its word, and a public key over `basis`.
template <class Word>
struct Scene {
  explicit Scene(const ring::Basis& its_basis, std::uint64_t its_t) : basis(its_basis), t(its_t) {
    seed = rig.random.template bytes<32>();
    body = secret.public_key_body(basis, t, seed);
  }

  test::RlweRig<Word> rig = test::RlweRig<Word>::even(3, 1, 1);
  Secret secret{rig.plan, rig.coefficients.span(), rig.sigma};
  ring::Basis basis;
  std::uint64_t t;
  Seed seed{};
  WordArray body;

  PublicKey key() const { return {rig.plan, basis, seed, body, rig.sigma}; }
  WordArray encrypt(std::span<const std::int64_t> m, unsigned threads) const {
    const std::size_t N = rig.N();
    return key().encrypt(
        t, m.size() / N,
        [&](std::size_t i, std::span<std::int64_t> out) { std::copy_n(&m[i * N], N, out.begin()); },
        {}, threads);
  }
};

TYPED_TEST(LatticeRlwePublicKey, EncryptionsCarryMessageAndMultiplesOfT) {
  for (const ring::Basis& basis : {ring::Basis{0, 1, 2}, ring::Basis{1}, ring::Basis{0, 2}})
    for (const std::uint64_t t : {2ULL, 256ULL, 65537ULL}) {
      Scene<TypeParam> scene(basis, t);
      SCOPED_TRACE(basis.describe() + ", t = " + std::to_string(t));
      const std::size_t count = 1 + scene.rig.random.below(4);
      const auto m = scene.rig.integers(count, static_cast<std::int64_t>(t / 2));
      const HostBatch batch{basis, 2, count, scene.encrypt(m, 2)};
      const auto got = scene.secret.phases_modulo(batch, t, 1, [](auto, auto) {});
      ASSERT_EQ(got.size(), m.size());
      for (std::size_t j = 0; j < m.size(); ++j) ASSERT_EQ(got[j], test::reduce(m[j], t)) << j;
      // m + t·(e·u + e_0 + e_1·s): products of N terms of variance sigma^2·2/3, two of them. Twelve
      // deviations are passed with probability below 2^-100.
      const double deviation =
          scene.rig.sigma * std::sqrt(4.0 / 3 * static_cast<double>(scene.rig.N()) + 1);
      for (const double size : scene.secret.log2_phases(batch)) {
        EXPECT_LE(size, std::log2(static_cast<double>(t) * (12 * deviation + 1)));
        EXPECT_GE(size, std::log2(static_cast<double>(t)));
      }
    }
}

TYPED_TEST(LatticeRlwePublicKey, EncryptionsOfOneMessageDiffer) {
  Scene<TypeParam> scene({0, 1, 2}, 256);
  const std::size_t part = 3 * 2 * scene.rig.N();
  const auto zero = std::vector<std::int64_t>(2 * scene.rig.N());
  const WordArray once = scene.encrypt(zero, 1), again = scene.encrypt(zero, 1);
  const auto x = once.as<TypeParam>(), y = again.as<TypeParam>();
  ASSERT_EQ(x.size(), 2 * part);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_FALSE(std::equal(x.begin() + k * part, x.begin() + (k + 1) * part, y.begin() + k * part))
        << "part " << k;
  EXPECT_FALSE(std::equal(x.begin(), x.begin() + scene.rig.N(), x.begin() + scene.rig.N()))
      << "ciphertexts of one batch";
}

TYPED_TEST(LatticeRlwePublicKey, Refusals) {
  const Scene<TypeParam> scene({0, 1, 2}, 256);
  const auto make = [&](const ring::Basis& basis, const WordArray& b) {
    return PublicKey(scene.rig.plan, basis, scene.seed, b, scene.rig.sigma);
  };
  EXPECT_NO_THROW(make(scene.basis, scene.body));
  EXPECT_THROW(make({0, 1}, scene.body), ShapeError);
  EXPECT_THROW(make({}, scene.body), ParameterError);
  EXPECT_THROW(make({0, 1, 3}, scene.body), ParameterError) << "a special prime";
  EXPECT_THROW(make(scene.basis, WordArray(std::vector<std::uint16_t>(scene.body.size()))),
               ShapeError);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
