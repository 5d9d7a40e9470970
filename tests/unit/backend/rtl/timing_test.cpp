// Counters against numbers made by hand from rtl/README.md, section 6.
#include "backend/rtl/timing.h"

#include "support/rtl_scene.h"
#include "whorl/rtl.h"

namespace whorl::backend::rtl {
namespace {

Counters count(const Shape& core, Mode mode, std::uint32_t n, std::uint32_t ciphertexts,
               const MemoryTiming& memory = {}) {
  Descriptor d;
  d.mode = static_cast<std::uint32_t>(mode);
  d.group = core.M;
  d.n = n;
  d.count = ciphertexts;
  d.luts = 1;
  Timing timing(core, d, std::vector<std::uint32_t>(ciphertexts, 0), memory);
  EXPECT_TRUE(timing.advance(most_cycles(core, d, memory)));
  return timing.counters();
}

TEST(RtlTiming, SlotsAndBeatsAreThoseOfTheSchedule) {
  // Set (I), m = 2, 2 PEs of 3 places: 250 steps; 8 ciphertexts are a batch of 6 and one of 2.
  const Shape core{.log_N = 10, .L = 2, .log_Bg = 10, .M = 2, .pes = 2, .K = 3};
  const Counters c = count(core, Mode::bootstrap, 500, 8);
  EXPECT_EQ(c.slots, 250u * (3 + 1));
  EXPECT_EQ(c.pe_slots, 250u * 8);
  EXPECT_EQ(c.results, 8u);
  // Words of a chunk: 3 keys of 4 rows of 2 polynomials of 1,024 words of 33 bits.
  EXPECT_EQ(core.chunk_beats(), 3u * 4 * 2 * 1024 * 33 / 512);
  EXPECT_EQ(c.bk_beats, 2u * 250 * core.chunk_beats());
  EXPECT_EQ(c.ksk_beats, 2u * 1024 * 8 * 32);      // rows of 501 words
  EXPECT_EQ(c.io_read_beats, 8u * 32 + 1024 / 8);  // records of 502 words, one test vector
  EXPECT_EQ(c.io_write_beats, 8u * 32);
  EXPECT_EQ(c.ks_busy, 1024u * 8 * 8);  // a product a row and ciphertext
}

TEST(RtlTiming, OneCiphertextWaitsForItsAccumulator) {
  const Shape core{.log_N = 10, .L = 2, .log_Bg = 10, .M = 2, .pes = 1, .K = 3};
  // 2 + 2 + 2·(100 + 511) + 9 + 2 + 1.
  EXPECT_EQ(core.lat_wb(), 1238u);
  const Counters c = count(core, Mode::rotate, 500, 1);
  // LAT_WB + 1 cycles from slot to slot, of which the first 512 are the slot's own.
  EXPECT_GE(c.wait_acc, 249u * (1239 - 512));
  EXPECT_LE(c.cycles, 250u * 1584 + 6000);  // the key comes at a beat a cycle: 1,584 a chunk
  EXPECT_EQ(c.bk_beats, 250u * 1584);
}

TEST(RtlTiming, FullPesNeverWait) {
  Shape core{.log_N = 10, .L = 2, .log_Bg = 10, .M = 2, .pes = 4, .K = 3};
  core.bk_ports = 2;
  const std::uint32_t batch = core.capacity();
  const Counters two = count(core, Mode::bootstrap, 500, 2 * batch),
                 four = count(core, Mode::bootstrap, 500, 4 * batch);
  const std::uint64_t cycles = four.cycles - two.cycles;
  EXPECT_EQ(four.pe_slots - two.pe_slots, 250u * 2 * batch);
  // Within 5 % of one row a cycle.
  EXPECT_LE(cycles, 250u * 512 * 3 * 2 * 105 / 100);
  EXPECT_EQ(four.wait_acc, two.wait_acc);
}

TEST(RtlTiming, SlowMemoryCostsItsBeats) {
  const Shape core{.log_N = 8, .M = 2, .pes = 1, .K = 2, .max_n = 20};
  const Counters fast = count(core, Mode::bootstrap, 20, 2);
  MemoryTiming slow;
  slow.stall = 256;
  slow.stall_cycles = 3;  // each beat
  const Counters late = count(core, Mode::bootstrap, 20, 2, slow);
  EXPECT_EQ(late.slots, fast.slots);
  EXPECT_EQ(late.bk_beats, fast.bk_beats);
  EXPECT_GE(late.cycles, 4 * late.ksk_beats);
  EXPECT_GT(late.wait_key, fast.wait_key);
  MemoryTiming narrow;
  narrow.bytes_a_cycle = 16;  // a quarter of a beat
  EXPECT_GE(count(core, Mode::bootstrap, 20, 2, narrow).cycles,
            4 * (fast.bk_beats + fast.ksk_beats));
}

TEST(RtlTiming, AWholeSwitchingKeyIsReadOnceARun) {
  Shape core{.log_N = 8, .M = 2, .pes = 1, .K = 2, .max_n = 20, .ks_lanes = 16};
  const std::uint64_t beats = std::uint64_t{core.ksk_row_count()} * core.ksk_row_beats(20);
  MemoryTiming narrow;
  narrow.bytes_a_cycle = 16;  // a quarter of a beat
  const Counters again = count(core, Mode::bootstrap, 20, 6, narrow);
  EXPECT_EQ(again.ksk_beats, 3 * beats);  // three batches
  core.ksk_rows = static_cast<std::uint32_t>(core.ksk_row_count());
  const Counters once = count(core, Mode::bootstrap, 20, 6, narrow);
  EXPECT_EQ(once.ksk_beats, beats);
  EXPECT_EQ(once.ks_busy, again.ks_busy);
  EXPECT_LT(once.cycles, again.cycles);
}

TEST(RtlTiming, LanesOfSeveralRowsTakeThemAtOnce) {
  Shape core{.log_N = 8, .M = 2, .pes = 3, .K = 2, .max_n = 20, .ks_lanes = 32};
  core.ksk_rows = static_cast<std::uint32_t>(core.ksk_row_count());
  EXPECT_EQ(core.ks_rows_at_once(), 1u);
  const Counters one = count(core, Mode::key_switch, 20, 6);
  EXPECT_EQ(one.ks_busy, 6 * core.ksk_row_count());
  core.ks_lanes = 128;
  EXPECT_EQ(core.ks_rows_at_once(), 4u);
  const Counters four = count(core, Mode::key_switch, 20, 6);
  EXPECT_EQ(four.ks_busy, 6 * core.ksk_row_count() / 4);
  core.L_ks = 6;  // two of six rows, and not four
  EXPECT_EQ(core.ks_rows_at_once(), 2u);
  core.max_n = 64;  // a row and a half
  EXPECT_EQ(core.ks_rows_at_once(), 1u);
}

TEST(RtlTiming, PortsTakeTurnsAtANarrowMemory) {
  // Four ports of 128 bytes a cycle at a memory of 427: none may wait for the others.
  const Shape core{.log_N = 10, .M = 4, .K = 3, .mem_bits = 1024, .bk_ports = 4, .ksk_bits = 1024};
  MemoryTiming memory;
  memory.bytes_a_cycle = 427;
  const std::uint32_t n = 100;
  const Counters c = count(core, Mode::rotate, n, 1, memory);
  const std::uint64_t bytes = core.steps(n) * core.chunk_beats() * 4 * core.mem_bytes();
  EXPECT_GE(c.cycles, bytes / 427);
  EXPECT_LE(c.cycles, bytes / 427 * 105 / 100 + 6000);
}

TEST(RtlTiming, DesignersSeeTheSameCounters) {
  const Shape core{.log_N = 8, .M = 3, .pes = 2, .K = 2, .max_n = 30};
  const Counters c = count(core, Mode::bootstrap, 30, 5);
  whorl::rtl::Design design;
  design.log_N = 8;
  design.M = 3;
  design.pes = 2;
  design.K = 2;
  const auto cycles = whorl::rtl::count_cycles(design, {}, {30, 5});
  for (std::size_t k = 0; k < Counters::size; ++k) {
    EXPECT_EQ(cycles.counters[k].first, counter_name(k));
    EXPECT_EQ(cycles.counters[k].second, c[k]);
  }
  EXPECT_EQ(cycles.multipliers, core.multipliers());
  EXPECT_THROW(whorl::rtl::count_cycles(design, {}, {30, 0}), ParameterError);
  design.M = 5;
  EXPECT_THROW(whorl::rtl::count_cycles(design, {}, {30, 1}), ParameterError);
  design.M = 3;
  EXPECT_NO_THROW(whorl::rtl::count_cycles(design, {.stall = 256}, {30, 1}));
  EXPECT_THROW(whorl::rtl::count_cycles(design, {.stall = 257}, {30, 1}), ParameterError);
  EXPECT_THROW(whorl::rtl::count_cycles(design, {}, {30, 5}, [] { return true; }),
               InterruptedError);
}

}  // namespace
}  // namespace whorl::backend::rtl
