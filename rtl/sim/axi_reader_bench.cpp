// axi_reader: random regions, the largest too, behind a memory with random stalls and errors; ended, flushed, or reset.
#include <deque>

#include "Vaxi_reader.h"
#include "bench.h"

using reference::u64;

namespace {
constexpr unsigned bytes = DATA_BITS / 8;
/// The word at an address of the memory.
u64 word_at(u64 address) { return reference::Random(address)(); }
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vaxi_reader top;
  u64 checks = 0;
  for (unsigned round = 0; round < 1000; ++round) {
    if (round % 50 == 0) bench::reset(top);
    const unsigned stalls = round % 3 * 30;
    const bool endless = round % 4 == 3;  // flushed before its end
    u64 address = random() / bytes * bytes, beats = 1 + random.below(300);
    if (endless) beats = (random() >> 24 >> random.below(8)) | 1024;
    u64 left_to_flush = endless ? random.below(400) : ~u64{0}, want = address, left = beats;
    std::deque<u64> owed;  // addresses of beats that were asked for
    u64 errors_sent = 0, errors_seen = 0, asked = address;
    bool commanded = false;
    top.flush = 0;
    for (u64 cycle = 0;; ++cycle) {
      if (cycle > 20000) bench::fail("reader hangs in round", round, left, 0);
      top.command_valid = !commanded;
      top.command_address = address;
      top.command_beats = beats;
      if (left_to_flush == 0) top.flush = 1;
      if (left_to_flush) --left_to_flush;
      top.arready = !random.chance(stalls);
      top.out_ready = !random.chance(stalls);
      top.rvalid = !owed.empty() && !random.chance(stalls);
      top.rresp = 0;
      if (top.rvalid) {
        for (unsigned w = 0; w < DATA_BITS / 64; ++w) bench::put(top.rdata, 64 * w, 64, word_at(owed.front() + w));
        if (random.chance(1)) top.rresp = 1 + random.below(3), ++errors_sent;
      }
      top.clk = 0;
      top.eval();
      bench::check("rready in round", round, top.rready, 1);
      const bool taken = top.command_valid && top.command_ready, asks = top.arvalid && top.arready;
      const u64 burst = top.araddr, length = top.arlen + 1u;
      if (asks) bench::check("address of a burst", round, burst, asked);
      if (top.out_valid && top.out_ready && !top.flush) {
        for (unsigned w = 0; w < DATA_BITS / 64; ++w)
          bench::check("word", want, bench::get(top.out_data, 64 * w, 64), word_at(want + w));
        want += bytes;
        --left;
        ++checks;
      }
      errors_seen += top.error;
      bench::check("beat", round, top.beat, top.rvalid);
      const bool answered = top.rvalid;
      bench::tick(top);
      commanded |= taken;
      if (answered) owed.pop_front();
      if (asks) {
        asked += length * bytes;
        for (u64 k = 0; k < length; ++k) owed.push_back(burst + k * bytes);
      }
      if (endless ? top.flush && top.idle : left == 0 && owed.empty()) break;
    }
    bench::check("errors in round", round, errors_seen, errors_sent);
    bench::check("beats that were asked for", round, endless || asked - address == beats * bytes, 1);
    if (endless) bench::reset(top);
  }
  bench::passed("axi_reader", checks);
}
