// Batches that pass through a fleet: order, failures, short memory, interrupts, several threads.
#include "support/scripted_fleet.h"
#include "support/test.h"

namespace whorl::run {
namespace {

class FleetStream : public test::ScriptedFleet {};

TEST_F(FleetStream, ItemsComeBackInTheirPlaces) {
  const Words in = words(90 + random_.below(40));
  for (const std::size_t devices : {1u, 2u, 3u, 4u}) {
    for (const unsigned queues : {1u, 2u, 3u}) {
      SCOPED_TRACE(std::to_string(devices) + " devices of " + std::to_string(queues) + " queues");
      std::vector<std::shared_ptr<test::Script>> scripts;
      for (std::size_t d = 0; d < devices; ++d) {
        scripts.push_back(add("scripted:" + std::to_string(d)));
        scripts.back()->queues = queues;
        scripts.back()->batch_limit = 1 + random_.below(40);
      }
      const auto several = fleet();
      EXPECT_EQ(several->size(), devices);
      EXPECT_EQ(several->names()[0], "scripted:0");
      EXPECT_EQ(several->name().find("scripted:0"), 0u);
      for (int repeat = 0; repeat < 3; ++repeat)  // later ones with measured speeds
        ASSERT_TRUE(passed(*several, in) == in);
      for (const auto& script : scripts) {
        EXPECT_GT(script->done, 0u);
        EXPECT_EQ(script->in_flight, 0);
        for (const std::size_t size : script->pieces) EXPECT_LE(size, script->batch_limit);
      }
      EXPECT_TRUE(several->failed().empty());
    }
  }
}

TEST_F(FleetStream, PiecesCoverTheBatchEvenly) {
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t begin = random_.below(1000), count = random_.below(20000),
                      limit = 1 + random_.below(10000);
    const unsigned queues = 1 + static_cast<unsigned>(random_.below(3));
    const auto pieces = pieces_of({begin, count}, limit, queues);
    std::size_t at = begin, least = SIZE_MAX, most = 0;
    for (const Range& piece : pieces) {
      ASSERT_EQ(piece.begin, at);
      at += piece.count;
      least = std::min(least, piece.count);
      most = std::max(most, piece.count);
    }
    ASSERT_EQ(at, begin + count);
    if (pieces.empty()) continue;
    EXPECT_LE(most, limit);
    EXPECT_LE(most - least, 1u);
    if (count >= 1024 * queues) {
      EXPECT_GE(pieces.size(), queues);
    } else {
      EXPECT_EQ(pieces.size(), (count + limit - 1) / limit);
    }
  }
  EXPECT_EQ(pieces_of({0, 2048}, 1 << 20, 2).size(), 2u);
  EXPECT_EQ(pieces_of({0, 2047}, 1 << 20, 2).size(), 1u);
  EXPECT_EQ(pieces_of({0, 16384}, 1 << 20, 1).size(), 6u);
  EXPECT_EQ(pieces_of({0, 16384}, 1 << 20, 3).size(), 16u);
  EXPECT_EQ(pieces_of({0, 65536}, 1 << 20, 3).size(), 18u);
  EXPECT_EQ(pieces_of({0, 3}, 0, 2).size(), 3u);
}

TEST_F(FleetStream, QueuesAreInFlightTogether) {
  const auto script = add("scripted:0");
  script->queues = 2;
  script->batch_limit = 10;
  const auto one = fleet();
  const Words in = words(50);
  EXPECT_TRUE(passed(*one, in) == in);
  EXPECT_EQ(script->pieces.size(), 5u);
  EXPECT_EQ(script->most_in_flight, 2);
  EXPECT_EQ(script->in_flight, 0);
  EXPECT_EQ(script->opened, 3) << "one of resident arrays, two that work in turn";
  passed(*one, in);
  EXPECT_EQ(script->opened, 3) << "queues are kept";
}

TEST_F(FleetStream, ASmallBatchNeedsOneQueue) {
  const auto script = add("scripted:0");
  script->queues = 2;
  const auto one = fleet();
  passed(*one, words(5));
  EXPECT_EQ(script->opened, 2);
}

TEST_F(FleetStream, ADeviceAloneNeedsNoThread) {
  add("scripted:0");
  const auto one = fleet();
  std::thread::id worked;
  one->stream({.memory = 1,
               .work =
                   [&](const backend::Queue&, std::size_t, Range) {
                     worked = std::this_thread::get_id();
                     return [] {};
                   }},
              10);
  EXPECT_EQ(worked, std::this_thread::get_id());
}

TEST_F(FleetStream, ASmallBatchGoesToOneDevice) {
  const auto first = add("scripted:0"), second = add("scripted:1");
  const auto two = fleet(10);
  const Words in = words(19);
  EXPECT_TRUE(passed(*two, in) == in);
  EXPECT_EQ(first->done + second->done, 19u);
  EXPECT_TRUE(first->done == 0 || second->done == 0);
  passed(*two, words(20));
  EXPECT_EQ(first->done + second->done, 39u);
  EXPECT_TRUE(first->done >= 10 && second->done >= 10);
  EXPECT_TRUE(passed(*two, {}).empty());
}

TEST_F(FleetStream, SharesFollowMeasuredSpeed) {
  const auto slow = add("slow"), fast = add("fast");
  slow->pause = std::chrono::microseconds(20000);  // far above the work itself
  fast->pause = std::chrono::microseconds(1000);
  const auto two = fleet(8);
  const Words in = words(16);
  passed(*two, in);
  EXPECT_EQ(slow->done, 8u) << "equal at first";
  for (int i = 0; i < 4; ++i) passed(*two, in);
  const std::size_t before = slow->done;
  passed(*two, in);
  EXPECT_LT(slow->done - before, 7u);
}

TEST_F(FleetStream, OneThatFailsIsNamedAndReplaced) {
  for (const int k : {1, 2, 4}) {
    SCOPED_TRACE(k);
    const auto bad = add("scripted:0"), good = add("scripted:1");
    add("scripted:2");
    bad->batch_limit = 5;
    bad->queues = 2;
    bad->fails_in = k;
    const auto three = fleet();
    const Words in = words(60 + random_.below(20));
    EXPECT_TRUE(passed(*three, in) == in);
    ASSERT_EQ(three->failed().size(), 1u);
    EXPECT_EQ(three->failed()[0].name, "scripted:0");
    EXPECT_EQ(three->failed()[0].message, "scripted:0: code 999");
    bad->lost = false;  // it is not asked again
    const std::size_t done = bad->done;
    EXPECT_TRUE(passed(*three, in) == in);
    EXPECT_EQ(bad->done, done);
    EXPECT_EQ(three->failed().size(), 1u);
    good->fails_in = 1;
    EXPECT_TRUE(passed(*three, in) == in);
    ASSERT_EQ(three->failed().size(), 2u);
    EXPECT_EQ(three->failed()[1].name, "scripted:1");
  }
}

TEST_F(FleetStream, AllThatFailAreNamed) {
  const auto first = add("scripted:0"), second = add("scripted:1");
  first->fails_in = second->fails_in = 1;
  const auto two = fleet();
  for (int repeat = 0; repeat < 2; ++repeat) {
    test::expect_message<DeviceError>([&] { passed(*two, words(20)); },
                                      {"scripted:0: code 999", "scripted:1: code 999"});
    EXPECT_EQ(two->failed().size(), 2u);
  }
}

TEST_F(FleetStream, ASingleDeviceMayRecover) {
  const auto only = add("scripted:0");
  only->fails_in = 1;
  const auto one = fleet();
  const Words in = words(20);
  EXPECT_THROW(passed(*one, in), DeviceError);
  EXPECT_TRUE(one->failed().empty());
  only->lost = false;
  EXPECT_TRUE(passed(*one, in) == in);
}

TEST_F(FleetStream, ShortMemoryHalvesPieces) {
  for (const unsigned queues : {1u, 2u}) {
    for (const std::size_t memory : {1u, 7u, 30u}) {
      SCOPED_TRACE(std::to_string(queues) + " queues, memory for " + std::to_string(memory));
      const auto script = add("scripted:0");
      script->queues = queues;
      script->batch_limit = 64;
      script->memory = memory;
      const auto one = fleet();
      const Words in = words(100);
      EXPECT_TRUE(passed(*one, in) == in);
      EXPECT_EQ(script->done, 100u);
      for (const std::size_t size : script->pieces) EXPECT_LE(size, memory);
      script->memory = 0;
      EXPECT_THROW(passed(*one, in), OutOfMemoryError);
      script->memory = 1000;
      EXPECT_TRUE(passed(*one, in) == in) << "the fleet goes on";
      // Short where results are fetched: the piece is done again.
      script->download_fails_in = 1;
      EXPECT_TRUE(passed(*one, in) == in);
    }
  }
}

TEST_F(FleetStream, ShortMemoryOnOneOfSeveral) {
  const auto small = add("scripted:0"), large = add("scripted:1");
  small->memory = 0;
  const auto two = fleet();
  const Words in = words(40);
  EXPECT_TRUE(passed(*two, in) == in);
  EXPECT_EQ(large->done, 40u);
  EXPECT_TRUE(two->failed().empty()) << "memory may come back";
  large->memory = 0;
  EXPECT_THROW(passed(*two, in), OutOfMemoryError);
  small->memory = large->memory = 1000;
  EXPECT_TRUE(passed(*two, in) == in);
}

TEST_F(FleetStream, OtherErrorsAreThrown) {
  for (const std::size_t devices : {1u, 2u}) {
    for (std::size_t d = 0; d < devices; ++d) add("scripted:" + std::to_string(d));
    const auto several = fleet();
    EXPECT_THROW(several->stream({.memory = 1,
                                  .work = [](const backend::Queue&, std::size_t,
                                             Range) -> Job::Fetch { throw ShapeError("no"); }},
                                 20),
                 ShapeError);
    EXPECT_TRUE(several->failed().empty());
  }
}

TEST_F(FleetStream, ARefusedCallFailsNoDevice) {
  for (const std::size_t devices : {1u, 2u}) {
    for (std::size_t d = 0; d < devices; ++d) add("scripted:" + std::to_string(d));
    const auto several = fleet();
    const auto refused = [](const backend::Queue&, std::size_t, Range) -> Job::Fetch {
      throw backend::RefusedError("no kernel");
    };
    EXPECT_THROW(several->stream({.memory = 1, .work = refused}, 20), backend::RefusedError);
    EXPECT_TRUE(several->failed().empty());
    const Words in = words(20);
    EXPECT_TRUE(passed(*several, in) == in);
  }
}

TEST_F(FleetStream, OneThatFailsBesideARefusalIsMarked) {
  add("scripted:0");
  add("scripted:1");
  const auto two = fleet();
  EXPECT_THROW(
      two->stream({.memory = 1,
                   .work = [](const backend::Queue&, std::size_t lane, Range) -> Job::Fetch {
                     if (lane == 0) throw backend::RefusedError("no kernel");
                     throw DeviceError("code 999");
                   }},
                  20),
      backend::RefusedError);
  ASSERT_EQ(two->failed().size(), 1u);
  EXPECT_EQ(two->failed()[0].name, "scripted:1");
}

TEST_F(FleetStream, CallsFromSeveralThreads) {
  const auto first = add("scripted:0"), second = add("scripted:1");
  test::fail_amid_calls(*first, *second);
  const auto two = fleet();
  const Words in = words(48);
  EXPECT_EQ(test::failed_calls([&] { return passed(*two, in) == in; }), 0);
  ASSERT_EQ(two->failed().size(), 1u);
  EXPECT_EQ(two->failed()[0].name, "scripted:1");
  EXPECT_LE(first->opened, 9) << "queues are made for calls that meet, not for each call";
}

TEST_F(FleetStream, InterruptIsPolledFromTheCallingThread) {
  std::atomic<bool> stop = false;
  std::atomic<int> elsewhere = 0;
  const std::thread::id here = std::this_thread::get_id();
  const auto interrupt = guarded([&] {
    elsewhere += std::this_thread::get_id() != here;
    return stop.load();
  });
  const auto first = add("scripted:0"), second = add("scripted:1");
  for (const auto& script : {first, second}) {
    script->batch_limit = 1;
    script->pause = std::chrono::microseconds(20000);
    script->interrupt = interrupt;
  }
  const auto two = fleet(1, interrupt);
  const Words in = words(100);
  std::jthread soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_THROW(passed(*two, in), InterruptedError);
  EXPECT_LT(first->done + second->done, 100u) << "stopped between pieces";
  stop = false;
  first->pause = second->pause = std::chrono::microseconds(0);
  EXPECT_TRUE(passed(*two, in) == in);
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(FleetStream, InterruptThatThrows) {
  std::atomic<bool> stop = false;
  struct Mine {};
  const auto first = add("scripted:0"), second = add("scripted:1");
  first->batch_limit = second->batch_limit = 1;
  first->pause = second->pause = std::chrono::microseconds(5000);
  const auto two = fleet(1, [&]() -> bool {
    if (stop) throw Mine();
    return false;
  });
  const Words in = words(60);
  stop = true;
  EXPECT_THROW(passed(*two, in), Mine);
  stop = false;
  EXPECT_TRUE(passed(*two, in) == in);
}

}  // namespace
}  // namespace whorl::run
