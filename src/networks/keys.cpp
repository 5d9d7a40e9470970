#include "whorl/networks/keys.h"

#include <cstddef>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

namespace whorl::networks {

namespace {

using Rotations = std::set<std::int64_t>;

/// Bytes of the keys for levels from one on, and where the runs end that they are cut into.
struct Runs {
  std::size_t bytes = 0;
  std::vector<std::size_t> ends;
  bool operator<(const Runs& other) const {
    return std::tie(bytes, ends) < std::tie(other.bytes, other.ends);
  }
};

/// Maps that have rotations, from the highest level.
using ByLevel = std::map<unsigned, Rotations, std::greater<>>;

}  // namespace

MapKeys choose_keys(std::span<const MapRotations> maps, const ckks::Parameters& parameters,
                    std::span<const std::int64_t> held) {
  ByLevel at_level;
  for (const MapRotations& map : maps)
    if (!map.rotations.empty())
      at_level[map.level].insert(map.rotations.begin(), map.rotations.end());
  const std::vector<std::pair<unsigned, Rotations>> levels(at_level.begin(), at_level.end());

  // 1. The best cut of the levels from each one on.
  std::vector<Runs> from(levels.size() + 1);
  for (std::size_t begin = levels.size(); begin-- > 0;) {
    const std::size_t each =
        key_bytes(parameters, {2, {}, false, false, {{levels[begin].first, {1}}}});
    Rotations united;
    for (std::size_t end = begin + 1; end <= levels.size(); ++end) {
      united.insert(levels[end - 1].second.begin(), levels[end - 1].second.end());
      Runs runs{each * united.size() + from[end].bytes, {end}};
      runs.ends.insert(runs.ends.end(), from[end].ends.begin(), from[end].ends.end());
      if (end == begin + 1 || runs < from[begin]) from[begin] = std::move(runs);
    }
  }

  // 2. Which of the highest levels take keys of all levels.
  const std::size_t of_usual = key_bytes(parameters, {2, {1}});
  const Rotations there(held.begin(), held.end());
  Rotations united, usual;
  std::size_t best = 0, least = from[0].bytes;
  for (std::size_t end = 1; end <= levels.size(); ++end) {
    for (const std::int64_t rotation : levels[end - 1].second)
      if (!there.contains(rotation)) united.insert(rotation);
    const std::size_t bytes = of_usual * united.size() + from[end].bytes;
    if (bytes >= least) continue;
    best = end;
    least = bytes;
    usual = united;
  }

  MapKeys out{{usual.begin(), usual.end()}, {}};
  std::size_t begin = best;
  for (const std::size_t end : from[best].ends) {
    Rotations run;
    for (std::size_t i = begin; i < end; ++i)
      run.insert(levels[i].second.begin(), levels[i].second.end());
    out.low_rotations[levels[begin].first] = {run.begin(), run.end()};
    begin = end;
  }
  return out;
}

}  // namespace whorl::networks
