// Which process this is: what threads and secret streams do not take along into a forked child; and
// a mutex that such a child does not wait for in vain.
#pragma once

#include <atomic>
#include <cstdint>

namespace whorl::math {

/// Differs between a process and each of its descendants; never 0. OutOfMemoryError if the first
/// call finds no memory for a fork handler.
std::uint64_t process_mark();

/// A mutex that knows the process that holds it. One that a thread of the parent held at a fork is
/// held for ever in the child, which has no such thread, and what it guards may be half changed:
/// there it is abandoned, and lock() throws DeviceError where std::mutex would wait for ever.
/// (Between raw clone() calls, which run no fork handler, it is as std::mutex.)
class ProcessMutex {
 public:
  ProcessMutex();
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;

  void lock() {
    std::uint32_t free = 0;
    if (!holder_.compare_exchange_strong(free, process(), std::memory_order_acquire)) wait();
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return holder_.compare_exchange_strong(free, process(), std::memory_order_acquire);
  }
  void unlock() {
    holder_.exchange(0);  // in one order with a waiter's look at it
    holder_.notify_one();
  }
  /// For destructors, which must not throw: they leave what is guarded where it is.
  bool abandoned() const {
    const std::uint32_t holder = holder_.load(std::memory_order_relaxed);
    return holder != 0 && holder != process();
  }
  /// 1, plus how many forks lead to this process since the first mutex was made.
  static std::uint32_t process() { return forks_.load(std::memory_order_relaxed) + 1; }

 private:
  void wait();

  friend std::uint64_t process_mark();
  // Forks seen by this process and its ancestors.
  static std::atomic<std::uint32_t> forks_;

  std::atomic<std::uint32_t> holder_{0};  ///< process(), or 0
};

}  // namespace whorl::math
