// Results of FHEW/TFHE in few bytes, of what a public key encrypted.
#include "whorl/bridges/compression.h"

#include <cmath>
#include <vector>

#include "support/test.h"
#include "whorl/binfhe/client.h"
#include "whorl/bridges/client.h"
#include "whorl/error.h"

namespace whorl::bridges {
namespace {

/// W128_P128 with a short LWE key.
binfhe::Parameters short_key() {
  binfhe::ParameterLiteral literal = binfhe::Parameters::named("W128_P128").literal();
  literal.n = 16;
  literal.gadget = {{16, 23, 1}};
  return binfhe::Parameters::create(literal, true);
}

struct Party {
  binfhe::Client client{short_key()};
  binfhe::Server server{client.evaluation_keys(1), {.device = test::tested_device, .threads = 1}};
  CompressionKeys keys = compression_keys(client, 1);
};

TEST(BridgesCompression, MessagesComeBackInFewBits) {
  test::Random random;
  const Party party;
  const Compressor compressor(party.server, party.keys);
  EXPECT_EQ(compressor.bytes(), std::size_t{2 * 17 * 2048 * 8});
  const binfhe::PublicKey key = party.client.public_key();
  for (const std::size_t count : {0u, 1u, 2048u, 3000u}) {
    const std::vector<std::uint32_t> messages = random.numbers(count, 32);
    const binfhe::Ciphertexts sent = unpack(binfhe::encrypt(key, messages, {32}));
    EXPECT_EQ(sent.under, binfhe::Under::ring);
    EXPECT_EQ(party.client.decrypt(sent), messages);
    const binfhe::Array x = party.server.upload(sent);
    for (const binfhe::Array& given : {x, party.server.to_lwe_key(x)}) {
      const binfhe::PackedCiphertexts small = compressor.compress(given);
      EXPECT_EQ(small.count, count);
      EXPECT_EQ(small.bytes(), (small.words() * small.log2_modulus + 7) / 8);
      EXPECT_LE(small.log2_modulus, 14u);
      EXPECT_EQ(party.client.decrypt(small), messages);
      double squares = 0;
      for (const std::int64_t error : party.client.noise(small, messages))
        squares += std::pow(static_cast<double>(error), 2);
      // Rounding to 2^k meets the ring key: (1 + N·2/3)/12 alone; the others are as much.
      if (count > 1000) {
        EXPECT_NEAR(squares / static_cast<double>(count), 113.9 + 67, 40);
      }
    }
  }
}

TEST(BridgesCompression, WhatIsRefused) {
  const Party party, other;
  EXPECT_THROW(Compressor(party.server, other.keys), KeyMismatchError);
  CompressionKeys few = party.keys;
  few.b = WordArray(few.b.owner(), few.b.data(), few.b.size() - 1, few.b.word_bytes());
  EXPECT_THROW(Compressor(party.server, few), ShapeError);
  EXPECT_THROW(
      Compressor(party.server, party.keys, [](std::size_t done, std::size_t) { return done < 3; }),
      InterruptedError);
  const Compressor compressor(party.server, party.keys);
  const binfhe::Array x = party.server.upload(party.client.encrypt({1, 2}, {32}));
  EXPECT_THROW(compressor.compress(x, -1e9), NoiseError);
  const binfhe::PackedCiphertexts small = compressor.compress(x);
  EXPECT_THROW(unpack(small), EncodingError);
  EXPECT_THROW(static_cast<void>(other.client.decrypt(small)), KeyMismatchError);
  EXPECT_THROW(compressor.compress(other.server.upload(other.client.encrypt({1}, {32}))),
               KeyMismatchError);
}

}  // namespace
}  // namespace whorl::bridges
