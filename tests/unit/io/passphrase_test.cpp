// Secret keys under a passphrase.
#include "support/test.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

class IoPassphrase : public samples::BinfheFiles {
 protected:
  const LoadOptions options = samples::insecure();
  binfhe::SecretKey key = samples::secret_key(parameters, random);
  /// Where the passphrase's part starts: algorithm, zeros, passes, memory, salt, nonce.
  std::size_t wrap_at = samples::payload_at + samples::literal_bytes(parameters.literal());
  Bytes frame = dump_secret(key, samples::passphrase, samples::cheap_cost);
};

TEST_F(IoPassphrase, DefaultCostIsModerate) {
  const Bytes bytes = dump(key, "a passphrase");
  std::uint64_t passes, memory;
  std::memcpy(&passes, bytes.data() + wrap_at + 8, 8);
  std::memcpy(&memory, bytes.data() + wrap_at + 16, 8);
  EXPECT_EQ(passes, crypto_pwhash_OPSLIMIT_MODERATE);
  EXPECT_EQ(memory, crypto_pwhash_MEMLIMIT_MODERATE);
  const auto loaded = load<binfhe::SecretKey>(bytes, "a passphrase", options);
  EXPECT_TRUE(std::ranges::equal(loaded.lwe(), key.lwe()));
}

TEST_F(IoPassphrase, WrongPassphrase) {
  for (const std::string_view wrong :
       {"", "Correct horse battery staple", "correct horse battery stapl",
        "correct horse battery staple ", "x"})
    EXPECT_THROW(load<binfhe::SecretKey>(frame, wrong, options), PassphraseError) << wrong;
  EXPECT_NO_THROW(load<binfhe::SecretKey>(frame, samples::passphrase, options));
}

TEST_F(IoPassphrase, AnyBytesAreAPassphraseButNone) {
  const std::string odd("\0\xff\n", 3);
  const Bytes bytes = dump_secret(key, odd, samples::cheap_cost);
  EXPECT_NO_THROW(load<binfhe::SecretKey>(bytes, odd, options));
  EXPECT_THROW(load<binfhe::SecretKey>(bytes, std::string("\0\xff", 2), options), PassphraseError);
  EXPECT_THROW(dump_secret(key, "", samples::cheap_cost), PassphraseError);
}

TEST_F(IoPassphrase, SaltAndNonceAreFresh) {
  const Bytes again = dump_secret(key, samples::passphrase, samples::cheap_cost);
  ASSERT_EQ(frame.size(), again.size());
  for (const auto& [at, size] : {std::pair{24, 16}, std::pair{40, 24}})
    EXPECT_NE(std::memcmp(&frame[wrap_at + at], &again[wrap_at + at], size), 0);
  // Under other salts nothing of the wrapped key is alike: of 1088 bytes about 4 agree by chance.
  // More than 40 agree with a probability below 2^-90.
  std::size_t alike = 0;
  for (std::size_t i = wrap_at + 64; i < frame.size() - samples::trailer_bytes; ++i)
    alike += frame[i] == again[i];
  EXPECT_LE(alike, 40U);
}

TEST_F(IoPassphrase, CoefficientsAreNotInTheFile) {
  const auto ring = bytes_of(key.ring());
  EXPECT_EQ(std::search(frame.begin(), frame.end(), ring.begin(), ring.begin() + 64), frame.end());
  const auto lwe = bytes_of(key.lwe());
  EXPECT_EQ(std::search(frame.begin(), frame.end(), lwe.begin(), lwe.end()), frame.end());
}

// The digest is no protection from someone who recomputes it; the tag covers all that is in clear.
TEST_F(IoPassphrase, AllOfTheFrameIsAuthenticated) {
  Bytes altered = frame;
  altered[samples::key_id_at + random() % 16] ^= 1;
  samples::reseal(altered);
  EXPECT_THROW(load<binfhe::SecretKey>(altered, samples::passphrase, options), PassphraseError);

  altered = frame;  // the last letter of the literal's name, which its digest does not cover
  altered[wrap_at - 1] ^= 1;
  samples::reseal(altered);
  EXPECT_THROW(load<binfhe::SecretKey>(altered, samples::passphrase, options), PassphraseError);

  for (int i = 0; i < 200; ++i) {  // salt, nonce, wrapped key and tag
    altered = frame;
    const std::size_t start = wrap_at + 24;
    altered[start + random() % (frame.size() - samples::trailer_bytes - start)] ^= 1
                                                                                   << random() % 8;
    samples::reseal(altered);
    EXPECT_THROW(load<binfhe::SecretKey>(altered, samples::passphrase, options), PassphraseError);
  }
}

TEST_F(IoPassphrase, CostIsBounded) {
  const auto with = [&](std::size_t at, std::uint64_t value) {
    return samples::patched(frame, wrap_at + at, value);
  };
  for (const std::uint64_t passes :
       {kdf_default.passes + 1, std::uint64_t{1} << 40, std::uint64_t{0} - 1})
    EXPECT_THROW(load<binfhe::SecretKey>(with(8, passes), samples::passphrase, options),
                 OversizedError);
  for (const std::uint64_t memory :
       {kdf_default.memory_bytes + 1, std::uint64_t{1} << 40, std::uint64_t{0} - 1})
    EXPECT_THROW(load<binfhe::SecretKey>(with(16, memory), samples::passphrase, options),
                 OversizedError);
  EXPECT_THROW(load<binfhe::SecretKey>(with(8, 0), samples::passphrase, options), FormatError);
  EXPECT_THROW(load<binfhe::SecretKey>(with(16, 8191), samples::passphrase, options), FormatError);
  EXPECT_THROW(load<binfhe::SecretKey>(with(0, 1), samples::passphrase, options), FormatError);
  // Another algorithm of libsodium's, Argon2i, is not ours.
  EXPECT_THROW(
      load<binfhe::SecretKey>(with(0, crypto_pwhash_ALG_ARGON2I13), samples::passphrase, options),
      FormatError);
}

// The caller says what opening a key may cost, and the error says what it would.
TEST_F(IoPassphrase, TheLoaderSetsTheBound) {
  const KdfCost cost = {2, std::uint64_t{1} << 14};
  const Bytes dear =
      dump_secret(samples::secret_key(parameters, random), samples::passphrase, cost);
  const auto opening = [&](const KdfCost& most) {
    return test::message_of<OversizedError>(
        [&] { load<binfhe::SecretKey>(dear, samples::passphrase, options, most); });
  };
  EXPECT_NO_THROW(load<binfhe::SecretKey>(dear, samples::passphrase, options, cost));
  EXPECT_EQ(opening({1, cost.memory_bytes}),
            "key derivation: the file asks for 2 passes over 16384 bytes; at most 1 passes over "
            "16384 bytes are accepted (max_kdf)");
  EXPECT_EQ(opening({8, cost.memory_bytes - 1}),
            "key derivation: the file asks for 2 passes over 16384 bytes; at most 8 passes over "
            "16383 bytes are accepted (max_kdf)");
}

// A well-wrapped key whose coefficients are none of its distribution.
TEST_F(IoPassphrase, CoefficientsOutOfRange) {
  const std::size_t n = parameters.n(), N = parameters.N();
  const auto frame_of = [&](const std::vector<std::int32_t>& coefficients) {
    Bytes bytes = frame;
    ByteReader reader(std::span<const std::uint8_t>(bytes).subspan(wrap_at));
    const WrapHeader header = decode_wrap_header(reader, kdf_default);
    const auto wrapped =
        wrap(bytes_of(std::span<const std::int32_t>(coefficients)), samples::passphrase, header,
             std::span<const std::uint8_t>(bytes).first(wrap_at + WrapHeader::encoded_bytes));
    std::ranges::copy(
        wrapped, bytes.begin() + static_cast<std::ptrdiff_t>(wrap_at + WrapHeader::encoded_bytes));
    samples::reseal(bytes);
    return bytes;
  };
  std::vector<std::int32_t> good(n + N, 1);
  EXPECT_NO_THROW(load<binfhe::SecretKey>(frame_of(good), samples::passphrase, options));
  for (const std::size_t at : {std::size_t{0}, n - 1, n, n + N - 1}) {
    for (const std::int32_t value : {2, -2, 1 << 30, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max()}) {
      auto bad = good;
      bad[at] = value;
      EXPECT_THROW(load<binfhe::SecretKey>(frame_of(bad), samples::passphrase, options), RangeError)
          << at << ' ' << value;
    }
  }
}

}  // namespace
}  // namespace whorl::io
