// stream_fifo: random words with random gaps and random stalls against a queue, and resets in the
// middle.
#include <deque>

#include "Vstream_fifo.h"
#include "bench.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vstream_fifo top;
  u64 checks = 0, resets = 0, full = 0, empty = 0;
  for (const unsigned gaps : bench::stall_levels)
    for (const unsigned stalls : bench::stall_levels) {
      bench::reset(top);
      std::deque<u64> queue;
      bool offered = false;
      u64 word = 0;
      for (unsigned cycle = 0; cycle < 20000; ++cycle) {
        if (random.below(1000) == 0) {
          bench::reset(top);
          queue.clear();
          offered = false;
          ++resets;
        }
        if (!offered) word = random() & bench::mask(WIDTH), offered = !random.chance(gaps);
        top.in_valid = offered;
        bench::put(top.in_data, 0, WIDTH, offered ? word : random());
        top.out_ready = !random.chance(stalls);
        top.clk = 0;
        top.eval();
        // A word is there from the next cycle on, and stays; there is room until DEPTH words wait.
        bench::check("out_valid in cycle", cycle, top.out_valid, !queue.empty());
        bench::check("in_ready in cycle", cycle, top.in_ready, queue.size() < DEPTH);
        bench::check("space in cycle", cycle, top.space, DEPTH - queue.size());
        if (!queue.empty())
          bench::check("word in cycle", cycle, bench::get(top.out_data, 0, WIDTH), queue.front());
        full += queue.size() == DEPTH;
        empty += queue.empty();
        if (top.out_valid && top.out_ready) queue.pop_front(), ++checks;
        if (offered && top.in_ready) queue.push_back(word), offered = false;
        top.clk = 1;
        top.eval();
      }
    }
  bench::check("it was full, empty, and reset", 0, full && empty && resets, 1);
  bench::passed("stream_fifo", checks);
}
