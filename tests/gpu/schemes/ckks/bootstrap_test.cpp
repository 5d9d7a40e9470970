// Bootstraps of the default set, in the ring that is secure: of every kind of message, in every
// number of slots, from every level.
#include <random>

#include "support/ckks_bootstraps.h"

namespace whorl::ckks {
namespace {

constexpr unsigned threads = 16;
constexpr std::size_t batch = 10;

const test::Refresher& refresher() {
  static const test::Refresher of = [] {
    const Parameters p = Parameters::named("W128_L13_B20");
    return test::Refresher(p, test::all_numbers_of_slots(p), threads);
  }();
  return of;
}

/// What the set's name promises, of the worst slot.
constexpr double least_bits = 20;

void expect_bits(std::uint64_t slots, bool real, unsigned level, std::size_t runs,
                 std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t done = 0; done < runs; done += batch)
    for (const auto& [name, values] : test::messages(random, slots, batch, real))
      EXPECT_GT(-std::log2(refresher().error(values, slots, real, level)), least_bits)
          << name << ", " << slots << " slots, level " << level << (real ? ", real" : "");
}

TEST(CkksBootstrapOfTheDefaultSet, AHundredFullVectorsOfEachKind) {
  const Parameters& p = refresher().server.parameters();
  for (const bool real : {false, true}) expect_bits(p.slots(), real, p.depth(), 100, 1);
}

// All combinations, each with ten vectors or more: two or three of each kind of message in one
// batch, which is encrypted once for all levels.
TEST(CkksBootstrapOfTheDefaultSet, EveryNumberOfSlotsFromEveryLevel) {
  const Parameters& p = refresher().server.parameters();
  for (const auto& [slots, maps] : refresher().maps)
    for (const bool real : {false, true}) {
      std::mt19937_64 random(slots);
      test::Complexes all;
      for (const auto& [name, values] : test::messages(random, slots, real ? 3 : 2, real))
        all.insert(all.end(), values.begin(), values.end());
      ASSERT_GE(all.size(), batch * slots);
      const Array x = refresher().encrypted(all, slots, real);
      for (unsigned level = p.least_bootstrap_level(); level <= p.depth(); ++level)
        EXPECT_GT(-std::log2(refresher().error_of(x, all, level)), least_bits)
            << slots << " slots, level " << level << (real ? ", real" : "");
    }
}

TEST(CkksBootstrapOfTheDefaultSet, TwoIterationsGiveTwentySevenBits) {
  const Parameters p = Parameters::choose({.depth = 10, .scale_bits = 45, .bootstrap = true});
  const test::Refresher of(p, {p.slots()}, threads);
  std::mt19937_64 random(2);
  for (const auto& [name, values] : test::messages(random, p.slots(), 2, false))
    EXPECT_GT(-std::log2(of.error(values, p.slots(), false, p.depth(), 2)), 27) << name;
}

}  // namespace
}  // namespace whorl::ckks
