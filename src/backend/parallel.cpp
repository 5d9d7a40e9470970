#include "backend/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "whorl/error.h"

namespace whorl::backend {

unsigned available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, const Workers& workers,
                  const std::function<void(std::size_t)>& body) {
  if (count == 0) return;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  auto work = [&](bool polls) {
    try {
      while (!stop.load(std::memory_order_relaxed)) {
        if (polls && workers.interrupt && workers.interrupt())
          throw InterruptedError("stopped after " + std::to_string(std::min(next.load(), count)) +
                                 " of " + std::to_string(count) + " pieces of work");
        const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= count) return;
        body(i);
      }
    } catch (...) {
      stop = true;
      const std::scoped_lock lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };

  const std::size_t helpers = std::min<std::size_t>(std::max(1u, workers.threads), count);
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t t = 1; t < helpers; ++t) threads.emplace_back(work, false);
    } catch (const std::system_error&) {
      // The system grants no more threads: those there are do the work.
    }
    work(true);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace whorl::backend
