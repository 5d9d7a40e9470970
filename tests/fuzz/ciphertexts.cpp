#include "fuzz/support/frames.h"

using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::literals())
    for (const bool seeded : {false, true})
      for (const std::size_t count : {0, 3})
        seeds.push_back(
            dump(samples::ciphertexts(samples::parameters(literal), count, seeded, random)));
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both({data, size}, FrameType::ciphertexts, [](auto bytes, const LoadOptions& options) {
    return load_ciphertexts(bytes, options);
  });
  return 0;
}
