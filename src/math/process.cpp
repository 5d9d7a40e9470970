#include "math/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "whorl/error.h"

namespace whorl::math {

namespace {

// Forks seen by this process and its ancestors. The process id alone would miss a grandchild that
// was given the id of its dead grandparent; the count alone would miss a raw clone().
std::atomic<std::uint32_t> forks{0};

}  // namespace

std::uint64_t process_mark() {
  static const bool registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
  if (!registered) throw OutOfMemoryError("no memory to register a fork handler");
  return std::uint64_t{forks.load(std::memory_order_relaxed)} << 32 |
         static_cast<std::uint32_t>(getpid());
}

}  // namespace whorl::math
