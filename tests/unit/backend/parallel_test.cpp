// Phases of parallel work, and the memory that calls leave to one another.
#include "backend/parallel.h"

#include "backend/block_cache.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

// Each item of a phase adds up the whole phase before it: one that began early would miss some.
TEST(BackendParallel, PhasesFollowOneAnother) {
  test::Random random;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<std::size_t>> results;
    for (std::size_t p = 0; p < 4; ++p) results.emplace_back(random.below(40), 0);
    std::vector<Phase> phases;
    for (std::size_t p = 0; p < results.size(); ++p)
      phases.push_back({results[p].size(), [&results, p](std::size_t i) {
                          results[p][i] = 1;
                          if (p > 0)
                            for (const std::size_t x : results[p - 1]) results[p][i] += x;
                        }});
    const unsigned threads = 1 + static_cast<unsigned>(random.below(4));
    parallel_phases(phases, {threads, {}});
    for (std::size_t p = 0; p < results.size(); ++p) {
      std::size_t expected = 1;
      if (p > 0)
        for (const std::size_t x : results[p - 1]) expected += x;
      for (const std::size_t x : results[p])
        ASSERT_EQ(x, expected) << "phase " << p << ", " << threads << " threads";
    }
  }
}

// Whoever waits for the end of a phase that fails is let go, and later phases do not run.
TEST(BackendParallel, FailureEndsAllPhases) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> later{0};
    const Phase phases[] = {{8,
                             [&](std::size_t i) {
                               if (i == 5) throw std::runtime_error("five");
                             }},
                            {8, [&](std::size_t) { ++later; }}};
    EXPECT_THROW(parallel_phases(phases, {3, {}}), std::runtime_error);
    EXPECT_EQ(later, 0);
  }
  int polls = 0;
  const Phase endless[] = {{1000, [](std::size_t) {}}, {1000, [](std::size_t) {}}};
  EXPECT_THROW(parallel_phases(endless, {2, [&] { return ++polls > 3; }}), InterruptedError);
}

TEST(BackendBlockCache, BlocksComeBack) {
  const auto cache = std::make_shared<BlockCache>();
  const std::size_t bytes = std::size_t{3} << 20;
  void* first = nullptr;
  {
    const auto block = cache->take(bytes, "a test");
    first = block.get();
    const auto other = cache->take(bytes, "a test");
    EXPECT_NE(other.get(), first);
    static_cast<char*>(other.get())[bytes - 1] = 1;
  }
  // The last one given back comes first, and is as it was left.
  const auto again = cache->take(bytes, "a test"), second = cache->take(bytes, "a test");
  EXPECT_TRUE(again.get() == first || second.get() == first);
  EXPECT_NE(again.get(), second.get());
  EXPECT_NE(cache->take(2 * bytes, "a test").get(), first);
  EXPECT_NE(cache->take(0, "a test"), nullptr);
  EXPECT_THROW(cache->take(std::size_t{1} << 60, "a test"), OutOfMemoryError);
}

TEST(BackendParallel, MoreThreadsThanAMachineCouldHaveAreRefused) {
  EXPECT_EQ(threads_or_cores(1), 1u);
  EXPECT_EQ(threads_or_cores(most_threads), most_threads);
  EXPECT_GE(threads_or_cores(0), 1u);
  EXPECT_THROW(threads_or_cores(most_threads + 1), ParameterError);
  EXPECT_THROW(threads_or_cores(1u << 30), ParameterError);
}

TEST(BackendParallel, EveryItemOnceAndTheFirstError) {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    std::vector<std::atomic<int>> seen(100);
    parallel_for(100, {threads, {}}, [&](std::size_t i) { ++seen[i]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
    EXPECT_THROW(parallel_for(100, {threads, {}},
                              [](std::size_t i) {
                                if (i == 57) throw ShapeError("57");
                              }),
                 ShapeError);
    std::atomic<int> done = 0;
    EXPECT_THROW(parallel_for(100, {threads, [&] { return done > 0; }},
                              [&](std::size_t) {
                                ++done;
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              }),
                 InterruptedError);
    EXPECT_LT(done, 100);
    parallel_for(0, {threads, [] { return true; }}, [](std::size_t) { FAIL(); });
  }
}

}  // namespace
}  // namespace whorl::backend
