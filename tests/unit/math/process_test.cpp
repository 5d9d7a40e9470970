#include "math/process.h"
#include "support/forked.h"
#include "support/test.h"

namespace whorl::math {
namespace {

TEST(MathProcessMutex, OneThreadAtATime) {
  ProcessMutex mutex;
  std::size_t sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 20000; ++i) {
          const std::scoped_lock lock(mutex);
          ++sum;
        }
      });
  }
  EXPECT_EQ(sum, 80000u);
  const std::unique_lock first(mutex, std::try_to_lock);
  EXPECT_TRUE(first.owns_lock());
  const std::unique_lock second(mutex, std::try_to_lock);
  EXPECT_FALSE(second.owns_lock());
  EXPECT_FALSE(mutex.abandoned());
}

TEST(MathProcessMutex, AbandonedInAForkedChild) {
  ProcessMutex mutex;
  EXPECT_TRUE(test::child_succeeds([&] {
    const std::scoped_lock lock(mutex);
    return !mutex.abandoned();
  })) << "free at the fork";
  std::unique_lock held(mutex);
  EXPECT_TRUE(test::child_succeeds([&] {
    if (!mutex.abandoned() || mutex.try_lock()) return false;
    try {
      mutex.lock();
    } catch (const DeviceError&) {
      return true;
    }
    return false;
  })) << "held at the fork";
  EXPECT_TRUE(test::child_succeeds([&] {
    held.unlock();
    const std::scoped_lock lock(mutex);
    return test::child_succeeds([&] { return mutex.abandoned(); });
  })) << "the thread that holds it goes on in the child";
  EXPECT_FALSE(mutex.abandoned());
}

}  // namespace
}  // namespace whorl::math
