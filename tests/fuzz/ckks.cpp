// All loaders of CKKS.
#include "fuzz/support/rlwe.h"
#include "io/native/ckks_literal.h"
#include "unit/io/ckks_samples.h"

using namespace whorl;
using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::ckks_literals())
    for (Bytes& seed : fuzz::rlwe_seeds<samples::Ckks>(samples::ckks_parameters(literal), random))
      seeds.push_back(std::move(seed));
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_rlwe<samples::Ckks>({data, size});
  return 0;
}
