// Small frames of the schemes over RNS rings.
#pragma once

#include "support/test.h"
#include "unit/io/expectations.h"
#include "unit/io/rlwe_samples.h"

namespace whorl::io::samples {

/// Where arrays of words begin, at `at` or behind it.
inline std::size_t aligned(std::size_t at) { return (at + 63) / 64 * 64; }

/// One small frame a type, all under the first literal. Ciphertexts are there without a seed, with
/// three parts, and with one.
template <class Scheme>
std::vector<Sample> rlwe_frames(Random& random) {
  const auto parameters = Scheme::Parameters::create(Scheme::literals()[0], true);
  return {sample_of(Scheme::parameters_type, parameters),
          secret_sample(Scheme::secret_key_type,
                        ternary_key<typename Scheme::SecretKey>(parameters, random)),
          sample_of(Scheme::evaluation_keys_type, ring_evaluation_keys(parameters, random)),
          sample_of(Scheme::ciphertexts_type, Scheme::ciphertexts(parameters, 2, 3, random)),
          sample_of(Scheme::ciphertexts_type, Scheme::fresh(parameters, 2, random)),
          sample_of(Scheme::public_key_type,
                    ring_public_key(parameters, Scheme::fresh_limbs(parameters), random))};
}

}  // namespace whorl::io::samples
