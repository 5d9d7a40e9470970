// The model of the FPGA core: whole bootstraps a second of one thread's time, its counters, and how
// long counting them takes. Keys are random, since the time does not depend on them.
//
// usage: bench_rtl_model [--only SETS] [--bootstraps N] [--commit ID] [--record FILE]
#include <tuple>

#include "backend/rtl/driver.h"
#include "backend/rtl/model.h"
#include "common/bench.h"
#include "math/random.h"

namespace whorl::bench {
namespace {

namespace rtl = backend::rtl;

/// The same each time.
template <class Word>
void fill(std::span<Word> words, std::uint64_t bound) {
  static constexpr math::Seed seed = {1};
  static std::uint64_t index = 0;
  math::expand_uniform(seed, index++, bound, words);
}

struct Case {
  const char* set;
  rtl::Shape shape;
};

/// The designs of rtl/README.md, section 8, and one for set (II).
std::vector<Case> cases() {
  const rtl::Shape one{.log_N = 10,
                       .L = 2,
                       .log_Bg = 10,
                       .ksk_bits = 1024,
                       .max_n = 500,
                       .ks_lanes = 1024,
                       .ksk_rows = 8192};
  std::vector<Case> out;
  struct {
    const char* set;
    std::uint32_t M, pes, log_b, K, ports;
  } const designs[] = {{"fpga/I_M1", 1, 11, 1, 3, 1},
                       {"fpga/I_M2", 2, 2, 3, 6, 6},
                       {"fpga/I_M3", 3, 5, 1, 3, 7},
                       {"fpga/I_M4", 4, 7, 0, 3, 8}};
  for (const auto& [set, M, pes, log_b, K, ports] : designs) {
    rtl::Shape shape = one;
    shape.M = M;
    shape.pes = pes;
    shape.log_b = log_b;
    shape.K = K;
    shape.bk_ports = ports;
    out.push_back({set, shape});
  }
  const rtl::Shape large{.log_N = 11,
                         .L = 3,
                         .log_Bg = 7,
                         .M = 2,
                         .pes = 5,
                         .log_b = 1,
                         .K = 3,
                         .mem_bits = 1024,
                         .bk_ports = 3,
                         .ksk_bits = 1024,
                         .max_n = 592,
                         .ks_lanes = 1216,
                         .ksk_rows = 16384};
  out.push_back({"fpga/II_M2", large});
  return out;
}

std::shared_ptr<rtl::RotationImages> random_rotation(const rtl::Shape& shape, std::uint32_t n) {
  auto out = std::make_shared<rtl::RotationImages>();
  out->n = n;
  const std::uint64_t chunk = shape.chunk_beats() * shape.mem_bytes(), steps = shape.steps(n);
  out->ports.assign(shape.bk_ports, rtl::Bytes(steps * chunk));
  std::vector<std::uint64_t> words(std::size_t{shape.sets()} * 4 * shape.L * shape.N());
  for (std::uint64_t step = 0; step < steps; ++step) {
    fill(std::span(words), rtl::prime);
    std::vector<std::span<std::uint8_t>> parts;
    for (rtl::Bytes& port : out->ports)
      parts.push_back(std::span(port).subspan(step * chunk, chunk));
    rtl::pack_chunk(shape, words, parts);
  }
  return out;
}

std::shared_ptr<rtl::SwitchImage> random_switch(const rtl::Shape& shape, std::uint32_t n) {
  return std::make_shared<rtl::SwitchImage>(
      rtl::SwitchImage{n, rtl::switch_key_image(shape, n, [&](std::size_t, std::uint32_t* out) {
                         fill(std::span(out, n + 1), rtl::lwe_modulus);
                       })});
}

void measure(const Case& of, std::uint32_t count, const Records& records) {
  const rtl::Shape& shape = of.shape;
  const std::uint32_t n = shape.max_n;
  rtl::Driver driver(
      std::make_shared<rtl::Model>(shape, backend::Workers{.threads = 1, .interrupt = {}}));
  driver.use(random_rotation(shape, n));
  driver.use(random_switch(shape, n));
  std::vector<std::uint32_t> rows(std::size_t{count} * (n + 1)), index(count, 0), out(rows.size());
  std::vector<std::uint64_t> lut(shape.N());
  fill(std::span(rows), rtl::lwe_modulus);
  fill(std::span(lut), rtl::prime);
  const auto run = [&](std::uint32_t of_them) {
    driver.run({.count = of_them,
                .rows = std::span(rows).first(std::size_t{of_them} * (n + 1)),
                .centred = true,
                .index = std::span(index).first(of_them),
                .luts = lut},
               std::span(out).first(std::size_t{of_them} * (n + 1)));
  };
  run(1);  // the key is read
  double began = seconds_now(Clock::cpu);
  run(count);
  const double took = seconds_now(Clock::cpu) - began;
  began = seconds_now(Clock::cpu);
  const rtl::Counters counters = driver.counters();
  const double counting = seconds_now(Clock::cpu) - began;
  Record record{
      .op = "bootstraps", .params = of.set, .scheme = "binfhe", .batch = count, .unit = "1/s"};
  record.set(count / took);
  record.more = {{"rate_with_counters", count / (took + counting)}, {"seconds_counting", counting}};
  for (std::size_t c = 0; c < rtl::Counters::size; ++c)
    record.more.emplace_back(rtl::counter_name(c), counters[c]);
  records.add(record);
}

int run(CommandLine& line) {
  Common options;
  unsigned bootstraps = 120;
  line.record(options).only(options).add("--bootstraps", bootstraps, "of each set");
  line.parse();
  const Records records("rtl_model", options, {.name = "rtl-model", .devices = 1, .threads = 1},
                        Records::To::file_and_stdout);
  for (const Case& each : cases())
    if (options.wants(each.set)) measure(each, bootstraps, records);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_rtl_model", whorl::bench::run);
}
