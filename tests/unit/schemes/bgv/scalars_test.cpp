// Sums with one integer: the bits of those with a vector that has it in every slot.
#include <cstring>

#include "support/bgv_sets.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

void expect_same(const Server& server, const Array& got, const Array& want, const char* what) {
  const Ciphertexts a = server.download(got), b = server.download(want);
  ASSERT_EQ(a.data.bytes(), b.data.bytes()) << what;
  EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.bytes()), 0) << what;
  EXPECT_EQ(a.info.factor, b.info.factor) << what;
  EXPECT_GE(a.info.noise, b.info.noise) << what;  // any coefficients, where zeros are behind
  EXPECT_EQ(a.info.length, b.info.length) << what;
}

/// Sums of `a` with integers, beside those with plaintexts of `plain` values each.
void expect_sums(const Server& server, const Array& a, std::size_t plain, const char* what) {
  const auto t = static_cast<std::int64_t>(server.parameters().t());
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{-7},
                               t / 2, -(t / 2), t - 1, 1 - t, 3 * t + 5}) {
    const std::vector<std::int64_t> row(plain, v);
    expect_same(server, server.add_scalar(a, v), server.add_plain(a, row), what);
    expect_same(server, a - v, server.sub_plain(a, row), what);
  }
}

TEST(BgvScalars, HaveTheBitsOfFullVectors) {
  for (const test::BgvShape& shape :
       {test::BgvShape{1024, 65537, 30, 4, 2}, {1024, 65537, 50, 4, 2}, {2048, 12289, 30, 3, 1}}) {
    const Parameters p = test::bgv_insecure(shape);
    const Client client(p);
    const Server server(client.evaluation_keys(KeyRequest{.rotations = {1}}),
                        SessionOptions{test::tested_device, 2, {}});
    test::Random random;
    const test::Clear clear = test::Clear::random(p, Packing::slots, 3, random);
    const Array full = server.upload(client.encrypt(clear.as_signed()));
    expect_sums(server, full, p.N(), "full vectors");
    const Array low = server.mod_switch(full, 2);
    ASSERT_NE(low.info().factor, 1u);
    expect_sums(server, low, p.N(), "a factor, and fewer primes");
    expect_sums(server, server.multiply(full, full, false), p.N(), "three parts");

    const std::vector<std::int64_t> few{1, 2, 3};
    const Array shorter = server.upload(client.encrypt(few));
    expect_sums(server, shorter, few.size(), "zeros behind the values");
    expect_sums(server, server.rotate(shorter, 1), p.N(), "rotated: all slots count");
    const Array packed = server.upload(client.encrypt(few, Packing::coefficients));
    expect_sums(server, packed, 1, "the constant coefficient");
  }
}

}  // namespace
}  // namespace whorl::bgv
