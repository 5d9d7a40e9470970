// Sets of primes against std::set.
#include "ring/basis.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

using Set = std::set<unsigned>;

Basis basis_of(const Set& set) {
  Basis out;
  for (const unsigned i : set) out.insert(i);
  return out;
}
Set random_set(test::Random& random) {
  Set out;
  const std::uint64_t bound = random.below(2) ? Basis::most : 1 + random.below(8);
  for (std::uint64_t left = random.below(2 * bound); left > 0; --left)
    out.insert(static_cast<unsigned>(random.below(bound)));
  return out;
}

TEST(RingBasis, IsASet) {
  test::Random random;
  for (int round = 0; round < 300; ++round) {
    const Set a = random_set(random), b = random_set(random);
    const Basis x = basis_of(a), y = basis_of(b);
    EXPECT_EQ(x.indices(), std::vector<unsigned>(a.begin(), a.end()));
    EXPECT_EQ(x.size(), a.size());
    EXPECT_EQ(x.empty(), a.empty());
    EXPECT_EQ(x == y, a == b);
    EXPECT_EQ(x.includes(y), std::includes(a.begin(), a.end(), b.begin(), b.end()));
    const bool prefix = a.empty() || *a.rbegin() + 1 == a.size();
    EXPECT_EQ(x.is_prefix(), prefix) << x.describe();
    for (unsigned i = 0; i < Basis::most; ++i) {
      EXPECT_EQ(x.contains(i), a.contains(i)) << i;
      EXPECT_EQ(x.rank(i), std::distance(a.begin(), a.lower_bound(i))) << i;
    }
    Set both, either, first;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(either, either.end()));
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(first, first.end()));
    EXPECT_EQ(x & y, basis_of(both));
    EXPECT_EQ(x | y, basis_of(either));
    EXPECT_EQ(x - y, basis_of(first));
  }
}

TEST(RingBasis, Ranges) {
  EXPECT_EQ(Basis::range(3, 0), Basis());
  EXPECT_EQ(Basis::range(3, 2), (Basis{3, 4}));
  for (const unsigned n : {0u, 1u, 63u, 64u, 65u, 127u, 128u}) {
    const Basis prefix = Basis::range(0, n);
    EXPECT_EQ(prefix.size(), n);
    EXPECT_TRUE(prefix.is_prefix());
    EXPECT_EQ((prefix - Basis{0}).is_prefix(), n <= 1);
  }
  EXPECT_FALSE((Basis{1}).is_prefix());
  EXPECT_FALSE((Basis::range(0, 70) - Basis{66}).is_prefix());
}

TEST(RingBasis, IndicesBeyondTheMost) {
  EXPECT_FALSE(Basis::range(0, Basis::most).contains(Basis::most));
  Basis basis;
  EXPECT_THROW(basis.insert(Basis::most), std::out_of_range);
  EXPECT_THROW(Basis::range(100, 29), std::out_of_range);
}

TEST(RingBasis, Description) {
  EXPECT_EQ(Basis().describe(), "{}");
  EXPECT_EQ((Basis{5}).describe(), "{5}");
  EXPECT_EQ((Basis{4, 5}).describe(), "{4, 5}");
  EXPECT_EQ((Basis{0, 1, 2, 3, 4, 7}).describe(), "{0 … 4, 7}");
  EXPECT_EQ((Basis{1, 63, 64, 65, 127}).describe(), "{1, 63 … 65, 127}");
}

TEST(RingBasis, RowsOfAKey) {
  const KeyLayout layout{{0, 2, 4}, {{0, 4}, {2}}, {1, 6}};
  EXPECT_EQ(layout.rows(), (Basis{0, 1, 2, 4, 6}));
  KeyLayout other = layout;
  EXPECT_EQ(other, layout);
  other.digits = {{0}, {2, 4}};
  EXPECT_FALSE(other == layout);
}

}  // namespace
}  // namespace whorl::ring
