#include "run/lane.h"
#include "support/scripted_device.h"
#include "support/test.h"

namespace whorl::run {
namespace {

class LaneTest : public ::testing::Test {
 protected:
  /// From another thread.
  bool is_free() const {
    bool out = false;
    std::thread([&] {
      out = lane_->try_lock();
      if (out) lane_->unlock();
    }).join();
    return out;
  }
  std::shared_ptr<test::Script> script_ = std::make_shared<test::Script>();
  std::shared_ptr<const Lane> lane_ =
      std::make_shared<const Lane>(std::make_shared<test::ScriptedDevice>(script_));
};

TEST_F(LaneTest, OneThreadHoldsItSeveralTimes) {
  EXPECT_FALSE(lane_->held());
  {
    const auto outer = lane_->hold();
    {
      const auto inner = lane_->hold();
      EXPECT_TRUE(lane_->held());
      EXPECT_FALSE(is_free());
    }
    EXPECT_TRUE(lane_->held());
    EXPECT_FALSE(is_free());
    std::thread([&] { EXPECT_FALSE(lane_->held()); }).join();
  }
  EXPECT_FALSE(lane_->held());
  EXPECT_TRUE(is_free());
}

TEST_F(LaneTest, QueuesAreLeasedAndComeBack) {
  script_->queues = 3;
  const int before = script_->opened;
  auto two = lane_->lease(2);
  EXPECT_EQ(two.size(), 2u);
  auto rest = lane_->lease(2);
  EXPECT_EQ(rest.size(), 1u) << "no more than the device's three";
  EXPECT_TRUE(lane_->lease(2, 0).empty());
  auto one_more = lane_->lease(2);
  EXPECT_EQ(one_more.size(), 1u) << "calls that meet get the least";
  EXPECT_EQ(script_->opened - before, 4);
  for (auto* const each : {&two, &rest, &one_more}) lane_->give_back(std::move(*each));
  EXPECT_EQ(lane_->lease(4).size(), 4u);
  EXPECT_EQ(script_->opened - before, 4) << "none is opened anew";
}

TEST_F(LaneTest, IsNamedAsItsDevice) {
  EXPECT_EQ(lane_->name(), "scripted:0");
  EXPECT_EQ(lane_->hardware(), lane_->device().memory());
}

}  // namespace
}  // namespace whorl::run
