// The loaders of programs of FHEW/TFHE, and of those of integers.
#include "fuzz/support/frames.h"
#include "io/native/binfhe_literal.h"

using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  std::vector<Bytes> seeds;
  for (const auto& literal : samples::literals())
    seeds.push_back(dump(samples::program(samples::parameters(literal), random)));
  seeds.push_back(dump(samples::integer_program(samples::tiny_parameters())));
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<whorl::binfhe::Program>({data, size},
                                         {.type = FrameType::binfhe_program, .keyed = false});
  fuzz::try_both<whorl::integers::Program>({data, size},
                                           {.type = FrameType::integer_program, .keyed = false});
  return 0;
}
