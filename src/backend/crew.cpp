#include "backend/crew.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "backend/parallel.h"
#include "backend/spin.h"
#include "math/process.h"

namespace whorl::backend {

/// The threads of one process, and the gate that they come to for work.
class Crew::Team {
 public:
  Team(unsigned most, std::chrono::nanoseconds patience) : most_(most), patience_(patience) {
    threads_.reserve(most);
  }
  ~Team() {
    gate_.fetch_or(leave);
    gate_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run(unsigned helpers, const std::function<void(unsigned)>& job) {
    helpers = std::min(helpers, most_);
    try {
      while (threads_.size() < helpers) {
        const auto number = static_cast<unsigned>(threads_.size()) + 1;
        threads_.emplace_back([this, number] { serve(number); });
      }
    } catch (const std::system_error&) {
      // The system grants no more threads: those there are do the work.
      helpers = static_cast<unsigned>(threads_.size());
    }
    job_ = &job;
    gate_.store((gate_.load(std::memory_order_relaxed) / one_turn + 1) * one_turn | open |
                helpers * one_seat);
    if (helpers < threads_.size())
      for (unsigned i = 0; i < helpers; ++i) gate_.notify_one();
    else
      gate_.notify_all();
    job(0);
    gate_.fetch_and(~open);
    std::uint32_t gate = 0;
    while (!spin(patience_, [&] { return ((gate = gate_.load()) & at_work) == 0; }))
      gate_.wait(gate);
  }

  // The gate is a word, so that a system call can wait for it: how many helpers are at work, how
  // many may still come, whether the caller has not finished, whether the team breaks up, and the
  // number of the call, in which a helper takes part once.
  static constexpr std::uint32_t one_seat = 1 << 10, at_work = one_seat - 1,
                                 seats = at_work * one_seat, open = 1 << 20, leave = 1 << 21,
                                 one_turn = 1 << 22;
  static constexpr unsigned most_helpers = at_work;

 private:
  void serve(unsigned number) {
    std::uint32_t turn = 0, gate = 0;
    const auto called = [&] {
      gate = gate_.load();
      return (gate & leave) || ((gate & open) && (gate & seats) && gate / one_turn != turn);
    };
    while (true) {
      while (!spin(patience_, called)) gate_.wait(gate);
      if (gate & leave) return;
      if (!gate_.compare_exchange_strong(gate, gate - one_seat + 1)) continue;
      turn = gate / one_turn;
      (*job_)(number);
      const std::uint32_t before = gate_.fetch_sub(1);
      if (!(before & open) && (before & at_work) == 1) gate_.notify_all();
    }
  }

  const unsigned most_;
  const std::chrono::nanoseconds patience_;
  const std::function<void(unsigned)>* job_ = nullptr;
  std::atomic<std::uint32_t> gate_{0};
  std::vector<std::thread> threads_;
};

Crew::Crew(unsigned helpers)
    : helpers_(std::min(helpers, Team::most_helpers)),
      patience_(helpers < available_cores() ? std::chrono::microseconds(50)
                                            : std::chrono::microseconds(0)) {
  math::process_mark();  // forks are counted from here
}

Crew::~Crew() {
  // After a fork the threads are the parent's, and what they shared may be in any state: it is
  // left where it is.
  if (team_ && process_ != math::process_mark()) static_cast<void>(team_.release());
}

bool Crew::run(unsigned helpers, const std::function<void(unsigned)>& job) {
  const std::uint64_t process = math::process_mark();
  std::uint64_t holder = holder_.load(std::memory_order_relaxed);
  // A holder in another process is this one's ancestor, which forked while it was at work.
  if (holder == process ||
      !holder_.compare_exchange_strong(holder, process, std::memory_order_acquire))
    return false;
  struct Release {
    std::atomic<std::uint64_t>& holder;
    ~Release() { holder.store(0, std::memory_order_release); }
  } const release{holder_};
  if (process_ != process) {
    static_cast<void>(team_.release());
    process_ = process;
  }
  if (!team_) team_ = std::make_unique<Team>(helpers_, patience_);
  team_->run(helpers, job);
  return true;
}

}  // namespace whorl::backend
