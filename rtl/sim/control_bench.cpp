// control: descriptors that are right, wrong in one way, and wrong in several; runs that end, fail,
// or are aborted in any cycle; reset in the middle. What a run needs and the order of errors are
// those of README sections 3 and 5.
#include <algorithm>

#include "Vcontrol.h"
#include "bench.h"
#include "descriptor.h"
#include "images.h"

using bench::Descriptor;
using reference::u128;
using reference::u64;

namespace {
const reference::Shape shape{.log_n = LOG_N,
                             .L = DIGITS,
                             .log_bg = 1,
                             .m = GROUP,
                             .pes = 1,
                             .log_b = 0,
                             .K = 1,
                             .l_ks = L_KS,
                             .log_bks = 1,
                             .mem_bits = MEM_BITS,
                             .bk_ports = BK_PORTS,
                             .ksk_bits = KSK_BITS};
constexpr u64 N = 1u << LOG_N, all_ones = ~u64{0}, most_results = u64{1} << 40;
enum Code : unsigned { aborted = 15, read_error = 18, write_error = 19 };

/// What the units are told, and where the images of a run end.
struct Needs {
  u64 steps, record_beats, result_beats, ksk_beats, bk_beats, one_result;
  u128 inputs, luts, results, ksk, bk[BK_PORTS];
  bool rotates, switches;
  explicit Needs(const Descriptor& d) : rotates((d[bench::mode] & 3) != 2), switches((d[bench::mode] & 3) != 1) {
    const auto n = static_cast<unsigned>(d[bench::lwe_n]);
    const u64 record = shape.record_bytes(n, !rotates), row = shape.ksk_row_bytes(n);
    one_result = shape.result_bytes(n, !switches) / (MEM_BITS / 8);
    steps = shape.steps(n);
    record_beats = record / (MEM_BITS / 8);
    result_beats = d[bench::count] * one_result;
    ksk_beats = N * L_KS * row / (KSK_BITS / 8);
    bk_beats = steps * shape.chunk_bytes() / (MEM_BITS / 8);
    inputs = u128{d[bench::in_address]} + u128{d[bench::count]} * record;
    luts = u128{d[bench::lut_address]} + u128{d[bench::luts]} * 8 * N;
    results = u128{d[bench::out_address]} + u128{result_beats} * (MEM_BITS / 8);
    ksk = u128{d[bench::ksk_address]} + u128{N} * L_KS * row;
    for (unsigned s = 0; s < BK_PORTS; ++s) bk[s] = u128{d[bench::bk_address + s]} + u128{steps} * shape.chunk_bytes();
  }
  u64 end_of_io() const {
    const u128 both = std::max(inputs, results);
    return static_cast<u64>(rotates ? std::max(both, luts) : both);
  }
};

/// The first code of README section 5 for a descriptor; 0 if nothing is wrong in it.
unsigned wanted_error(const Descriptor& d) {
  const u64 mode = d[bench::mode];
  if ((mode & 3) == 3 || mode & ~u64{0x303}) return 5;
  if (d[bench::lwe_n] == 0) return 1;
  if (d[bench::lwe_n] > MAX_N) return 2;
  if (d[bench::group] != GROUP) return 3;
  if (d[bench::count] == 0) return 4;
  const Needs needs(d);
  if (needs.rotates) {
    if (d[bench::luts] == 0) return 6;
    if (d[bench::offset] >= 2 * N || d[bench::constant] >= reference::p) return 7;
  }
  u64 low = d[bench::in_address] | d[bench::out_address];
  if (needs.switches) low |= d[bench::ksk_address];
  if (needs.rotates) low |= d[bench::lut_address];
  for (unsigned s = 0; s < BK_PORTS && needs.rotates; ++s) low |= d[bench::bk_address + s];
  if (low % 4096) return 8;
  if (needs.inputs > d[bench::io_bytes]) return 9;
  if (needs.rotates && needs.luts > d[bench::io_bytes]) return 10;
  if (needs.results > d[bench::io_bytes] || needs.result_beats >= most_results) return 11;
  if (needs.switches && needs.ksk > d[bench::ksk_bytes]) return 12;
  for (unsigned s = 0; s < BK_PORTS && needs.rotates; ++s)
    if (needs.bk[s] > d[bench::bk_bytes]) return 13;
  return 0;
}

/// A number of 32 bits, of any size, not 0.
u64 some(reference::Random& random) { return std::max<u64>(1, random() >> 32 >> random.below(32)); }

/// In which nothing is wrong.
Descriptor good(reference::Random& random) {
  Descriptor d;
  for (u64& value : d) value = random();  // what a mode does not look at
  const u64 kind = random.below(3);
  d[bench::mode] = kind | random.below(4) << 8;
  d[bench::group] = GROUP;
  d[bench::lwe_n] = 1 + bench::with_ends(random, MAX_N);
  d[bench::count] = some(random);
  if (kind != 2) {
    d[bench::luts] = some(random);
    d[bench::offset] = bench::with_ends(random, 2 * N);
    d[bench::constant] = random.residue_mod_p();
  }
  const auto aligned = [&](unsigned field) { d[field] = random() >> (1 + random.below(52)) & ~u64{4095}; };
  aligned(bench::in_address), aligned(bench::out_address);
  if (kind != 1) aligned(bench::ksk_address);
  if (kind != 2) {
    aligned(bench::lut_address);
    for (unsigned s = 0; s < BK_PORTS; ++s) aligned(bench::bk_address + s);
  }
  // As many results as there may be, or fewer.
  const u64 most = (most_results - 1) / Needs(d).one_result;
  if (d[bench::count] > most || (random.chance(10) && most >> 32 == 0)) d[bench::count] = most;
  const Needs needs(d);
  const auto room = [&](unsigned field, u128 end) {
    const auto least = static_cast<u64>(end);
    d[field] = random.chance(50) ? least : random.chance(50) ? all_ones : least + random.below(all_ones - least);
  };
  room(bench::io_bytes, needs.end_of_io());
  if (needs.switches) room(bench::ksk_bytes, needs.ksk);
  if (needs.rotates) room(bench::bk_bytes, *std::max_element(needs.bk, needs.bk + BK_PORTS));
  return d;
}

/// Makes something wrong, or something that this mode does not look at.
void spoil(Descriptor& d, reference::Random& random) {
  const Needs needs(d);
  const auto just_below = [&](u128 end) {
    return static_cast<u64>(end) - 1 - (random.chance(70) ? 0 : random.below(static_cast<u64>(end)));
  };
  const u64 ports = random.below(BK_PORTS);
  const unsigned addresses[] = {bench::in_address, bench::lut_address, bench::out_address, bench::ksk_address,
                                bench::bk_address + static_cast<unsigned>(ports)};
  const unsigned address = addresses[random.below(5)];
  switch (random.below(13)) {
    case 0:
      d[bench::mode] = random.chance(50) ? d[bench::mode] | 3 : d[bench::mode] ^ 1u << random.below(32);
      break;
    case 1:
      d[bench::lwe_n] = 0;
      break;
    case 2:
      d[bench::lwe_n] = MAX_N + (random.chance(50) ? 1 : some(random) >> 1);
      break;
    case 3:
      d[bench::group] = random.chance(50) ? GROUP + 1 : random.chance(50) ? GROUP - 1 : some(random);
      break;
    case 4:
      d[bench::count] = 0;
      break;
    case 5:
      d[bench::luts] = 0;
      break;
    case 6:
      d[bench::offset] = 2 * N + (random.chance(50) ? 0 : some(random) >> 1);
      break;
    case 7:
      d[bench::constant] = reference::p + (random.chance(50) ? 0 : random() >> 1);
      break;
    case 8:
      d[address] |= 1u << random.below(12);
      break;
    case 9:
      d[bench::io_bytes] = just_below(random.chance(30) && needs.rotates ? needs.luts
                                      : random.chance(50)                ? needs.inputs
                                                                         : needs.results);
      break;
    case 10:
      d[bench::ksk_bytes] = needs.switches ? just_below(needs.ksk) : 0;
      break;
    case 11:
      d[bench::bk_bytes] = needs.rotates ? just_below(needs.bk[ports]) : 0;
      break;
    // Past the end of all addresses; too many results.
    default:
      if (random.chance(50) && most_results / needs.one_result >> 32 == 0)
        d[bench::count] = (most_results + needs.one_result - 1) / needs.one_result;
      else
        d[address] = ~u64{4095};
  }
}

/// A run from its start to its end. Returns the code with which it ended.
class Run {
 public:
  Run(Vcontrol& top, reference::Random& random) : top_(top), random_(random) {}

  unsigned operator()(const Descriptor& d, unsigned wanted, u64 reset_at) {
    const bool small = d[bench::count] < 256 && d[bench::luts] < 256;
    const u64 n = d[bench::lwe_n], limit = wanted ? 500 : (n + GROUP - 1) / GROUP + (small ? 120 : 300);
    const u64 abort_at = random_.chance(40) ? 1 + random_.below(random_.chance(50) ? 20 : 250) : all_ones;
    const bool abort_launch = random_.chance(10);
    const Needs needs(d);
    unsigned code = 0;  // the first one
    bool launched = false, running = false, ended = false, calm = false;
    u64 cleared = 0, halted = 0, ends = all_ones;
    bench::put_fields(top_.descriptor, d);
    quiet();
    for (u64 cycle = 0;; ++cycle) {
      if (cycle == reset_at) {
        top_.rst_n = 0;
        bench::tick(top_);
        top_.start = abort_ = 0;
        at_rest(0, false);
        bench::check("units are reset", cycle, top_.clear_n, 0);
        bench::reset(top_);
        return 0;
      }
      if (cycle > limit + 400) bench::fail("a run hangs; its code", wanted, code, wanted);
      top_.start = cycle == 0;
      abort_ = top_.read_error = top_.write_error = top_.loader_error = top_.results_done = 0;
      top_.quiet = !launched;
      top_.clk = 0;
      top_.eval();
      if (cycle > 0 && !top_.busy) break;
      // An abort before, at, or after the launch. Errors while units run, and after the first one.
      if (cycle > 0) abort_ = cycle == abort_at || (abort_launch && top_.launch);
      if (running || code) {
        abort_ = abort_ || random_.chance(2);
        if (launched) fail_somehow(running ? 2 : 30);
        top_.results_done = launched && random_.chance(5);
        // Until bursts are complete after an error, which takes a while.
        top_.quiet = running ? random_.chance(50) : !launched || halted > 5 + random_.below(50);
      }
      top_.eval();

      bench::check("busy", cycle, top_.busy, cycle > 0);
      if (cycle > 0) bench::check("done while busy", cycle, top_.done, 0);
      bench::check("runs", cycle, top_.runs, running);
      if (code && cycle > 0) bench::check("the first code stays", cycle, top_.error, code);
      if (top_.error && !code && cycle > 0) {
        // Nothing happened but the checks.
        bench::check("code of the descriptor", cycle, top_.error, wanted);
        code = wanted;
        ends = cycle + 20;
      }
      if (running) bench::check("ports and units of a run", cycle, top_.clear_n && !top_.halt, 1);
      if (launched && code) {
        bench::check("ports stop after an error", cycle, top_.halt, 1);
        ++halted;
        if (top_.quiet && ends == all_ones) ends = cycle + 20;
        calm |= top_.quiet;
      }
      if (launched && !top_.clear_n) bench::check("units are reset when bursts are complete", cycle, calm, 1);
      if (cycle > 0 && !launched) cleared += !top_.clear_n;
      if (cycle > ends) bench::fail("busy after an error", cycle, code, 0);
      if (top_.launch) {
        bench::check("a launch", cycle, wanted == 0 && !launched && !code && cycle > 0, 1);
        // A reset takes two cycles.
        bench::check("units are ready", cycle, cleared >= 2 && top_.clear_n && !top_.halt, 1);
        bench::check("cycles to the launch", cycle, cycle <= limit, 1);
      }
      if (top_.launch || running) {
        bench::check("steps", n, top_.steps, needs.steps);
        bench::check("beats of a record", n, top_.record_beats, needs.record_beats);
        bench::check("beats of results", n, top_.result_beats, needs.result_beats);
        if (needs.switches) bench::check("beats of the key-switching key", n, top_.ksk_beats, needs.ksk_beats);
        if (needs.rotates) bench::check("beats of the bootstrapping key", n, top_.bk_beats, needs.bk_beats);
      } else if (!launched && !code) {
        bench::check("cycles of the checks", cycle, cycle <= limit, 1);
      }

      if (running || (!code && cycle > 0)) {
        const unsigned event = abort_             ? aborted
                               : !running         ? 0
                               : top_.read_error  ? read_error
                               : top_.write_error ? write_error
                                                  : top_.loader_error;
        if (event) code = event;
        if (event && !launched && !top_.launch) ends = cycle + 20;
        ended |= running && !event && top_.results_done;
        if (event || ended) running = false;
        if (top_.launch) launched = true, running = !event;
      }
      bench::tick(top_);
      if (ended) {
        top_.eval();
        bench::check("a run that ended is busy", cycle, top_.busy, 0);
      }
    }
    bench::check("an end without a result or a code", 0, ended, code == 0);
    bench::check("a code before the launch", 0, launched || code != 0, 1);
    bench::check("units are left in reset, or done", 0, ended || !launched || calm, 1);
    // What the run left stays.
    quiet();
    for (u64 left = random_.below(30); left; --left) {
      at_rest(code, ended);
      bench::tick(top_);
    }
    at_rest(code, ended);
    if (random_.chance(5)) {
      bench::reset(top_);
      at_rest(0, false);
    }
    (ended ? ends_ : launched ? stops_ : refusals_) += 1;
    return code;
  }
  bool saw_all() const { return ends_ > 100 && stops_ > 100 && refusals_ > 100; }

 private:
  void quiet() {
    top_.start = abort_ = top_.read_error = top_.write_error = top_.loader_error = top_.results_done = 0;
    top_.quiet = 1;
  }
  void fail_somehow(unsigned percent) {
    constexpr unsigned codes[] = {14, 16, 17};
    top_.read_error = random_.chance(percent);
    top_.write_error = random_.chance(percent);
    if (random_.chance(percent)) top_.loader_error = static_cast<CData>(codes[random_.below(3)]);
  }
  void at_rest(unsigned code, bool done) {
    top_.eval();
    bench::check("busy at rest", 0, top_.busy, 0);
    bench::check("done", 0, top_.done, done);
    bench::check("code", 0, top_.error, code);
    bench::check("runs or launches at rest", 0, top_.runs || top_.launch, 0);
  }
  Vcontrol& top_;
  CData& abort_ = top_.__SYM__abort;  // Verilator keeps clear of words of C
  reference::Random& random_;
  u64 ends_ = 0, stops_ = 0, refusals_ = 0;
};
}  // namespace

int main(int argc, char** argv) {
  reference::Random random(bench::seed_of(argc, argv));
  Vcontrol top;
  u64 checks = 0, seen[32] = {};
  top.start = top.__SYM__abort = 0;
  bench::reset(top);
  Run run(top, random);
  for (unsigned round = 0; round < 10000; ++round, ++checks) {
    Descriptor d = good(random);
    const unsigned defects = static_cast<unsigned>(random.below(4));
    for (unsigned i = 0; i < std::min(defects, 2u); ++i) spoil(d, random);
    const unsigned wanted = wanted_error(d);
    if (defects == 0) bench::check("a good descriptor", round, wanted, 0);
    ++seen[run(d, wanted, random.chance(5) ? 1 + random.below(150) : ~u64{0})];
  }
  for (const unsigned code : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
    bench::check("runs with code", code, seen[code] >= 5, 1);
  bench::check("runs that end, fail, and are refused", 0, run.saw_all(), 1);
  bench::passed("control", checks);
}
