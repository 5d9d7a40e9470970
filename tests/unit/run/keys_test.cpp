// Keys on devices: within a budget, taking turns, shared by threads, short of memory.
#include "run/keys.h"
#include "run/move.h"
#include "run/stored.h"
#include "support/limited_device.h"
#include "support/scripted_device.h"
#include "support/test.h"

namespace whorl::run {
namespace {

using Key = backend::Buffer<std::uint8_t>;
constexpr std::size_t key_bytes = 1000;

class Keys : public ::testing::Test {
 protected:
  std::unique_ptr<const KeyOnDevices> key(const std::shared_ptr<KeyBudget>& budget,
                                          std::uint8_t value, std::size_t bytes = key_bytes) {
    return key_of_about(bytes, budget, value, bytes);
  }
  std::unique_ptr<const KeyOnDevices> key_of_about(std::size_t about,
                                                   const std::shared_ptr<KeyBudget>& budget,
                                                   std::uint8_t value,
                                                   std::size_t bytes = key_bytes) {
    return std::make_unique<const KeyOnDevices>(
        budget, about, [this, value, bytes](const backend::Queue& queue) -> SizedKey {
          ++prepared_;
          auto out = std::make_shared<Key>(queue.allocate<std::uint8_t>(bytes));
          queue.upload<std::uint8_t>(std::vector<std::uint8_t>(bytes, value), out->slice());
          return {out, bytes};
        });
  }
  std::shared_ptr<const Lane> lane(const std::string& name = "limited") const {
    return std::make_shared<const Lane>(test::limited_device(limit_, name));
  }
  static std::uint8_t value(const Lane& lane, const KeyOnDevices& key) {
    const auto held = lane.hold();
    const auto there = key.on<Key>(lane);
    return fetch<std::uint8_t>(lane, there->slice()).back();
  }
  /// Another thread gets `b`, of value 2, once this one lets go of `a`, which leaves for it.
  static void expect_wait(const Lane& lane, const KeyOnDevices& a, const KeyOnDevices& b) {
    std::atomic<bool> done = false;
    auto held = a.on<Key>(lane);
    std::jthread other([&] {
      EXPECT_EQ(value(lane, b), 2);
      done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(done);
    held.reset();
    other.join();
    EXPECT_TRUE(b.is_on(lane));
    EXPECT_FALSE(a.is_on(lane));
  }

  std::shared_ptr<test::MemoryLimit> limit_ = [] {
    auto limit = std::make_shared<test::MemoryLimit>();
    limit->bytes = 1 << 20;
    return limit;
  }();
  std::atomic<int> prepared_ = 0;
};

TEST_F(Keys, ArePreparedOnceALane) {
  const auto budget = std::make_shared<KeyBudget>();
  const auto first = lane("limited:0"), second = lane("limited:1");
  {
    const auto k = key(budget, 1);
    EXPECT_FALSE(k->is_on(*first));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(value(*first, *k), 1);
    EXPECT_EQ(prepared_, 1);
    EXPECT_TRUE(k->is_on(*first));
    EXPECT_FALSE(k->is_on(*second));
    EXPECT_EQ(k->bytes_on(*first), key_bytes);
    EXPECT_EQ(k->bytes_on(*second), 0u);
    value(*second, *k);
    EXPECT_EQ(prepared_, 2);
    EXPECT_EQ(budget->used(*first), key_bytes);
    EXPECT_EQ(limit_->used, 2 * key_bytes);
    k->release(*first);
    EXPECT_FALSE(k->is_on(*first));
    EXPECT_EQ(budget->used(*first), 0u);
    EXPECT_EQ(budget->used(*second), key_bytes);
    EXPECT_EQ(limit_->used, key_bytes);
    k->release(*first);
    EXPECT_EQ(value(*first, *k), 1);
    EXPECT_EQ(prepared_, 3);
  }
  EXPECT_EQ(budget->used(*first), 0u);
  EXPECT_EQ(limit_->used, 0u);
}

TEST_F(Keys, TakeTurnsWhereThereIsRoomForOne) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes * 3 / 2);
  const auto there = lane();
  const auto a = key(budget, 1), b = key(budget, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(*there, *a), 1);
    EXPECT_EQ(value(*there, *b), 2);
    EXPECT_FALSE(a->is_on(*there));
    EXPECT_LE(limit_->used, budget->bytes());
  }
  EXPECT_EQ(prepared_, 6);
}

TEST_F(Keys, TheLongestUnusedLeaves) {
  const auto budget = std::make_shared<KeyBudget>(3 * key_bytes);
  const auto there = lane();
  const auto a = key(budget, 1), b = key(budget, 2), c = key(budget, 3), d = key(budget, 4);
  for (const auto* k : {&a, &b, &c, &a}) value(*there, **k);
  value(*there, *d);
  EXPECT_TRUE(a->is_on(*there));
  EXPECT_FALSE(b->is_on(*there));
  EXPECT_TRUE(c->is_on(*there) && d->is_on(*there));
  const auto large = key(budget, 5, 2 * key_bytes);
  value(*there, *large);
  EXPECT_TRUE(d->is_on(*there) && large->is_on(*there));
  EXPECT_FALSE(a->is_on(*there) || c->is_on(*there));
}

TEST_F(Keys, OneTooLargeIsRefused) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes - 1);
  const auto there = lane();
  const auto k = key(budget, 1);
  test::expect_message<OutOfMemoryError>([&] { value(*there, *k); },
                                         {"a key of 1000 bytes", "may take 999 bytes"});
  EXPECT_EQ(prepared_, 0);
  EXPECT_FALSE(there->held());
}

TEST_F(Keys, OneSmallerThanReservedCountsForWhatItTakes) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes * 5 / 2);
  const auto there = lane();
  const auto a = key_of_about(key_bytes * 3 / 2, budget, 1);
  const auto b = key_of_about(key_bytes * 3 / 2, budget, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(*there, *a), 1);
    EXPECT_EQ(budget->used(*there), limit_->used);
    EXPECT_EQ(value(*there, *b), 2);
    EXPECT_EQ(budget->used(*there), 2 * key_bytes);
  }
  EXPECT_EQ(a->bytes_on(*there), key_bytes);
  EXPECT_EQ(limit_->used, 2 * key_bytes);
  EXPECT_EQ(prepared_, 2);
}

TEST_F(Keys, RoomIsMadeForWhatOneTookBefore) {
  const auto budget = std::make_shared<KeyBudget>(2 * key_bytes);
  const auto there = lane();
  const auto a = key_of_about(key_bytes * 3 / 2, budget, 1);
  const auto b = key_of_about(key_bytes * 3 / 2, budget, 2);
  value(*there, *a);
  value(*there, *b);
  EXPECT_FALSE(a->is_on(*there)) << "nobody knew";
  value(*there, *a);
  EXPECT_TRUE(a->is_on(*there) && b->is_on(*there));
  EXPECT_EQ(prepared_, 3);
}

TEST_F(Keys, OneLargerThanReservedGetsTheRestOfItsRoom) {
  const auto there = lane();
  const auto budget = std::make_shared<KeyBudget>(key_bytes * 3 / 2);
  const auto a = key(budget, 1), b = key_of_about(key_bytes / 2, budget, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(*there, *a), 1);
    EXPECT_EQ(value(*there, *b), 2);
    EXPECT_FALSE(a->is_on(*there));
    EXPECT_EQ(budget->used(*there), key_bytes);
    EXPECT_EQ(limit_->used, key_bytes);
  }
}

TEST_F(Keys, OneFoundTooLargeIsRefusedAndLeavesNothing) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes - 1);
  const auto there = lane();
  const auto k = key_of_about(1, budget, 1);
  for (int i = 0; i < 2; ++i) {
    test::expect_message<OutOfMemoryError>([&] { value(*there, *k); },
                                           {"a key of 1000 bytes", "in use take 0"});
    EXPECT_EQ(prepared_, 1) << "from then on its size is known";
    EXPECT_EQ(budget->used(*there), 0u);
    EXPECT_EQ(limit_->used, 0u);
    EXPECT_FALSE(k->is_on(*there) || there->held());
  }
}

TEST_F(Keys, OneLargerThanReservedWaitsForAnotherThreadsCall) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes * 3 / 2);
  const auto there = lane();
  const auto a = key(budget, 1), b = key_of_about(key_bytes / 2, budget, 2);
  expect_wait(*there, *a, *b);
}

TEST_F(Keys, OneInUseStays) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes);
  const auto there = lane();
  const auto a = key(budget, 1), b = key(budget, 2);
  auto held = a->on<Key>(*there);
  EXPECT_THROW(b->on<Key>(*there), OutOfMemoryError) << "this thread would wait for itself";
  EXPECT_TRUE(a->is_on(*there));
  a->release(*there);
  EXPECT_FALSE(a->is_on(*there));
  EXPECT_EQ(limit_->used, key_bytes) << "the call goes on with it";
  EXPECT_EQ(budget->used(*there), key_bytes);
  held.reset();
  EXPECT_EQ(limit_->used, 0u);
  EXPECT_EQ(value(*there, *b), 2);
}

TEST_F(Keys, ACallWithTheKeyOutlivesIt) {
  const auto budget = std::make_shared<KeyBudget>();
  const auto there = lane();
  auto a = key(budget, 9);
  const auto held = a->on<Key>(*there);
  a.reset();
  EXPECT_EQ(fetch<std::uint8_t>(*there, held->slice())[0], 9);
  EXPECT_EQ(budget->used(*there), key_bytes);
}

TEST_F(Keys, WhatARelayHoldsIsOfTheDeviceBehindIt) {
  const auto device = test::limited_device(limit_);
  const auto behind = std::make_shared<const Lane>(device);
  const auto relayed =
      std::make_shared<const Lane>(std::make_shared<backend::RelayDevice<>>("rtl:0", device));
  EXPECT_EQ(relayed->name(), "rtl:0");
  EXPECT_EQ(relayed->hardware(), behind->hardware());
  const auto budget = std::make_shared<KeyBudget>(key_bytes);
  const auto a = key(budget, 1), b = key(budget, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(*behind, *a), 1);
    EXPECT_EQ(value(*relayed, *b), 2);
    EXPECT_FALSE(a->is_on(*behind));
    EXPECT_EQ(limit_->used, key_bytes);
    EXPECT_EQ(budget->used(*behind), key_bytes);
  }
  // So it is where the memory itself is short.
  limit_->bytes = key_bytes;
  const auto unlimited = std::make_shared<KeyBudget>();
  const auto c = key(unlimited, 1), d = key(unlimited, 2);
  a->release(*behind);
  b->release(*relayed);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(*behind, *c), 1);
    EXPECT_EQ(value(*relayed, *d), 2);
    EXPECT_TRUE(!c->is_on(*behind) && d->is_on(*relayed));
  }
  // However many threads it has.
  for (const unsigned threads : {1u, 2u})
    EXPECT_EQ(Lane(backend::make_device("cpu", {threads, {}})).hardware(), "cpu");
}

TEST_F(Keys, AnotherThreadsCallIsWaitedFor) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes);
  const auto there = lane();
  const auto a = key(budget, 1), b = key(budget, 2);
  expect_wait(*there, *a, *b);
}

TEST_F(Keys, ThreadsThatWantEachOthersKeysAreNotStuck) {
  const auto budget = std::make_shared<KeyBudget>(key_bytes);
  const auto there = lane();
  const auto a = key(budget, 1), b = key(budget, 2);
  std::atomic<int> refused = 0, done = 0;
  const auto both = [&](const KeyOnDevices& first, const KeyOnDevices& second) {
    for (int i = 0; i < 50; ++i) {
      try {
        const auto one = first.on<Key>(*there);
        const auto two = second.on<Key>(*there);
        ++done;
      } catch (const OutOfMemoryError&) {
        ++refused;
      }
    }
  };
  {
    const std::jthread one([&] { both(*a, *b); }), two([&] { both(*b, *a); });
  }
  EXPECT_EQ(done, 0);
  EXPECT_EQ(refused, 100);
  EXPECT_EQ(value(*there, *a), 1) << "nothing is left behind";
}

TEST_F(Keys, SeveralThreadsManyKeys) {
  const auto budget = std::make_shared<KeyBudget>(4 * key_bytes);
  const auto first = lane("limited:0"), second = lane("limited:1");
  std::vector<std::unique_ptr<const KeyOnDevices>> keys;
  // Some take less than was reserved for them, some more.
  for (std::uint8_t k = 0; k < 10; ++k)
    keys.push_back(key_of_about(key_bytes * (1 + k % 3) / 2, budget, k));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (std::uint64_t t = 0; t < 4; ++t)
      callers.emplace_back([&, t] {
        test::Random random(17, t);
        for (int i = 0; i < 200; ++i) {
          const auto k = static_cast<std::uint8_t>(random.below(keys.size()));
          const auto& lane = random.below(2) ? first : second;
          // Under the lane's hold as resident arrays', or without as a batch's that passes through.
          if (random.below(2))
            wrong += value(*lane, *keys[k]) != k;
          else
            wrong += keys[k]->on<Key>(*lane)->slice().data[0] != k;
          if (random.below(20) == 0) keys[k]->release(*lane);
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(budget->used(*first), budget->bytes());
  keys.clear();
  EXPECT_EQ(budget->used(*first) + budget->used(*second), 0u);
  EXPECT_EQ(limit_->used, 0u);
}

TEST_F(Keys, ADeviceShortOfMemoryLetsUnusedOnesGo) {
  const auto budget = std::make_shared<KeyBudget>();  // more than the device has
  limit_->bytes = 2 * key_bytes + 10;
  const auto there = lane();
  const auto a = key(budget, 1), b = key(budget, 2), c = key(budget, 3);
  for (const auto* k : {&a, &b, &c}) value(*there, **k);
  EXPECT_FALSE(a->is_on(*there));
  EXPECT_TRUE(b->is_on(*there) && c->is_on(*there));
  EXPECT_EQ(budget->make_room(*there, 1), key_bytes);
  EXPECT_FALSE(b->is_on(*there));

  // Arrays leave for keys, too.
  Stored<std::uint8_t> array(*there, place<std::uint8_t>(*there, std::vector<std::uint8_t>(900)));
  const auto held = c->on<Key>(*there);
  EXPECT_EQ(value(*there, *b), 2);
  EXPECT_TRUE(array.on_host());
  limit_->bytes = key_bytes;
  b->release(*there);
  EXPECT_THROW(value(*there, *b), OutOfMemoryError);
  EXPECT_FALSE(b->is_on(*there));
}

TEST_F(Keys, UnusedOnesLeaveForArraysAfterOtherArrays) {
  const auto budget = std::make_shared<KeyBudget>();
  limit_->bytes = 2 * key_bytes + 1000;
  const auto there = lane();
  const auto used = key(budget, 1), unused = key(budget, 2);
  value(*there, *used);
  value(*there, *unused);
  const auto array_of = [&](std::size_t bytes) {
    Stored<std::uint8_t> out;
    with_room(
        *there, [] { return false; },
        [&] {
          const auto held = used->on<Key>(*there);
          out = {*there, place<std::uint8_t>(*there, std::vector<std::uint8_t>(bytes, 7))};
        });
    return out;
  };
  const auto first = array_of(900), second = array_of(900);
  EXPECT_TRUE(first.on_host());
  EXPECT_TRUE(used->is_on(*there) && unused->is_on(*there));
  const auto third = array_of(1900);
  EXPECT_TRUE(second.on_host());
  EXPECT_TRUE(used->is_on(*there));
  EXPECT_FALSE(unused->is_on(*there));
  EXPECT_EQ(prepared_, 3) << "the used one, which nobody held between the attempts, came back";
  EXPECT_THROW(array_of(2100), OutOfMemoryError);
}

TEST_F(Keys, UnusedOnesLeaveForABatchThatPassesThrough) {
  const auto budget = std::make_shared<KeyBudget>();
  limit_->bytes = 2 * key_bytes + 100;
  const Fleet fleet({test::limited_device(limit_)}, {});
  const Lane& there = *fleet.lane(0);
  const auto used = key(budget, 1), unused = key(budget, 2);
  value(there, *used);
  value(there, *unused);
  const auto stream = [&](std::size_t bytes) {
    int done = 0;
    const auto work = [&](const backend::Queue& queue, std::size_t, Range) -> Job::Fetch {
      const auto held = used->on<Key>(there);
      const auto memory = queue.allocate<std::uint8_t>(bytes);
      return [&done, held, memory] { ++done; };
    };
    fleet.stream({.memory = 1, .work = work}, 1);
    return done;
  };
  EXPECT_EQ(stream(100), 1);
  EXPECT_TRUE(unused->is_on(there));
  EXPECT_EQ(stream(1000), 1);
  EXPECT_FALSE(unused->is_on(there));
  EXPECT_TRUE(used->is_on(there));
  EXPECT_THROW(stream(2000), OutOfMemoryError);
}

TEST_F(Keys, ABudgetTooSmallForACallMovesNothingElse) {
  const auto budget = std::make_shared<KeyBudget>(2 * key_bytes);
  const Fleet fleet({test::limited_device(limit_)}, {});
  const Lane& there = *fleet.lane(0);
  const auto a = key(budget, 1), b = key(budget, 2, 2 * key_bytes);
  const auto others = std::make_shared<KeyBudget>();
  const auto of_others = key(others, 3);
  value(there, *of_others);
  const Stored<std::uint8_t> array(there,
                                   place<std::uint8_t>(there, std::vector<std::uint8_t>(900)));
  int calls = 0;
  const auto work = [&](const backend::Queue&, std::size_t, Range) -> Job::Fetch {
    ++calls;
    const auto first = a->on<Key>(there), second = b->on<Key>(there);
    return [] {};
  };
  EXPECT_THROW(fleet.stream({.memory = 1, .work = work}, 64), KeyRoomError);
  EXPECT_EQ(calls, 1) << "halves need the same keys";
  EXPECT_FALSE(array.on_host());
  EXPECT_TRUE(of_others->is_on(there));
}

TEST_F(Keys, AFetchThatThrowsKeepsItsKeysUntilTheQueueIsIdle) {
  const auto budget = std::make_shared<KeyBudget>();
  auto script = std::make_shared<test::Script>();
  const Fleet fleet({std::make_shared<test::ScriptedDevice>(script)}, {});
  struct Watch {
    explicit Watch(test::Script& of) : script(of), before(of.waits) {}
    ~Watch() { EXPECT_GT(script.waits, before) << "let go of before the queue was idle"; }
    test::Script& script;
    int before;
  };
  const auto work = [&](const backend::Queue&, std::size_t, Range) -> Job::Fetch {
    return [held = std::make_shared<Watch>(*script)] { throw ShapeError("no room for results"); };
  };
  EXPECT_THROW(fleet.stream({.memory = 1, .work = work}, 1), ShapeError);
}

TEST_F(Keys, AFailureOfPreparationLeavesNothing) {
  const auto budget = std::make_shared<KeyBudget>();
  const auto there = lane();
  bool fails = true;
  const KeyOnDevices k(budget, key_bytes, [&](const backend::Queue& queue) -> SizedKey {
    if (fails) throw DeviceError("lost");
    return {std::make_shared<Key>(queue.allocate<std::uint8_t>(key_bytes)), key_bytes};
  });
  EXPECT_THROW(k.on<Key>(*there), DeviceError);
  EXPECT_EQ(budget->used(*there), 0u);
  EXPECT_FALSE(there->held());
  fails = false;
  EXPECT_NE(k.on<Key>(*there), nullptr);
}

}  // namespace
}  // namespace whorl::run
