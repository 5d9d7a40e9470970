// EvalFloor, EvalSign and EvalDecomp on a GPU give the ciphertexts that the CPU gives, bit for bit.
#include "support/large_sets.h"
#include "support/random.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

TEST(GpuLargePrecision, SameBitsAsTheCpu) {
  test::Random random;
  for (const Parameters& parameters : test::large_sets()) {
    SCOPED_TRACE(parameters.name());
    const test::Pair& pair = test::pair_of(parameters);
    const ServerOptions exact{.transform = Transform::ntt};
    const Server cpu(pair.keys, {"cpu"}, exact), gpu(pair.keys, {"cuda:0"}, exact);
    const auto p = static_cast<std::uint32_t>(parameters.q() / 256);
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, 200 + random.below(200)}) {
      std::vector<std::uint32_t> messages(count), negative(count);
      for (std::size_t i = 0; i < count; ++i) {
        messages[i] = static_cast<std::uint32_t>(random.below(p));
        negative[i] = messages[i] >= p / 2;
      }
      const Ciphertexts in = pair.client.encrypt(messages, {p, false});
      EXPECT_EQ(test::floor_of(gpu, in, 1).data, test::floor_of(cpu, in, 1).data) << count;
      const Ciphertexts sign = test::sign_of(gpu, in);
      EXPECT_EQ(sign.data, test::sign_of(cpu, in).data) << count;
      EXPECT_EQ(pair.client.decrypt(sign), negative) << count;
      const auto there = test::digits_of(gpu, in), here = test::digits_of(cpu, in);
      ASSERT_EQ(there.size(), here.size());
      for (std::size_t k = 0; k < here.size(); ++k)
        EXPECT_EQ(there[k].data, here[k].data) << count << ", digit " << k;
    }
  }
}

}  // namespace
}  // namespace whorl::binfhe
