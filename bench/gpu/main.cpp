// What one GPU does, in one process: gates, look-up tables, operations of large precision, products
// with matrices, schedules of blind rotations, NTTs, memory. One JSON object a line; docs/gpu.md is
// made of them by bench/pages.py.
//
// usage: bench_gpu [--device cuda:0] [--record FILE] [--commit ID] [--quick] [--only PART,…]
//                  [--most BATCH] [--set NAME,…] [--batch COUNT,…]
//
// PART: gates, tables, large, products, schedules, ntt or memory. Several devices ("cuda:0,1") run
// gates, tables and operations of large precision, in batches of 16,384 and more. `--most` leaves
// larger batches out; with it, "--device cpu" ends in reasonable time. `--set` and `--batch` choose
// sets and batches of bootstraps. `--quick` has fewer runs, and sets by their own transform only.
//
// "Transfers included" is a call of the server, from ciphertexts in the host's memory to results
// there. "Excluded" is the same work on ciphertexts that are on the device, results staying there:
// calls of the contract, and the host's wait for the last.
#include "common/bench.h"
#include "gpu/gpu.h"

namespace whorl::bench {
namespace {

using namespace binfhe;

/// Measures one server: its keys, and what else is in use while it does a batch of 8,192.
void memory(const GpuOptions& options, const Report& report) {
  const auto parameters = Parameters::named("xiao/STD128", true);
  const Keys keys(parameters);
  const Transform transform = parameters.literal().transform;
  const std::size_t before = free_memory(options.device);
  const Server server = options.server(keys.evaluation, transform);
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
  line.add("--most", options.most, "the largest batch")
      .list("--set", options.sets, "sets, with commas between")
      .list("--batch", options.batches, "batches of bootstraps, with commas between")
      .parse();
  for (const std::string& set : options.sets) parameters_of(set);  // its name is checked
  const Report report(options);
  const auto part = [&](const std::string& name, auto body) {
    const bool for_one =
        name == "memory" || name == "ntt" || name == "products" || name == "schedules";
    if (!options.wants(name) || (!options.one_device() && for_one)) return;
    const double start = seconds_now();
    body(options, report);
    std::printf("# %s: %.1f s\n", name.c_str(), seconds_now() - start);
  };
  part("memory", memory);
  part("gates", measure_gates);
  part("tables", measure_tables);
  part("large", measure_large_precision);
  part("products", measure_products);
  part("ntt", measure_ntts);
  part("schedules", measure_schedules);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_gpu", whorl::bench::run);
}
