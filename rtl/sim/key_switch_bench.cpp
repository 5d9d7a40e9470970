// key_switch: random keys and ciphertexts against plain integers, with random gaps and stalls at
// every port; without any, also how many cycles a batch takes. Runs begin with a reset, often amid
// another.
#include <algorithm>
#include <deque>

#include "Vkey_switch.h"
#include "bench.h"
#include "images.h"

using reference::u64;

namespace {
constexpr unsigned N = 1u << LOG_N, rows = N * L_KS, key_words = KSK_BITS / 32,
                   out_words = OUT_BITS / 32;
constexpr unsigned ceil(unsigned a, unsigned b) { return (a + b - 1) / b; }
/// Rows that the lanes take at once: rtl/README.md section 6.
constexpr unsigned at_once() {
  unsigned most = 1;
  for (const unsigned r : {2u, 4u, 8u})
    if (L_KS % r == 0 && LANES / r > MAX_N_LWE && LANES % (r * key_words) == 0 &&
        LANES % (r * out_words) == 0)
      most = r;
  return most;
}
constexpr unsigned width = LANES / at_once();  // lanes of a row
constexpr unsigned room = std::min(rows, ceil(KEY_ROWS, at_once()) * at_once());
constexpr bool whole_key = room == rows;
static_assert(at_once() == AT_ONCE, "the shape shows what it is for");

using Words = std::vector<std::uint32_t>;
template <class Port>
void put_words(Port& port, unsigned count, const std::uint8_t* from, reference::Random& random) {
  for (unsigned w = 0; w < count; ++w) {
    auto word = static_cast<std::uint32_t>(random());
    if (from) std::memcpy(&word, from + 4 * w, 4);
    bench::put(port, 32 * w, 32, word);
  }
}
/// How often each port stands still.
struct Levels {
  unsigned in = 0, command = 0, beats = 0, out = 0;
};
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vkey_switch top;
  reference::Shape shape{};
  shape.log_n = LOG_N, shape.l_ks = L_KS, shape.log_bks = LOG_BKS, shape.ksk_bits = KSK_BITS;
  u64 checks = 0, broken_off = 0, timed = 0;
  for (unsigned run = 0; run < 1000; ++run) {
    Levels levels;
    const bool fast = run % 3 == 0;
    if (!fast)
      for (unsigned* level : {&levels.in, &levels.command, &levels.beats, &levels.out})
        *level = bench::stalls(random);
    const unsigned n = run % 5 == 0   ? MAX_N_LWE
                       : run % 5 == 1 ? 1
                                      : 1 + static_cast<unsigned>(random.below(MAX_N_LWE));
    const unsigned count = 1 + static_cast<unsigned>(random.below(3 * CAPACITY + 1));
    const unsigned batches = ceil(count, CAPACITY), groups = ceil(n + 1, width);
    const unsigned row_beats = ceil(n + 1, key_words), out_beats = ceil(n + 1, out_words);
    const auto in_batch = [&](unsigned batch) {
      return std::min<unsigned>(CAPACITY, count - batch * CAPACITY);
    };
    Words key(rows * (n + 1));
    for (auto& x : key) x = static_cast<std::uint32_t>(random());
    const auto image = reference::ksk_image(shape, n, key);
    std::vector<Words> in(count, Words(N + 1)), wanted;
    for (Words& words : in) {
      for (auto& x : words) {
        x = static_cast<std::uint32_t>(random());
        // The ends of the range, where its sign changes, and where digits carry.
        if (random.chance(30))
          x = (static_cast<std::uint32_t>(random.below(4)) << 30) +
              static_cast<std::uint32_t>(random.below(3)) - 1;
      }
      wanted.push_back(reference::key_switch(shape, n, key, words));
    }

    top.start = top.in_valid = top.command_ready = top.beat_valid = top.out_ready = 0;
    top.n = n;
    top.key_address = random();
    top.key_beats = u64{rows} * row_beats;
    bench::reset(top);
    // In fast runs, words come when the beats have filled the ring.
    const u64 hold = fast ? room * row_beats + 20 : random.below(50);
    const u64 break_at = random.chance(30) ? random.below(100 * batches) : ~u64{0};
    u64 words_in = 0, beats_owed = 0, beats_taken = 0, commands = 0, beats_out = 0, products = 0,
        products_before = 0;
    unsigned batch = 0;
    bool in_offered = false, beat_offered = false, broken = false;
    bench::Stays command_stays, out_stays;
    std::deque<u64> due;  // cycles of beats, in fast runs
    u64 quiet = 0;
    for (u64 cycle = 0; quiet < 40; ++cycle) {
      if (cycle > 200000) bench::fail("hang in run", run, beats_out, u64{count} * out_beats);
      if (cycle == break_at) {
        broken = true;
        break;
      }
      top.start = cycle == 0;
      top.count = cycle == 0 ? count : static_cast<std::uint32_t>(random());
      const bool words_left = words_in < u64{count} * (N + 1);
      if (!in_offered) in_offered = words_left && cycle >= hold && !random.chance(levels.in);
      top.in_valid = in_offered;
      top.in_word = in_offered ? in[words_in / (N + 1)][words_in % (N + 1)]
                               : static_cast<std::uint32_t>(random());
      top.command_ready = !random.chance(levels.command);
      if (!beat_offered) beat_offered = beats_owed && !random.chance(levels.beats);
      top.beat_valid = beat_offered;
      put_words(top.beat_data, key_words,
                beat_offered ? &image[beats_taken % (rows * row_beats) * KSK_BITS / 8] : nullptr,
                random);
      top.out_ready = !random.chance(levels.out);
      top.clk = 0;
      top.eval();
      if (cycle == 0)
        bench::check("nothing before the start", run,
                     top.in_ready || top.command_valid || top.out_valid || top.busy, 0);
      if (top.busy) {
        // The first product of a batch: from here on its time is known.
        if (products == products_before) {
          const unsigned c = in_batch(batch), cycles = std::max(4u, c * groups);
          // Where the rows lie there, or come as fast as they are used.
          if (fast && (whole_key || row_beats * at_once() <= cycles)) {
            u64 at = cycle + u64{rows} / at_once() * cycles + 8;
            for (unsigned k = 0; k < c; ++k)
              for (unsigned beat = 0; beat < out_beats; ++beat) {
                if (beat % (width / out_words) == 0) at += 2;
                due.push_back(at++);
              }
          }
          products_before += u64{rows} / at_once() * c * groups;
          ++batch;
        }
        ++products;
      }
      command_stays.see("a command stays in run", run, top.command_valid, top.command_ready);
      if (top.command_valid) {
        bench::check("address", run, top.command_address, top.key_address);
        bench::check("beats", run, top.command_beats, top.key_beats);
      }
      out_stays.see("a result stays in run", run, top.out_valid, top.out_ready);
      if (top.out_valid) {
        if (beats_out == u64{count} * out_beats)
          bench::fail("a beat too many in run", run, beats_out, beats_out);
        const u64 ciphertext = beats_out / out_beats, beat = beats_out % out_beats;
        for (unsigned w = 0; w < out_words; ++w) {
          const u64 k = beat * out_words + w;
          bench::check("word", k, bench::get(top.out_data, 32 * w, 32),
                       k <= n ? wanted[ciphertext][k] : 0);
        }
        if (fast && beats_out == 0) {
          // The next batch came in meanwhile, and no more.
          const u64 two = std::min(count, 2u * CAPACITY);
          bench::check("words that came in", run, words_in, two * (N + 1));
        }
        if (!due.empty()) {
          bench::check("cycle of a result", beats_out, cycle, due.front());
          ++timed;
          due.pop_front();
        }
        if (top.out_ready) ++beats_out, ++checks;
      }
      if (fast && cycle + 1 == hold)
        bench::check("rows that are ahead", run, beats_taken, room * row_beats);
      if (in_offered && top.in_ready) ++words_in, in_offered = false;
      if (beat_offered && top.beat_ready) ++beats_taken, --beats_owed, beat_offered = false;
      if (top.command_valid && top.command_ready) ++commands, beats_owed += u64{rows} * row_beats;
      quiet = beats_out == u64{count} * out_beats ? quiet + 1 : 0;
      top.clk = 1;
      top.eval();
    }
    broken_off += broken;
    if (broken) continue;
    bench::check("words taken", run, words_in, u64{count} * (N + 1));
    bench::check("nothing is asked for at the end of run", run, top.in_ready || top.command_valid,
                 0);
    bench::check("room for rows at the end of run", run, top.beat_ready, !whole_key);
    bench::check("commands", run, commands, whole_key ? 1 : batches);
    bench::check("beats taken", run, beats_taken, commands * rows * row_beats);
    bench::check("products", run, products, products_before);
    bench::check("batches", run, batch, batches);
  }
  bench::check("runs were broken off, and results timed", timed, broken_off && timed, 1);
  bench::passed("key_switch", checks);
}
