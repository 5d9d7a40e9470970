// The loader of compact bits.
#include "fuzz/support/frames.h"
#include "io/native/ckks_literal.h"
#include "unit/io/ckks_samples.h"

using namespace whorl;
using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const ckks::Client client{samples::ckks_parameters(samples::ckks_literals().back())};
  const std::vector<std::uint8_t> bits(3 * 40, 1);
  ckks::CompactBits shaped = client.encrypt_bits(bits, 40);
  shaped.shape = Shape{1, 3};
  return fuzz::add_seeds(argc, argv, {dump(client.encrypt_bits(bits, 60)), dump(shaped)});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<ckks::CompactBits>({data, size}, {.type = FrameType::ckks_compact_bits});
  return 0;
}
