// Several GPUs give what one gives, bit for bit and in order.
#include "gpu/backend/compare.h"
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

Ciphertexts nand(const Server& server, const Ciphertexts& a, const Ciphertexts& b) {
  const Ciphertexts* inputs[] = {&a, &b};
  return server.gate(Gate::nand, inputs);
}

TEST(GpuSeveral, SameBitsAsOne) {
  const auto gpus = test::usable_gpus();
  if (gpus.size() < 2) GTEST_SKIP() << "one GPU; this takes two";
  test::Random random;
  for (const char* name : {"W128_P64", "openfhe_1_6/STD128"})
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(name);
      const Client client(Parameters::named(name, true));
      const auto keys = client.evaluation_keys();
      // With doubles the bits follow the way in which a blind rotation is spread.
      const ServerOptions options{.transform = transform, .rotation = RotationSchedule::shared};
      const Server one(keys, {"cuda:0"}, options);
      for (const std::size_t count : {std::size_t{1}, std::size_t{5}, 1000 + random.below(20000)}) {
        std::vector<std::uint32_t> x(count), y(count), want(count);
        for (std::size_t i = 0; i < count; ++i) {
          x[i] = static_cast<std::uint32_t>(random.below(2));
          y[i] = static_cast<std::uint32_t>(random.below(2));
          want[i] = 1 - x[i] * y[i];
        }
        const auto a = client.encrypt(x), b = client.encrypt(y);
        const Ciphertexts alone = nand(one, a, b);
        ASSERT_EQ(client.decrypt(alone), want);
        for (const char* device : {"cuda:0,1", "cuda:1,0", "cuda:all"}) {
          const Server server(keys, {device}, options);
          EXPECT_EQ(server.devices().size(), std::string(device) == "cuda:all" ? gpus.size() : 2u);
          ASSERT_TRUE(nand(server, a, b).data == alone.data) << device << ", batch " << count;
          ASSERT_TRUE(nand(server, a, b).data == alone.data) << device << ", second call";
          EXPECT_TRUE(server.failed_devices().empty());
        }
      }
    }
}

TEST(GpuSeveral, AKeyOfAnotherGpuIsRefused) {
  if (test::usable_gpus().size() < 2) GTEST_SKIP() << "one GPU; this takes two";
  test::Random random;
  for (const auto arithmetic : {backend::Arithmetic::ntt, backend::Arithmetic::fft}) {
    const test::RotationCase<std::uint32_t> c({2, 512, 27, 2, {{7, 3}}}, 1, 1, random);
    const auto one = test::cuda(0), other = test::cuda(1);
    const auto key = c.prepare(*one, arithmetic);
    EXPECT_NO_THROW(c.rotate(*one, *key, 0, 1));
    EXPECT_THROW(c.rotate(*other, *key, 0, 1), DeviceError);
  }
}

}  // namespace
}  // namespace whorl::binfhe
