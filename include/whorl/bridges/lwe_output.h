// From lanes of CKKS to LWE ciphertexts of FHEW/TFHE, with which gates go on.
#pragma once

#include <cstddef>
#include <memory>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/circuits/ckks/lanes.h"
#include "whorl/ckks/ciphertexts.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::bridges {

/// What a server needs to give lanes of one key out as LWE ciphertexts of another. They encrypt the
/// CKKS key under a secret of a subring that nobody keeps, over the primes that LweInputKeys have;
/// and that secret under the LWE key, modulo Q_ks.
struct LweOutputKeys {
  ckks::Parameters parameters;
  KeyId key_id;  ///< of the CKKS key
  binfhe::Parameters lwe_parameters;
  KeyId lwe_key_id;
  /// A switching key of one digit, (primes, N), from the CKKS key to the subring's secret.
  Seed switch_seed;
  WordArray switch_b;
  /// An LWE switching key as binfhe::EvaluationKeys has it, whose ring is the subring.
  Seed seed;
  WordArray b;

  /// Bytes of bodies and seeds, as they are sent, without the frame.
  std::size_t bytes() const { return b.bytes() + switch_b.bytes() + 64; }
  /// Returns what LweInputKeys::security_bits() does.
  double security_bits() const;
};

/// Gives lanes out as LWE ciphertexts. Copies share what is on the devices. Several threads may
/// call it at once.
class LweOutput {
 public:
  /// Errors as of LweInput.
  LweOutput(const ckks::Lanes& lanes, const LweOutputKeys& keys);

  /// A ciphertext of each lane, in the order of the vectors; it encrypts 0 or 1. The array is
  /// cleaned and refreshed before, as far as its errors would count beside those of a bootstrap of
  /// FHEW/TFHE. EncodingError for an encoding that the parameters do not carry, or whose sectors
  /// are no power of two; NoiseError if ciphertexts would decrypt wrongly with a probability above
  /// 2^-64.
  binfhe::Ciphertexts give_out(const ckks::LaneArray& a, binfhe::Encoding encoding = {}) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bridges
