// beat_words: random beats, with gaps, stalls and random ends of beats; reset in the middle.
// A word is offered in the cycle after its beat, or after the word before it; a beat is taken when
// no word is left.
#include <deque>

#include "Vbeat_words.h"
#include "bench.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vbeat_words top;
  constexpr unsigned words = DATA_BITS / WIDTH;
  u64 checks = 0, skipped = 0;
  for (unsigned round = 0; round < 300; ++round) {
    const unsigned gaps = bench::stalls(random), stalls = bench::stalls(random), skips = round % 3 * 20;
    const u64 beats = 100 + random.below(100), reset_at = random.chance(20) ? random.below(400) : ~u64{0};
    std::deque<u64> left;  // of the beat that was taken
    u64 beat[words] = {}, taken = 0;
    bool offers = false;
    bench::reset(top);
    for (u64 cycle = 0; taken < beats || !left.empty(); ++cycle) {
      if (cycle > 200'000) bench::fail("beat_words hangs in round", round, taken, beats);
      if (cycle == reset_at) {
        top.rst_n = 0;
        bench::tick(top);
        top.rst_n = 1;
        left.clear();
      }
      if (!offers && taken < beats && !random.chance(gaps)) {
        offers = true;
        for (u64& word : beat) word = random() & bench::mask(WIDTH);
      }
      top.in_valid = offers;
      for (unsigned w = 0; w < words; ++w) bench::put(top.in_data, WIDTH * w, WIDTH, offers ? beat[w] : random());
      top.out_ready = !random.chance(stalls);
      top.skip = random.chance(skips);  // in any cycle: it counts only where a word is taken
      top.clk = 0;
      top.eval();
      bench::check("valid", cycle, top.out_valid, !left.empty());
      bench::check("ready", cycle, top.in_ready, left.empty());
      if (!left.empty()) {
        bench::check("word", cycle, bench::get(top.out_word, 0, WIDTH), left.front());
        ++checks;
        if (top.out_ready) {
          left.pop_front();
          skipped += top.skip ? left.size() : 0;
          if (top.skip) left.clear();
        }
      } else if (offers) {
        left.assign(beat, beat + words);
        offers = false;
        ++taken;
      }
      bench::tick(top);
    }
  }
  bench::check("words are skipped", 0, skipped > 0, words > 1);
  bench::passed("beat_words", checks);
}
