#include "run/threads.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "run/fleet.h"
#include "whorl/error.h"

namespace whorl::run {

namespace {

/// How often the calling thread asks whether to stop while others work.
constexpr auto poll_period = std::chrono::milliseconds(20);

/// Points to whether the work of this thread is to stop; null unless it is a thread of a fleet.
thread_local const std::atomic<bool>* stop_of_this_thread = nullptr;

}  // namespace

std::function<bool()> guarded(std::function<bool()> interrupt) {
  return [interrupt = std::move(interrupt)] {
    if (stop_of_this_thread) return stop_of_this_thread->load(std::memory_order_relaxed);
    return interrupt && interrupt();
  };
}

void in_threads(std::size_t count, const std::function<void(std::size_t)>& body,
                const std::function<bool()>& interrupt) {
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable done;
  std::size_t running = count;
  std::exception_ptr thrown;
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = [&, i] {
        const auto* const before = std::exchange(stop_of_this_thread, &stop);
        body(i);
        stop_of_this_thread = before;
        const std::scoped_lock lock(mutex);
        --running;
        done.notify_one();
      };
      try {
        threads.emplace_back(one);
      } catch (const std::system_error&) {
        one();  // the system grants no more threads: this one does it
      }
    }
    std::unique_lock lock(mutex);
    while (!done.wait_for(lock, poll_period, [&] { return running == 0; })) {
      lock.unlock();
      try {
        if (!stop && interrupt && interrupt()) stop = true;
      } catch (...) {
        stop = true;
        thrown = std::current_exception();
      }
      lock.lock();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  if (stop) throw InterruptedError("stopped while several devices worked on a batch");
}

}  // namespace whorl::run
