#include "backend/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
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
  const Phase phase{count, std::cref(body)};
  parallel_phases({&phase, 1}, workers);
}

void parallel_phases(std::span<const Phase> phases, const Workers& workers) {
  struct Progress {
    std::atomic<std::size_t> next{0}, done{0};
  };
  std::vector<Progress> progress(phases.size());
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  const auto poll = [&](std::size_t p) {
    if (workers.interrupt && workers.interrupt())
      throw InterruptedError("stopped after " +
                             std::to_string(std::min(progress[p].next.load(), phases[p].count)) +
                             " of " + std::to_string(phases[p].count) + " pieces of work");
  };
  // Phases end within microseconds of one another's items: it is worth looking a little while
  // before a thread is laid to sleep.
  const auto await = [&](std::size_t p) {
    for (unsigned looks = 0;; ++looks) {
      const std::size_t done = progress[p].done.load(std::memory_order_acquire);
      if (done >= phases[p].count) return;
      if (looks > 2000) progress[p].done.wait(done, std::memory_order_acquire);
    }
  };
  const auto work = [&](bool polls) {
    try {
      for (std::size_t p = 0; p < phases.size(); ++p) {
        const std::size_t count = phases[p].count;
        while (true) {
          if (stop.load(std::memory_order_relaxed)) return;
          if (polls && count > 0) poll(p);
          const std::size_t i = progress[p].next.fetch_add(1, std::memory_order_relaxed);
          if (i >= count) break;
          phases[p].body(i);
          if (progress[p].done.fetch_add(1, std::memory_order_acq_rel) + 1 == count)
            progress[p].done.notify_all();
        }
        if (p + 1 < phases.size()) await(p);
      }
    } catch (...) {
      stop = true;
      for (std::size_t p = 0; p < phases.size(); ++p) {  // nobody is to wait for what never ends
        progress[p].done.store(phases[p].count, std::memory_order_release);
        progress[p].done.notify_all();
      }
      const std::scoped_lock lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };

  std::size_t helpers = 0;
  for (const Phase& phase : phases) helpers = std::max(helpers, phase.count);
  helpers = std::min<std::size_t>(std::max(1u, workers.threads), helpers);
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
