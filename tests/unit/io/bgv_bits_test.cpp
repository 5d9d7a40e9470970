// What earlier versions of the library computed is computed again, bit for bit, on every device:
// tests/data/format2/README.md says what its files hold.
#include "support/test.h"
#include "support/test_data.h"
#include "whorl/bgv.h"
#include "whorl/io.h"

namespace whorl::bgv {
namespace {

template <class T>
T kept(const std::string& name) {
  io::LoadOptions options;
  options.allow_insecure = true;
  return io::load<T>(test::test_data("data/format2/" + name + ".whorl"), options);
}

/// `set` has words of `word_bytes`.
void square_is_as_kept(const std::string& set, unsigned word_bytes) {
  const auto fresh = kept<Ciphertexts>(set + "-fresh"), square = kept<Ciphertexts>(set + "-square");
  const auto keys = kept<EvaluationKeys>(set + "-evaluation-keys");
  ASSERT_EQ(square.data.word_bytes(), word_bytes);
  test::on_each_device([&](const test::Executor& executor) {
    const Server server(keys, {executor.name(), 1, {}});
    const Array x = server.upload(fresh);
    // That of `bgv` was brought to three primes after the product.
    for (const Array& product : {server.square(x), server.multiply(x, x)}) {
      const Ciphertexts got = server.download(server.mod_switch(product, square.info.limbs));
      EXPECT_EQ(got.info.limbs, square.info.limbs);
      EXPECT_EQ(got.info.parts, square.info.parts);
      EXPECT_EQ(got.info.factor, square.info.factor);
      EXPECT_EQ(got.info.noise, square.info.noise);
      ASSERT_EQ(got.data.bytes(), square.data.bytes());
      EXPECT_EQ(std::memcmp(got.data.data(), square.data.data(), got.data.bytes()), 0);
    }
    // What is kept of them goes in and out unchanged.
    for (const Ciphertexts* const each : {&fresh, &square}) {
      const Ciphertexts got = server.download(server.upload(*each));
      ASSERT_EQ(got.data.bytes(), each->data.bytes());
      EXPECT_EQ(std::memcmp(got.data.data(), each->data.data(), got.data.bytes()), 0);
    }
  });
}

TEST(BgvServerBits, SquareOf32BitWords) { square_is_as_kept("bgv", 4); }
TEST(BgvServerBits, SquareOf64BitWords) { square_is_as_kept("bgv-wide", 8); }

}  // namespace
}  // namespace whorl::bgv
