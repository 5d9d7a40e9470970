#include "run/move.h"

#include "support/scripted_fleet.h"

namespace whorl::run {
namespace {

class Move : public test::ScriptedFleet {};

TEST_F(Move, ValuesMoveBetweenLanes) {
  add("scripted:0");
  add("scripted:1");
  const auto two = fleet();
  const Words in = words(100);
  const auto there = place<std::uint32_t>(*two->lane(0), in);
  for (const std::size_t to : {0u, 1u}) {
    const auto copy =
        copied<std::uint32_t>(*two->lane(0), *two->lane(to), there.slice().part(10, 50));
    EXPECT_EQ(fetch<std::uint32_t>(*two->lane(to), copy.slice()),
              Words(in.begin() + 10, in.begin() + 60));
    EXPECT_THROW(fetch<std::uint32_t>(*two->lane(1 - to), copy.slice()), DeviceError);
  }
}

}  // namespace
}  // namespace whorl::run
