// All loaders of BGV.
#include "fuzz/support/rlwe.h"
#include "io/native/bgv_literal.h"
#include "unit/io/bgv_samples.h"

using namespace whorl;
using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::bgv_literals()) {
    const auto parameters = samples::bgv_parameters(literal);
    for (Bytes& seed : fuzz::rlwe_seeds<samples::Bgv>(parameters, random))
      seeds.push_back(std::move(seed));
    if (!parameters.has_slots()) continue;
    auto vectors = samples::bgv_ciphertexts(parameters, 2, 2, 1, random);
    vectors.info.length = parameters.N() + 3;
    vectors.info.rest = bgv::Rest::anything;
    seeds.push_back(dump(vectors));
    vectors.info.length = 1;
    vectors.info.rest = bgv::Rest::same;
    seeds.push_back(dump(vectors));
  }
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_rlwe<samples::Bgv>({data, size});
  return 0;
}
