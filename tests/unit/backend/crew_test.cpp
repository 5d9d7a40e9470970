// Every promise of parallel_phases, with a crew and without, and what threads that stay add to it.
#include "backend/crew.h"

#include "backend/parallel.h"
#include "support/forked.h"
#include "support/sanitizers.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using namespace std::chrono_literals;

Workers workers_with(const std::shared_ptr<Crew>& crew, unsigned threads,
                     std::function<bool()> interrupt = {}) {
  return {threads, std::move(interrupt), crew};
}

/// Items of each phase add up what they wait for; whether all sums are right.
bool phases_follow(test::Random& random, const Workers& workers) {
  const std::size_t groups = 1 + random.below(5);
  std::vector<std::vector<std::size_t>> results;
  std::vector<bool> grouped;
  for (std::size_t p = 0; p < 4; ++p) {
    grouped.push_back(random.below(2));
    // Each group has an item in every phase that has groups; other phases may be empty.
    results.emplace_back(grouped[p] ? groups * (1 + random.below(8)) : random.below(40), 0);
  }
  // What item i of phase p adds up: those of its group, or all.
  const auto expected = [&](std::size_t p, std::size_t i) {
    std::size_t sum = 1;
    if (p > 0)
      for (std::size_t j = 0; j < results[p - 1].size(); ++j)
        if (!(grouped[p - 1] && grouped[p]) || j % groups == i % groups) sum += results[p - 1][j];
    return sum;
  };
  std::vector<Phase> phases;
  for (std::size_t p = 0; p < results.size(); ++p) {
    phases.push_back(
        {results[p].size(), [&, p](std::size_t i) { results[p][i] = expected(p, i); }});
    if (grouped[p]) phases[p].group = [groups](std::size_t i) { return i % groups; };
  }
  parallel_phases(phases, workers, groups);
  bool right = true;
  for (std::size_t p = 0; p < results.size(); ++p)
    for (std::size_t i = 0; i < results[p].size(); ++i) right &= results[p][i] == expected(p, i);
  return right;
}

/// Whether a sum over some items comes out.
bool adds_up(const Workers& workers, std::size_t count) {
  std::atomic<std::size_t> sum{0};
  parallel_for(count, workers, [&](std::size_t i) { sum += i + 1; });
  return sum == count * (count + 1) / 2;
}

TEST(BackendCrew, PhasesFollowOneAnother) {
  test::Random random;
  for (int round = 0; round < 20; ++round) {
    const unsigned helpers = static_cast<unsigned>(random.below(5));
    const auto crew = std::make_shared<Crew>(helpers);
    for (int call = 0; call < 50; ++call) {
      // More threads than the crew has are no more than it has.
      const unsigned threads = 1 + static_cast<unsigned>(random.below(7));
      const bool fresh = random.below(6) == 0;
      ASSERT_TRUE(phases_follow(random, workers_with(fresh ? nullptr : crew, threads)))
          << helpers << " helpers, " << threads << " threads, fresh: " << fresh;
      if (random.below(20) == 0) std::this_thread::sleep_for(200us);  // the crew falls asleep
    }
  }
}

TEST(BackendCrew, FailureAndInterruptEndTheCall) {
  const auto stays = std::make_shared<Crew>(2);
  test::Random random;
  for (int round = 0; round < 400; ++round) {
    const auto crew = round % 4 == 3 ? nullptr : stays;
    std::atomic<int> later{0};
    const std::size_t bad = random.below(8);
    const Phase phases[] = {{8,
                             [&](std::size_t i) {
                               if (i == bad) throw std::runtime_error("bad");
                             }},
                            {8, [&](std::size_t) { ++later; }}};
    EXPECT_THROW(parallel_phases(phases, workers_with(crew, 3)), std::runtime_error);
    EXPECT_EQ(later, 0);
    int polls = 0;
    const std::thread::id caller = std::this_thread::get_id();
    const Phase endless[] = {{1000, [](std::size_t) {}}, {1000, [](std::size_t) {}}};
    // Others may do all of the work before the third look.
    try {
      parallel_phases(endless, workers_with(crew, 2, [&] {
                        EXPECT_EQ(std::this_thread::get_id(), caller);
                        return ++polls > 2;
                      }));
    } catch (const InterruptedError&) {
      EXPECT_EQ(polls, 3);
    }
    ASSERT_TRUE(adds_up(workers_with(crew, 3), 100));
    EXPECT_THROW(parallel_for(8, workers_with(crew, 3, [] { return true; }), [](std::size_t) {}),
                 InterruptedError);
  }
}

TEST(BackendCrew, ThreadsStayAndAreNoMoreThanAskedFor) {
  const auto crew = std::make_shared<Crew>(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (const unsigned threads : {1u, 2u, 4u, 9u}) {
    for (int round = 0; round < 200; ++round) {
      std::set<std::thread::id> now;
      parallel_for(16, workers_with(crew, threads), [&](std::size_t) {
        const std::scoped_lock lock(mutex);
        now.insert(std::this_thread::get_id());
      });
      EXPECT_LE(now.size(), threads);
      seen.insert(now.begin(), now.end());
    }
    EXPECT_LE(seen.size(), std::min(threads, 4u)) << "new threads for calls";
  }
  // Two items that wait for one another want two threads.
  std::atomic<int> met{0};
  parallel_for(2, workers_with(crew, 2), [&](std::size_t) {
    ++met;
    while (met < 2) std::this_thread::yield();
  });
  EXPECT_EQ(met, 2);
}

// A crew that is at work is not waited for: other calls have threads of their own, or none.
TEST(BackendCrew, CallsAtTheSameTimeAndWithinOneAnother) {
  const auto crew = std::make_shared<Crew>(2);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    callers.reserve(4);
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&, caller] {
        for (int round = 0; round < 200; ++round) {
          Workers workers = workers_with(crew, 3);
          if (caller % 2) workers.fresh = 1;
          wrong += !adds_up(workers, 1 + static_cast<std::size_t>(round) % 30);
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  parallel_for(6, workers_with(crew, 3),
               [&](std::size_t i) { wrong += !adds_up(workers_with(crew, 3), i + 1); });
  EXPECT_EQ(wrong, 0);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel_for(1, workers_with(crew, 3), [&](std::size_t) {
    Workers workers = workers_with(crew, 3);
    workers.fresh = 1;
    EXPECT_TRUE(crew->run(1, [&](unsigned) {
      parallel_for(50, workers, [&](std::size_t) {
        const std::scoped_lock lock(mutex);
        seen.insert(std::this_thread::get_id());
      });
    }));
  });
  EXPECT_LE(seen.size(), 2u) << "threads were made though the work is not worth them";
}

TEST(BackendCrew, EndsAtAnyTime) {
  test::Random random;
  for (int round = 0; round < 300; ++round) {
    const auto crew = std::make_shared<Crew>(1 + static_cast<unsigned>(random.below(4)));
    for (std::size_t calls = random.below(4); calls > 0; --calls)
      ASSERT_TRUE(adds_up(workers_with(crew, 4), 1 + random.below(10)));
    if (random.below(4) == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
  }
}

// A child has none of its parent's threads. It starts its own, whatever the parent was about.
TEST(BackendCrew, WorksInForkedChildren) {
  if (test::under_thread_sanitizer)
    GTEST_SKIP() << "ThreadSanitizer allows no thread in a forked child";
  auto crew = std::make_shared<Crew>(2);
  const auto works = [&] {
    std::atomic<int> met{0};
    parallel_for(3, workers_with(crew, 3), [&](std::size_t) {
      ++met;
      while (met < 3) std::this_thread::yield();
    });
    return met == 3 && adds_up(workers_with(crew, 3), 100);
  };
  EXPECT_TRUE(test::child_succeeds(works)) << "forked before the first call";
  ASSERT_TRUE(works());
  EXPECT_TRUE(test::child_succeeds(works)) << "forked while the crew is awake";
  std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(test::child_succeeds(works)) << "forked while the crew sleeps";
  EXPECT_TRUE(test::child_succeeds([&] { return works() && test::child_succeeds(works); }))
      << "grandchild";
  EXPECT_TRUE(test::child_succeeds([&] {
    crew.reset();
    return true;
  })) << "dropped unused";
  EXPECT_TRUE(test::child_succeeds([&] {
    const bool good = works();
    crew.reset();
    return good;
  })) << "dropped after use";
  // AddressSanitizer's allocator stays locked in a child if another thread had it (LLVM before 17).
  if (!test::under_address_sanitizer) {
    std::atomic<bool> enough{false};
    std::jthread other([&] {
      while (!enough) adds_up(workers_with(crew, 3), 50);
    });
    for (int round = 0; round < 20; ++round)
      EXPECT_TRUE(test::child_succeeds(works))
          << "forked while another thread has the crew at work";
    enough = true;
  }
  EXPECT_TRUE(works());
}

}  // namespace
}  // namespace whorl::backend
