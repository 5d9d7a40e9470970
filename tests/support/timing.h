// Does a time depend on a secret? Welch's t between two classes of
// secrets, after Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?" (2017).
//
// Sample: 200,000 timings, class drawn at random for each, the slowest tenth of both together
// dropped (interrupts). Bound: |t| < 4.5, which normal noise passes with probability 1 - 7 * 10^-6.
// Other load on the machine makes heavier tails, so eight fresh measurements are allowed, of which
// one must pass: a false alarm takes eight in a row. A leak worth the
// name gives a t in the hundreds every time; the last test shows that one is found.
#pragma once

#include <gtest/gtest.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace whorl::test {

inline constexpr size_t timings = 200000;
inline constexpr double t_bound = 4.5;

inline uint64_t now() {
  _mm_lfence();
  const uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

// t of one measurement. prepare(class) readies an input of class 0 or 1, run() is timed.
template <class Prepare, class Run>
double welch_t(Prepare prepare, Run run) {
  std::mt19937_64 random(std::random_device{}());
  std::vector<std::pair<uint64_t, int>> measured(timings);
  for (auto& [ticks, label] : measured) {
    label = static_cast<int>(random() & 1);
    prepare(label);
    const uint64_t start = now();
    run();
    ticks = now() - start;
  }
  std::vector<uint64_t> sorted;
  sorted.reserve(measured.size());
  for (const auto& entry : measured) sorted.push_back(entry.first);
  const auto cut = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 10 * 9);
  std::nth_element(sorted.begin(), cut, sorted.end());
  std::array<double, 2> n{}, sum{}, squares{};
  for (const auto& [ticks, label] : measured) {
    if (ticks > *cut) continue;
    const auto c = static_cast<size_t>(label);
    const auto x = static_cast<double>(ticks);
    n[c] += 1;
    sum[c] += x;
    squares[c] += x * x;
  }
  const auto mean = [&](size_t c) { return sum[c] / n[c]; };
  const auto variance = [&](size_t c) {
    return (squares[c] - n[c] * mean(c) * mean(c)) / (n[c] - 1);
  };
  // One tick more is the resolution: it keeps t defined when all timings are the same.
  return (mean(0) - mean(1)) / std::sqrt((variance(0) + 1) / n[0] + (variance(1) + 1) / n[1]);
}

template <class Prepare, class Run>
void expect_constant_time(Prepare prepare, Run run) {
  std::vector<double> seen;
  for (int attempt = 0; attempt < 8; ++attempt) {
    seen.push_back(welch_t(prepare, run));
    if (std::abs(seen.back()) < t_bound) return;
  }
  ADD_FAILURE() << "|t| stayed above " << t_bound << ": " << testing::PrintToString(seen);
}

}  // namespace whorl::test
