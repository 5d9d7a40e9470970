// Reading of phases against integers of 128 bits.
#include "lattice/rlwe/phase.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::Int128;

template <class Word>
void check(std::size_t limbs, std::uint64_t m, test::Random& random) {
  const auto values = test::random_rns_primes<Word>(256, limbs, random, 60);
  std::vector<math::Modulus<Word>> primes(values.begin(), values.end());
  Int128 Q = 1;
  for (const auto& q : primes) Q *= static_cast<Int128>(q.value());
  // Every size of integer from 0 to the edge of ±Q/2, both signs.
  std::vector<Int128> v = {0, 1, -1, Q / 2 - (Q >> 50) - 1, -(Q / 2 - (Q >> 50) - 1)};
  while (v.size() < 256) {
    Int128 x = (static_cast<Int128>(random.word() >> 1) << 64) | random.word();
    x >>= random.below(127);
    x %= Q / 2 - (Q >> 50);
    v.push_back(random.below(2) ? x : -x);
  }
  const std::size_t count = v.size();
  std::vector<Word> residues(limbs * count);
  for (std::size_t l = 0; l < limbs; ++l)
    for (std::size_t j = 0; j < count; ++j)
      residues[l * count + j] = static_cast<Word>(test::reduce(v[j], primes[l].value()));
  const PhaseReader<Word> reader(primes);
  const std::uint64_t scale = 1 + random.below(m - 1);
  std::vector<std::uint64_t> out(count);
  reader.modulo(reader.reduction(m), residues, scale, out);
  for (std::size_t j = 0; j < count; ++j)
    ASSERT_EQ(out[j], test::reduce(static_cast<Int128>(test::reduce(v[j], m)) * scale, m))
        << "value " << j << ", " << limbs << " limbs, m = " << m;
  // One at a time: the largest is itself.
  for (std::size_t j = 0; j < count; ++j) {
    std::vector<Word> one(limbs);
    for (std::size_t l = 0; l < limbs; ++l) one[l] = residues[l * count + j];
    const double size = static_cast<double>(v[j] < 0 ? -v[j] : v[j]);
    const double got = reader.log2_largest(one);
    if (size < 2) {
      ASSERT_LE(got, 0);
      continue;
    }
    ASSERT_NEAR(std::exp2(got), size, 1 + 1e-6 * size) << "value " << j << ", " << limbs;
  }
  double largest = 0;
  for (const Int128 x : v) largest = std::max(largest, static_cast<double>(x < 0 ? -x : x));
  EXPECT_NEAR(reader.log2_largest(residues), std::log2(largest), 1e-6);
}

TEST(LatticeRlwePhase, ResidueAndSize) {
  test::Random random;
  for (const std::uint64_t m : {2ULL, 4ULL, 256ULL, 65537ULL, 1000000ULL, (1ULL << 31) - 1}) {
    for (std::size_t limbs = 1; limbs <= 4; ++limbs) check<std::uint32_t>(limbs, m, random);
    for (std::size_t limbs = 1; limbs <= 2; ++limbs) check<std::uint64_t>(limbs, m, random);
  }
}

TEST(LatticeRlwePhase, LongChains) {
  // Small integers under 40 primes: their residues are themselves.
  test::Random random;
  for (const std::uint64_t m : {2ULL, 65537ULL}) {
    const auto values = math::ntt_primes(30, 1024, 40);
    std::vector<math::Modulus<std::uint32_t>> primes;
    for (const std::uint64_t q : values) primes.emplace_back(static_cast<std::uint32_t>(q));
    const PhaseReader<std::uint32_t> reader(primes);
    const auto reduction = reader.reduction(m);
    for (int i = 0; i < 200; ++i) {
      const std::int64_t v = random.between(-(1LL << 62), (1LL << 62) - 1) >> random.below(62);
      std::vector<std::uint32_t> residues;
      for (const auto& q : primes) residues.push_back(q.from_signed(v));
      std::uint64_t out = 0;
      reader.modulo(reduction, residues, 1, {&out, 1});
      ASSERT_EQ(out, test::reduce(v, m)) << v;
    }
  }
}

}  // namespace
}  // namespace whorl::lattice::rlwe
