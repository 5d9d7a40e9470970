// Integers in lanes for tests: a party whose bootstraps hold five bits, and integers in clear.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "support/ckks_lanes.h"

namespace whorl::ckks {

using Integers = Bits;
inline constexpr std::size_t length = 64;

/// The primes of W128_BITS5_L10 in a small ring, but for its levels.
inline Parameters parameters_of(unsigned bits, unsigned levels = 6) {
  return small_bits(
      {.bits = bits, .levels = levels, .scale_bits = 40, .lift = 6, .degree = 15, .doublings = 5});
}

inline const LaneParty& integer_party() {
  static const LaneParty party(parameters_of(5), length, {}, {1, 3});
  return party;
}
/// The same with all slots.
inline const LaneParty& wide_party() {
  static const LaneParty party(parameters_of(5), 512);
  return party;
}

inline Integers random_integers(std::mt19937_64& random, unsigned p, std::size_t count) {
  Integers out(count);
  for (auto& m : out) m = static_cast<std::uint8_t>(random() % p);
  return out;
}

inline Integers mapped(const Integers& a, const std::function<std::int64_t(std::int64_t)>& f,
                       unsigned p) {
  Integers out;
  for (const std::uint8_t m : a)
    out.push_back(static_cast<std::uint8_t>(f(m) & (static_cast<std::int64_t>(p) - 1)));
  return out;
}

inline Integers mapped(const Integers& a, const Integers& b,
                       const std::function<std::int64_t(std::int64_t, std::int64_t)>& f,
                       unsigned p) {
  Integers out;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    out.push_back(static_cast<std::uint8_t>(f(a[i % a.size()], b[i % b.size()]) &
                                            (static_cast<std::int64_t>(p) - 1)));
  return out;
}

inline LaneTable random_table(std::mt19937_64& random, unsigned entries, unsigned p) {
  LaneTable out(entries);
  for (auto& entry : out) entry = static_cast<std::uint32_t>(random() % p);
  return out;
}

/// Table 0 of all vectors.
inline std::vector<LaneLookup> all_of(const LaneArray& a) {
  std::vector<LaneLookup> out;
  for (std::uint32_t i = 0; i < a.info().count; ++i) out.push_back({i, 0});
  return out;
}

}  // namespace whorl::ckks
