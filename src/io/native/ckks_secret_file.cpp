// CKKS's secret keys: N coefficients.
#include <array>

#include "io/native/ckks_literal.h"
#include "io/native/secret_files.h"

namespace whorl::io {

using ckks::SecretKey;

template <>
struct SecretCodec<SecretKey> {
  static constexpr FrameKind kind{FrameType::ckks_secret_key};
  static std::size_t coefficients(const ckks::Parameters& p) { return p.N(); }
  static std::array<Coefficients, 1> parts(const SecretKey& key) { return {key.coefficients()}; }
  static SecretKey make(const ckks::Parameters& p, const KeyId& key_id, Coefficients all) {
    return SecretKey::from_coefficients(p, key_id, all);
  }
};

WHORL_INSTANTIATE_SECRET_FILES(SecretKey);

}  // namespace whorl::io
