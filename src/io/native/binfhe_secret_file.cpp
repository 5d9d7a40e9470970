// FHEW/TFHE's secret keys: n coefficients of the LWE key, N of the ring key.
#include <array>

#include "io/native/binfhe_literal.h"
#include "io/native/secret_files.h"

namespace whorl::io {

using binfhe::SecretKey;

template <>
struct SecretCodec<SecretKey> {
  static constexpr FrameKind kind{FrameType::binfhe_secret_key};
  static std::size_t coefficients(const binfhe::Parameters& p) {
    return std::size_t{p.n()} + p.N();
  }
  static std::array<Coefficients, 2> parts(const SecretKey& key) { return {key.lwe(), key.ring()}; }
  static SecretKey make(const binfhe::Parameters& p, const KeyId& key_id, Coefficients all) {
    return SecretKey::from_coefficients(p, key_id, all.first(p.n()), all.subspan(p.n()));
  }
};

WHORL_INSTANTIATE_SECRET_FILES(SecretKey);

}  // namespace whorl::io
