// decompose: random residues and those of the ends.
#include <deque>

#include "Vdecompose.h"
#include "bench.h"

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vdecompose top;
  const reference::Gadget gadget(reference::p, LOG_BG, DIGITS);
  std::deque<reference::u64> values;
  reference::u64 checks = 0;
  for (int i = 0; i < 300'000; ++i) {
    top.en = random.chance(80);
    top.x = random.residue_mod_p();
    if (top.en) values.push_back(top.x);
    bench::tick(top);
    if (values.size() < 2) continue;
    const auto x = gadget.centred(values[values.size() - 2]);
    for (unsigned j = 0; j < DIGITS; ++j, ++checks)
      bench::check("digit", j, bench::get(top.digits, 33 * j, 33), reference::residue(gadget.digit(x, j)));
    if (values.size() > 2) values.pop_front();
  }
  bench::passed("decompose", checks);
}
