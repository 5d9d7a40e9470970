// mod_switch: random residues, those of the ends, and those next to a tie.
#include <deque>

#include "Vmod_switch.h"
#include "bench.h"

using reference::p;
using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vmod_switch top;
  std::deque<u64> values;
  u64 checks = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    top.en = random.chance(90);
    // x next to (k + 1/2)·p/2^32.
    const u64 tie = static_cast<u64>(((2 * static_cast<unsigned __int128>(random.below(u64{1} << 32)) + 1) * p) >> 33);
    top.x = random.chance(50) ? (tie + random.below(3)) % p : random.residue_mod_p();
    if (top.en) values.push_back(top.x);
    bench::tick(top);
    if (values.size() < 3) continue;
    bench::check("rounded", values[values.size() - 3], top.r, reference::round_scaled(values[values.size() - 3], p, u64{1} << 32));
    ++checks;
    if (values.size() > 3) values.pop_front();
  }
  bench::passed("mod_switch", checks);
}
