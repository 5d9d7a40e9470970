// Signed frames: a signature is a frame of its own type behind the frame whose digest it signs, of
// any type that is saved. It is verified before anything is decoded.
#include <sodium.h>

#include "io/native/payload.h"
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

constexpr FrameType signature_type{0x8101};
using Signer = std::array<std::uint8_t, crypto_sign_PUBLICKEYBYTES>;
using Signature = std::array<std::uint8_t, crypto_sign_BYTES>;

struct KeyPair {
  Signer signer;
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> secret;
  KeyPair() {
    EXPECT_GE(sodium_init(), 0);
    crypto_sign_keypair(signer.data(), secret.data());
  }
};

/// Both frames. Ed25519 over the digest, which stands for header and payload.
Bytes with_signature(const Bytes& frame, const KeyPair& by) {
  Signature signature;
  const ByteSpan digest = ByteSpan(frame).last(digest_bytes);
  crypto_sign_detached(signature.data(), nullptr, digest.data(), digest.size(), by.secret.data());
  PayloadWriter out;
  out.fields().bytes(by.signer);
  out.fields().bytes(signature);
  Bytes all = frame;
  MemorySink sink(all);
  out.write_frame(sink, signature_type, info(frame).parameters_digest, {});
  return all;
}

/// decode(frame, options), once the frame is as it was signed by `signer`.
template <class Decode>
auto load_signed(ByteSpan bytes, const Signer& signer, const LoadOptions& options,
                 const Decode& decode) {
  ByteReader all(bytes);
  const Header header = decode_header(bytes);
  all.take(header_bytes, "header");
  all.take(header.payload_bytes, "payload");
  const ByteSpan digest = all.take(digest_bytes, "digest"), frame = bytes.first(all.position());

  const OpenFrame opened =
      open_frame(bytes.subspan(all.position()), {signature_type, false}, options);
  PayloadReader in(opened, options, nullptr);
  const auto by = in.fields().array<crypto_sign_PUBLICKEYBYTES>("signer");
  const auto signature = in.fields().array<crypto_sign_BYTES>("signature");
  in.finish();
  if (by != signer) throw KeyMismatchError("signer: the frame was signed by another");
  if (crypto_sign_verify_detached(signature.data(), digest.data(), digest.size(), by.data()) != 0)
    throw CorruptionError("signature: it is not of this frame");
  // The digest is the one that was signed; are these its bytes?
  open_frame(frame, {header.type, true, true}, options);
  return decode(frame, options);
}

struct SignedFrames : ::testing::Test {
  samples::Random random{1};
  bgv::Parameters parameters = samples::bgv_parameters(samples::bgv_literals()[0]);
  KeyPair alice, bob;
  LoadOptions options;
  int decoded = 0;

  SignedFrames() { options.allow_insecure = true; }
  Bytes frame() { return dump(samples::bgv_ciphertexts(parameters, 1, 2, 1, random)); }
  /// The class of what is thrown; "nothing" gives the same bytes again.
  std::string said(const Bytes& bytes, const Signer& signer, const LoadOptions& with) {
    return samples::thrown([&] {
      const auto value =
          load_signed(bytes, signer, with, [&](ByteSpan frame, const LoadOptions& o) {
            ++decoded;
            return load<bgv::Ciphertexts>(frame, o);
          });
      const Bytes again = dump(value);
      EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
    });
  }
};

TEST_F(SignedFrames, AreDecodedByTheSameCodecs) {
  const Bytes plain = frame(), signed_one = with_signature(plain, alice);
  EXPECT_EQ(said(signed_one, alice.signer, options), "nothing");
  EXPECT_EQ(decoded, 1);
  EXPECT_EQ(said(plain, alice.signer, options), "Truncated") << "not signed";
  // Loaders that know of no signatures refuse what is behind a frame.
  EXPECT_EQ(samples::thrown([&] { load<bgv::Ciphertexts>(signed_one, options); }), "Oversized");
  // What callers ask of the frame they still get.
  LoadOptions asks = options;
  asks.expect_parameters = parameters.digest();
  asks.expect_key = KeyId{1};
  EXPECT_EQ(said(signed_one, alice.signer, asks), "KeyMismatch");
  asks.max_bytes = 100;
  EXPECT_EQ(said(signed_one, alice.signer, asks), "Oversized");
  EXPECT_EQ(decoded, 1);
}

TEST_F(SignedFrames, AnAlteredFrameIsNotDecoded) {
  const Bytes plain = frame(), signed_one = with_signature(plain, alice);
  EXPECT_EQ(said(signed_one, bob.signer, options), "KeyMismatch");
  EXPECT_EQ(said(with_signature(plain, bob), alice.signer, options), "KeyMismatch");
  // A good frame, digest and all, behind which another's signature stands.
  Bytes exchanged = frame();
  ASSERT_EQ(exchanged.size(), plain.size());
  exchanged.insert(exchanged.end(), signed_one.begin() + static_cast<std::ptrdiff_t>(plain.size()),
                   signed_one.end());
  EXPECT_EQ(said(exchanged, alice.signer, options), "Corruption");
  for (std::size_t at = 0; at < signed_one.size(); ++at) {
    Bytes flipped = signed_one;
    flipped[at] ^= static_cast<std::uint8_t>(1 << random() % 8);
    EXPECT_NE(said(flipped, alice.signer, options), "nothing") << "byte " << at;
  }
  EXPECT_EQ(decoded, 0);
}

}  // namespace
}  // namespace whorl::io
