// What one NVIDIA H200 does a second, and what an operation cannot do without. The rates are
// measured ones (docs/gpu.md), that of bytes by mma.sync is expected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/records.h"

namespace whorl::bench {

/// Bytes of memory and of shared memory; wide multiply-adds; products by Shoup's method.
inline constexpr double memory_rate = 4.3e12, shared_rate = 33e12, wide_rate = 6.4e12,
                        shoup_rate = 4.08e12;
/// Multiply-adds of bytes: by mma.sync; counted as two operations each, the most that was measured.
inline constexpr double byte_rate = 6e14, int8_rate = 1281e12;

/// Compulsory memory traffic (inputs, keys and outputs once) and arithmetic.
struct Floor {
  double bytes = 0, wide = 0, shoup = 0;
  double seconds() const {
    return std::max(bytes / memory_rate, wide / wide_rate + shoup / shoup_rate);
  }
};

/// NTTs of 32-bit words by libraries on an H200, in batches that fill 256 MB; nothing if no size of
/// theirs was measured.
inline std::optional<Peer> ntt_peer(std::uint32_t N) {
  switch (N) {
    case 1 << 10:
      return Peer{"GPU-NTT, NVIDIA H200", "32 bits", 103.7e6};
    case 1 << 11:
      return Peer{"GPU-NTT, NVIDIA H200", "32 bits", 39.5e6};
    case 1 << 12:
      return Peer{"GPU-NTT, NVIDIA H200", "32 bits", 18.6e6};
    case 1 << 16:
      return Peer{"Cheddar, NVIDIA H200", "32 bits", 2.05e6};
    default:
      return {};
  }
}

/// A chain of primes that RNS entries are measured at, as BGV's depths 1, 5, 12 and 24 have it.
struct RnsShape {
  std::uint32_t N;
  unsigned limbs, special, digit_limbs;
};
inline constexpr RnsShape rns_shapes[] = {
    {1 << 13, 3, 1, 1}, {1 << 14, 9, 3, 3}, {1 << 15, 18, 6, 6}, {1 << 16, 38, 13, 13}};

}  // namespace whorl::bench
