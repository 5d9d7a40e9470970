// word_beats: random words, with gaps, stalls and random ends of beats; reset in the middle of a
// beat. A beat is offered in the cycle after its last word; the next word is taken when no beat
// waits.
#include <vector>

#include "Vword_beats.h"
#include "bench.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vword_beats top;
  constexpr unsigned words = DATA_BITS / WIDTH;
  u64 checks = 0;
  for (unsigned round = 0; round < 300; ++round) {
    const unsigned gaps = bench::stalls(random), stalls = bench::stalls(random), ends = round % 3 * 15;
    const u64 count = 200 + random.below(200), reset_at = random.chance(20) ? random.below(400) : ~u64{0};
    std::vector<u64> beat;  // its words so far
    bool full = false, offers = false, last = false;
    u64 word = 0, taken = 0;
    bench::reset(top);
    for (u64 cycle = 0; taken < count || full; ++cycle) {
      if (cycle > 200'000) bench::fail("word_beats hangs in round", round, taken, count);
      if (cycle == reset_at) {
        top.rst_n = 0;
        bench::tick(top);
        top.rst_n = 1;
        beat.clear();
        full = false;
      }
      if (!offers && taken < count && !random.chance(gaps)) {
        offers = true;
        word = random() & bench::mask(WIDTH);
        last = random.chance(ends) || taken + 1 == count;
      }
      top.in_valid = offers;
      bench::put(top.in_word, 0, WIDTH, offers ? word : random());
      top.in_last = offers ? last : random.chance(50);
      top.out_ready = !random.chance(stalls);
      top.clk = 0;
      top.eval();
      bench::check("valid", cycle, top.out_valid, full);
      bench::check("ready", cycle, top.in_ready, !full);
      if (full) {
        for (unsigned w = 0; w < words; ++w, ++checks)
          bench::check("word", w, bench::get(top.out_data, WIDTH * w, WIDTH), w < beat.size() ? beat[w] : 0);
        if (top.out_ready) {
          beat.clear();
          full = false;
        }
      } else if (offers) {
        beat.push_back(word);
        full = last || beat.size() == words;
        offers = false;
        ++taken;
      }
      bench::tick(top);
    }
  }
  bench::passed("word_beats", checks);
}
