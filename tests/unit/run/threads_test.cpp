#include "run/threads.h"
#include "run/fleet.h"
#include "support/test.h"

namespace whorl::run {
namespace {

using namespace std::chrono_literals;

TEST(InThreads, EachNumberOnceInAThreadOfItsOwn) {
  std::mutex mutex;
  std::set<std::size_t> numbers;
  std::set<std::thread::id> threads;
  std::atomic<int> there = 0;
  in_threads(4,
             [&](std::size_t i) {
               const auto end = std::chrono::steady_clock::now() + 10s;
               for (++there; there < 4 && std::chrono::steady_clock::now() < end;)
                 std::this_thread::yield();
               EXPECT_EQ(there, 4) << "all at once";
               const std::scoped_lock lock(mutex);
               EXPECT_TRUE(numbers.insert(i).second);
               threads.insert(std::this_thread::get_id());
             },
             {});
  EXPECT_EQ(numbers, (std::set<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(threads.size(), 4u);
}

TEST(InThreads, NoneIsNoWork) {
  in_threads(0, [](std::size_t) { ADD_FAILURE(); }, {});
}

TEST(InThreads, TheCallerIsAskedAndTheOthersAreTold) {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> stop = false;
  const auto interrupt = guarded([&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return stop.load();
  });
  std::atomic<int> told = 0;
  EXPECT_THROW(in_threads(
                   3,
                   [&](std::size_t) {
                     stop = true;
                     while (!interrupt()) std::this_thread::sleep_for(1ms);
                     ++told;
                   },
                   interrupt),
               InterruptedError);
  EXPECT_EQ(told, 3) << "it returns when all are done";
}

TEST(InThreads, WhatTheInterruptThrowsIsThrown) {
  std::atomic<int> done = 0;
  const auto interrupt = [&]() -> bool { throw std::runtime_error("stop"); };
  EXPECT_THROW(in_threads(
                   2,
                   [&](std::size_t) {
                     std::this_thread::sleep_for(100ms);
                     ++done;
                   },
                   interrupt),
               std::runtime_error);
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace whorl::run
