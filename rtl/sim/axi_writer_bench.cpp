// axi_writer: random regions, the largest too, into a memory with random stalls and errors; ended, flushed, or reset.
#include <deque>

#include "Vaxi_writer.h"
#include "bench.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vaxi_writer top;
  constexpr unsigned bytes = DATA_BITS / 8, words = DATA_BITS / 64;
  u64 checks = 0;
  for (unsigned round = 0; round < 1000; ++round) {
    if (round % 50 == 0) bench::reset(top);
    const unsigned stalls = round % 3 * 30;
    const bool endless = round % 4 == 3;  // flushed before its end
    const u64 address = random() / 4096 * 4096;
    const u64 beats = endless ? (random() >> 24 >> random.below(8)) | 1024 : 1 + random.below(300);
    u64 left_to_flush = endless ? random.below(400) : ~u64{0};
    std::deque<u64> sent;     // words that are not in memory
    u64 left_of_burst = 0, written = 0, errors_sent = 0, errors_seen = 0, sources = 0;
    bool commanded = false, address_taken = false, ended = false, done = false, offers = false;
    u64 offered[words] = {};
    top.flush = 0;
    for (u64 cycle = 0;; ++cycle) {
      if (cycle > 20000) bench::fail("writer hangs in round", round, written, beats);
      top.command_valid = !commanded;
      top.command_address = address;
      top.command_beats = beats;
      if (left_to_flush == 0) top.flush = 1;
      if (left_to_flush) --left_to_flush;
      if (!offers && commanded && sources < beats && !random.chance(stalls)) {
        offers = true;
        for (u64& word : offered) word = random();
      }
      top.in_valid = offers;
      for (unsigned w = 0; w < words; ++w) bench::put(top.in_data, 64 * w, 64, offered[w]);
      top.awready = !random.chance(stalls);
      top.wready = !random.chance(stalls);
      top.bvalid = address_taken && ended && !random.chance(stalls);
      top.bresp = 0;
      if (top.bvalid && random.chance(10)) top.bresp = 1 + random.below(3), ++errors_sent;
      top.clk = 0;
      top.eval();
      const bool takes = top.awvalid && top.awready, beat = top.wvalid && top.wready;
      bench::check("beat", round, top.beat, beat);
      if (top.awvalid && left_of_burst == 0 && !ended) {
        bench::check("address of a burst", round, top.awaddr, address + written * bytes);
        left_of_burst = top.awlen + 1u;
      }
      if (beat) {
        for (unsigned w = 0; w < words; ++w, sent.pop_front())
          bench::check("word", written, bench::get(top.wdata, 64 * w, 64), sent.front());
        bench::check("wlast", written, top.wlast, --left_of_burst == 0);
        ++written;
        ++checks;
      }
      errors_seen += top.error;
      done |= top.done;
      const bool accepted = top.in_valid && top.in_ready, answered = top.bvalid, last = beat && left_of_burst == 0;
      bench::tick(top);
      commanded = true;
      if (accepted) {
        for (const u64 word : offered) sent.push_back(word);
        ++sources;
        offers = false;
      }
      address_taken = !answered && (address_taken || takes);
      ended = !answered && (ended || last);
      if (endless ? top.flush && top.idle : done) break;
    }
    bench::check("errors in round", round, errors_seen, errors_sent);
    if (!endless) bench::check("beats", round, written, beats);
    if (endless) bench::reset(top);
  }
  bench::passed("axi_writer", checks);
}
