// chunk_buffer: random chunks with random gaps, acquired and released at random times; rows that it
// holds are read in every cycle; resets in the middle.
#include <deque>

#include "Vchunk_buffer.h"
#include "bench.h"
#include "images.h"

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vchunk_buffer top;
  constexpr unsigned rows = 1u << LOG_ROWS, wide = DATA_BITS / 32, bytes = DATA_BITS / 8;
  constexpr unsigned padded = (WORDS + wide - 1) / wide * wide;  // words of a row
  constexpr u64 chunk_bytes = u64{rows} * padded * 33 / 8;
  static_assert(rows * padded % DATA_BITS == 0, "a chunk is made of whole groups");
  u64 checks = 0, full = 0, resets = 0;
  for (const unsigned gaps : bench::stall_levels)
    for (const unsigned stalls : bench::stall_levels) {
      std::vector<std::vector<u64>> chunks;
      std::vector<std::uint8_t> image;
      u64 at = 0, whole = 0, acquired = 0, released = 0;  // byte of the chunk that comes in; chunks
      bool offered = false;
      // What the reads of the last two cycles give; nothing where no chunk was held.
      std::deque<std::vector<u64>> due;
      const auto begin = [&] {
        bench::reset(top);
        chunks.clear(), image.clear(), due.assign(2, {});
        at = whole = acquired = released = 0;
        offered = false;
      };
      begin();
      // Chunks are taken out fast, or as they come to mind: with 99 all buffers fill.
      const unsigned lazy = stalls ? stalls + 14 : 0;
      for (u64 cycle = 0, chunks_done = 0; chunks_done < 24; ++cycle) {
        if (cycle > 400000) bench::fail("hang in cycle", cycle, chunks_done, 24);
        if (random.below(20 * chunk_bytes / bytes) == 0) begin(), ++resets;
        if (chunks.size() == whole) {
          std::vector<u64> words(rows * padded);
          for (u64& word : words) word = random() & bench::mask(33);
          image.assign(chunk_bytes, 0);
          reference::pack(words, DATA_BITS, image.data());
          chunks.push_back(words);
        }
        if (!offered) offered = !random.chance(gaps);
        top.in_valid = offered;
        for (unsigned i = 0; i < bytes; i += 8) {
          u64 part = random();
          if (offered) std::memcpy(&part, &image[at + i], 8);
          bench::put(top.in_data, 8 * i, 64, part);
        }
        const bool acquire = whole > acquired && !random.chance(lazy);
        const bool release = acquired > released && !random.chance(lazy);
        top.acquire = acquire;
        top.release_chunk = release;
        const unsigned row = static_cast<unsigned>(random.below(rows));
        std::vector<u64> wanted;
        u64 chunk = random.below(BUFFERS);
        if (whole > released) {
          chunk = released + random.below(whole - released);
          const auto from = chunks[chunk].begin() + row * padded;
          wanted.assign(from, from + WORDS);
        }
        top.read_address = static_cast<std::uint32_t>(chunk % BUFFERS * rows + row);
        due.push_back(wanted);
        top.clk = 0;
        top.eval();
        // Room while fewer than BUFFERS whole chunks are not released; ready as soon as one is
        // whole.
        bench::check("in_ready in cycle", cycle, top.in_ready, whole - released < BUFFERS);
        bench::check("ready in cycle", cycle, top.ready, whole > acquired);
        full += !top.in_ready;
        for (unsigned w = 0; w < due.front().size(); ++w, ++checks)
          bench::check("word", w, bench::get(top.row, 33 * w, 33), due.front()[w]);
        due.pop_front();
        if (offered && top.in_ready) {
          offered = false;
          at += bytes;
          if (at == chunk_bytes) at = 0, ++whole;
        }
        acquired += acquire;
        released += release;
        chunks_done += release;
        top.clk = 1;
        top.eval();
      }
    }
  bench::check("it was full, and reset", 0, full && resets, 1);
  bench::passed("chunk_buffer", checks);
}
