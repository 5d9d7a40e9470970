// INT8 tensor cores against the kernels of the library: base conversion, and NTTs of 2^8 and 2^16
// points as a trial. Each result is compared with the library's, bit by bit, on the GPU; then both
// are timed, each alone and run by run in turn.
//
// usage: bench_tensor_cores [--device ORDINAL] [--seed SEED] [--runs COUNT]
//                           [--record FILE] [--commit ID]
//
// One JSON object a line on stdout, as bench_rns --record writes, with the "variant" and whether
// runs took "turns" with the others'; a table on stderr. Times are of the GPU's clock, one call of
// several in a graph, data staying on the GPU. "h200_floor" is the larger of compulsory memory
// traffic and arithmetic at an H200's rates. Exits with 1, "WRONG", if any result differs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tensor_cores/bench.h"

namespace whorl::bench {
namespace {

int run(CommandLine& line) {
  Common options;
  int device = 0, runs = 60;
  std::uint64_t seed = 1;
  line.gpu(device)
      .record(options)
      .add("--seed", seed, "of the data")
      .add("--runs", runs, "of each variant")
      .parse();
  TensorBench bench(device, seed, std::max(1, runs), options);
  const backend::cuda::TransformTables transforms;
  bench_conversions(bench, transforms);
  bench_transforms(bench, transforms);
  for (const std::uint32_t batch : {48, 1024}) bench_long_transforms(bench, transforms, batch);
  if (!bench.failed()) return EXIT_SUCCESS;
  std::printf("WRONG\n");
  std::fprintf(stderr, "WRONG\n");
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_tensor_cores", whorl::bench::run);
}
