// accumulator: random rows of one bank are read and get their products back, while the other bank
// is drained and loaded; then they change places. Resets in the middle.
#include <array>
#include <bit>
#include <deque>

#include "Vaccumulator.h"
#include "bench.h"

using reference::u64;

namespace {
constexpr unsigned B = 1u << LOG_B, lanes = 2 * B, rows = (1u << LOG_N) / lanes;
constexpr unsigned places = PLACES * rows;
// From a row's read to the write of its sum, in a PE: rtl/README.md section 6.
constexpr unsigned lat_wb = 2 * (10 * LOG_N + rows - 1) + std::bit_width(2u * DIGITS - 1) + 14;
/// Column after column, lane after lane.
using Row = std::array<u64, 2 * lanes>;
template <class Port>
void check_row(const char* what, u64 at, const Port& port, const Row& wanted) {
  for (unsigned w = 0; w < wanted.size(); ++w)
    bench::check(what, at, bench::get(port, 33 * w, 33), wanted[w]);
}
/// A row on its way back: it waits for its product, or for the end of the cycle in which it is
/// written.
struct Copy {
  unsigned place;
  u64 at;
  Row row;
};
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vaccumulator top;
  u64 checks = 0, resets = 0, most = 0;
  for (const unsigned gaps : bench::stall_levels)
    for (const unsigned stalls : bench::stall_levels) {
      std::array<std::vector<Row>, 2> banks = {std::vector<Row>(places), std::vector<Row>(places)};
      std::deque<std::pair<bool, Row>> rows_due, drains_due;  // what the last two cycles read
      u64 cycle = 0, reset_at = random.below(1500) + 500;
      bool known = false;  // both banks have been loaded
      for (unsigned round = 0; round < 6; ++round) {
        const unsigned bank = round % 2;  // of the steps
        if (round == 0) {
          bench::reset(top);
          rows_due.assign(2, {});
          drains_due.assign(2, {});
        }
        std::vector<Row>&steps = banks[bank], &other = banks[!bank];
        // As in a PE, or products as early as may be: a copy can be used two cycles after its row.
        const unsigned delay = round % 3 == 1 ? 4 : lat_wb - 1;
        u64 reads_left = known ? 4 * places : 0, free_row = 0;
        std::vector<u64> free_from(places);  // the cycle from which a place may be read again
        std::deque<Copy> flight, writes;
        unsigned drained = known ? 0 : places, loaded = 0, loaded_pairs = 0;
        bool reset = false;
        for (const u64 begin = cycle;; ++cycle) {
          if (cycle - begin > 200000) bench::fail("hang in cycle", cycle, reads_left, 0);
          if (reads_left == 0 && flight.empty() && writes.empty() && loaded == places) break;
          if (cycle == reset_at) {
            reset = true;
            break;
          }
          for (; !writes.empty() && writes.front().at < cycle; writes.pop_front()) {
            steps[writes.front().place] = writes.front().row;
            free_row = writes.front().place;  // most often it is read again at once
          }
          // A read, of places whose sums are written; in order, or of the last one that was
          // written.
          const auto place = static_cast<unsigned>(
              stalls && random.chance(50) ? free_row : (4 * places - reads_left) % places);
          const bool read = reads_left && free_from[place] <= cycle && !random.chance(gaps);
          top.read_valid = read;
          top.read_bank = read ? bank : random.chance(50);
          top.read_address = static_cast<std::uint32_t>(read ? place : random.below(places));
          rows_due.push_back({read, steps[place]});
          if (read) {
            --reads_left;
            flight.push_back({place, cycle + delay, steps[place]});
            free_from[place] = ~u64{0};
          }
          most = std::max<u64>(most, flight.size());
          // A product.
          const bool answer =
              !flight.empty() && flight.front().at <= cycle && !random.chance(stalls);
          Row product;
          for (unsigned w = 0; w < product.size(); ++w) {
            product[w] = random.residue_mod_p();
            bench::put(top.product, 33 * w, 33, product[w]);
          }
          top.product_valid = answer;
          if (answer) {
            Copy copy = flight.front();
            flight.pop_front();
            for (unsigned w = 0; w < product.size(); ++w)
              copy.row[w] = reference::add(copy.row[w], product[w]);
            writes.push_back({copy.place, cycle + 1, copy.row});
            free_from[copy.place] = cycle + 2;
          }
          // The other bank: each row is drained, and loaded a pair, or several the same, at a time.
          top.drain_bank = !bank;
          top.load_bank = !bank;
          unsigned drain = static_cast<unsigned>(random.below(places)), load = 0;
          bool check_drain = false;
          if (drained < places && !random.chance(gaps)) {
            drain = drained;
            check_drain = true;
          } else if (drained == places && drain < loaded) {
            check_drain = true;
          }
          drains_due.push_back({check_drain, other[drain]});
          u64 pair[2];
          for (unsigned half = 0; half < 2; ++half) {
            pair[half] = random.residue_mod_p();
            bench::put(top.load_pair, 33 * half, 33, pair[half]);
          }
          top.load_address = static_cast<std::uint32_t>(random.below(places));
          if (loaded < drained && !random.chance(stalls)) {
            load = static_cast<unsigned>(1 + random.below((1u << B) - 1));
            top.load_address = loaded;
            for (unsigned l = 0; l < B; ++l)
              if (load >> l & 1)
                for (unsigned half = 0; half < 2; ++half) {
                  other[loaded][half * B + l] = 0;
                  other[loaded][lanes + half * B + l] = pair[half];
                }
            loaded_pairs |= load;
            if (loaded_pairs == (1u << B) - 1) ++loaded, loaded_pairs = 0;
          }
          if (check_drain && drained < places) ++drained;
          top.load_enable = static_cast<std::uint8_t>(load);
          top.drain_address = drain;
          top.clk = 0;
          top.eval();
          bench::check("row_valid in cycle", cycle, top.row_valid, rows_due.front().first);
          if (rows_due.front().first)
            check_row("row in cycle", cycle, top.row, rows_due.front().second), ++checks;
          rows_due.pop_front();
          if (drains_due.front().first)
            check_row("drained row in cycle", cycle, top.drain_row, drains_due.front().second),
                ++checks;
          drains_due.pop_front();
          top.clk = 1;
          top.eval();
        }
        if (round == 1) known = true;
        if (reset) {
          // Rows and products that were under way are lost; so are the banks.
          ++resets;
          top.read_valid = top.product_valid = top.load_enable = 0;
          known = false;
          reset_at = ~u64{0};
          round = ~0u;
        }
      }
    }
  bench::check("it was reset, and rows were in flight", most,
               resets && most + 4 >= std::min(places, lat_wb), 1);
  bench::passed("accumulator", checks);
}
