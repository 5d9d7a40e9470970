// drain: batches of random sizes, one after the other and two at once, with stalls; reset in the
// middle. The accumulators answer as README section 6 has their rows; a bank is filled anew as soon
// as it is free.
#include <algorithm>
#include <deque>
#include <vector>

#include "Vdrain.h"
#include "bench.h"

using reference::u64;

namespace {
constexpr unsigned N = 1u << LOG_N, b = 1u << LOG_B, rows = N / (2 * b), capacity = PES * PLACES;
/// A row of each PE: columns of lanes.
using Rows = std::vector<u64>;
constexpr unsigned row_words = PES * 2 * 2 * b;

/// The accumulators of all PEs: bank, ciphertext of the batch, column, coefficient.
struct Accumulators {
  u64 words[2][capacity][2][N];
  void fill(unsigned bank, reference::Random& random) {
    for (auto& ciphertext : words[bank])
      for (auto& column : ciphertext)
        for (u64& x : column) x = random.residue_mod_p();
  }
  Rows read(unsigned bank, u64 address, reference::Random& random) const {
    Rows out(row_words);
    const unsigned place = static_cast<unsigned>(address / rows), t = static_cast<unsigned>(address % rows);
    for (unsigned i = 0; i < row_words; ++i) {
      const unsigned lane = i % (2 * b), column = i / (2 * b) % 2, pe = i / (4 * b);
      out[i] = place < PLACES ? words[bank][place * PES + pe][column][b * t + lane % b + lane / b * N / 2]
                              : random.residue_mod_p();
    }
    return out;
  }
};
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vdrain top;
  static Accumulators accumulators;
  u64 checks = 0, both = 0;
  for (unsigned round = 0; round < 200; ++round) {
    const unsigned stalls = bench::stalls(random), waits = random.chance(50) ? 0 : 99;
    const u64 batches = 1 + random.below(6), constant = random.residue_mod_p();
    const u64 reset_at = random.chance(20) ? random.below(300) : ~u64{0};
    // Words and freed banks, in order, and when they come if nothing is held up.
    struct Word {
      u64 value, last, due;
    };
    std::deque<Word> wanted;
    std::deque<u64> frees;
    Rows late[2] = {Rows(row_words), Rows(row_words)};
    u64 begun = 0, freed = 0, until = 0, without = 0;
    bench::Stays stays;
    const auto clear = [&] {
      bench::reset(top, 2);
      wanted.clear(), frees.clear(), stays.clear();
      begun = freed = until = without = 0;
    };
    clear();
    accumulators.fill(0, random);
    accumulators.fill(1, random);
    top.constant = constant;
    for (u64 cycle = 0; freed < batches || !wanted.empty(); ++cycle) {
      if (cycle > 100'000) bench::fail("drain hangs in round", round, freed, batches);
      if (cycle == reset_at) {
        top.batch_done = 0;
        clear();
      }
      const u64 count = 1 + bench::with_ends(random, capacity);
      top.batch_done = begun < batches && frees.size() < 2 && !random.chance(waits);
      top.batch_done_count = static_cast<CData>(count);
      for (unsigned i = 0; i < row_words; ++i) bench::put(top.drain_rows, 33 * i, 33, late[1][i]);
      top.out_ready = !random.chance(stalls);
      top.clk = 0;
      top.eval();
      stays.see("a word that waits", cycle, top.out_valid, top.out_ready);
      if (stalls == 0) {
        bench::check("a word", cycle, top.out_valid, !wanted.empty() && wanted.front().due <= cycle);
        bench::check("a bank is free", cycle, top.bank_free, !frees.empty() && frees.front() <= cycle);
      }
      // Valid waits for no ready: words follow each other within the five cycles of the first one, held up or not.
      without = top.out_valid || wanted.empty() || wanted.front().due > cycle ? 0 : without + 1;
      bench::check("cycles without a word", cycle, without > 5, 0);
      if (top.out_valid) {
        if (wanted.empty()) bench::fail("a word too many", cycle, top.out_word, 0);
        bench::check("word", wanted.size(), top.out_word, wanted.front().value);
        bench::check("last", wanted.size(), top.out_last, wanted.front().last);
        if (top.out_ready) wanted.pop_front(), ++checks;
      }
      late[1] = late[0];
      late[0] = accumulators.read(top.drain_bank, top.drain_address, random);
      if (top.bank_free) {
        if (frees.empty()) bench::fail("a bank too many is free", cycle, freed, begun);
        // Its last row is read in this cycle: what is written to the bank now is not seen.
        accumulators.fill(freed % 2, random);
        frees.pop_front();
        ++freed;
      }
      if (top.batch_done) {
        both += frees.size();
        // N + 1 cycles a ciphertext, and five from the batch to its first word.
        until = std::max(until, cycle);
        for (u64 c = 0; c < count; ++c) {
          const auto& sample = accumulators.words[begun % 2][c];
          for (unsigned i = 0; i <= N; ++i)
            wanted.push_back({i == N   ? reference::add(sample[1][0], constant)
                              : i == 0 ? sample[0][0]
                                       : reference::sub(0, sample[0][N - i]),
                              i == N, until + c * (N + 1) + i + 5});
        }
        until += count * (N + 1);
        frees.push_back(until);
        ++begun;
      }
      bench::tick(top);
    }
    for (int i = 0; i < 20; ++i, bench::tick(top)) bench::check("nothing follows", round, top.out_valid, 0);
  }
  bench::check("two batches at once", both, both > 20, 1);
  bench::passed("drain", checks);
}
