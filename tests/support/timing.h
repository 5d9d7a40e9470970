// Does a time depend on a secret? Welch's t between two classes of secrets, after Reparaz, Balasch
// and Verbauwhede, "Dude, is my code constant time?" (2017).
//
// Sample: 200,000 timings or as many as a test says. The class is drawn at random for each, so that
// whatever else the machine does (other processes, its frequency, interrupts) meets both classes
// alike, and t is what it would be without. Three t are taken: of the
// faster half of both classes together, of the faster nine tenths, and of all; interrupts drown
// small differences in the last, and leaks that are rare show in it alone.
//
// Bound: |t| < 5 for each, which without a leak holds with probability 1 - 6 * 10^-7. A leak is
// reported where six of at most nine measurements are past the bound on the same side: by chance
// alone this happens with a probability below 84 * (3 * 6 * 10^-7)^6 < 10^-32.
//
// What chance alone does not cover: beside other work on the same core, an EPYC of the Zen 4 kind
// runs code that reads no secret for some milliseconds 16 ticks longer after one class has been
// written than after the other, now after this one and now after that one. Three measurements in a
// row have been seen to agree. So these tests run while no other test does (RUN_SERIAL), and six
// measurements have to agree, which a leak makes them do.
//
// The counter may move in steps (of 24 or 25 ticks on an EPYC Milan). A start that keeps pace with
// these steps makes the mean of equal times depend on how long prepare() took, by up to a tick, so
// that each start waits a random time of several steps.
//
// What must be alike in both classes, or is measured instead of the secret: where in memory the
// secrets lie (caches and store buffers tell addresses apart, by a few ticks), the instructions
// that write them, and what has been allocated before. So prepare() writes both to the same place.
#pragma once

#include <x86intrin.h>

#include "support/test.h"

namespace whorl::test {

inline constexpr std::size_t usual_timings = 200000;
inline constexpr double t_bound = 5;

inline std::uint64_t now() {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

struct Timing {
  std::uint64_t ticks = 0;
  std::size_t label = 0;
};

/// Welch's t of those that are among the fastest `part` of all.
inline double welch_t(const std::vector<Timing>& measured, double part) {
  std::vector<std::uint64_t> sorted;
  sorted.reserve(measured.size());
  for (const Timing& each : measured) sorted.push_back(each.ticks);
  const auto last = static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * part);
  const auto cut = sorted.begin() + static_cast<std::ptrdiff_t>(last);
  std::nth_element(sorted.begin(), cut, sorted.end());
  std::array<double, 2> n{}, sum{}, squares{};
  for (const auto& [ticks, label] : measured) {
    if (ticks > *cut) continue;
    const auto x = static_cast<double>(ticks);
    n[label] += 1;
    sum[label] += x;
    squares[label] += x * x;
  }
  const auto mean = [&](std::size_t c) { return sum[c] / n[c]; };
  const auto variance = [&](std::size_t c) {
    return (squares[c] - n[c] * mean(c) * mean(c)) / (n[c] - 1);
  };
  // One tick more is the resolution: it keeps t defined when all timings are the same.
  return (mean(0) - mean(1)) / std::sqrt((variance(0) + 1) / n[0] + (variance(1) + 1) / n[1]);
}

/// The t of one measurement that is farthest from 0. prepare(class) readies an input of class 0 or
/// 1, run() is timed.
template <class Prepare, class Run>
double largest_t(Prepare prepare, Run run, std::size_t timings = usual_timings) {
  std::mt19937_64 random(std::random_device{}());
  const auto take = [&] {
    Timing out;
    out.label = random() & 1;
    prepare(static_cast<int>(out.label));
    for (std::uint64_t wait = random() % 256; wait > 0; --wait) asm volatile("");
    const std::uint64_t start = now();
    run();
    out.ticks = now() - start;
    return out;
  };
  for (std::size_t i = 0; i < timings / 100; ++i) take();  // caches and branches get used to it
  std::vector<Timing> measured(timings);
  for (Timing& each : measured) each = take();
  double largest = 0;
  for (const double part : {0.5, 0.9, 1.0}) {
    const double t = welch_t(measured, part);
    if (std::abs(t) > std::abs(largest)) largest = t;
  }
  return largest;
}

inline constexpr std::ptrdiff_t most_measurements = 9;
inline constexpr std::ptrdiff_t alike = 6;

/// The side of the bound on which six of these t lie: -1 or 1, or 0 if there are not six.
inline int side_of(const std::vector<double>& seen) {
  if (std::ranges::count_if(seen, [](double t) { return t < -t_bound; }) >= alike) return -1;
  return std::ranges::count_if(seen, [](double t) { return t > t_bound; }) >= alike ? 1 : 0;
}

/// The t of up to nine measurements, if six of them tell the classes apart alike; else empty.
template <class Prepare, class Run>
std::vector<double> leak(Prepare prepare, Run run, std::size_t timings = usual_timings) {
  std::vector<double> seen;
  while (std::ssize(seen) < most_measurements) {
    seen.push_back(largest_t(prepare, run, timings));
    if (side_of(seen) != 0) return seen;
    const auto below = std::ranges::count_if(seen, [](double t) { return t <= t_bound; });
    const auto above = std::ranges::count_if(seen, [](double t) { return t >= -t_bound; });
    if (std::min(below, above) > most_measurements - alike) break;  // no side can have six
  }
  return {};
}

template <class Prepare, class Run>
void expect_constant_time(Prepare prepare, Run run, std::size_t timings = usual_timings) {
  const std::vector<double> seen = leak(prepare, run, timings);
  EXPECT_TRUE(seen.empty()) << "six of these t are past the same side of " << t_bound << ": "
                            << testing::PrintToString(seen);
}

}  // namespace whorl::test
