// Small frames of FHEW/TFHE's types.
#pragma once

#include "support/test.h"
#include "unit/io/expectations.h"
#include "unit/io/samples.h"

namespace whorl::io::samples {

/// One small frame for each type of FHEW/TFHE, ciphertexts with and without seed.
inline std::vector<Sample> binfhe_frames(Random& random) {
  const auto parameters = tiny_parameters();
  return {sample_of(FrameType::binfhe_parameters, parameters),
          secret_sample(FrameType::binfhe_secret_key, secret_key(parameters, random), passphrase),
          sample_of(FrameType::binfhe_evaluation_keys, evaluation_keys(parameters, random)),
          sample_of(FrameType::binfhe_ciphertexts, ciphertexts(parameters, 2, false, random)),
          sample_of(FrameType::binfhe_ciphertexts, ciphertexts(parameters, 5, true, random)),
          sample_of(FrameType::binfhe_lut, lut(parameters, {4, true}, {8, false}, random))};
}

/// Tests of all of them, of random content.
class BinfheFrames : public testing::Test {
 protected:
  std::uint64_t seed = std::random_device{}();
  Random random{seed};
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::vector<Sample> all = binfhe_frames(random);
};

}  // namespace whorl::io::samples
