// Plain arithmetic that the benches compare the hardware with: the prime, transforms, the gadget, rounding,
// key switching, and the whole bootstrap. Nothing here is fast.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace reference {

using u64 = std::uint64_t;
using i64 = std::int64_t;
using u128 = unsigned __int128;
using i128 = __int128;

constexpr u64 p = (1ULL << 33) - (1ULL << 20) + 1;

inline u64 mul(u64 a, u64 b) { return static_cast<u64>(static_cast<u128>(a) * b % p); }
inline u64 add(u64 a, u64 b) { return (a + b) % p; }
inline u64 sub(u64 a, u64 b) { return (a + p - b) % p; }
inline u64 pow(u64 base, u64 e) {
  u64 r = 1;
  for (; e; e >>= 1, base = mul(base, base))
    if (e & 1) r = mul(r, base);
  return r;
}
inline u64 inverse(u64 a) { return pow(a, p - 2); }
/// A root of order 2N: as math::primitive_root_of_unity of the library.
inline u64 psi(unsigned log_n) { return pow(3, (p - 1) >> (log_n + 1)); }
inline unsigned brv(unsigned v, unsigned bits) {
  unsigned r = 0;
  for (unsigned i = 0; i < bits; ++i) r |= (v >> i & 1) << (bits - 1 - i);
  return r;
}

constexpr unsigned ceil_log2(unsigned x) {
  unsigned bits = 0;
  while (1u << bits < x) ++bits;
  return bits;
}

/// Value l is that at psi^(2·brv(l) + 1).
inline void ntt(std::vector<u64>& x, unsigned log_n) {
  const u64 root = psi(log_n);
  const std::size_t N = x.size();
  for (std::size_t m = 1, t = N / 2; m < N; m *= 2, t /= 2)
    for (std::size_t i = 0; i < m; ++i) {
      const u64 w = pow(root, brv(static_cast<unsigned>(m + i), log_n));
      for (std::size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const u64 u = x[j], v = mul(x[j + t], w);
        x[j] = add(u, v);
        x[j + t] = sub(u, v);
      }
    }
}
/// The inverse, times N.
inline void intt_times_n(std::vector<u64>& x, unsigned log_n) {
  const u64 root = inverse(psi(log_n));
  const std::size_t N = x.size();
  for (std::size_t m = N / 2, t = 1; m >= 1; m /= 2, t *= 2)
    for (std::size_t i = 0; i < m; ++i) {
      const u64 w = pow(root, brv(static_cast<unsigned>(m + i), log_n));
      for (std::size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const u64 u = x[j], v = x[j + t];
        x[j] = add(u, v);
        x[j + t] = mul(sub(u, v), w);
      }
    }
}

/// ring::Gadget of the library.
struct Gadget {
  u64 modulus;
  unsigned log_base, digits, dropped;
  i64 offset;
  Gadget(u64 Q, unsigned w, unsigned d) : modulus(Q), log_base(w), digits(d) {
    unsigned bits = 0;
    for (u64 v = Q - 1; v; v >>= 1) ++bits;
    dropped = w * d >= bits ? 0 : bits - w * d;
    offset = dropped ? i64{1} << (dropped - 1) : 0;
    for (unsigned j = 0; j + 1 < d; ++j) offset += i64{1} << (dropped + j * w + w - 1);
  }
  i64 centred(u64 x) const {
    return x > modulus / 2 ? static_cast<i64>(x) - static_cast<i64>(modulus) : static_cast<i64>(x);
  }
  i64 digit(i64 x, unsigned j) const {
    const i64 shifted = (x + offset) >> (dropped + j * log_base);
    if (j + 1 == digits) return shifted;
    return (shifted & ((i64{1} << log_base) - 1)) - (i64{1} << (log_base - 1));
  }
};
inline u64 residue(i64 x) { return static_cast<u64>(x < 0 ? x + static_cast<i64>(p) : x); }

/// floor((x·to + floor(from/2))/from) mod to.
inline u64 round_scaled(u64 x, u64 from, u64 to) {
  return static_cast<u64>((static_cast<u128>(x) * to + from / 2) / from % to);
}

/// splitmix64.
struct Random {
  u64 state;
  explicit Random(u64 seed) : state(seed) {}
  u64 operator()() {
    u64 z = state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  u64 below(u64 bound) { return static_cast<u64>(static_cast<u128>((*this)()) * bound >> 64); }
  /// Below p; often next to its ends.
  u64 residue_mod_p() {
    switch (below(16)) {
      case 0: return below(3);
      case 1: return p - 1 - below(3);
      case 2: return p / 2 + 1 - below(3);
      default: return below(p);
    }
  }
  /// True `percent` times in a hundred.
  bool chance(unsigned percent) { return below(100) < percent; }
};

}  // namespace reference
