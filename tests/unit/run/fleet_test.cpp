// Batches that stay on a fleet: the rule by which they are split, calls over their pieces,
// failures.
#include "run/move.h"
#include "support/scripted_fleet.h"
#include "support/test.h"

namespace whorl::run {
namespace {

class FleetPieces : public test::ScriptedFleet {
 protected:
  std::unique_ptr<const Fleet> fleet_of(std::size_t devices, std::size_t least_share = 1) {
    scripts_.clear();
    for (std::size_t d = 0; d < devices; ++d)
      scripts_.push_back(add("scripted:" + std::to_string(d)));
    return fleet(least_share);
  }
  std::vector<std::shared_ptr<test::Script>> scripts_;
};

TEST_F(FleetPieces, AreContiguousEqualAndTheSameEachTime) {
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t devices = 1 + random_.below(4), least = 1 + random_.below(20),
                      count = random_.below(500), most = 1 + random_.below(60);
    const auto fleet = fleet_of(devices, least);
    if (devices > 1 && random_.below(2)) fleet->mark_failed(random_.below(devices), "gone");
    const std::size_t working = devices - fleet->failed().size();
    const auto pieces = fleet->pieces(count, most);
    EXPECT_EQ(pieces, fleet->pieces(count, most));
    std::size_t at = 0, lane = 0;
    std::vector<std::size_t> share(devices, 0);
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.range.begin, at);
      EXPECT_GE(piece.range.count, 1u);
      EXPECT_LE(piece.range.count, most);
      EXPECT_GE(piece.lane, lane);
      EXPECT_FALSE(fleet->has_failed(piece.lane));
      at += piece.range.count;
      lane = piece.lane;
      share[lane] += piece.range.count;
    }
    EXPECT_EQ(at, count);
    if (count == 0) continue;
    const std::size_t used = std::min(working, std::max<std::size_t>(1, count / least));
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(share, [](auto s) { return s > 0; })),
              used);
    for (const std::size_t s : share)
      EXPECT_TRUE(s == 0 || s == count / used || s == count / used + 1) << s << " of " << count;
  }
}

TEST_F(FleetPieces, LeaveOutDevicesThatFailed) {
  const auto three = fleet_of(3);
  three->mark_failed(1, "code 1");
  three->mark_failed(1, "code 2");
  const std::vector<Piece> want{{0, {0, 2}}, {2, {2, 2}}};
  EXPECT_EQ(three->pieces(4, 100), want);
  ASSERT_EQ(three->failed().size(), 1u);
  EXPECT_EQ(three->failed()[0].message, "code 1");
  three->mark_failed(0, "code 3");
  three->mark_failed(2, "code 4");
  test::expect_message<DeviceError>([&] { three->pieces(1, 1); }, {"scripted:2: code 4"});
}

TEST_F(FleetPieces, NeedADevice) { EXPECT_THROW(fleet_of(0), DeviceError); }

TEST_F(FleetPieces, AreDoneInOrderUnderTheirLanesHold) {
  const auto two = fleet_of(2);
  const auto pieces = two->pieces(10, 2);
  std::vector<std::size_t> order;
  two->each(pieces, false, [&](std::size_t i) {
    order.push_back(i);
    EXPECT_TRUE(two->lane(pieces[i].lane)->held());
    EXPECT_FALSE(two->lane(1 - pieces[i].lane)->held());
  });
  ASSERT_EQ(order.size(), pieces.size());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
}

TEST_F(FleetPieces, ThatWaitAreDoneSideBySide) {
  const auto three = fleet_of(3);
  const auto pieces = three->pieces(9, 1);
  std::mutex mutex;
  std::vector<std::set<std::thread::id>> threads(3);
  std::atomic<std::size_t> arrived = 0;
  three->each(pieces, true, [&](std::size_t i) {
    EXPECT_TRUE(three->lane(pieces[i].lane)->held());
    if (pieces[i].range.begin % 3 == 0) {  // the first of its lane: meets those of the others
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    }
    const std::scoped_lock lock(mutex);
    threads[pieces[i].lane].insert(std::this_thread::get_id());
  });
  for (const auto& ids : threads) EXPECT_EQ(ids.size(), 1u);
}

TEST_F(FleetPieces, OfOneDeviceNeedNoThread) {
  const auto two = fleet_of(2, 100);
  const auto here = std::this_thread::get_id();
  two->each(two->pieces(50, 10), true,
            [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
}

TEST_F(FleetPieces, ThatWaitInsideTogetherAreDoneInTurn) {
  const auto two = fleet_of(2);
  const auto here = std::this_thread::get_id();
  std::size_t done = 0;
  two->together([&] {
    two->each(two->pieces(6, 1), true, [&](std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      ++done;
    });
  });
  EXPECT_EQ(done, 6u);
}

TEST_F(FleetPieces, ADeviceThatFailsIsMarkedAndTheOthersDoTheirs) {
  for (const bool waits : {false, true}) {
    const auto three = fleet_of(3);
    const auto pieces = three->pieces(12, 2);
    std::vector<std::atomic<int>> done(pieces.size());
    EXPECT_THROW(three->each(pieces, waits,
                             [&](std::size_t i) {
                               if (pieces[i].lane == 1) throw DeviceError("scripted:1: lost");
                               ++done[i];
                             }),
                 DeviceError);
    for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(done[i], pieces[i].lane != 1);
    ASSERT_EQ(three->failed().size(), 1u);
    EXPECT_EQ(three->failed()[0].message, "scripted:1: lost");
    EXPECT_TRUE(three->has_failed(1));
    for (const Piece& piece : three->pieces(12, 2)) EXPECT_NE(piece.lane, 1u);
  }
}

TEST_F(FleetPieces, ADeviceAloneStaysInUse) {
  const auto one = fleet_of(1);
  const auto pieces = one->pieces(3, 1);
  EXPECT_THROW(one->each(pieces, true, [](std::size_t) { throw DeviceError("lost"); }),
               DeviceError);
  EXPECT_TRUE(one->failed().empty());
  std::size_t done = 0;
  one->each(pieces, true, [&](std::size_t) { ++done; });
  EXPECT_EQ(done, 3u);
}

TEST_F(FleetPieces, AnotherErrorIsThrown) {
  for (const bool waits : {false, true}) {
    const auto two = fleet_of(2);
    const auto pieces = two->pieces(8, 1);
    EXPECT_THROW(two->each(pieces, waits,
                           [&](std::size_t i) {
                             if (i == 1) throw ShapeError("this one");
                             if (pieces[i].lane == 1) throw DeviceError("lost");
                           }),
                 ShapeError);
    EXPECT_FALSE(two->lane(0)->held());
  }
}

TEST_F(FleetPieces, InterruptStopsThoseThatWait) {
  std::atomic<bool> stop = false;
  for (const char* name : {"scripted:0", "scripted:1"}) add(name);
  const auto interrupt = guarded([&] { return stop.load(); });
  const auto two = fleet(1, interrupt);
  EXPECT_THROW(two->each(two->pieces(2, 1), true,
                         [&](std::size_t) {
                           stop = true;
                           while (!interrupt()) std::this_thread::yield();
                           throw InterruptedError("seen in a thread of the fleet's");
                         }),
               InterruptedError);
}

TEST_F(FleetPieces, InterruptStopsBetweenPieces) {
  for (const bool waits : {false, true}) {
    std::atomic<std::size_t> done = 0;
    add("scripted:0");
    const auto one = fleet(1, [&] { return done == 3; });
    EXPECT_EQ(test::message_of<InterruptedError>(
                  [&] { one->each(one->pieces(10, 2), waits, [&](std::size_t) { ++done; }); }),
              "stopped after 3 of 5 pieces of a batch");
    EXPECT_EQ(done, 3u);
  }
}

TEST_F(FleetPieces, LoopsOfTheHostCanAsk) {
  add("scripted:0");
  bool stop = false;
  const auto one = fleet(1, [&] { return stop; });
  EXPECT_NO_THROW(one->stop_if_asked(2, 7, "plaintexts"));
  stop = true;
  EXPECT_NO_THROW(one->stop_if_asked(0, 7, "plaintexts"));
  EXPECT_EQ(test::message_of<InterruptedError>([&] { one->stop_if_asked(2, 7, "plaintexts"); }),
            "stopped after 2 of 7 plaintexts");
}

TEST_F(FleetPieces, WaitMarksADeviceWhoseWorkFailed) {
  const auto three = fleet_of(3);
  scripts_[1]->wait_fails = true;
  EXPECT_THROW(three->wait(), DeviceError);
  EXPECT_EQ(scripts_[2]->waits, 1) << "the others are waited for";
  EXPECT_TRUE(three->has_failed(1));
  three->wait();
  EXPECT_EQ(scripts_[2]->waits, 2);
}

TEST_F(FleetPieces, ACallIsDoneAgainAsOftenAsDevicesFail) {
  const auto three = fleet_of(3);
  int calls = 0;
  const auto fail_on = [&](std::size_t lane) {
    three->mark_failed(lane, "gone");
    throw DeviceError("lane " + std::to_string(lane));
  };
  EXPECT_EQ(three->again([&] {
    if (++calls == 1) fail_on(0);
    if (calls == 2) fail_on(1);
    return calls;
  }),
            3);
  EXPECT_EQ(test::message_of<DeviceError>([&] {
              three->again([&] {
                if (++calls == 4) fail_on(2);
                throw DeviceError("an operand is lost");
              });
            }),
            "lane 2; an operand is lost");
  EXPECT_EQ(calls, 5);
}

// ---- together

TEST_F(FleetPieces, TogetherBeginsAndEndsOnEachDevice) {
  const auto two = fleet_of(2);
  const auto begun = [&] { return scripts_[0]->together + 10 * scripts_[1]->together; };
  EXPECT_EQ(two->together([&] {
    EXPECT_EQ(begun(), 11);
    EXPECT_TRUE(two->lane(0)->held() && two->lane(1)->held());
    two->together([&] { EXPECT_EQ(begun(), 22); });
    EXPECT_EQ(begun(), 11);
    return 7;
  }),
            7);
  EXPECT_EQ(begun(), 0);
  EXPECT_THROW(two->together([&]() -> int { throw ShapeError("within"); }), ShapeError);
  EXPECT_EQ(begun(), 0);
  EXPECT_FALSE(two->lane(0)->held() || two->lane(1)->held());
}

TEST_F(FleetPieces, TogetherIsDoneAgainWhereTheEndFailsOnADevice) {
  const auto two = fleet_of(2);
  scripts_[1]->end_fails = true;
  int calls = 0;
  EXPECT_EQ(two->together([&] { return ++calls; }), 2);
  ASSERT_EQ(two->failed().size(), 1u);
  EXPECT_EQ(two->failed()[0].name, "scripted:1");
  EXPECT_EQ(two->together([&] { return ++calls; }), 3) << "it is not asked any more";
  EXPECT_EQ(scripts_[0]->together + scripts_[1]->together, 0);
  EXPECT_FALSE(two->lane(0)->held());
}

TEST_F(FleetPieces, CallsOfSeveralThreadsTakeTurns) {
  const auto three = fleet_of(3);
  int inside = 0, most = 0, calls = 0;  // no atomics: the lanes are held
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 4; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < 200; ++i)
          three->together([&] {
            most = std::max(most, ++inside);
            three->together([&] { ++calls; });
            --inside;
          });
      });
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) three->each(three->pieces(9, 1), true, [](std::size_t) {});
    });
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(calls, 800);
}

}  // namespace
}  // namespace whorl::run
