// The loaders of public keys of FHEW/TFHE, of messages in coefficients, and of compression keys.
#include "fuzz/support/frames.h"
#include "io/native/binfhe_literal.h"
#include "unit/io/samples.h"
#include "whorl/bridges/client.h"

using namespace whorl;
using namespace whorl::io;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const binfhe::Client client{samples::tiny_parameters()};
  const binfhe::PublicKey key = client.public_key();
  const std::vector<std::uint32_t> messages(5, 1);
  binfhe::PackedCiphertexts shaped = binfhe::encrypt(key, messages, {4}, 1);
  shaped.shape = Shape{5, 1};
  shaped.largest = 3;
  shaped.range = {-2, 1};
  return fuzz::add_seeds(argc, argv,
                         {dump(key), dump(shaped), dump(bridges::compression_keys(client))});
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_both<binfhe::PublicKey>({data, size}, {.type = FrameType::binfhe_public_key});
  fuzz::try_both<binfhe::PackedCiphertexts>({data, size},
                                            {.type = FrameType::binfhe_packed_ciphertexts});
  fuzz::try_both<bridges::CompressionKeys>({data, size},
                                           {.type = FrameType::binfhe_compression_keys});
  return 0;
}
