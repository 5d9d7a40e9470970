#include "schemes/binfhe/account_packed.h"

#include <algorithm>

#include "schemes/binfhe/account.h"
#include "schemes/binfhe/origin.h"
#include "whorl/error.h"

namespace whorl::binfhe {

double noise_of(const PublicKey& key) { return public_noise(key.parameters); }

void check_messages(const PackedCiphertexts& packed) {
  if (packed.range && !packed.largest)
    throw RangeError("range: the largest message is not stated beside it");
  Ciphertexts known{packed.parameters, packed.key_id, packed.encoding, 0, {}, {}};
  known.largest = packed.largest;
  known.range = packed.range;
  static_cast<void>(largest_of(known));
}

void set_unpacked(Ciphertexts& batch, const PackedCiphertexts& packed) {
  // What is encrypted is below p, and taken for bits where gates ask, as with a secret key.
  batch.largest = packed.largest.value_or(packed.encoding.p - 1);
  batch.as_bits = std::min<std::uint32_t>(*batch.largest, 1);
  batch.range = packed.range;
  set_fresh(batch, public_noise(packed.parameters));
}

}  // namespace whorl::binfhe
