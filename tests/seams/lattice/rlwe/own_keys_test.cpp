// A key's layout is its own: over four primes anywhere in the chain, or over q_0 and one special
// prime alone, as encapsulated secrets have it.
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

template <class Word>
class OwnKeys : public ::testing::Test {};
TYPED_TEST_SUITE(OwnKeys, test::BothWords);

/// On two devices and on four, of five ciphertexts: shares differ.
template <class Word>
void check_layouts(std::size_t devices) {
  SCOPED_TRACE(std::to_string(devices) + " devices");
  auto rig = test::RlweRig<Word>::even(5, 3, 2);
  const auto e = rig.evaluator(test::StrainedFleet(devices).fleet);
  const ring::KeyLayout four{{1, 3}, {{1}, {3}}, {5, 7}}, two{{0}, {{0}}, {6}};
  const std::uint32_t g = 7;
  for (const auto& [layout, basis] :
       {std::pair<ring::KeyLayout, ring::Basis>{four, {1, 3}}, {four, {3}}, {two, {0}}}) {
    SCOPED_TRACE(basis.describe());
    const SwitchKeyData data = rig.key(g, 1, 1, layout);
    EXPECT_EQ(data.b.size(), layout.digits.size() * layout.rows().size() * rig.N());
    const auto key = e->prepare(data, test::any_keys());
    EXPECT_EQ(key->layout(), layout);
    const auto m = rig.integers(5, 1000);
    const Array a = e->upload(rig.encrypt(basis, m), {2, basis, 5});
    EXPECT_EQ(a.pieces().size(), devices);
    const Array b = e->key_switch(a, *key, 1);
    EXPECT_EQ(key->devices().bytes_on(*e->fleet().lane(0)), 2 * data.b.bytes());
    EXPECT_EQ(b.basis(), basis);
    // A digit is one prime and P at least another, of the same size.
    EXPECT_LE(rig.largest_difference(rig.phases(*e, b), rig.turned(m, g)), 2000);
    // Other primes are not the key's.
    const Array elsewhere = e->upload(rig.residues({2, {2}, 1}), {2, {2}, 1});
    EXPECT_THROW(e->key_switch(elsewhere, *key, 1), ParameterError);
  }
  const ring::KeyLayout overlapping{{0, 1}, {{0}, {1}}, {1}};
  EXPECT_THROW(e->prepare({g, 1, {}, WordArray(), overlapping}, test::any_keys()), ParameterError);
}

TYPED_TEST(OwnKeys, ALayoutOfFourPrimesAndOneOfTwo) {
  for (const std::size_t devices : {2u, 4u}) check_layouts<TypeParam>(devices);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
