// What one GPU does, in one process: gates, also by AP, automorphisms and with a raised modulus,
// look-up tables, operations of large precision, ways to spread blind rotations, NTTs, memory. One
// JSON object a line; docs/gpu.md is made of them by bench/plots.py.
//
// usage: bench_gpu [--device cuda:0] [--record FILE] [--commit ID] [--quick] [--only PART,…]
//                  [--most BATCH]
//
// PART: gates, methods, tables, large, ways, ntt or memory. Several devices ("cuda:0,1") run gates
// only.
// `--most` leaves larger batches out; with it, "--device cpu" ends in reasonable time.
//
// "Transfers included" is a call of the server, from ciphertexts in the host's memory to results
// there. "Excluded" is the same work on ciphertexts that are on the device, results staying there:
// calls of the contract, and the host's wait for the last.
#include <cstdio>
#include <cstdlib>

#include "gpu/gpu.h"

namespace whorl::bench {
namespace {

using namespace binfhe;

/// Of one server: its keys, and what else is in use while it does a batch of 8,192.
void memory(const GpuOptions& options, const Report& report) {
  const auto parameters = Parameters::named("xiao/STD128", true);
  const Keys keys(parameters);
  const Transform transform = parameters.literal().transform;
  const std::size_t before = free_memory(options.device);
  const Server server(keys.evaluation, options.server(transform));
  const std::size_t taken = before - std::min(before, free_memory(options.device));
  Record record{.op = "memory", .params = "xiao/STD128", .transfers = true, .unit = "bytes"};
  record.set(static_cast<double>(taken));
  describe(record, parameters, transform);
  record.more.emplace_back("key_bytes", std::uint64_t{server.key_bytes()});
  report.add(record);
}

int run(CommandLine& line) {
  GpuOptions options;
  options.device = "cuda:0";
  line.device(options).record(options).only(options).quick(options);
  line.add("--most", options.most, "the largest batch").parse();
  const Report report(options);
  const auto part = [&](const char* name, auto body) {
    if (!options.wants(name) || (!options.one_device() && std::string(name) != "gates")) return;
    const double start = seconds_now();
    body(options, report);
    std::printf("# %s: %.1f s\n", name, seconds_now() - start);
  };
  part("memory", memory);
  part("gates", measure_gates);
  part("methods", measure_methods);
  part("tables", measure_tables);
  part("large", measure_large_precision);
  part("ntt", measure_ntts);
  part("ways", measure_ways);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_gpu", whorl::bench::run);
}
