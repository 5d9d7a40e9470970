// ntt and intt: random polynomials with random gaps and random stalls, and the latency without any.
#include <deque>

#include "bench.h"
#if FORWARD
#include "Vntt.h"
using Top = Vntt;
#else
#include "Vintt.h"
using Top = Vintt;
#endif

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Top top;
  constexpr unsigned N = 1u << LOG_N, B = 1u << LOG_B, lanes = 2 * B, rows = N / lanes;
  // Coefficient of row t and lane l, and the location of the same.
  const auto coefficient = [](unsigned t, unsigned l) { return B * t + l % B + (l / B) * (N / 2); };
  const auto location = [](unsigned t, unsigned l) { return lanes * t + l; };
  u64 checks = 0;
  for (const unsigned gaps : {0u, 5u, 50u})
    for (const unsigned stalls : {0u, 5u, 50u}) {
      bench::reset(top);
      std::deque<std::vector<u64>> wanted;
      std::vector<u64> in(N);
      unsigned row = 0, out_row = 0, between = 0;
      u64 sent = 0, received = 0, cycle = 0, first_in = 0, first_out = 0;
      bool offered = false;
      constexpr unsigned polynomials = 6;
      for (; received < polynomials; ++cycle) {
        if (cycle > 100000 + 100 * N) bench::fail("hang in cycle", cycle, received, polynomials);
        if (!offered && sent < polynomials && between == 0) {
          if (row == 0 && wanted.size() == sent - received) {
            for (u64& x : in) x = random.residue_mod_p();
            std::vector<u64> out = in;
            FORWARD ? reference::ntt(out, LOG_N) : reference::intt_times_n(out, LOG_N);
            wanted.push_back(out);
          }
          offered = !random.chance(gaps);
        }
        if (between) --between;
        top.in_valid = offered;
        for (unsigned l = 0; l < lanes; ++l)
          bench::put(top.in_row, 33 * l, 33,
                     offered ? in[FORWARD ? coefficient(row, l) : location(row, l)] : random.residue_mod_p());
        top.out_ready = !random.chance(stalls);
        top.clk = 0;
        top.eval();
        if (top.out_valid && top.out_ready) {
          if (received == 0 && out_row == 0) first_out = cycle;
          for (unsigned l = 0; l < lanes; ++l) {
            const unsigned at = FORWARD ? location(out_row, l) : coefficient(out_row, l);
            bench::check("value", at, bench::get(top.out_row, 33 * l, 33), wanted.front()[at]);
            ++checks;
          }
          if (++out_row == rows) out_row = 0, ++received, wanted.pop_front();
        }
        if (offered && top.in_ready) {
          if (sent == 0 && row == 0) first_in = cycle;
          offered = false;
          if (++row == rows) {
            row = 0;
            ++sent;
            // Polynomials follow each other at once, or after a pause of any length.
            between = random.chance(50) ? 0 : static_cast<unsigned>(random.below(2 * rows));
          } else if (row > 1 && gaps == 0) {
            offered = true;
          }
          if (row != 0 && gaps == 0) offered = true;
        }
        top.clk = 1;
        top.eval();
      }
      if (gaps == 0 && stalls == 0)
        bench::check("latency", 0, first_out - first_in, 10 * LOG_N + rows - 1);
    }
  bench::passed(FORWARD ? "ntt" : "intt", checks);
}
