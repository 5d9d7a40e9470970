// Threads that stay with their owner from one call to the next (docs/adr/0001-threads.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace whorl::backend {

/// Helpers of whoever calls. They are started when first wanted, look for more work for some tens
/// of microseconds after a call, and then sleep. At work for one call at a time. A forked child
/// starts its own; a crew may be dropped in either process, in no other order than any object.
class Crew {
 public:
  explicit Crew(unsigned helpers);  ///< at most so many
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Calls job(0) here and job(k) on up to `helpers` threads, k >= 1 being always the same on one
  /// thread, and returns when all calls have; those of threads that come when the first is over
  /// are not made, so that nobody waits for a thread to wake. The job must not throw. False, and no
  /// call, if the crew is at work.
  bool run(unsigned helpers, const std::function<void(unsigned)>& job);

  /// How long it is worth looking before a thread sleeps: not at all where cores are too few.
  std::chrono::nanoseconds patience() const { return patience_; }

 private:
  class Team;

  unsigned helpers_;
  std::chrono::nanoseconds patience_;
  std::atomic<std::uint64_t> holder_{0};  ///< the process whose call is at work; 0: none
  std::unique_ptr<Team> team_;            ///< the holder's, as what follows
  std::uint64_t process_ = 0;             ///< of the team
};

}  // namespace whorl::backend
