#include "math/process.h"

#include <pthread.h>
#include <unistd.h>

#include "whorl/error.h"

namespace whorl::math {

constinit std::atomic<std::uint32_t> ProcessMutex::forks_{0};

std::uint64_t process_mark() {
  static const bool registered = pthread_atfork(nullptr, nullptr, [] {
                                   ProcessMutex::forks_.fetch_add(1, std::memory_order_relaxed);
                                 }) == 0;
  if (!registered) throw OutOfMemoryError("the system gave no memory to register a fork handler");
  // The process id alone would miss a grandchild that was given the id of its dead grandparent; the
  // count alone would miss a raw clone().
  return std::uint64_t{ProcessMutex::forks_.load(std::memory_order_relaxed)} << 32 |
         static_cast<std::uint32_t>(getpid());
}

ProcessMutex::ProcessMutex() {
  process_mark();  // forks are counted from here
}

void ProcessMutex::wait() {
  const std::uint32_t mine = process();
  while (true) {
    std::uint32_t holder = 0;
    if (holder_.compare_exchange_strong(holder, mine, std::memory_order_acquire)) return;
    if (holder != mine)
      throw DeviceError(
          "this process was forked while another thread was inside a call of a server's: the child "
          "cannot go on with what that call had in use; make the server again in the child");
    holder_.wait(holder);
  }
}

}  // namespace whorl::math
