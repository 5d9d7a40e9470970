// Threads that stay with their owner from one call to the next (docs/adr/0001-threads.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace whorl::backend {

/// Helper threads of a caller. They start at the first call that needs them. After a call they look
/// for more work for some tens of microseconds, and then sleep. A crew works for one call at a
/// time. After a fork the child starts threads of its own. Parent and child may each destroy their
/// crew at any time.
class Crew {
 public:
  explicit Crew(unsigned helpers);  ///< at most so many
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Calls job(0) in the calling thread, and job(k) on up to `helpers` threads; each thread always
  /// has the same k >= 1. Returns when all these calls have returned. A thread that wakes only
  /// after job(0) has returned makes no call, so nobody waits for it. The job must not throw. If
  /// the crew is already at work, nothing is called and the answer is false.
  bool run(unsigned helpers, const std::function<void(unsigned)>& job);

  /// How long a thread looks for work before it sleeps; 0 if there are fewer cores than threads.
  std::chrono::nanoseconds patience() const { return patience_; }

 private:
  class Team;

  unsigned helpers_;
  std::chrono::nanoseconds patience_;
  std::atomic<std::uint64_t> holder_{0};  ///< the process whose call is at work; 0: none
  std::unique_ptr<Team> team_;            ///< for the holder only, as process_ is
  std::uint64_t process_ = 0;             ///< the process that started the team
};

}  // namespace whorl::backend
