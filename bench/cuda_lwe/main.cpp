// LWE and element-wise kernels of the CUDA backend against the CPU backend, bit for bit; with
// --time, key switching, sample extraction and modulus switching at the shapes of named sets.
//
// usage: bench_cuda_lwe [--device ORDINAL] [--seed S] [--time] [--record FILE --commit ID]
#include <cstdio>

#include "backend/cuda/runtime/error.h"
#include "common/command_line.h"
#include "cuda_lwe/bench.h"

namespace whorl::bench {
namespace {

int run(CommandLine& line) {
  KernelOptions options;
  options.seed = 20240817;
  line.kernels(options).parse();
  const double started = seconds_now();
  const auto gpu = backend::cuda::describe_gpu(options.gpu);
  const Stream stream(gpu);
  LweBench bench(options.seed, stream);
  std::printf("%s against %s, seed %llu\n", gpu.model.c_str(), bench.cpu->name().c_str(),
              static_cast<unsigned long long>(options.seed));
  check_everything(bench);
  std::printf("%d comparisons, %d failed, %.1f s\n", bench.compared, bench.failed,
              seconds_now() - started);
  if (options.time || !options.record.empty())
    time_everything(bench, Records("cuda_lwe", options, {record_name(gpu.model)}));
  return bench.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_cuda_lwe", whorl::bench::run);
}
