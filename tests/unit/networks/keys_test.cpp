// Keys of maps against all ways to share them.
#include "whorl/networks/keys.h"

#include "support/test.h"

namespace whorl::networks {
namespace {

using ckks::KeyRequest;
using ckks::Parameters;
using Rotations = std::set<std::int64_t>;
using Maps = std::vector<MapRotations>;

/// The primes of secure parameters, in a small ring.
const Parameters& parameters() {
  static const Parameters small = [] {
    ckks::ParameterLiteral literal = Parameters::choose({.depth = 12}).literal();
    literal.N = 2048;
    return Parameters::create(literal, true);
  }();
  return small;
}

std::size_t bytes_of(const Rotations& usual, const std::map<unsigned, Rotations>& low) {
  KeyRequest request{2, {usual.begin(), usual.end()}};
  for (const auto& [level, rotations] : low)
    request.low_rotations[level].assign(rotations.begin(), rotations.end());
  return key_bytes(parameters(), request);
}

Maps random_maps(test::Random& random) {
  Maps maps(random.below(6));
  for (MapRotations& map : maps)
    map = {static_cast<unsigned>(1 + random.below(12)), random.integers<std::int64_t>(4, 1, 9)};
  return maps;
}

/// The fewest bytes with which the maps are cut into runs by their levels, of which the first one
/// may take keys of all levels.
std::size_t least_bytes(const Maps& maps, const Rotations& held) {
  std::map<unsigned, Rotations, std::greater<>> at_level;
  for (const MapRotations& map : maps)
    at_level[map.level].insert(map.rotations.begin(), map.rotations.end());
  std::size_t least = ~std::size_t{0};
  // Bit i says whether level number i begins a run; the last bit, whether the first run is low.
  for (std::size_t cut = 0; cut < std::size_t{2} << at_level.size(); ++cut) {
    Rotations usual = held;
    std::map<unsigned, Rotations> low;
    Rotations* run = cut >> at_level.size() & 1 ? nullptr : &usual;
    std::size_t i = 0;
    for (const auto& [level, rotations] : at_level) {
      if (!run || (cut >> i & 1)) run = &low[level];
      run->insert(rotations.begin(), rotations.end());
      ++i;
    }
    least = std::min(least, bytes_of(usual, low));
  }
  return least;
}

TEST(NetworksKeys, TakeTheFewestBytesOfAllRuns) {
  test::Random random;
  bool low = false, shared = false, usual = false;
  for (int trial = 0; trial < 200; ++trial) {
    const Maps maps = random_maps(random);
    const auto given = random.integers<std::int64_t>(random.below(6), 1, 9);
    const Rotations held(given.begin(), given.end());
    const MapKeys keys = choose_keys(maps, parameters(), given);
    Rotations all = held;
    for (const std::int64_t rotation : keys.rotations) EXPECT_TRUE(all.insert(rotation).second);
    std::map<unsigned, Rotations> at_level;
    for (const auto& [level, rotations] : keys.low_rotations)
      at_level[level] = {rotations.begin(), rotations.end()};
    EXPECT_EQ(bytes_of(all, at_level), least_bytes(maps, held));
    for (const MapRotations& map : maps) {
      const auto has = [&](const Rotations& some) {
        return std::ranges::all_of(map.rotations, [&](auto r) { return some.contains(r); });
      };
      EXPECT_TRUE(has(all) || std::ranges::any_of(at_level, [&](const auto& each) {
                    shared = shared || (each.first > map.level && has(each.second));
                    return each.first >= map.level && has(each.second);
                  }));
    }
    low = low || !keys.low_rotations.empty();
    usual = usual || !keys.rotations.empty();
  }
  EXPECT_TRUE(low && shared && usual);
}

TEST(NetworksKeys, AreNoneForMapsWithoutRotations) {
  const MapKeys keys = choose_keys(Maps{{3, {}}, {5, {}}}, parameters(), {});
  EXPECT_TRUE(keys.rotations.empty() && keys.low_rotations.empty());
}

TEST(NetworksKeys, AreOfLevelsThatThereAre) {
  EXPECT_NO_THROW(choose_keys(Maps{{parameters().top(), {1}}}, parameters(), {}));
  const std::string why = test::message_of<ParameterError>([] {
    choose_keys(Maps{{parameters().top() + 1, {1}}, {2, {1}}}, parameters(), {});
  });
  EXPECT_NE(why.find("level 13"), std::string::npos) << why;
}

}  // namespace
}  // namespace whorl::networks
