// One rule for words: what generates keys and what saves them agree on their width.
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "unit/io/expectations.h"
#include "unit/io/samples.h"
#include "whorl/binfhe.h"

namespace whorl::io {
namespace {

// Primes between 2^31 and 2^32 fit 32 bits, but are computed with, and so saved, in 64.
TEST(IoWords, RingModuliOf32Bits) {
  const std::uint64_t largest = math::ntt_primes(32, 256, 1)[0];
  std::uint64_t least = (std::uint64_t{1} << 31) + 1;
  while (!math::is_prime(least)) least += 512;
  for (const std::uint64_t Q : {least, largest}) {
    ASSERT_GT(Q, std::uint64_t{1} << 31);
    ASSERT_LT(Q, std::uint64_t{1} << 32);
    EXPECT_EQ(ring_word_bytes(Q), 8U);
    for (const bool modulus_of_ring : {false, true}) {
      auto literal = test::small_literal();
      literal.Q = Q;
      literal.gadget = {{16, 8, 4}};
      if (modulus_of_ring) literal.Q_ks = Q;
      const auto parameters = test::insecure(literal);
      const binfhe::Client client(parameters);
      const auto keys = client.evaluation_keys(1);
      EXPECT_EQ(keys.rotation_b.word_bytes(), 8U);
      EXPECT_EQ(keys.switch_b.word_bytes(), word_bytes_for(parameters.Q_ks()));
      const Bytes bytes = dump(keys);
      const auto loaded = load<binfhe::EvaluationKeys>(bytes, samples::insecure());
      samples::expect_same_words(loaded.rotation_b, keys.rotation_b);
      EXPECT_EQ(dump(loaded), bytes);
      const std::vector<std::uint32_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
      const auto x = client.encrypt(a), y = client.encrypt(b);
      const binfhe::Ciphertexts* const inputs[] = {&x, &y};
      for (const auto transform : {binfhe::Transform::ntt, binfhe::Transform::fft}) {
        const binfhe::Server server(loaded, SessionOptions{}, {.transform = transform});
        EXPECT_EQ(client.decrypt(server.gate(binfhe::Gate::nand, inputs)),
                  (std::vector<std::uint32_t>{1, 1, 1, 0}));
      }
    }
  }
}

}  // namespace
}  // namespace whorl::io
