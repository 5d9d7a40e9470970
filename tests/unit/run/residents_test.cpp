#include "run/residents.h"
#include "run/lane.h"
#include "support/scripted_device.h"
#include "support/test.h"

namespace whorl::run {
namespace {

class Value final : public Resident {
 public:
  bool is_there() const override { return there; }
  bool spill() override { return !pinned && std::exchange(there, false); }
  bool there = true, pinned = false;
};
using Values = std::vector<std::shared_ptr<Value>>;

Values enrolled(Residents& residents, std::size_t count) {
  Values out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(std::make_shared<Value>());
    residents.enroll(out.back());
  }
  return out;
}
std::size_t there(const Values& values) {
  return static_cast<std::size_t>(std::ranges::count_if(values, &Value::is_there));
}

TEST(Residents, TheLongerUnusedHalfLeaves) {
  Residents residents;
  const Values values = enrolled(residents, 8);
  residents.touch(*values[0]);
  EXPECT_TRUE(residents.spill());
  EXPECT_EQ(there(values), 4u);
  EXPECT_TRUE(values[0]->there) << "it was used last";
  for (std::size_t i = 1; i < 5; ++i) EXPECT_FALSE(values[i]->there);
}

TEST(Residents, ThoseOnTheHostAreNotCounted) {
  Residents residents;
  const Values values = enrolled(residents, 100);
  for (const std::size_t left : {50u, 25u, 13u, 7u, 4u, 2u, 1u, 0u}) {
    EXPECT_TRUE(residents.spill());
    EXPECT_EQ(there(values), left);
  }
  EXPECT_FALSE(residents.spill());
}

TEST(Residents, OneInUseStaysAndAnotherLeaves) {
  Residents residents;
  const Values values = enrolled(residents, 4);
  for (std::size_t i = 0; i < 3; ++i) values[i]->pinned = true;
  EXPECT_TRUE(residents.spill());
  EXPECT_FALSE(values[3]->there);
  EXPECT_FALSE(residents.spill());
  EXPECT_EQ(there(values), 3u);
}

TEST(Residents, ThoseUsedLaterStay) {
  Residents residents;
  const Values early = enrolled(residents, 2);
  const auto since = residents.now();
  const Values late = enrolled(residents, 2);
  while (residents.spill(since)) continue;
  EXPECT_EQ(there(early), 0u);
  EXPECT_EQ(there(late), 2u);
}

TEST(Residents, WhatIsGoneIsForgotten) {
  Residents residents;
  for (int i = 0; i < 1000; ++i) enrolled(residents, 1);
  EXPECT_LE(residents.known(), 64u);
  EXPECT_FALSE(residents.spill());
  const Values kept = enrolled(residents, 1);
  EXPECT_TRUE(residents.spill());
}

TEST(Residents, RoomMakersAreAskedOnceEach) {
  struct Maker final : RoomMaker {
    std::size_t make_room(const Lane&, std::size_t) const override {
      ++asked;
      return frees;
    }
    std::size_t frees = 0;
    mutable int asked = 0;
  };
  auto script = std::make_shared<test::Script>();
  const auto lane = std::make_shared<const Lane>(std::make_shared<test::ScriptedDevice>(script));
  Residents residents;
  EXPECT_FALSE(residents.ask_room_makers(*lane)) << "there is none";
  const auto some = std::make_shared<Maker>();
  for (int i = 0; i < 3; ++i) residents.know(some);
  EXPECT_FALSE(residents.ask_room_makers(*lane)) << "it frees nothing";
  EXPECT_EQ(some->asked, 1);
  {
    const auto gone = std::make_shared<Maker>();
    gone->frees = 1;
    residents.know(gone);
    EXPECT_TRUE(residents.ask_room_makers(*lane));
  }
  EXPECT_FALSE(residents.ask_room_makers(*lane)) << "it is gone";
  some->frees = 10;
  EXPECT_TRUE(residents.ask_room_makers(*lane));
}

}  // namespace
}  // namespace whorl::run
