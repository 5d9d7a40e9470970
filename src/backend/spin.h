// Active waiting for a moment before a thread sleeps, since waking it takes microseconds.
#pragma once

#include <chrono>

namespace whorl::backend {

/// Tells the core that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Calls ready() until it returns true or the time `most` has passed. Returns its last answer.
template <class Ready>
bool spin(std::chrono::nanoseconds most, const Ready& ready) {
  if (ready()) return true;
  if (most.count() == 0) return false;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int looks = 0; looks < 16; ++looks) {
      relax();
      if (ready()) return true;
    }
  } while (std::chrono::steady_clock::now() - start < most);
  return false;
}

}  // namespace whorl::backend
