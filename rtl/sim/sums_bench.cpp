// bku and mac: sums of products of two joined streams, with random gaps and stalls.
#include <deque>

#include "bench.h"
#if UNIT_BKU
#include "Vbku.h"
using Top = Vbku;
#else
#include "Vmac.h"
using Top = Vmac;
#endif

using reference::u64;

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Top top;
  constexpr unsigned lanes = 2u << LOG_B, sets = (1u << GROUP) - 1;
  constexpr unsigned left_words = (UNIT_BKU ? sets : 2 * DIGITS) * lanes,
                     right_words = (UNIT_BKU ? sets * 4 * DIGITS : 4 * DIGITS) * lanes,
                     out_words = (UNIT_BKU ? 4 * DIGITS : 2) * lanes;
  std::vector<u64> left(left_words), right(right_words);
  std::deque<std::vector<u64>> lefts, rights;
  bool left_offered = false, right_offered = false;
  u64 checks = 0, received = 0;
  bench::reset(top);
  for (unsigned cycle = 0; received < 3000; ++cycle) {
    if (cycle > 1'000'000) bench::fail("hang", cycle, received, 3000);
    const unsigned busy = received < 1000 ? 100 : 60;
    if (!left_offered && random.chance(busy)) {
      left_offered = true;
      for (u64& x : left) x = random.residue_mod_p();
    }
    if (!right_offered && random.chance(busy)) {
      right_offered = true;
      for (u64& x : right) x = random.residue_mod_p();
    }
#if UNIT_BKU
    auto& left_port = top.factors;
    auto& right_port = top.key;
    auto& out_port = top.bundle;
    auto &left_valid = top.factors_valid, &right_valid = top.key_valid;
    const auto &left_ready = top.factors_ready, &right_ready = top.key_ready;
#else
    auto& left_port = top.digits;
    auto& right_port = top.bundle;
    auto& out_port = top.product;
    auto &left_valid = top.digits_valid, &right_valid = top.bundle_valid;
    const auto &left_ready = top.digits_ready, &right_ready = top.bundle_ready;
#endif
    left_valid = left_offered;
    right_valid = right_offered;
    for (unsigned i = 0; i < left_words; ++i) bench::put(left_port, 33 * i, 33, left[i]);
    for (unsigned i = 0; i < right_words; ++i) bench::put(right_port, 33 * i, 33, right[i]);
    top.out_ready = random.chance(received < 1000 ? 100 : 70);
    top.clk = 0;
    top.eval();
    if (left_offered && left_ready) lefts.push_back(left), left_offered = false;
    if (right_offered && right_ready) rights.push_back(right), right_offered = false;
    if (top.out_valid && top.out_ready) {
      const auto &f = lefts.front(), &k = rights.front();
      for (unsigned i = 0; i < out_words; ++i, ++checks) {
        const unsigned lane = i % lanes, word = i / lanes;
        u64 sum = 0;
        if (UNIT_BKU) {
          for (unsigned s = 0; s < sets; ++s)
            sum = reference::add(sum, reference::mul(f[s * lanes + lane], k[(s * 4 * DIGITS + word) * lanes + lane]));
        } else {
          for (unsigned r = 0; r < 2 * DIGITS; ++r)
            sum = reference::add(sum, reference::mul(f[r * lanes + lane], k[(2 * r + word) * lanes + lane]));
        }
        bench::check("word", i, bench::get(out_port, 33 * i, 33), sum);
      }
      lefts.pop_front();
      rights.pop_front();
      ++received;
    }
    top.clk = 1;
    top.eval();
  }
  bench::passed(UNIT_BKU ? "bku" : "mac", checks);
}
