// BGV's secret keys: N coefficients.
#include <array>

#include "io/native/bgv_literal.h"
#include "io/native/secret_files.h"

namespace whorl::io {

using bgv::SecretKey;

template <>
struct SecretCodec<SecretKey> {
  static constexpr FrameKind kind{FrameType::bgv_secret_key};
  static std::size_t coefficients(const bgv::Parameters& p) { return p.N(); }
  static std::array<Coefficients, 1> parts(const SecretKey& key) { return {key.coefficients()}; }
  static SecretKey make(const bgv::Parameters& p, const KeyId& key_id, Coefficients all) {
    return SecretKey::from_coefficients(p, key_id, all);
  }
};

WHORL_INSTANTIATE_SECRET_FILES(SecretKey);

}  // namespace whorl::io
