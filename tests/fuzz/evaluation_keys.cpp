#include "fuzz/support/frames.h"
#include "io/native/binfhe_literal.h"

using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  samples::Random random(1);
  auto wide = samples::literals()[0];
  wide.Q = wide.Q_ks = samples::literals()[2].Q;
  wide.gadget = {{8, 20, 1}, {8, 25, 1}};
  const std::vector<Bytes> seeds = {
      dump(samples::evaluation_keys(samples::tiny_parameters(), random)),
      dump(samples::evaluation_keys(samples::parameters(wide), random))};
  return fuzz::add_seeds(argc, argv, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<whorl::binfhe::EvaluationKeys>({data, size},
                                                {.type = FrameType::binfhe_evaluation_keys});
  return 0;
}
