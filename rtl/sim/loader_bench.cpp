// loader: runs of random sizes and modes behind a memory with gaps and stalls, banks that become
// free late, words that are wrong in one place; reset in the middle. Exponents and accumulators of
// a batch are compared when it is loaded.
#include <deque>
#include <map>
#include <vector>

#include "Vloader.h"
#include "bench.h"
#include "images.h"

using reference::u64;
using u32 = std::uint32_t;

namespace {
constexpr unsigned N = 1u << LOG_N, b = 1u << LOG_B, rows = N / (2 * b), capacity = PES * PLACES, wide = DATA_BITS / 32;
constexpr unsigned most_steps = 1u << LOG_STEPS;
constexpr u64 none = ~u64{0};
enum Code : unsigned { exponent_wrong = 14, lut_number = 16, lut_value = 17 };

/// What PEs have of a ciphertext: exponents of steps, and coefficients of b.
struct Place {
  std::vector<u64> exponents = std::vector<u64>(most_steps * GROUP, none), b = std::vector<u64>(N, none);
};

/// Words that a command asks for, and what is wrong in them.
struct Image {
  u64 address;
  std::vector<u32> words;
  unsigned code = 0;
  std::size_t wrong_word = 0;
  bool record;
};

struct Run {
  bool switch_only, as_exponents, centred;
  unsigned n, offset, count;
  u32 luts;
  u64 in_address, lut_address;
  unsigned code = 0;  // of the error that it ends with
  std::deque<Image> images;
  std::vector<Place> places;  // of all ciphertexts
  std::deque<u32> words;      // for key switching alone

  explicit Run(reference::Random& random) {
    switch_only = random.chance(20);
    as_exponents = random.chance(40);
    centred = random.chance(50);
    n = static_cast<unsigned>(1 + bench::with_ends(random, most_steps * GROUP));
    luts = static_cast<u32>(1 + random.below(random.chance(50) ? 3 : 0xFFFFFFFF));
    offset = static_cast<unsigned>(bench::with_ends(random, 2 * N));
    count = static_cast<unsigned>(1 + random.below(3 * capacity));
    in_address = random() >> 1 & ~u64{4095};
    lut_address = random() >> 1 & ~u64{4095};
    const bool is_wrong = !switch_only && random.chance(30);
    const u64 wrong_at = random.below(count), wrong_kind = random.below(3);
    // Some of the test vectors.
    std::map<u32, std::vector<u64>> vectors;
    u32 numbers[3];
    for (u32& number : numbers) {
      number = static_cast<u32>(bench::with_ends(random, luts));
      auto& vector = vectors[number] = std::vector<u64>(N);
      for (u64& x : vector) x = random.residue_mod_p();
    }
    u64 next = in_address, held = none;  // the next record, the last test vector
    for (unsigned c = 0; c < count && code == 0; ++c) {
      Image record{.address = next, .record = true};
      const std::size_t words_of_record = switch_only ? N + 1 : n + 2;
      for (std::size_t i = 0; i < words_of_record; ++i) {
        const auto x = static_cast<u32>(random());
        record.words.push_back(as_exponents && !switch_only ? static_cast<u32>(bench::with_ends(random, 2 * N)) : x);
      }
      if (switch_only) words.insert(words.end(), record.words.begin(), record.words.end());
      const std::vector<u32> lwe(record.words.begin(), record.words.end() - 1);
      u32 lut = numbers[random.below(3)];
      if (is_wrong && c == wrong_at && wrong_kind == 0 && as_exponents) {
        record.wrong_word = random.below(n + 1);
        record.words[record.wrong_word] = random.chance(50) ? 2 * N : static_cast<u32>(random()) | 2 * N;
        code = record.code = exponent_wrong;
      } else if (is_wrong && c == wrong_at && wrong_kind == 1) {
        lut = static_cast<u32>(luts + bench::with_ends(random, (u64{1} << 32) - luts));
        record.wrong_word = n + 1;
        code = record.code = lut_number;
      }
      if (!switch_only) record.words.back() = lut;
      // The rest of the last beat is not looked at.
      while (record.words.size() % wide) record.words.push_back(static_cast<u32>(random()));
      next += record.words.size() * 4;
      images.push_back(record);
      if (switch_only || code) continue;
      if (lut != held) {
        Image vector{.address = lut_address + u64{lut} * 8 * N, .record = false};
        for (const u64 x : vectors[lut]) vector.words.push_back(static_cast<u32>(x)), vector.words.push_back(x >> 32);
        if (is_wrong && c == wrong_at && wrong_kind == 2) {
          const u64 at = random.below(N),
                    value = random.chance(50) ? reference::p : random() | u64{1} << (33 + random.below(31));
          vector.words[2 * at] = static_cast<u32>(value);
          vector.words[2 * at + 1] = value >> 32;
          vector.wrong_word = 2 * at + 1;
          code = vector.code = lut_value;
        }
        images.push_back(vector);
        held = lut;
      }
      add_place(lwe, vectors[lut]);
    }
  }
  u64 record_beats() const { return images.front().words.size() / wide; }

 private:
  void add_place(const std::vector<u32>& lwe, const std::vector<u64>& vector) {
    reference::Shape shape{};
    shape.log_n = LOG_N;
    std::vector<unsigned> e(lwe.begin(), lwe.end());
    if (as_exponents)
      e.back() = (e.back() + offset) % (2 * N);
    else
      e = reference::exponents(shape, lwe, centred, offset);
    Place place;
    place.b = reference::turned(vector, e.back());
    e.pop_back();
    e.resize((n + GROUP - 1) / GROUP * GROUP);  // of a short last group: 0
    std::copy(e.begin(), e.end(), place.exponents.begin());
    places.push_back(place);
  }
};

/// Takes what is written. Two banks.
struct Memories {
  std::vector<Place> banks[2] = {std::vector<Place>(capacity), std::vector<Place>(capacity)};
  void see(const Vloader& top, u64 cycle, unsigned bank, bool may) {
    constexpr unsigned log_places = PLACES > 1 ? reference::ceil_log2(PLACES) : 1;
    for (unsigned e = 0; e < PES; ++e) {
      if (bench::get(top.exponents_write, e, 1)) {
        const unsigned at = top.exponents_address, step = at % most_steps, place = at / most_steps % (1u << log_places);
        bench::check("bank of exponents", cycle, at >> (log_places + LOG_STEPS), bank);
        bench::check("a place for exponents", cycle, may && place < PLACES, 1);
        for (unsigned i = 0; i < GROUP; ++i)
          write(banks[bank][place * PES + e].exponents[step * GROUP + i],
                bench::get(top.exponents_data, (LOG_N + 1) * i, LOG_N + 1), cycle);
      }
      for (unsigned l = 0; l < b; ++l)
        if (bench::get(top.load_enable, e * b + l, 1)) {
          const unsigned place = top.load_address / rows, row = top.load_address % rows;
          bench::check("bank of coefficients", cycle, top.load_bank, bank);
          bench::check("a place for coefficients", cycle, may && place < PLACES, 1);
          for (unsigned half = 0; half < 2; ++half)
            write(banks[bank][place * PES + e].b[b * row + l + half * N / 2], bench::get(top.load_pair, 33 * half, 33),
                  cycle);
        }
    }
  }

 private:
  void write(u64& to, u64 value, u64 cycle) {
    if (to != none) bench::fail("a word is written twice", cycle, to, value);
    to = value;
  }
};
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vloader top;
  u64 checks = 0, seen[32] = {}, both_held = 0;
  for (unsigned round = 0; round < 500; ++round) {
    Run run(random);
    const unsigned gaps = bench::stalls(random), command_stalls = bench::stalls(random),
                   word_stalls = bench::stalls(random);
    constexpr unsigned cycles_until[] = {1, 100, 2000};
    const u64 banks_go = cycles_until[random.below(3)];
    const bool fast = gaps == 0 && command_stalls == 0 && word_stalls == 0;
    const u64 reset_at = random.chance(15) ? random.below(2000) : none;
    Memories memories;
    std::deque<Image> asked;  // at most the one that is read
    std::size_t given = 0;    // beats of it
    bool offers = false;
    u64 loaded = 0, freed = 0, batches = 0, after = 0, must_fail_by = none, must_end_by = none;
    bench::Stays command_stays, word_stays;
    top.start = top.bank_free = top.beat_valid = 0;
    bench::reset(top, 2);
    for (u64 cycle = 0; after < 100; ++cycle) {
      if (cycle > 100'000) bench::fail("loader hangs in round", round, run.images.size(), 0);
      if (cycle == reset_at) break;
      top.start = cycle == 2;
      top.switch_only = run.switch_only;
      top.as_exponents = run.as_exponents;
      top.centred = run.centred;
      top.n = run.n;
      top.count = run.count;
      top.luts = run.luts;
      top.offset = static_cast<CData>(run.offset);
      top.in_address = run.in_address;
      top.lut_address = run.lut_address;
      if (cycle == 0) top.record_beats = run.record_beats();
      top.bank_free = batches > freed && random.below(banks_go) == 0;
      top.command_ready = !random.chance(command_stalls);
      top.word_ready = !random.chance(word_stalls);
      offers = offers || (!asked.empty() && !random.chance(gaps));
      top.beat_valid = offers;
      for (unsigned w = 0; w < wide; ++w)
        bench::put(top.beat_data, 32 * w, 32, offers ? asked.front().words[given * wide + w] : random());
      top.clk = 0;
      top.eval();

      command_stays.see("a command that waits", cycle, top.command_valid, top.command_ready, top.command_address);
      word_stays.see("a word that waits", cycle, top.word_valid, top.word_ready, top.word);
      if (cycle > must_end_by) bench::fail("cycles of a ciphertext", cycle, must_end_by, run.n);
      if (top.error) {
        if (!run.code || must_fail_by == none) bench::fail("an error", cycle, top.error, 0);
        bench::check("code", cycle, top.error, run.code);
        ++seen[top.error];
        break;
      }
      if (cycle > must_fail_by) bench::fail("what is wrong is not seen", cycle, 0, run.code);
      if (top.command_valid && top.command_ready) {
        if (run.images.empty() || !asked.empty()) bench::fail("a command too many", cycle, top.command_address, 0);
        Image& image = run.images.front();
        bench::check("address of a command", cycle, top.command_address, image.address);
        bench::check("beats of a command", cycle, top.command_beats, image.words.size() / wide);
        // n + N/2 + 20 cycles, N + 10 more with a test vector, and a cycle for each beat.
        if (fast && !run.switch_only)
          must_end_by = (image.record ? cycle + run.n + N / 2 + 20 : must_end_by + N + 10) + image.words.size() / wide;
        asked.push_back(image);
        given = 0;
        run.images.pop_front();
      }
      if (top.beat_valid && top.beat_ready) {
        offers = false;
        ++given;
        const Image& image = asked.front();
        if (image.code && given * wide > image.wrong_word && must_fail_by == none) must_fail_by = cycle + wide + 3;
        if (given * wide == image.words.size()) asked.pop_front();
      }
      if (top.batch_loaded) {
        const u64 in_batch = std::min<u64>(capacity, run.count - loaded);
        if (run.switch_only || loaded == run.count) bench::fail("a batch too many", cycle, loaded, run.count);
        bench::check("ciphertexts that were read", cycle, run.places.size() >= loaded + in_batch, 1);
        auto& bank = memories.banks[batches % 2];
        for (unsigned c = 0; c < capacity; ++c) {
          const Place wanted = c < in_batch ? run.places[loaded + c] : Place();
          for (unsigned i = 0; i < most_steps * GROUP; ++i, ++checks)
            bench::check("exponent", i, bank[c].exponents[i], wanted.exponents[i]);
          for (unsigned j = 0; j < N; ++j, ++checks) bench::check("coefficient", j, bank[c].b[j], wanted.b[j]);
          bank[c] = Place();  // what is written before the bank is free is seen by `may`
        }
        loaded += in_batch;
        ++batches;
        must_end_by = none;
      }
      memories.see(top, cycle, batches % 2, !run.switch_only && batches - freed < 2);
      freed += top.bank_free;
      both_held += batches - freed == 2 && loaded < run.count;
      if (top.word_valid) {
        if (run.words.empty()) bench::fail("a word too many", cycle, top.word, 0);
        bench::check("word", run.words.size(), top.word, run.words.front());
        if (top.word_ready) run.words.pop_front(), ++checks;
      }
      after += run.code == 0 && run.images.empty() && asked.empty() &&
               (run.switch_only ? run.words.empty() : loaded == run.count);
      bench::tick(top);
    }
  }
  for (const unsigned code : {exponent_wrong, lut_number, lut_value}) bench::check("errors", code, seen[code] > 5, 1);
  bench::check("both banks are held", 0, both_held > 100, 1);
  bench::passed("loader", checks);
}
