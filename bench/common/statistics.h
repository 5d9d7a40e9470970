// Times of repeated runs, and how often to repeat them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace whorl::bench {

enum class Clock : unsigned char {
  wall,
  cpu,  ///< CPU time of this process, all threads: what the wall's clock shows where all is quiet
};

/// Seconds since some moment.
double seconds_now(Clock clock = Clock::wall);

/// Times of one thing, in seconds.
class Times {
 public:
  Times() = default;
  /// At least one.
  explicit Times(std::vector<double> seconds);

  double median() const;  ///< of an even number, the mean of both in the middle
  double least() const { return sorted_.front(); }
  double most() const { return sorted_.back(); }
  std::size_t runs() const { return sorted_.size(); }

 private:
  std::vector<double> sorted_;
};

/// How many runs: at least `fewest`, then until `seconds` are spent or there are `most`.
struct Effort {
  std::size_t fewest = 5, most = 50;
  double seconds = 0.5;
  double enough = 4;   ///< seconds after which fewer than `fewest` will do
  double slow = 1e30;  ///< seconds of a warm-up that is the only run if it takes longer
};

/// What is timed: `calls` calls of `run`, then `finish`, which waits where `run` only queues.
struct Work {
  std::function<void()> run;
  std::function<void()> finish = [] {};
  std::size_t calls = 1;
  Clock clock = Clock::wall;
};

/// Seconds of one call, once.
double time_once(const Work& work);

/// Seconds of one call; a single call goes before to warm up.
Times measure(const Effort& effort, const Work& work);

/// How many calls take about `seconds` if one takes `once`; 1 … 200.
std::size_t calls_within(double seconds, double once);

}  // namespace whorl::bench
