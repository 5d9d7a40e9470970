#include "backend/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "backend/spin.h"
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

unsigned threads_or_cores(unsigned threads) {
  if (threads > most_threads)
    throw ParameterError("threads = " + std::to_string(threads) + " is above " +
                         std::to_string(most_threads));
  return threads == 0 ? std::min(available_cores(), most_threads) : threads;
}

void parallel_for(std::size_t count, const Workers& workers,
                  const std::function<void(std::size_t)>& body) {
  const Phase phase{count, std::cref(body)};
  parallel_phases({&phase, 1}, workers);
}

void parallel_with_progress(std::size_t count, unsigned threads, const Progress& progress,
                            const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> done{0};
  const Workers workers{threads_or_cores(threads),
                        [&] { return progress && !progress(done.load(), count); }};
  parallel_for(count, workers, [&](std::size_t i) {
    body(i);
    ++done;
  });
}

namespace {

/// The progress of phases. In each phase a thread has a range of the items, and helps with the
/// ranges of others when its own is done. If the ranges of two phases mean the same data, a thread
/// finds mostly its own data in its cache. A thread begins a phase when all items of the phase
/// before have begun; so a thread that waits for an item waits for another thread that works on it.
class Progress {
 public:
  Progress(std::span<const Phase> phases, std::size_t groups, std::size_t threads)
      : groups_(groups), threads_(threads) {
    for (const Phase& phase : phases)  // one without items has nothing to be waited for
      if (phase.count > 0) order_.push_back(&phase);
    ranges_ = std::vector<Range>(order_.size() * threads);
    pending_ = std::vector<std::atomic<std::size_t>>(order_.size() * groups);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const std::size_t count = order_[p]->count;
      for (std::size_t r = 0; r < threads; ++r) {
        ranges_[p * threads + r].next = r * count / threads;
        ranges_[p * threads + r].end = (r + 1) * count / threads;
      }
      if (!by_groups(p))
        pending_[p * groups] = count;
      else
        for (std::size_t i = 0; i < count; ++i)
          pending_[p * groups + order_[p]->group(i)].fetch_add(1, std::memory_order_relaxed);
    }
  }

  std::size_t phases() const { return order_.size(); }
  const Phase& phase(std::size_t p) const { return *order_[p]; }

  /// An item of phase p for thread `k` to begin, if one is left.
  std::optional<std::size_t> begin(std::size_t p, std::size_t k) {
    for (std::size_t r = 0; r < threads_; ++r) {
      Range& range = ranges_[p * threads_ + (k + r) % threads_];
      if (range.next.load(std::memory_order_relaxed) >= range.end) continue;
      const std::size_t i = range.next.fetch_add(1, std::memory_order_relaxed);
      if (i < range.end) return i;
    }
    return {};
  }
  std::size_t begun(std::size_t p) const {
    std::size_t left = 0;
    for (std::size_t r = 0; r < threads_; ++r) {
      const Range& range = ranges_[p * threads_ + r];
      left += range.end - std::min(range.end, range.next.load(std::memory_order_relaxed));
    }
    return order_[p]->count - left;
  }
  /// Item i of phase p has ended; whether that was the last of what items of the next wait for.
  bool end(std::size_t p, std::size_t i) {
    return pending(p, p, i).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// Whether item i of phase p need wait no longer.
  bool ready(std::size_t p, std::size_t i) {
    return p == 0 || pending(p - 1, p, i).load(std::memory_order_acquire) == 0;
  }

 private:
  struct alignas(64) Range {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };
  bool by_groups(std::size_t p) const {
    return p + 1 < order_.size() && order_[p]->group && order_[p + 1]->group;
  }
  /// What is left in phase p of the group that has item i of phase `of`.
  std::atomic<std::size_t>& pending(std::size_t p, std::size_t of, std::size_t i) {
    return pending_[p * groups_ + (by_groups(p) ? order_[of]->group(i) : 0)];
  }

  std::size_t groups_, threads_;
  std::vector<const Phase*> order_;
  std::vector<Range> ranges_;
  std::vector<std::atomic<std::size_t>> pending_;
};

}  // namespace

void parallel_phases(std::span<const Phase> phases, const Workers& workers, std::size_t groups) {
  std::size_t threads = 0;
  for (const Phase& phase : phases) threads = std::max(threads, phase.count);
  threads = std::min<std::size_t>(std::max(1u, workers.threads), threads);
  Progress progress(phases, groups, threads);
  const std::chrono::nanoseconds patience =
      workers.crew ? workers.crew->patience() : std::chrono::microseconds(1);
  // How often something has ended that may be waited for.
  alignas(64) std::atomic<std::uint32_t> news{0};
  alignas(64) std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  const auto poll = [&](std::size_t p) {
    if (workers.interrupt && workers.interrupt())
      throw InterruptedError("stopped after " + std::to_string(progress.begun(p)) + " of " +
                             std::to_string(progress.phase(p).count) + " pieces of work");
  };
  const auto tell = [&] {
    news.fetch_add(1);
    news.notify_all();
  };
  const auto await = [&](std::size_t p, std::size_t i) {
    const auto ready = [&] { return progress.ready(p, i) || stop.load(std::memory_order_relaxed); };
    while (!spin(patience, ready)) {
      const std::uint32_t seen = news.load();
      if (ready()) return;
      news.wait(seen);
    }
  };
  const auto work = [&](unsigned number) {
    try {
      for (std::size_t p = 0; p < progress.phases(); ++p) {
        while (true) {
          if (stop.load(std::memory_order_relaxed)) return;
          if (number == 0) poll(p);
          const std::optional<std::size_t> item = progress.begin(p, number);
          if (!item) break;
          await(p, *item);
          if (stop.load(std::memory_order_relaxed)) return;
          progress.phase(p).body(*item);
          if (progress.end(p, *item)) tell();
        }
      }
    } catch (...) {
      const std::scoped_lock lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
      tell();
    }
  };

  const bool helped = threads > 1 && workers.crew &&
                      workers.crew->run(static_cast<unsigned>(threads - 1), std::cref(work));
  if (!helped) {
    std::vector<std::jthread> fresh;
    try {
      for (unsigned t = 1; t < std::min<std::size_t>(threads, workers.fresh); ++t)
        fresh.emplace_back(work, t);
    } catch (const std::system_error&) {
      // The system grants no more threads: those there are do the work.
    }
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace whorl::backend
