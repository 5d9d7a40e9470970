// mod_mul: random products and those of the ends, one a cycle, with random stalls.
#include <deque>

#include "Vmod_mul.h"
#include "bench.h"

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vmod_mul top;
  constexpr int latency = 9;
  std::deque<reference::u64> wanted;
  reference::u64 checks = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    top.en = random.chance(90);
    top.a = random.residue_mod_p();
    top.b = random.residue_mod_p();
    if (top.en) wanted.push_back(reference::mul(top.a, top.b));
    bench::tick(top);
    if (wanted.size() < latency) continue;
    bench::check("product", checks++, top.r, wanted[wanted.size() - latency]);
    if (wanted.size() > latency) wanted.pop_front();
  }
  bench::passed("mod_mul", checks);
}
