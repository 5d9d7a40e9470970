// registers: random reads and writes at all addresses, each channel with gaps of its own, so that
// addresses and words come in any order; answers that wait; random strobes; a core that is busy,
// done or wrong at random; reset in the middle. Everything is compared in every cycle with the map
// of README section 4. A read is answered in the cycle after its address. When the later of a
// write's address and word was taken, the next cycle writes, and the one after that answers.
#include <optional>

#include "Vregisters.h"
#include "bench.h"
#include "descriptor.h"

using reference::u64;
using u32 = std::uint32_t;

namespace {
constexpr unsigned counters = 12, first = 0x080;

struct Map {
  u32 words[bench::descriptor_words] = {};
  bool irq_enable = false, busy = false, done = false;
  u64 error = 0, counts[counters] = {};

  u32 read(unsigned address) const {
    const unsigned at = address & ~3u;
    if (at == 0x000) return 0x57484F52;
    if (at == 0x004) return 0x00010000;
    if (at == 0x00C) return (error != 0) << 2 | done << 1 | busy;
    if (at == 0x010) return static_cast<u32>(error);
    if (at == 0x014) return irq_enable;
    // What the parameter SHAPE of this bench has.
    if (at >= 0x020 && at < 0x020 + 4 * SHAPES) return ((at - 0x020) / 4 + 1) * 0x01000001 + 0x005AA500;
    if (at >= first && at < first + 4 * bench::descriptor_words) return words[(at - first) / 4];
    if (at >= 0x180 && at < 0x180 + 8 * counters) return static_cast<u32>(counts[(at - 0x180) / 8] >> (at % 8 * 8));
    return 0;
  }
  void write(unsigned address, u32 value, unsigned strobe) {
    const unsigned at = address & ~3u;
    u32 mask = 0;
    for (unsigned byte = 0; byte < 4; ++byte) mask |= strobe >> byte & 1 ? 0xFFu << (8 * byte) : 0;
    if (at == 0x014 && strobe & 1) irq_enable = value & 1;
    if (at < first || at >= first + 4 * bench::descriptor_words || busy) return;
    u32& word = words[(at - first) / 4];
    word = (word & ~mask) | (value & mask);
  }
  u64 field(unsigned f) const {
    const unsigned at = (bench::address_of(f) - first) / 4;
    return words[at] | (bench::words_of(f) == 2 ? u64{words[at + 1]} << 32 : 0);
  }
};

unsigned random_address(reference::Random& random) {
  const auto low = static_cast<unsigned>(random.below(4));  // not looked at
  switch (random.below(8)) {
    case 0:
      return 0x008 | low;
    case 1:
      return 0x014 | low;
    case 2:
      return static_cast<unsigned>(random.below(0x080));
    case 3:
      return static_cast<unsigned>(0x180 + random.below(0x80));
    case 4:
      return static_cast<unsigned>(random.below(0x1000));
    default:
      return static_cast<unsigned>(0x078 + random.below(0xA8));
  }
}
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vregisters top;
  const CData& abort = top.__SYM__abort;  // Verilator keeps clear of words of C
  u64 writes = 0, reads = 0, starts = 0, aborts = 0, interrupts = 0, words_first = 0;
  for (unsigned round = 0; round < 500; ++round) {
    const unsigned aw_gaps = bench::stalls(random), w_gaps = bench::stalls(random), b_stalls = bench::stalls(random);
    const unsigned ar_gaps = bench::stalls(random), r_stalls = bench::stalls(random);
    const u64 cycles = 500 + random.below(500);
    struct Word {
      u32 value;
      unsigned strobe;
    };
    std::optional<unsigned> aw, ar, address;  // offered; taken
    std::optional<Word> w, word;
    std::optional<u32> answer;
    bool answered = false;
    Map map;
    top.awvalid = top.wvalid = top.arvalid = 0;
    bench::reset(top);
    for (u64 cycle = 0; cycle < cycles; ++cycle) {
      if (random.chance(5)) map.busy = random.chance(40);
      if (random.chance(5)) map.done = random.chance(50);
      if (random.chance(5)) map.error = random.chance(50) ? 0 : 1 + random.below(31);
      if (random.chance(30)) {
        const u64 c = random.below(counters);
        map.counts[c] = random() >> random.below(64);
      }
      if (!aw && !random.chance(aw_gaps)) aw = random_address(random);
      if (!w && !random.chance(w_gaps))
        w = Word{static_cast<u32>(random()), random.chance(50) ? 15 : static_cast<unsigned>(random.below(16))};
      if (!ar && !random.chance(ar_gaps)) ar = random_address(random);
      top.awvalid = aw.has_value();
      top.awaddr = static_cast<SData>(aw ? *aw : random() & 0xFFF);
      top.wvalid = w.has_value();
      top.wdata = w ? w->value : static_cast<u32>(random());
      top.wstrb = static_cast<CData>(w ? w->strobe : random() & 15);
      top.arvalid = ar.has_value();
      top.araddr = static_cast<SData>(ar ? *ar : random() & 0xFFF);
      top.bready = !random.chance(b_stalls);
      top.rready = !random.chance(r_stalls);
      top.busy = map.busy;
      top.done = map.done;
      top.error = static_cast<CData>(map.error);
      for (unsigned c = 0; c < 2 * counters; ++c) top.counters[c] = static_cast<u32>(map.counts[c / 2] >> (c % 2 * 32));
      top.clk = 0;
      top.eval();

      bench::check("awready", cycle, top.awready, !address);
      bench::check("wready", cycle, top.wready, !word);
      bench::check("bvalid", cycle, top.bvalid, answered);
      bench::check("bresp", cycle, top.bresp, 0);
      bench::check("arready", cycle, top.arready, !answer || top.rready);
      bench::check("rvalid", cycle, top.rvalid, answer.has_value());
      bench::check("rresp", cycle, top.rresp, 0);
      if (answer) bench::check("rdata", cycle, top.rdata, *answer);
      const bool now = address && word && (!answered || top.bready);
      const bool control = now && (*address & ~3u) == 0x008 && word->strobe & 1;
      bench::check("start", cycle, top.start, control && word->value & 1 && !map.busy);
      bench::check("abort", cycle, abort, control && word->value & 2 && map.busy);
      bench::check("irq", cycle, top.irq, map.irq_enable && !map.busy && (map.done || map.error));
      for (unsigned f = 0; f < bench::fields; ++f)
        bench::check("field of the descriptor", f, bench::get_field(top.descriptor, f), map.field(f));
      starts += top.start;
      aborts += abort;
      interrupts += top.irq;
      words_first += word && !address;

      if (top.bready) answered = false;
      if (top.rready) answer.reset();
      if (ar && top.arready) {
        answer = map.read(*ar);
        ar.reset();
        ++reads;
      }
      if (now) {
        map.write(*address, word->value, word->strobe);
        address.reset(), word.reset();
        answered = true;
        ++writes;
      }
      if (aw && top.awready) address = aw, aw.reset();
      if (w && top.wready) word = w, w.reset();
      bench::tick(top);
    }
  }
  bench::check("starts, aborts, interrupts, and words before their addresses", 0,
               starts > 100 && aborts > 100 && interrupts > 100 && words_first > 100, 1);
  bench::passed("registers", reads + writes);
}
