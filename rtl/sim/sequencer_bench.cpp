// sequencer: runs of random lengths, with chunks and batches that come at random; reset in the
// middle. In every cycle all outputs are compared with those of the slots that README section 6
// asks for, one after the other.
#include <algorithm>
#include <deque>

#include "Vsequencer.h"
#include "bench.h"

using reference::ceil_log2;
using reference::u64;

namespace {
constexpr unsigned rows = (1u << LOG_N) / (2u << LOG_B), log_rows = LOG_N - 1 - LOG_B, capacity = PES * PLACES;
constexpr unsigned log_places = PLACES > 1 ? ceil_log2(PLACES) : 1;
// README section 6.
constexpr u64 transform = 10 * LOG_N + rows - 1, lat_wb = 2 * transform + ceil_log2(2 * DIGITS) + 14,
              lat_bku = transform - ceil_log2((1u << GROUP) - 1) - 10;
// Cycles from a slot's begin to its first row, its exponents, the first row of its key, and its
// last write. A row of the key reaches the PEs two cycles later.
constexpr u64 to_row = 1, to_exponents = to_row + lat_bku, to_key = to_exponents + 3, to_done = lat_wb + rows + 1;

struct Slot {
  u64 begin;
  unsigned bank, place, step, chunk, in_batch;
  u64 active;  // a bit a PE
  bool ends_step, ends_batch;
};
/// Whether a slot is in one of its rows, the first of which is `first` cycles after its begin; and in which.
struct InRow {
  bool is;
  u64 row;
  InRow(const Slot& slot, u64 cycle, u64 first)
      : is(cycle >= slot.begin + first && cycle < slot.begin + first + rows), row(cycle - slot.begin - first) {}
};
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vsequencer top;
  u64 slots = 0, waits_key = 0, waits_accumulator = 0, waits_batch = 0;
  for (unsigned round = 0; round < 500; ++round) {
    constexpr unsigned often[] = {100, 5, 1};
    const unsigned chunks_come = often[random.below(3)], batches_come = often[random.below(3)];
    const unsigned banks_go = often[random.below(3)];
    const bool endless = random.chance(10);  // reset long before its end
    const u64 count = endless ? random() >> 32 | u64{1} << 31 : 1 + bench::with_ends(random, 3 * capacity);
    const u64 steps = 1 + bench::with_ends(random, 1u << LOG_STEPS), batches = (count + capacity - 1) / capacity;
    const u64 reset_at = endless || random.chance(20) ? random.below(3000) : ~u64{0};
    std::deque<Slot> live;
    u64 left = 0, batch = 0, step = 0, place = 0, last_begin = 0, begin_of[PLACES] = {};
    bool began = false, began_of[PLACES] = {};
    // Batches: loaded, whose last slot began, done, drained. Chunks.
    u64 loaded = 0, taken = 0, done = 0, gone = 0;
    u64 filled = 0, acquired = 0, released = 0;
    u64 after = 0;
    top.start = top.batch_loaded = top.chunk_ready = 0;
    bench::reset(top, 2);
    for (u64 cycle = 0; after < 300; ++cycle) {
      if (cycle > 200'000) bench::fail("sequencer hangs in round", round, done, batches);
      if (cycle == reset_at) break;
      top.start = cycle == 3;
      top.count = static_cast<IData>(count);
      top.steps = static_cast<CData>(steps);
      top.batch_loaded = cycle > 3 && loaded < batches && loaded - gone < 2 && random.chance(batches_come);
      if (cycle > 3 && filled < batches * steps && filled - released < BUFFERS && random.chance(chunks_come)) ++filled;
      top.chunk_ready = filled > acquired;
      top.clk = 0;
      top.eval();

      // Which slot is next, and whether it begins. A place waits for its last slot, of this batch
      // or the one before.
      const u64 in_batch = std::min<u64>(left, capacity), places = (in_batch + PES - 1) / PES;
      const bool wants = left > 0 && (!began || cycle - last_begin >= rows);
      const bool no_batch = step == 0 && place == 0 && loaded == taken;
      const bool no_accumulator = began_of[place] && cycle - begin_of[place] < lat_wb + 1;
      const bool no_chunk = place == 0 && filled == acquired;
      const bool begins = wants && !no_batch && !no_accumulator && !no_chunk;
      bench::check("a slot begins", cycle, top.slot_begins, begins);
      bench::check("acquire", cycle, top.acquire, begins && place == 0);
      bench::check("waits for a batch", cycle, top.waits_for_batch, wants && no_batch);
      bench::check("waits for the accumulator", cycle, top.waits_for_accumulator, wants && !no_batch && no_accumulator);
      bench::check("waits for the key", cycle, top.waits_for_key, wants && !no_batch && !no_accumulator && no_chunk);
      waits_batch += top.waits_for_batch;
      waits_accumulator += top.waits_for_accumulator;
      waits_key += top.waits_for_key;

      // What the slots do that began.
      bool reads = false, exponents = false, key = false, key_soon = false, releases = false, ends = false;
      for (const Slot& slot : live) {
        if (const InRow now(slot, cycle, to_row); now.is) {
          reads = true;
          bench::check("bank of a row", cycle, top.read_bank, slot.bank);
          bench::check("address of a row", cycle, top.read_address, slot.place * rows + now.row);
          bench::check("PEs of a row", cycle, top.read_active, slot.active);
        }
        if (cycle == slot.begin + to_exponents) {
          exponents = true;
          bench::check("address of exponents", cycle, top.exponents_address,
                       ((u64{slot.bank} << log_places) + slot.place << LOG_STEPS) + slot.step);
          bench::check("PEs of exponents", cycle, top.exponents_active, slot.active);
        }
        if (const InRow now(slot, cycle, to_key); now.is) {
          key_soon = true;
          releases = slot.ends_step && now.row == rows - 1;
          bench::check("address of the key", cycle, top.key_address, slot.chunk % BUFFERS * rows + now.row);
          if (slot.chunk < released || slot.chunk >= filled)
            bench::fail("chunk is not there", cycle, slot.chunk, released);
        }
        if (const InRow now(slot, cycle, to_key + 2); now.is) {
          key = true;
          bench::check("PEs of the key", cycle, top.key_active, slot.active);
        }
        if (slot.ends_batch && cycle == slot.begin + to_done) {
          ends = true;
          bench::check("ciphertexts of a batch", cycle, top.batch_done_count, slot.in_batch);
        }
      }
      bench::check("a row is read", cycle, top.read_valid, reads);
      bench::check("exponents are read", cycle, top.exponents_valid, exponents);
      bench::check("a row of the key comes", cycle, top.key_valid, key);
      bench::check("a chunk is released", cycle, top.release_chunk, releases);
      bench::check("a batch is done", cycle, top.batch_done, ends);

      if (begins) {
        u64 active = 0;
        for (u64 e = 0; e < PES; ++e) active |= u64{place * PES + e < in_batch} << e;
        bench::check("PEs of a slot", cycle, top.slot_active, active);
        acquired += place == 0;
        const bool ends_step = place + 1 == places, ends_batch = ends_step && step + 1 == steps;
        live.push_back({cycle, static_cast<unsigned>(batch % 2), static_cast<unsigned>(place),
                        static_cast<unsigned>(step), static_cast<unsigned>(acquired - 1),
                        static_cast<unsigned>(in_batch), active, ends_step, ends_batch});
        last_begin = begin_of[place] = cycle;
        began = began_of[place] = true;
        place = ends_step ? 0 : place + 1;
        if (ends_step) step = ends_batch ? 0 : step + 1;
        if (ends_batch) left -= in_batch, ++batch, ++taken;
        ++slots;
      }
      if (!live.empty() && cycle >= live.front().begin + to_done) live.pop_front();
      if (top.start) left = count;
      loaded += top.batch_loaded;
      released += releases;
      done += ends;
      gone += done > gone && random.chance(banks_go);
      after += done == batches;
      bench::tick(top);
    }
  }
  bench::check("each of the waits", 0, waits_key > 100 && waits_accumulator > 100 && waits_batch > 100, 1);
  bench::passed("sequencer", slots);
}
