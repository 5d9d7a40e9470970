// Random inputs of tests. The seed is fresh, or that of the environment, and shown with every
// failure.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace whorl::test {

/// WHORL_TEST_SEED=<number> repeats a run.
class Random {
 public:
  Random() : Random(chosen_seed()) {}
  /// Streams of one seed differ.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : engine_(seed + stream * 0x9e3779b97f4a7c15),  // odd: no two streams meet
        trace_(__FILE__, __LINE__, "WHORL_TEST_SEED=" + std::to_string(seed)) {}

  std::uint64_t word() { return engine_(); }
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(engine_()) * bound >> 64);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// So many numbers below a bound.
  std::vector<std::uint32_t> numbers(std::size_t count, std::uint64_t bound) {
    std::vector<std::uint32_t> out(count);
    for (auto& x : out) x = static_cast<std::uint32_t>(below(bound));
    return out;
  }
  template <class T = std::int32_t>
  std::vector<T> integers(std::size_t count, std::int64_t low, std::int64_t high) {
    std::vector<T> out(count);
    for (auto& x : out) x = static_cast<T>(between(low, high));
    return out;
  }
  template <std::size_t count>
  std::array<std::uint8_t, count> bytes() {
    std::array<std::uint8_t, count> out;
    for (auto& byte : out) byte = static_cast<std::uint8_t>(below(256));
    return out;
  }
  /// Uniform, but one in eight is at an edge: 0, 1, q/2, q/2 + 1 or q - 1.
  template <class Word>
  std::vector<Word> residues(std::size_t count, std::uint64_t q) {
    std::vector<Word> out(count);
    for (Word& x : out) {
      const std::uint64_t edges[] = {0, 1 % q, q / 2, (q / 2 + 1) % q, q - 1};
      x = static_cast<Word>(below(8) == 0 ? edges[below(5)] : below(q));
    }
    return out;
  }

  /// The environment's, or a fresh one at each call.
  static std::uint64_t chosen_seed() {
    if (const char* given = std::getenv("WHORL_TEST_SEED"))
      return std::strtoull(given, nullptr, 10);
    return (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  }

 private:
  std::mt19937_64 engine_;
  ::testing::ScopedTrace trace_;
};

}  // namespace whorl::test
