#include "backend/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
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

void parallel_for(std::size_t count, const Workers& workers,
                  const std::function<void(std::size_t)>& body) {
  const Phase phase{count, std::cref(body)};
  parallel_phases({&phase, 1}, workers);
}

namespace {

/// How far a phase is. Each thread has a range of the items, and helps with those of others when
/// it is through: so what it finds in its cache is mostly its own, if ranges of one phase go with
/// those of the next. A phase is begun when all items of the one before are, so that whoever waits
/// for an item waits for a thread that has begun it.
class Progress {
 public:
  /// `after`: the phase that follows, if any.
  Progress(const Phase& phase, const Phase* after, std::size_t groups, std::size_t ranges)
      : grouped_(after && phase.group && after->group),
        ranges_(ranges),
        pending_(grouped_ ? groups : 1) {
    for (std::size_t r = 0; r < ranges; ++r) {
      ranges_[r].next = r * phase.count / ranges;
      ranges_[r].end = (r + 1) * phase.count / ranges;
    }
    if (!grouped_)
      pending_[0] = phase.count;
    else
      for (std::size_t i = 0; i < phase.count; ++i)
        pending_[phase.group(i)].fetch_add(1, std::memory_order_relaxed);
  }

  /// An item for thread `k` to begin, if one is left.
  std::optional<std::size_t> begin(std::size_t k) {
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      Range& range = ranges_[(k + r) % ranges_.size()];
      if (range.next.load(std::memory_order_relaxed) >= range.end) continue;
      const std::size_t i = range.next.fetch_add(1, std::memory_order_relaxed);
      if (i < range.end) return i;
    }
    return {};
  }
  std::size_t left() const {
    std::size_t items = 0;
    for (const Range& range : ranges_)
      items += range.end - std::min(range.end, range.next.load(std::memory_order_relaxed));
    return items;
  }
  /// Whether that was the last of something that items of the phase after wait for.
  bool end(const Phase& phase, std::size_t i) {
    return pending_[grouped_ ? phase.group(i) : 0].fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool ended_for(const Phase& after, std::size_t i) const {
    return pending_[grouped_ ? after.group(i) : 0].load(std::memory_order_acquire) == 0;
  }

 private:
  struct alignas(64) Range {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };
  const bool grouped_;
  std::vector<Range> ranges_;
  std::vector<std::atomic<std::size_t>> pending_;
};

}  // namespace

void parallel_phases(std::span<const Phase> phases, const Workers& workers, std::size_t groups) {
  // One without items would let those after it overtake those before it.
  std::vector<const Phase*> order;
  std::size_t threads = 0;
  for (const Phase& phase : phases) {
    if (phase.count > 0) order.push_back(&phase);
    threads = std::max(threads, phase.count);
  }
  threads = std::min<std::size_t>(std::max(1u, workers.threads), threads);
  std::deque<Progress> progress;  // they do not move
  for (std::size_t p = 0; p < order.size(); ++p)
    progress.emplace_back(*order[p], p + 1 < order.size() ? order[p + 1] : nullptr, groups,
                          threads);
  const std::chrono::nanoseconds patience =
      workers.crew ? workers.crew->patience() : std::chrono::microseconds(1);
  alignas(64) std::atomic<std::uint32_t> news{
      0};  // how often something has ended that may be waited for
  alignas(64) std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  const auto poll = [&](std::size_t p) {
    if (workers.interrupt && workers.interrupt())
      throw InterruptedError("stopped after " +
                             std::to_string(order[p]->count - progress[p].left()) + " of " +
                             std::to_string(order[p]->count) + " pieces of work");
  };
  const auto tell = [&] {
    news.fetch_add(1);
    news.notify_all();
  };
  const auto await = [&](std::size_t p, std::size_t i) {
    const auto ready = [&] {
      return progress[p - 1].ended_for(*order[p], i) || stop.load(std::memory_order_relaxed);
    };
    while (!spin(patience, ready)) {
      const std::uint32_t seen = news.load();
      if (ready()) return;
      news.wait(seen);
    }
  };
  const auto work = [&](unsigned number) {
    try {
      for (std::size_t p = 0; p < order.size(); ++p) {
        while (true) {
          if (stop.load(std::memory_order_relaxed)) return;
          if (number == 0) poll(p);
          const std::optional<std::size_t> item = progress[p].begin(number);
          if (!item) break;
          const std::size_t i = *item;
          if (p > 0) {
            await(p, i);
            if (stop.load(std::memory_order_relaxed)) return;
          }
          order[p]->body(i);
          if (progress[p].end(*order[p], i)) tell();
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
