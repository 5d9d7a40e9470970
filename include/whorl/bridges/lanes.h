// From LWE ciphertexts of FHEW/TFHE to lanes of CKKS. Bits that a client has sent as LWE
// ciphertexts, or that gates of FHEW/TFHE gave, are put into the coefficients of ring ciphertexts,
// and a bootstrap for bits takes them from there into lanes. docs/lanes-lwe.md says how, and why
// results are exact. Client keys make what is needed: whorl/bridges/client.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/server.h"
#include "whorl/circuits/ckks/lanes.h"
#include "whorl/ckks/ciphertexts.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::bridges {

/// What a server needs to take LWE ciphertexts of one key into lanes of another. They encrypt the
/// LWE key, in a ring that is as small as is secure at the modulus of the CKKS key's lowest level
/// and a special prime, under a secret of their own that nobody keeps; and that secret under the
/// CKKS key.
struct LweInputKeys {
  ckks::Parameters parameters;
  KeyId key_id;  ///< of the CKKS key
  binfhe::Parameters lwe_parameters;
  KeyId lwe_key_id;
  /// Bodies (n, primes, ring dimension), in evaluation form: an encryption of s_j·QP/q' for each
  /// coefficient of the LWE key, where q' is the modulus that ciphertexts are rounded to. The
  /// uniform half of row l of it is expand_uniform(seed, j·primes + l).
  Seed seed;
  WordArray b;
  /// A switching key of one digit over the same primes, (primes, N), from the ring's secret to the
  /// CKKS key.
  Seed switch_seed;
  WordArray switch_b;

  /// Bytes of bodies and seeds, as they are sent, without the frame.
  std::size_t bytes() const { return b.bytes() + switch_b.bytes() + 64; }
  /// Estimated security in bits of what is encrypted beside these keys: the least of the LWE key's,
  /// the CKKS key's, and that of the secret that nobody keeps (docs/lanes-lwe.md, "Security").
  double security_bits() const;
};

/// Whether the masks of ciphertexts with a seed must be compared with it.
enum class Masks { unknown, of_the_seed };

/// Takes LWE ciphertexts into lanes. Copies share what is on the devices. Several threads may call
/// it at once.
class LweInput {
 public:
  /// Puts the keys on the devices of the server of `lanes`. ParameterMismatchError or
  /// KeyMismatchError for keys of other parameters or another CKKS key, ShapeError or RangeError
  /// for keys of a wrong size or with residues out of range, ParameterError for parameters whose
  /// bootstraps are not made for bits.
  LweInput(const ckks::Lanes& lanes, const LweInputKeys& keys, const Progress& progress = {});

  /// The messages of a whole number of vectors, ciphertext i in lane i modulo lanes of its vector.
  /// They are below 2^bits; none: they are bits, as those of gates are. Array j of the result has
  /// bit j of all vectors. Several ciphertexts go through a coefficient of one bootstrap where
  /// their encoding has room for all bits, and their errors are small enough. That asks for
  /// messages which are known to be so small, or of which `bits` says so: if it is not true, lanes
  /// of other vectors come out wrong too.
  ///
  /// ParameterMismatchError or KeyMismatchError for ciphertexts of another client; EncodingError if
  /// the encoding's sectors are no power of two or fewer than 2^bits, or if messages may be larger;
  /// ShapeError for a part of a vector; NoiseError if a message might be wrong, but with the
  /// probability that Lanes::log2_failure() states of all.
  ///
  /// Words are taken modulo q. Of ciphertexts with a seed the bodies go to the devices, which
  /// expand the seed there; MismatchError if a mask does not come from it. The host compares them
  /// all, which takes longer than the rest. With Masks::of_the_seed, where data is what encrypt()
  /// or a file gave, it compares the first of each piece alone, and a mask that was changed behind
  /// it makes lanes wrong.
  std::vector<ckks::LaneArray> take_in(const binfhe::Ciphertexts& ciphertexts,
                                       std::optional<unsigned> bits = {},
                                       Masks masks = Masks::unknown) const;
  /// The same of an array. It stays on the devices if those are the server's own, opened by one
  /// Session; otherwise its server downloads it. DeviceError if that does not exist any more, or if
  /// a part of the array is lost with a device.
  std::vector<ckks::LaneArray> take_in(const binfhe::Array& array,
                                       std::optional<unsigned> bits = {}) const;

  const binfhe::Parameters& lwe_parameters() const;
  const KeyId& lwe_key_id() const;
  /// Bytes of the keys on each device.
  std::size_t bytes() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bridges
