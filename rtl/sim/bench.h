// What the benches of single modules share: fields of wide ports, clocks, and streams with random gaps.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "reference.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

namespace bench {

using reference::u64;

/// Bits at … at + width - 1 of a port of any width.
inline u64 get(const std::uint32_t* words, unsigned at, unsigned width) {
  u64 value = 0;
  for (unsigned i = 0; i < width; ++i)
    value |= static_cast<u64>(words[(at + i) / 32] >> ((at + i) % 32) & 1) << i;
  return value;
}
inline void put(std::uint32_t* words, unsigned at, unsigned width, u64 value) {
  for (unsigned i = 0; i < width; ++i) {
    const std::uint32_t bit = 1u << ((at + i) % 32);
    if (value >> i & 1)
      words[(at + i) / 32] |= bit;
    else
      words[(at + i) / 32] &= ~bit;
  }
}
template <std::size_t words>
u64 get(const VlWide<words>& port, unsigned at, unsigned width) {
  return get(port.data(), at, width);
}
template <std::size_t words>
void put(VlWide<words>& port, unsigned at, unsigned width, u64 value) {
  put(port.data(), at, width, value);
}
inline u64 mask(unsigned width) { return width == 64 ? ~0ULL : (1ULL << width) - 1; }
template <class Port>
  requires std::is_integral_v<Port>
u64 get(const Port& port, unsigned at, unsigned width) {
  return static_cast<u64>(port) >> at & mask(width);
}
template <class Port>
  requires std::is_integral_v<Port>
void put(Port& port, unsigned at, unsigned width, u64 value) {
  port = static_cast<Port>((static_cast<u64>(port) & ~(mask(width) << at)) |
                           (value & mask(width)) << at);
}

template <class Top>
void tick(Top& top) {
  top.clk = 0;
  top.eval();
  top.clk = 1;
  top.eval();
}
template <class Top>
void reset(Top& top, int cycles = 4) {
  top.rst_n = 0;
  for (int i = 0; i < cycles; ++i) tick(top);
  top.rst_n = 1;
}

/// How often, in a hundred cycles, a port stands still: never, now and then, mostly.
inline constexpr unsigned stall_levels[] = {0, 20, 85};
/// That of a round.
inline unsigned stalls(reference::Random& random) { return stall_levels[random.below(3)]; }
/// Some number below `bound`, often one of the ends.
inline u64 with_ends(reference::Random& random, u64 bound) {
  switch (random.below(4)) {
    case 0: return 0;
    case 1: return bound - 1;
    default: return random.below(bound);
  }
}

/// The seed of all random numbers of this bench: its first argument, or 1.
inline u64 seed = 1;
inline u64 seed_of(int argc, char** argv) {
  if (argc > 1) seed = std::strtoull(argv[1], nullptr, 0);
  return seed;
}

[[noreturn]] inline void fail(const char* what, u64 at, u64 got, u64 wanted) {
  std::printf("FAILED, seed %llu: %s %llu: %llx, not %llx\n", static_cast<unsigned long long>(seed), what,
              static_cast<unsigned long long>(at), static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(wanted));
  std::exit(1);
}
inline void check(const char* what, u64 at, u64 got, u64 wanted) {
  if (got != wanted) fail(what, at, got, wanted);
}
/// What a unit offers stays until it is taken. It is told of each cycle.
class Stays {
 public:
  void see(const char* what, u64 at, bool valid, bool ready, u64 value = 0) {
    if (waits_) check(what, at, valid, 1), check(what, at, value, value_);
    waits_ = valid && !ready;
    value_ = value;
  }
  void clear() { waits_ = false; }

 private:
  bool waits_ = false;
  u64 value_ = 0;
};

/// The end of a bench. Where coverage is counted, it goes to the file that WHORL_COVERAGE names.
inline void passed(const char* what, u64 checks) {
#if VM_COVERAGE
  if (const char* path = std::getenv("WHORL_COVERAGE")) Verilated::threadContextp()->coveragep()->write(path);
#endif
  std::printf("passed: %s, %llu values\n", what, static_cast<unsigned long long>(checks));
}

}  // namespace bench
