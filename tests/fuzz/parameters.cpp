#include "fuzz/support/frames.h"

using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::literals())
    seeds.push_back(dump(samples::parameters(literal)));
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both({data, size}, FrameType::parameters, [](auto bytes, const LoadOptions& options) {
    return load_parameters(bytes, options);
  });
  return 0;
}
