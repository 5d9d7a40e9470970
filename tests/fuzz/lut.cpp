#include "fuzz/support/frames.h"
#include "io/native/binfhe_literal.h"

using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::literals())
    for (const bool padding : {false, true})
      seeds.push_back(
          dump(samples::lut(samples::parameters(literal), {4, padding}, {8, false}, random)));
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<whorl::binfhe::Lut>({data, size}, {.type = FrameType::binfhe_lut, .keyed = false});
  return 0;
}
