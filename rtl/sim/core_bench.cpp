// The whole core against plain arithmetic: all modes, several batches, stalls of memory, resets and aborts in the
// middle, bad descriptors, and errors of memory. With ONE_RUN: bootstraps of a batch, of two, and of one ciphertext with
// rare and constant stalls, and a line `RUN {…}` of each for cycles.py.
#include <ctime>

#include "core_bench.h"

#include <algorithm>

using namespace bench;
using namespace reference;

namespace {

constexpr Shape shape{LOG_N, DIGITS, LOG_BG, GROUP, PES, LOG_B, PLACES, L_KS, LOG_BKS, MEM_BITS, BK_PORTS, KSK_BITS};
constexpr unsigned N = 1u << LOG_N, n = LWE_N, capacity = PES * PLACES, luts = 3;
constexpr u64 page = 4096;
u64 pages(u64 bytes) { return (bytes + page - 1) / page * page; }

struct Job {
  unsigned mode, count;
  bool as_exponents, centred;
  unsigned offset;
  u64 constant;
};

struct Test {
  Random random;
  Transforms transforms{LOG_N};
  Key key;
  std::vector<std::uint32_t> ksk_rows;
  std::vector<std::vector<u64>> tables;
  Bytes io, ksk;
  std::vector<Bytes> bk;
  u64 lut_at = 0, in_at = 0, out_at = 0;

  explicit Test(u64 seed) : random(seed) {
    key.resize(std::size_t{shape.steps(n)} * shape.sets() * 4 * shape.L);
    for (unsigned step = 0; step < shape.steps(n); ++step)
      for (unsigned set = 0; set < shape.sets(); ++set)
        for (unsigned row = 0; row < 2 * shape.L; ++row)
          for (unsigned column = 0; column < 2; ++column) {
            auto& polynomial = key[key_at(shape, step, set, row, column)];
            polynomial.resize(N);
            // A last group may be short: no key for sets with a missing coefficient.
            if ((set + 1) >> std::min<unsigned>(shape.m, n - step * shape.m)) continue;
            for (u64& x : polynomial) x = random.residue_mod_p();
          }
    ksk_rows.resize(std::size_t{N} * shape.l_ks * (n + 1));
    for (auto& x : ksk_rows) x = static_cast<std::uint32_t>(random());
    for (unsigned t = 0; t < luts; ++t) {
      tables.emplace_back(N);
      for (u64& x : tables.back()) x = random.residue_mod_p();
    }
    for (unsigned s = 0; s < BK_PORTS; ++s) {
      Bytes image(page);  // the image begins at 4096
      const Bytes words = bk_image(shape, n, key, s);
      image.insert(image.end(), words.begin(), words.end());
      bk.push_back(image);
    }
    ksk = ksk_image(shape, n, ksk_rows);
    in_at = page + pages(luts * N * 8);
    lut_at = page;
  }

  /// Inputs in memory, and the results that are wanted there.
  std::vector<std::uint8_t> prepare(const Job& job) {
    const bool switch_only = job.mode == 2, extract = job.mode == 1;
    const u64 record = shape.record_bytes(n, switch_only), result = shape.result_bytes(n, extract);
    out_at = in_at + pages(record * job.count);
    io.assign(out_at + result * job.count, 0xEE);
    for (unsigned t = 0; t < luts; ++t) std::memcpy(io.data() + lut_at + t * N * 8, tables[t].data(), N * 8);
    Bytes wanted(result * job.count);
    for (unsigned c = 0; c < job.count; ++c) {
      std::vector<std::uint32_t> words(switch_only ? N + 1 : n + 1);
      for (auto& x : words) {
        x = static_cast<std::uint32_t>(random());
        if (random.chance(5)) x = 0x8000'0000u;
        if (job.as_exponents && !switch_only) x &= 2 * N - 1;
        if (random.chance(10)) x = 0;
      }
      const unsigned lut = static_cast<unsigned>(random.below(luts));
      std::uint8_t* const to = io.data() + in_at + c * record;
      std::memcpy(to, words.data(), 4 * words.size());
      if (!switch_only) std::memcpy(to + 4 * words.size(), &lut, 4);
      std::vector<std::uint32_t> lwe = words;
      if (!switch_only) {
        std::vector<unsigned> e;
        if (job.as_exponents) {
          e.assign(words.begin(), words.end());
          e.back() = (e.back() + job.offset) % (2 * N);
        } else {
          e = exponents(shape, words, job.centred, job.offset);
        }
        const std::vector<u64> sample = rotate_extract(shape, transforms, key, e, tables[lut], job.constant);
        if (extract) {
          std::memcpy(wanted.data() + c * result, sample.data(), 8 * sample.size());
          continue;
        }
        lwe.clear();
        for (const u64 x : sample) lwe.push_back(static_cast<std::uint32_t>(round_scaled(x, p, u64{1} << 32)));
      }
      const auto out = key_switch(shape, n, ksk_rows, lwe);
      std::memcpy(wanted.data() + c * result, out.data(), 4 * out.size());
    }
    return wanted;
  }

  /// Images lie anywhere in the ports' address spaces, or where they are in the vectors.
  void describe(Core& core, const Job& job, bool anywhere = true) const {
    const auto place = [&](ReadPort& port) {
      do port.base = anywhere ? core.random() / page * page : 0;
      while (port.base > ~u64{0} - (u64{1} << 40));
      return port.base;
    };
    const u64 io_base = place(core.io_read()), ksk_base = place(core.ksk_read());
    u64 bk_end = 0;
    core.write(0x080, job.mode | (job.as_exponents ? 256u : 0) | (job.centred ? 512u : 0));
    core.write(0x084, shape.m);
    core.write(0x088, n);
    core.write(0x08C, job.count);
    core.write(0x090, luts);
    core.write(0x094, job.offset);
    core.write64(0x098, job.constant);
    core.write64(0x0A0, io_base + in_at);
    core.write64(0x0A8, io_base + lut_at);
    core.write64(0x0B0, io_base + out_at);
    core.write64(0x0B8, ksk_base);
    for (unsigned s = 0; s < BK_PORTS; ++s) {
      const u64 base = place(core.bk_read(s));
      core.write64(0x0C0 + 8 * s, base + page);
      bk_end = std::max(bk_end, base + bk[s].size());
    }
    core.write64(0x100, io_base + io.size());
    core.write64(0x108, ksk_base + ksk.size());
    core.write64(0x110, bk_end);
  }
  u64 most_cycles(const Job& job) const {
    return 100000 + 40ull * job.count * (shape.steps(n) + 4) * (2 * N + 1500) + 40ull * job.count * N * shape.l_ks * 40;
  }
  void compare(const Bytes& wanted) const {
    for (std::size_t k = 0; k < wanted.size(); ++k) check("byte of results", k, io[out_at + k], wanted[k]);
  }
};

const char* const counter_names[] = {"CYCLES", "SLOTS", "PE_SLOTS", "WAIT_KEY", "WAIT_ACC", "WAIT_LOAD",
                                     "BK_BEATS", "KSK_BEATS", "IO_READ_BEATS", "IO_WRITE_BEATS", "KS_BUSY", "RESULTS"};

void print_counters(Core& core, unsigned count) {
  std::printf("  %u ciphertexts:", count);
  for (unsigned c = 0; c < 12; ++c) std::printf(" %s=%llu", counter_names[c], static_cast<unsigned long long>(core.counter(c)));
  std::printf("\n");
}

/// One JSON object: the shape, the run, what was compared, the time of the CPU, and the counters.
void print_run(Core& core, unsigned count, u64 bytes, double seconds) {
  static const char* const fields[] = {"LOG_N", "L", "LOG_BG", "M", "PES", "LOG_B", "K", "MEM_BITS",
                                       "BK_PORTS", "KSK_BITS", "MAX_N_LWE", "L_KS", "LOG_BKS", "KS_LANES", "BK_BUFFERS"};
  std::printf("RUN {\"shape\": {");
  for (unsigned f = 0; f < 15; ++f) std::printf("\"%s\": %u, ", fields[f], core.read(0x020 + 4 * f));
  std::printf("\"KSK_ROWS\": %u}, \"n\": %u, \"count\": %u, \"stalls_percent\": %u, \"delay\": %u, ", core.read(0x064), n,
              count, core.stalls.percent, core.stalls.delay);
  std::printf("\"bytes_compared\": %llu, \"cpu_seconds\": %.1f, \"counters\": {", static_cast<unsigned long long>(bytes), seconds);
  for (unsigned c = 0; c < 12; ++c)
    std::printf("%s\"%s\": %llu", c ? ", " : "", counter_names[c], static_cast<unsigned long long>(core.counter(c)));
  std::printf("}}\n");
}

/// What can be written reads back, byte by byte too; what cannot stays. The port's answers wait now and then.
void exercise_registers(Core& core) {
  core.stalls = {30, 10};
  for (unsigned address = 0x080; address < 0x118; address += 4)
    for (const std::uint32_t value : {~0u, 0u, static_cast<std::uint32_t>(core.random())}) {
      core.write(address, value);
      check("register", address, core.read(address), value);
      const unsigned strobe = static_cast<unsigned>(core.random.below(16));
      core.write(address, ~value, strobe);
      std::uint32_t wanted = value;
      for (unsigned b = 0; b < 4; ++b)
        if (strobe >> b & 1) wanted ^= 0xFFu << (8 * b);
      check("register written by bytes", address, core.read(address), wanted);
    }
  for (const unsigned address : {0x000u, 0x004u, 0x010u, 0x018u, 0x020u, 0x060u, 0x07Cu, 0x118u, 0x180u, 0xFFCu}) {
    const std::uint32_t value = core.read(address);
    core.write(address, ~value);
    check("register that cannot be written", address, core.read(address), value);
  }
  check("version", 0, core.read(0x004), 0x00010000);
  check("LOG_N", 0, core.read(0x020), LOG_N);
  for (const std::uint32_t enable : {1u, 0u, 1u}) {
    core.write(0x014, enable);
    check("IRQ_ENABLE", 0, core.read(0x014), enable);
  }
  check("irq of a core that did not run", 0, core.top.irq, 0);
}

Job random_job(Random& random, unsigned mode, unsigned count) {
  return {mode, count, mode != 2 && random.chance(30), random.chance(50),
          static_cast<unsigned>(random.below(2 * N)), random.residue_mod_p()};
}

}  // namespace

int main(int argc, char** argv) {
  const u64 seed = seed_of(argc, argv);
  Test test(seed);
  test.io.assign(page, 0);
  Core core(seed + 1, test.io, test.ksk, test.bk);
  u64 checks = 0;
  double seconds = 0;  // of the CPU, in the core of the last run
  check("ID", 0, core.read(0), 0x57484F52);
  const bool show = std::getenv("WHORL_SHOW");
  const auto run = [&](const Job& job) {
    if (show)
      std::printf("mode %u, %u ciphertexts, exponents %d, centred %d, stalls %u %%\n", job.mode, job.count, job.as_exponents,
                  job.centred, core.stalls.percent);
    const Bytes wanted = test.prepare(job);
    test.describe(core, job);
    const std::clock_t began = std::clock();
    core.write(0x008, 1);
    check("status", job.mode, core.wait(test.most_cycles(job)), 2);
    seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    test.compare(wanted);
    check("results", job.count, core.counter(11), job.count);
    checks += wanted.size();
  };
#if ONE_RUN
  struct {
    unsigned percent, delay, count;
  } const runs[] = {{0, 10, capacity}, {0, 10, 2 * capacity}, {3, 40, 1}, {60, 40, 1}};
  for (const auto& [percent, delay, count] : runs) {
    core.stalls = {percent, delay};
    const u64 before = checks;
    run({0, count, false, true, 17, 12345});
    std::printf("stalls %u %%:\n", percent);
    print_counters(core, count);
    print_run(core, count, checks - before, seconds);
    std::fflush(stdout);
  }
#else
  exercise_registers(core);
  for (const unsigned percent : {0u, 3u, 70u}) {
    core.stalls = {percent, percent ? 40u : 5u};
    for (const unsigned mode : {2u, 1u, 0u})
      for (const unsigned count : {1u, capacity, 2 * capacity + 1}) run(random_job(core.random, mode, count));
  }
  core.stalls = {0, 5};
  run(random_job(core.random, 0, 4 * capacity));
  print_counters(core, 4 * capacity);

  // Resets and aborts in the middle, and a good run after each.
  for (unsigned t = 0; t < 24; ++t) {
    core.stalls = {t % 2 ? 20u : 0u, 30};
    const Job job = random_job(core.random, static_cast<unsigned>(core.random.below(3)), capacity + 1);
    test.prepare(job);
    test.describe(core, job);
    core.write(0x008, 1);
    // From the first cycles of the checks on.
    const u64 after = core.random.below(t % 3 == 2 ? 100 : t < 9 ? 3000 : 20000);
    if (show) std::printf("%s mode %u after %llu cycles\n", t % 4 < 2 ? "reset of" : "abort of", job.mode, static_cast<unsigned long long>(after));
    for (u64 i = 0; i < after; ++i) core.step();
    if (t % 4 < 2) {
      core.reset();
      check("status after a reset", t, core.read(0x00C), 0);
    } else {
      const bool ran = core.read(0x00C) & 1;
      core.write(0x008, 2);
      // It may have ended by itself in the cycles of the write, not later.
      const bool ended = core.read(0x00C) == 2;
      const std::uint32_t status = core.wait(2000);
      if (ran && !ended) {
        check("status of an abort", t, status, 4);
        check("code of an abort", t, core.read(0x010), 15);
      }
    }
    run(random_job(core.random, t % 3, 2));
  }

  // Aborts in every cycle of the checks, and in the first ones after them.
  core.stalls = {0, 5};
  for (unsigned after = 0; after < 90; ++after) {
    const Job job = random_job(core.random, after % 3, 1);
    test.prepare(job);
    test.describe(core, job);
    core.write(0x008, 1);
    for (unsigned i = 0; i < after; ++i) core.step();
    core.write(0x008, 2);
    check("status of an early abort", after, core.wait(2000), 4);
    check("code of an early abort", after, core.read(0x010), 15);
  }
  for (const unsigned mode : {0u, 1u, 2u}) run(random_job(core.random, mode, 1));

  // Bad descriptors.
  struct Bad {
    unsigned address;
    u64 value;
    unsigned code, mode;
  };
  const Bad bad[] = {
      {0x088, 0, 1, 0}, {0x088, LWE_N + 1, 2, 0}, {0x088, 0xFFFFFFFF, 2, 1}, {0x084, GROUP + 1, 3, 0}, {0x084, 0, 3, 2},
      {0x08C, 0, 4, 0}, {0x080, 3, 5, 0}, {0x080, 0x400, 5, 0}, {0x080, 4, 5, 0}, {0x090, 0, 6, 0}, {0x094, 2 * N, 7, 0},
      {0x098, p, 7, 1}, {0x0A0, 64, 8, 0}, {0x0A8, 8, 8, 0}, {0x0B0, 2048, 8, 2}, {0x0B8, 4, 8, 0}, {0x0C0, 1, 8, 1},
      {0x0A0, u64{1} << 40, 9, 0}, {0x0A0, ~u64{0} << 12, 9, 2}, {0x0A8, u64{1} << 40, 10, 0}, {0x090, 0xFFFFFFFF, 10, 0},
      {0x0B0, u64{1} << 50, 11, 1}, {0x08C, 0xFFFFFFFF, 9, 0}, {0x0B8, u64{1} << 32, 12, 0}, {0x108, page, 12, 2},
      {0x0C0, u64{1} << 32, 13, 0}, {0x110, page, 13, 1}};
  for (const Bad& each : bad) {
    const Job job{each.mode, 1, false, false, 0, 0};
    test.prepare(job);
    test.describe(core, job, false);
    if (each.address >= 0x098 && each.address != 0x08C)
      core.write64(each.address, each.value);
    else
      core.write(each.address, static_cast<std::uint32_t>(each.value));
    core.write(0x004 + 4, 1);
    check("status of a bad descriptor", each.address, core.wait(100000), 4);
    check("code of a bad descriptor", each.address, core.read(0x010), each.code);
  }
  // More ciphertexts and test vectors than a memory holds: the core goes as far as it can, or until an abort.
  for (unsigned t = 0; t < 12; ++t) {
    core.stalls = {t % 2 ? 20u : 0u, 10};
    const Job job = random_job(core.random, t % 3, capacity);
    test.prepare(job);
    test.describe(core, job, false);
    core.write(0x08C, static_cast<std::uint32_t>(~0u >> core.random.below(12)));
    core.write(0x090, static_cast<std::uint32_t>(~0u >> core.random.below(12)));
    core.write64(0x100, ~u64{0});
    test.io[test.in_at + 4 * (n + 1) + t % 4] = 1;  // a test vector that lies anywhere
    core.write(0x008, 1);
    for (u64 i = 0, after = core.random.below(10000); i < after; ++i) core.step();
    core.write(0x008, 2);
    check("status of a run without end", t, core.wait(100000), 4);
    const std::uint32_t code = core.read(0x010);
    // It may meet what is no input, and the memory's end.
    if (code < 14 || code > 17) check("code of a run without end", t, code, 18);
    run(random_job(core.random, t % 3, 1));
  }
  // Words that are wrong, and errors of memory.
  const auto fails = [&](unsigned mode, bool as_exponents, unsigned code, auto spoil) {
    const Job job{mode, capacity + 1, as_exponents, false, 0, 0};
    test.prepare(job);
    spoil();
    test.describe(core, job);
    core.write(0x008, 1);
    check("status of an error", code, core.wait(test.most_cycles(job)), 4);
    check("code of an error", code, core.read(0x010), code);
    core.io_read().error_at = core.bk_read().error_at = core.write_error_at = 0;
    run(random_job(core.random, mode, 1));
  };
  for (const unsigned percent : {0u, 30u}) {
    core.stalls = {percent, 20};
    fails(0, false, 16, [&] { test.io[test.in_at + 4 * (n + 1)] = luts; });
    fails(0, false, 17, [&] {
      for (unsigned t = 0; t < luts; ++t) std::memcpy(test.io.data() + test.lut_at + 8 * (t * N + 5), &p, 8);
    });
    fails(1, true, 14, [&] { test.io[test.in_at + 3] = 1; });
    fails(0, false, 18, [&] { core.io_read().error_at = core.io_read().beats + 3; });
    fails(1, false, 18, [&] { core.bk_read().error_at = core.bk_read().beats + 7; });
    fails(2, false, 19, [&] { core.write_error_at = core.bursts_written + 1; });
  }
  core.stalls = {0, 5};
  run(random_job(core.random, 0, capacity));
#endif
  passed("core", checks);
}
