// mod_mul: random products, those of the ends, and those whose reduction is at its ends, one a cycle, with random stalls.
#include <deque>

#include "Vmod_mul.h"
#include "bench.h"

namespace {
using reference::u64;

/// Factors of a product z with slices of z at their ends: z[45:33], z[58:46] and z[65:59], which the reduction adds.
void factors_of_ends(reference::Random& random, u64& a, u64& b) {
  const auto slice = [&](unsigned bits) {
    const u64 top = (1ULL << bits) - 1;
    const u64 away = random.below(4);
    return random.chance(70) ? top - away : random.chance(50) ? away : random.below(top);
  };
  const u64 high = (slice(7) << 26 | slice(13) << 13 | slice(13)) % (reference::p - 1);
  // The least multiple of a from high·2^33 on has the same high bits, for a is below 2^33.
  a = high + 1 + random.below(reference::p - 1 - high);
  b = static_cast<u64>((static_cast<reference::u128>(high) * (1ULL << 33) + a - 1) / a) % reference::p;
  // Just below 2^46, where the sum is largest: it takes p away twice.
  if (random.chance(20)) {
    const u64 off = 1 + random.below(1000);
    a = (1ULL << 23) - off;
    b = (1ULL << 23) + off;
  }
}
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vmod_mul top;
  constexpr int latency = 9;
  std::deque<u64> wanted;
  u64 checks = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    top.en = random.chance(90);
    u64 a = random.residue_mod_p(), b = random.residue_mod_p();
    if (random.chance(30)) factors_of_ends(random, a, b);
    top.a = a;
    top.b = b;
    if (top.en) wanted.push_back(reference::mul(top.a, top.b));
    bench::tick(top);
    if (wanted.size() < latency) continue;
    bench::check("product", checks++, top.r, wanted[wanted.size() - latency]);
    if (wanted.size() > latency) wanted.pop_front();
  }
  bench::passed("mod_mul", checks);
}
