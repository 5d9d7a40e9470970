// The secret keys of schemes over RNS rings: N coefficients.
#include <array>

#include "io/native/bgv_literal.h"
#include "io/native/ckks_literal.h"
#include "io/native/secret_files.h"

namespace whorl::io {

namespace {

template <class Parameters, FrameType type>
struct RingSecretCodec {
  using Key = RingSecretKey<Parameters>;
  static constexpr FrameKind kind{type};
  static std::size_t coefficients(const Parameters& p) { return p.N(); }
  static std::array<Coefficients, 1> parts(const Key& key) { return {key.coefficients()}; }
  static Key make(const Parameters& p, const KeyId& key_id, Coefficients all) {
    return Key::from_coefficients(p, key_id, all);
  }
};

}  // namespace

template <>
struct SecretCodec<bgv::SecretKey> : RingSecretCodec<bgv::Parameters, FrameType::bgv_secret_key> {};
template <>
struct SecretCodec<ckks::SecretKey>
    : RingSecretCodec<ckks::Parameters, FrameType::ckks_secret_key> {};

WHORL_INSTANTIATE_SECRET_FILES(bgv::SecretKey);
WHORL_INSTANTIATE_SECRET_FILES(ckks::SecretKey);

}  // namespace whorl::io
