// The loaders of keys between LWE ciphertexts and lanes.
#include "fuzz/support/frames.h"
#include "io/native/ckks_literal.h"
#include "unit/io/ckks_samples.h"
#include "whorl/bridges/client.h"

using namespace whorl;
using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const ckks::Client client{samples::ckks_parameters(samples::ckks_literals().back())};
  const binfhe::Client lwe{samples::tiny_parameters()};
  return fuzz::add_seeds(
      argc, argv,
      {dump(bridges::lwe_input_keys(client, lwe)), dump(bridges::lwe_output_keys(client, lwe))});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<bridges::LweInputKeys>({data, size}, {.type = FrameType::lwe_input_keys});
  fuzz::try_both<bridges::LweOutputKeys>({data, size}, {.type = FrameType::lwe_output_keys});
  return 0;
}
