// What TensorFHE (Fan et al., HPCA 2023) measures of its kernels, measured of Whorl's at the
// paper's Default set (tensorfhe/default).
//
// usage: bench_tensorfhe [--device ORDINAL] [--only PART,PART…] [--record FILE] [--commit ID]
//        bench_tensorfhe --host [--largest LOG2_N]
//        bench_tensorfhe --profile [--device ORDINAL]
//
// PART: transforms (the library's butterflies beside the paper's products of matrices, compared
// bit by bit), kernels (Table II), layouts ((L, B, N) and (B, L, N)). Records go to stdout too.
// Without a GPU, --host runs every thread of the kernels with products of matrices on the CPU, and
// compares with the CPU's transforms. --profile launches each kind once, for a profiler
// (bench/kernel_stalls.py). Exits with 1 if any result differs.
#include <cstdlib>

#include "common/command_line.h"
#include "common/devices.h"
#include "common/records.h"
#include "tensorfhe/bench.h"
#include "tensorfhe/matrix_tables.h"
#include "whorl/ckks.h"

namespace whorl::bench {
namespace {

int run(CommandLine& line) {
  Common options;
  int gpu = 0;
  bool host = false, profile = false;
  unsigned largest = 13;
  line.gpu(gpu).record(options).only(options);
  line.flag("--host", host, "check the kernels' threads on the CPU")
      .flag("--profile", profile, "launch each kind of transform once")
      .add("--largest", largest, "log2 N up to which --host checks")
      .parse();
  if (host) return matrix::check_on_host(largest) ? EXIT_SUCCESS : EXIT_FAILURE;
  const auto set = ckks::Parameters::named("tensorfhe/default").literal();
  if (profile) {
    profile_transforms(gpu, set.chain);
    return EXIT_SUCCESS;
  }
  const std::string device = "cuda:" + std::to_string(gpu);
  const Records records("tensorfhe", options, machine_of(device), Records::To::file_and_stdout);
  if (options.wants("transforms") && !bench_transforms(gpu, records, set.chain))
    return EXIT_FAILURE;
  if (options.wants("kernels")) bench_kernels(device, records, set.chain, set.special.at(0));
  if (options.wants("layouts")) bench_layouts(device, records, set.chain, set.special.at(0));
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_tensorfhe", whorl::bench::run);
}
