#include "schemes/binfhe/scheduler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <numeric>
#include <optional>
#include <thread>

#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

using clock = std::chrono::steady_clock;

/// How often the calling thread asks whether to stop while others work.
constexpr auto poll_period = std::chrono::milliseconds(20);
/// Weight of the latest call in the average of speeds.
constexpr double latest = 0.5;

/// In a thread of the scheduler's: whether the work it does is to stop.
thread_local const std::atomic<bool>* stop_of_this_thread = nullptr;

}  // namespace

std::function<bool()> scheduled(std::function<bool()> interrupt) {
  return [interrupt = std::move(interrupt)] {
    if (stop_of_this_thread) return stop_of_this_thread->load(std::memory_order_relaxed);
    return interrupt && interrupt();
  };
}

/// How an engine's share went.
struct Scheduler::Outcome {
  double seconds = 0;
  std::exception_ptr error;
};

Scheduler::Scheduler(std::vector<std::unique_ptr<Engine>> engines, std::function<bool()> interrupt,
                     std::size_t least_share)
    : engines_(std::move(engines)),
      interrupt_(std::move(interrupt)),
      least_share_(least_share),
      standing_(engines_.size()) {
  if (engines_.empty()) throw DeviceError("a server needs at least one device");
}

std::vector<std::pair<std::string, std::string>> Scheduler::failed() const {
  const std::scoped_lock lock(mutex_);
  return failures_;
}

void Scheduler::mark_failed(std::size_t engine, const std::string& message) const {
  const std::scoped_lock lock(mutex_);
  if (standing_[engine].failed) return;  // a call in another thread was first
  standing_[engine].failed = true;
  failures_.emplace_back(engines_[engine]->name(), message);
}

std::vector<Scheduler::Share> Scheduler::split(Range range,
                                               const std::vector<bool>& excluded) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::size_t> chosen;
  for (std::size_t e = 0; e < engines_.size(); ++e)
    if (!standing_[e].failed && !excluded[e]) chosen.push_back(e);
  // Of those that are least in use the fastest come first; as many as the batch is worth.
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    const Standing &x = standing_[a], &y = standing_[b];
    return x.calls != y.calls ? x.calls < y.calls : x.speed > y.speed;
  });
  const std::size_t worth =
      std::max<std::size_t>(1, range.count / std::max<std::size_t>(1, least_share_));
  if (chosen.size() > worth) chosen.resize(worth);
  std::sort(chosen.begin(), chosen.end());

  double total = 0;
  for (const std::size_t e : chosen) total += standing_[e].speed;
  std::vector<Share> out;
  double before = 0;
  std::size_t begin = 0;
  for (const std::size_t e : chosen) {
    before += standing_[e].speed;
    const auto upto =
        static_cast<std::size_t>(std::llround(static_cast<double>(range.count) * before / total));
    const std::size_t end = e == chosen.back() ? range.count : std::min(range.count, upto);
    out.push_back({e, {range.begin + begin, end - begin}});
    begin = end;
  }
  return out;
}

std::vector<Scheduler::Outcome> Scheduler::work(const Job& job,
                                                const std::vector<Share>& shares) const {
  std::vector<Outcome> outcomes(shares.size());
  const auto one = [&](std::size_t s) {
    const auto started = clock::now();
    try {
      engines_[shares[s].engine]->run(job, shares[s].range, interrupt_);
    } catch (...) {
      outcomes[s].error = std::current_exception();
    }
    outcomes[s].seconds = std::chrono::duration<double>(clock::now() - started).count();
  };
  const auto busy = [&](bool begins) {
    const std::scoped_lock lock(mutex_);
    for (const Share& share : shares) {
      if (begins)
        ++standing_[share.engine].calls;
      else
        --standing_[share.engine].calls;
    }
  };

  busy(true);
  if (shares.size() == 1) {
    one(0);
    busy(false);
    return outcomes;
  }
  std::atomic<bool> stop{false};
  std::mutex done_mutex;
  std::condition_variable done;
  std::size_t running = shares.size();
  std::exception_ptr interrupted;
  {
    std::vector<std::jthread> threads;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      const auto body = [&, s] {
        stop_of_this_thread = &stop;
        one(s);
        const std::scoped_lock lock(done_mutex);
        --running;
        done.notify_one();
      };
      try {
        threads.emplace_back(body);
      } catch (const std::system_error&) {
        body();  // the system grants no more threads: this one does the share
        stop_of_this_thread = nullptr;
      }
    }
    std::unique_lock lock(done_mutex);
    while (!done.wait_for(lock, poll_period, [&] { return running == 0; })) {
      lock.unlock();
      try {
        if (!stop && interrupt_ && interrupt_()) stop = true;
      } catch (...) {
        stop = true;
        interrupted = std::current_exception();
      }
      lock.lock();
    }
  }
  busy(false);
  if (interrupted) std::rethrow_exception(interrupted);
  if (stop) throw InterruptedError("stopped while several devices worked on a batch");
  return outcomes;
}

void Scheduler::learn(const std::vector<Share>& shares,
                      const std::vector<Outcome>& outcomes) const {
  if (shares.size() < 2) return;  // nothing to compare with
  const std::scoped_lock lock(mutex_);
  double believed = 0, measured = 0;
  const auto rate = [&](std::size_t s) {
    return static_cast<double>(shares[s].range.count) / outcomes[s].seconds;
  };
  const auto counts = [&](std::size_t s) {
    return !outcomes[s].error && shares[s].range.count > 0 && outcomes[s].seconds > 0;
  };
  for (std::size_t s = 0; s < shares.size(); ++s) {
    if (!counts(s)) continue;
    believed += standing_[shares[s].engine].speed;
    measured += rate(s);
  }
  // Operations differ in cost, so only speeds relative to the others of the same call are kept.
  for (std::size_t s = 0; s < shares.size(); ++s) {
    if (!counts(s)) continue;
    double& speed = standing_[shares[s].engine].speed;
    speed = (1 - latest) * speed + latest * rate(s) * believed / measured;
  }
}

void Scheduler::run(const Job& job, std::size_t count) const {
  if (count == 0) return;
  if (engines_.size() == 1) {
    engines_[0]->run(job, {0, count}, interrupt_);
    return;
  }
  std::vector<bool> out_of_memory(engines_.size(), false);
  std::exception_ptr short_of_memory;
  std::vector<Range> todo{{0, count}};
  while (!todo.empty()) {
    const Range range = todo.back();
    todo.pop_back();
    const std::vector<Share> shares = split(range, out_of_memory);
    if (shares.empty()) {
      if (short_of_memory) std::rethrow_exception(short_of_memory);
      std::string all;
      for (const auto& [name, message] : failed())
        all.append(all.empty() ? "" : "; ").append(name).append(": ").append(message);
      throw DeviceError("all devices of this server have failed: " + all);
    }
    const std::vector<Outcome> outcomes = work(job, shares);
    for (std::size_t s = 0; s < shares.size(); ++s) {
      if (!outcomes[s].error) continue;
      try {
        std::rethrow_exception(outcomes[s].error);
      } catch (const DeviceError& error) {
        mark_failed(shares[s].engine, error.what());
      } catch (const OutOfMemoryError&) {
        // For this call only: memory may be free later.
        out_of_memory[shares[s].engine] = true;
        short_of_memory = std::current_exception();
      }
      todo.push_back(shares[s].range);
    }
    learn(shares, outcomes);
  }
}

}  // namespace whorl::binfhe
