// pe: batches of random ciphertexts through steps with random keys, against plain arithmetic, while
// the next batch is loaded and the one before is drained. The bench is the sequencer, the loader
// and the drain: it waits at random, or begins each slot as early as may be. Resets in the middle.
#include <bit>
#include <deque>

#include "Vpe.h"
#include "bench.h"
#include "images.h"

using reference::u64;

namespace {
constexpr unsigned N = 1u << LOG_N, B = 1u << LOG_B, lanes = 2 * B, rows = N / lanes, steps = 3;
constexpr unsigned sets = (1u << GROUP) - 1, width_of_e = LOG_N + 1;
// rtl/README.md section 6; and from a token to the first row of the key.
constexpr unsigned transform = 10 * LOG_N + rows - 1;
constexpr unsigned lat_wb = 2 * transform + std::bit_width(2u * DIGITS - 1) + 14;
constexpr unsigned lat_bku = transform - std::bit_width(sets - 1) - 10, to_key = 5;

struct Batch {
  unsigned places = 0;
  reference::Key key;
  std::vector<std::vector<unsigned>> exponents;       // place·steps + step: m of them
  std::vector<unsigned> words;                        // where those lie
  std::vector<std::vector<u64>> first;                // of each place: b; a is 0
  std::vector<reference::Accumulator> before, after;  // of each place: the last step
  u64 loads = 0, exponent_loads = 0;                  // how much is there
  u64 last_slot = 0;                                  // the cycle in which it began
  u64 drained = 0;
  unsigned bank = 0;
};
struct Slot {
  u64 begin;
  const Batch* batch;
  unsigned step, place;
};
/// Column, lane: coefficient B·t + l, or B·t + l + N/2.
unsigned coefficient(unsigned t, unsigned lane) { return B * t + lane % B + lane / B * (N / 2); }
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vpe top;
  reference::Shape shape{};
  shape.log_n = LOG_N, shape.L = DIGITS, shape.log_bg = LOG_BG, shape.m = GROUP,
  shape.log_b = LOG_B;
  const reference::Transforms transforms(LOG_N);
  u64 checks = 0, resets = 0, overlaps = 0;
  constexpr unsigned batches = 10;

  const auto make = [&](unsigned number) {
    Batch batch;
    batch.bank = number % 2;
    batch.places = 1 + static_cast<unsigned>(random.below(PLACES));
    batch.key.resize(steps * sets * 2 * DIGITS * 2, std::vector<u64>(N));
    for (auto& polynomial : batch.key)
      for (u64& x : polynomial) x = random.residue_mod_p();
    // Any words of the bank's half of the memory, each once.
    std::vector<unsigned> free;
    for (unsigned w = 0; w < EXPONENT_WORDS / 2; ++w)
      free.push_back(batch.bank * EXPONENT_WORDS / 2 + w);
    for (unsigned place = 0; place < batch.places; ++place) {
      reference::Accumulator acc = {std::vector<u64>(N), std::vector<u64>(N)};
      for (u64& x : acc[1]) x = random.residue_mod_p();
      batch.first.push_back(acc[1]);
      reference::Accumulator before;
      for (unsigned step = 0; step < steps; ++step) {
        std::vector<unsigned> e(GROUP);
        for (unsigned& a : e)
          a = random.chance(20) ? 0 : static_cast<unsigned>(random.below(2 * N));
        before = acc;
        reference::take_step(shape, transforms, batch.key, step, e.data(), acc);
        batch.exponents.push_back(e);
        const u64 at = random.below(free.size());
        batch.words.push_back(free[at]);
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
      }
      batch.before.push_back(before);
      batch.after.push_back(acc);
    }
    return batch;
  };

  for (const unsigned waits : bench::stall_levels) {
    u64 reset_at = random.below(3 * lat_wb) + lat_wb / 2;
    bool again = true;
    while (again) {
      again = false;
      top.read_valid = top.exponents_valid = top.key_valid = top.exponents_write = top.load_enable =
          0;
      bench::reset(top);
      std::deque<Batch> all;
      for (unsigned number = 0; number < batches; ++number) all.push_back(make(number));
      unsigned loading = 0, stepping = 0, draining = 0, step = 0, place = 0;
      u64 next_slot = 0;
      std::vector<u64> next_of(PLACES);
      std::deque<Slot> slots;
      struct Drain {
        const reference::Accumulator* from;
        unsigned row;
      };
      std::deque<Drain> due(2, Drain{nullptr, 0});
      for (u64 cycle = 0; draining < batches || due[0].from || due[1].from; ++cycle) {
        if (cycle > 400000) bench::fail("hang in cycle", cycle, draining, batches);
        if (cycle == reset_at) {
          ++resets;
          reset_at = ~u64{0};
          again = true;
          break;
        }
        // A slot begins.
        if (stepping < loading && cycle >= next_slot && cycle >= next_of[place] &&
            !random.chance(waits)) {
          Batch& batch = all[stepping];
          slots.push_back({cycle, &batch, step, place});
          overlaps += slots.size() > 1 && slots.front().begin + lat_bku + to_key + rows > cycle;
          next_slot = cycle + rows;
          next_of[place] = cycle + lat_wb + 1;
          batch.last_slot = cycle;
          if (++place == batch.places) {
            place = 0;
            if (++step == steps) step = 0, ++stepping;
          }
        }
        // What slots that are under way ask for in this cycle; other words are of no account.
        top.read_valid = top.exponents_valid = top.key_valid = 0;
        top.read_bank = random.chance(50);
        top.read_address = static_cast<std::uint32_t>(random.below(PLACES * rows));
        top.exponents_address = static_cast<std::uint32_t>(random.below(EXPONENT_WORDS));
        const Slot* with_key = nullptr;
        u64 key_row = 0;
        for (const Slot& slot : slots) {
          const u64 since = cycle - slot.begin;
          if (since < rows) {
            top.read_valid = 1;
            top.read_bank = slot.batch->bank;
            top.read_address = static_cast<std::uint32_t>(slot.place * rows + since);
          }
          if (since == lat_bku) {
            top.exponents_valid = 1;
            top.exponents_address = slot.batch->words[slot.place * steps + slot.step];
          }
          if (since >= lat_bku + to_key && since < lat_bku + to_key + rows) {
            top.key_valid = 1;
            with_key = &slot;
            key_row = since - lat_bku - to_key;
          }
        }
        for (unsigned set = 0; set < sets; ++set)
          for (unsigned word = 0; word < 4 * DIGITS; ++word)
            for (unsigned lane = 0; lane < lanes; ++lane) {
              u64 value = random.residue_mod_p();
              if (with_key)
                value = with_key->batch->key[reference::key_at(shape, with_key->step, set, word / 2,
                                                               word % 2)][lanes * key_row + lane];
              bench::put(top.key, ((set * 4 * DIGITS + word) * lanes + lane) * 33, 33, value);
            }
        if (!slots.empty() && cycle - slots.front().begin > lat_wb + rows) slots.pop_front();

        // The loader: accumulators and exponents of a batch, once its bank has been drained.
        top.load_enable = 0;
        top.exponents_write = 0;
        u64 pair[2] = {random.residue_mod_p(), random.residue_mod_p()};
        top.load_bank = random.chance(50);
        top.load_address = static_cast<std::uint32_t>(random.below(PLACES * rows));
        top.exponents_write_address = static_cast<std::uint32_t>(random.below(EXPONENT_WORDS));
        bench::put(top.exponents_write_data, 0, GROUP * width_of_e, random());
        if (loading < batches && loading < draining + 2) {
          Batch& batch = all[loading];
          const u64 loads = u64{batch.places} * rows * B, words = batch.words.size();
          if (batch.loads == loads && batch.exponent_loads == words) {
            ++loading;
          } else {
            if (batch.loads < loads && !random.chance(waits)) {
              const auto at = static_cast<unsigned>(batch.loads++), row = at / B, l = at % B;
              top.load_enable = static_cast<std::uint8_t>(1u << l);
              top.load_bank = batch.bank;
              top.load_address = row;
              for (unsigned half = 0; half < 2; ++half)
                pair[half] = batch.first[row / rows][coefficient(row % rows, half * B + l)];
            }
            if (batch.exponent_loads < words && !random.chance(waits)) {
              const u64 at = batch.exponent_loads++;
              top.exponents_write = 1;
              top.exponents_write_address = batch.words[at];
              for (unsigned i = 0; i < GROUP; ++i)
                bench::put(top.exponents_write_data, i * width_of_e, width_of_e,
                           batch.exponents[at][i]);
            }
          }
        }
        for (unsigned half = 0; half < 2; ++half)
          bench::put(top.load_pair, 33 * half, 33, pair[half]);

        // The drain, from the place of the last slot on. A sum is not there in the cycle before
        // LAT_WB, and there in the one after it.
        Drain drain{nullptr, 0};
        top.drain_bank = random.chance(50);
        top.drain_address = static_cast<std::uint32_t>(random.below(PLACES * rows));
        if (draining < stepping) {
          Batch& batch = all[draining];
          const unsigned last = batch.places - 1;
          const auto read = [&](unsigned from, unsigned row, const reference::Accumulator& values) {
            top.drain_bank = batch.bank;
            top.drain_address = from * rows + row;
            drain = {&values, row};
          };
          if (cycle == batch.last_slot + lat_wb - 1) read(last, 0, batch.before[last]);
          if (cycle > batch.last_slot + lat_wb && !random.chance(waits)) {
            const auto from = static_cast<unsigned>(last - batch.drained / rows);
            read(from, static_cast<unsigned>(batch.drained % rows), batch.after[from]);
            if (++batch.drained == u64{batch.places} * rows) ++draining;
          }
        }
        due.push_back(drain);

        top.clk = 0;
        top.eval();
        if (due.front().from)
          for (unsigned column = 0; column < 2; ++column)
            for (unsigned lane = 0; lane < lanes; ++lane, ++checks) {
              const unsigned at = coefficient(due.front().row, lane);
              bench::check(column ? "b" : "a", at,
                           bench::get(top.drain_row, (column * lanes + lane) * 33, 33),
                           (*due.front().from)[column][at]);
            }
        due.pop_front();
        top.clk = 1;
        top.eval();
      }
    }
  }
  bench::check("slots overlapped, and it was reset", overlaps, overlaps && resets == 3, 1);
  bench::passed("pe", checks);
}
