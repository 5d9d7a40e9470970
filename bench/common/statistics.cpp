#include "common/statistics.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace whorl::bench {

double seconds_now(Clock clock) {
  if (clock == Clock::cpu) {
    std::timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Times::Times(std::vector<double> seconds) : sorted_(std::move(seconds)) {
  std::sort(sorted_.begin(), sorted_.end());
}

double Times::median() const {
  const std::size_t half = sorted_.size() / 2;
  return sorted_.size() % 2 ? sorted_[half] : (sorted_[half - 1] + sorted_[half]) / 2;
}

double time_once(const Work& work) {
  const double start = seconds_now(work.clock);
  for (std::size_t i = 0; i < work.calls; ++i) work.run();
  work.finish();
  return (seconds_now(work.clock) - start) / static_cast<double>(work.calls);
}

Times measure(const Effort& effort, const Work& work) {
  const double first = time_once({work.run, work.finish, 1, work.clock});
  if (first > effort.slow) return Times({first});
  std::vector<double> times;
  double sum = 0;
  while (times.size() < effort.fewest || (sum < effort.seconds && times.size() < effort.most)) {
    times.push_back(time_once(work));
    sum += times.back() * static_cast<double>(work.calls);
    if (sum > effort.enough) break;
  }
  return Times(std::move(times));
}

std::size_t calls_within(double seconds, double once) {
  return static_cast<std::size_t>(std::clamp(seconds / once, 1.0, 200.0));
}

}  // namespace whorl::bench
