// monomials: the factors of random exponents at all locations, with random stalls.
#include <deque>

#include "Vmonomials.h"
#include "bench.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vmonomials top;
  constexpr unsigned N = 1u << LOG_N, lanes = 2u << LOG_B, rows = N / lanes, sets = (1u << GROUP) - 1;
  const u64 psi = reference::psi(LOG_N);
  u64 checks = 0;
  bench::reset(top);
  std::deque<std::vector<unsigned>> tokens;
  unsigned row = 0;
  u64 received = 0;
  bool offered = false;
  std::vector<unsigned> exponents(GROUP);
  for (unsigned cycle = 0; received < 40; ++cycle) {
    if (cycle > 1'000'000) bench::fail("hang", cycle, received, 40);
    if (!offered && random.chance(30)) {
      offered = true;
      for (unsigned& a : exponents) a = static_cast<unsigned>(random.chance(20) ? 0 : random.below(2 * N));
    }
    top.in_valid = offered;
    for (unsigned i = 0; i < GROUP; ++i)
      bench::put(top.exponents, i * (LOG_N + 1), LOG_N + 1, exponents[i]);
    top.out_ready = random.chance(received < 20 ? 100 : 60);
    top.clk = 0;
    top.eval();
    if (offered && top.in_ready) {
      tokens.push_back(exponents);
      offered = false;
    }
    if (top.out_valid && top.out_ready) {
      for (unsigned T = 1; T <= sets; ++T) {
        u64 a = 0;
        for (unsigned i = 0; i < GROUP; ++i)
          if (T >> i & 1) a += tokens.front()[i];
        for (unsigned l = 0; l < lanes; ++l, ++checks) {
          const u64 e = a * (2 * reference::brv(lanes * row + l, LOG_N) + 1) % (2 * N);
          bench::check("factor", lanes * row + l, bench::get(top.factors, ((T - 1) * lanes + l) * 33, 33),
                       reference::sub(reference::pow(psi, e), 1));
        }
      }
      if (++row == rows) row = 0, ++received, tokens.pop_front();
    }
    top.clk = 1;
    top.eval();
  }
  bench::passed("monomials", checks);
}
