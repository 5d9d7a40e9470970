// Tells a process from the children that it forks, which have neither its threads nor its secret
// streams; and a mutex on which such a child does not wait for ever.
#pragma once

#include <atomic>
#include <cstdint>

namespace whorl::math {

/// Differs between a process and each of its descendants; never 0. OutOfMemoryError if the first
/// call finds no memory for a fork handler.
std::uint64_t process_mark();

/// A mutex that knows which process holds it. If a thread of the parent holds it at a fork, nobody
/// can release it in the child, which does not have that thread; and the data that it guards may be
/// half changed. So in the child lock() throws DeviceError, where std::mutex would wait for ever.
/// (After a raw clone(), which runs no fork handler, it behaves like std::mutex.)
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
  /// Whether the holder is a process that this one was forked from, and so will never unlock it.
  /// Destructors ask, since they must not throw: then they leave the guarded data as it is.
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
