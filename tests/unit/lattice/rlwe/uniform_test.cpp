// The public halves of keys and ciphertexts are those that their seeds say.
#include "lattice/rlwe/uniform.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

template <class Word>
class LatticeRlweUniform : public ::testing::Test {
 protected:
  test::RlweRig<Word> rig = test::RlweRig<Word>::mixed(5, 2, 2);
  const ring::RnsPlan<Word>& plan = *rig.plan;
  std::size_t N = rig.N();
  math::Seed seed = rig.random.template bytes<32>();

  std::vector<Word> expanded(std::uint64_t index, unsigned prime) const {
    std::vector<Word> out(N);
    math::expand_uniform<Word>(seed, index, plan.moduli()[prime].value(), out);
    return out;
  }
};
TYPED_TEST_SUITE(LatticeRlweUniform, test::BothWords);

/// Row r of an array of rows of N.
template <class Word>
std::vector<Word> row(const std::vector<Word>& all, std::size_t N, std::size_t r) {
  return {&all[r * N], &all[r * N] + N};
}

TYPED_TEST(LatticeRlweUniform, Ciphertexts) {
  const std::size_t index = this->rig.random.below(100);
  const ring::Basis basis{0, 2, 3};
  std::vector<TypeParam> a(basis.size() * this->N);
  ciphertext_uniform<TypeParam>(this->plan, basis, this->seed, index, a);
  for (const unsigned l : basis.indices())
    EXPECT_EQ(row(a, this->N, basis.rank(l)), this->expanded(index * 5 + l, l));
  EXPECT_THROW(ciphertext_uniform<TypeParam>(this->plan, {5}, this->seed, index,
                                             std::span(a).first(this->N)),
               ParameterError);
}

TYPED_TEST(LatticeRlweUniform, ABatchWithoutAPlan) {
  const std::size_t count = 3;
  std::vector<std::uint64_t> chain;
  for (unsigned l = 0; l < 5; ++l) chain.push_back(this->plan.moduli()[l].value());
  std::vector<TypeParam> all(5 * count * this->N), one(5 * this->N);
  const ring::Basis whole = this->plan.level(5);
  ciphertexts_uniform<TypeParam>(this->plan.N(), chain, whole, this->seed, count, {}, all);
  for (std::size_t i = 0; i < count; ++i) {
    ciphertext_uniform<TypeParam>(this->plan, whole, this->seed, i, one);
    for (std::size_t l = 0; l < 5; ++l)
      EXPECT_EQ(row(all, this->N, l * count + i), row(one, this->N, l)) << i << ", " << l;
  }
  // Some of them, by their numbers.
  const std::vector<std::uint32_t> numbers{2, 0, 2};
  std::vector<TypeParam> some(5 * numbers.size() * this->N);
  ciphertexts_uniform<TypeParam>(this->plan.N(), chain, whole, this->seed, 3, numbers, some);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t l = 0; l < 5; ++l)
      EXPECT_EQ(row(some, this->N, l * 3 + i), row(all, this->N, l * count + numbers[i]));
  // The basis has some primes, which are no prefix.
  const ring::Basis basis{0, 2, 3};
  std::vector<TypeParam> few(basis.size() * count * this->N);
  ciphertexts_uniform<TypeParam>(this->plan.N(), chain, basis, this->seed, count, {}, few);
  for (std::size_t i = 0; i < count; ++i)
    for (const unsigned l : basis.indices())
      EXPECT_EQ(row(few, this->N, basis.rank(l) * count + i), row(all, this->N, l * count + i));
  EXPECT_THROW(
      ciphertexts_uniform<TypeParam>(this->plan.N(), chain, {5}, this->seed, count, {}, few),
      ParameterError);
}

TYPED_TEST(LatticeRlweUniform, Keys) {
  const ring::KeyLayout layout{{0, 2, 4}, {{0, 4}, {2}}, {1, 6}};
  const std::vector<unsigned> primes = layout.rows().indices();
  std::vector<TypeParam> a(primes.size() * this->N);
  for (unsigned digit = 0; digit < 2; ++digit) {
    key_uniform<TypeParam>(this->plan, layout, this->seed, digit, a);
    for (std::size_t r = 0; r < primes.size(); ++r)
      EXPECT_EQ(row(a, this->N, r), this->expanded(digit * primes.size() + r, primes[r]));
  }
}

TYPED_TEST(LatticeRlweUniform, RowsOfAKey) {
  const ring::KeyLayout& layout = this->plan.key_layout();
  const SwitchKeyData data = this->rig.key(3, 1);
  const auto rows = key_rows<TypeParam>(this->rig.plan, layout, data.seed, data.b);
  const std::size_t size = layout.rows().size() * this->N;
  std::vector<TypeParam> a(size), b(size), expanded(size);
  const auto bodies = data.b.as<TypeParam>();
  for (unsigned digit = 0; digit < layout.digits.size(); ++digit) {
    rows(digit, a, b);
    key_uniform<TypeParam>(this->plan, layout, data.seed, digit, expanded);
    EXPECT_EQ(a, expanded);
    EXPECT_TRUE(std::equal(b.begin(), b.end(), bodies.begin() + digit * size));
  }
  const WordArray few(std::vector<TypeParam>(5));
  EXPECT_THROW(key_rows<TypeParam>(this->rig.plan, layout, data.seed, few), ShapeError);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
