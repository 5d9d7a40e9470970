// Loops in parallel, and the memory that calls leave to one another; phases: see crew_test.cpp.
#include "backend/parallel.h"

#include "backend/block_cache.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

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
