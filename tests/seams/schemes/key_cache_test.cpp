// Servers of a service, of both schemes and of different keys, that share one room for keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/bgv_sets.h"
#include "support/binfhe_sets.h"
#include "whorl/devices.h"
#include "whorl/error.h"

namespace whorl {
namespace {

/// One tenant of BGV: a client of its own, and what its server's circuit is due to give.
struct BgvTenant {
  explicit BgvTenant(test::Random& random)
      : clear(test::Clear::random(parameters, bgv::Packing::slots, 2, random)),
        x(client.encrypt(clear.as_signed())) {}

  /// With every key there is.
  bgv::Ciphertexts circuit(const bgv::Server& server) const {
    const bgv::Array a = server.upload(x);
    return server.download(
        server.swap_rows(server.rotate(server.rotate(server.multiply(a, a), 1), 2)));
  }
  void expect_right(const bgv::Server& server) const {
    EXPECT_EQ(client.decrypt(circuit(server)), (clear * clear).rotated(3).swapped().values);
  }

  bgv::Parameters parameters = test::bgv_insecure({1024, 65537, 30, 6, 2});
  bgv::Client client{parameters};
  bgv::EvaluationKeys keys = client.evaluation_keys({.rotations = {1, 2}, .swap_rows = true}, 2);
  test::Clear clear;
  bgv::Ciphertexts x;
};

TEST(KeyCache, ServersTakeTurns) {
  test::Random random;
  const BgvTenant one(random), other(random);
  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  const std::vector<std::uint32_t> bits = {0, 1, 1, 0};
  const binfhe::Ciphertexts y = gates.client.encrypt(bits);

  const std::size_t bgv_bytes = bgv::Server(one.keys, {"cpu", 1, {}}).key_bytes();
  const std::size_t gate_bytes = binfhe::Server(gates.keys, {"cpu", 1}).key_bytes();
  // More than the larger: room is made for keys about as large as they are.
  const std::size_t room = std::max(bgv_bytes, gate_bytes) * 8 / 5;
  ASSERT_GT(2 * bgv_bytes, room);
  ASSERT_GT(bgv_bytes + gate_bytes, room);

  const KeyCache cache(room);
  EXPECT_EQ(cache.bytes_a_device(), room);
  bgv::ServerOptions options{"cpu", 1, {}};
  options.key_cache = cache;
  const bgv::Server first(one.keys, options);
  options.threads = 2;  // the same hardware all the same
  const bgv::Server second(other.keys, options);
  EXPECT_EQ(first.key_bytes() + second.key_bytes(), 0u) << "prepared when they are used";
  binfhe::ServerOptions gate_options{"cpu", 1};
  gate_options.key_cache = cache;
  const binfhe::Server third(gates.keys, gate_options);
  EXPECT_EQ(third.key_bytes(), gate_bytes);

  for (int i = 0; i < 3; ++i) {
    one.expect_right(first);
    EXPECT_EQ(first.key_bytes(), bgv_bytes);
    EXPECT_LT(second.key_bytes(), bgv_bytes);
    EXPECT_LT(third.key_bytes(), gate_bytes);
    other.expect_right(second);
    EXPECT_EQ(second.key_bytes(), bgv_bytes);
    EXPECT_LT(first.key_bytes(), bgv_bytes);
    EXPECT_LE(first.key_bytes() + second.key_bytes() + third.key_bytes(), room);
    EXPECT_EQ(gates.client.decrypt(third.bootstrap(y)), bits);
    EXPECT_EQ(third.key_bytes(), gate_bytes);
    EXPECT_LT(second.key_bytes(), bgv_bytes);
    EXPECT_LE(first.key_bytes() + second.key_bytes() + third.key_bytes(), room);
  }
}

TEST(KeyCache, GatesCountEachKeyThatIsThere) {
  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  const std::vector<std::uint32_t> bits = {0, 1, 1, 0};
  const binfhe::Ciphertexts x = gates.client.encrypt(bits);
  const std::size_t each = binfhe::Server(gates.keys, {"cpu", 1}).key_bytes();
  binfhe::ServerOptions options{"cpu", 1};
  options.key_cache = KeyCache(2 * each - 1);
  const binfhe::Server first(gates.keys, options), second(gates.keys, options);
  const std::size_t one_key = first.key_bytes();  // the other has left for the second's
  EXPECT_GT(one_key, 0u);
  EXPECT_LT(one_key, each);
  EXPECT_EQ(second.key_bytes(), each);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gates.client.decrypt(first.bootstrap(x)), bits);
    EXPECT_EQ(first.key_bytes(), each);
    EXPECT_GT(second.key_bytes(), 0u);
    EXPECT_LT(second.key_bytes(), each);
    EXPECT_EQ(gates.client.decrypt(second.bootstrap(x)), bits);
    EXPECT_EQ(second.key_bytes(), each);
    EXPECT_TRUE(first.key_bytes() == one_key || first.key_bytes() == each - one_key);
  }
}

TEST(KeyCache, Refusals) {
  EXPECT_THROW(KeyCache(0), ParameterError);
  test::Random random;
  const BgvTenant tenant(random);
  bgv::ServerOptions options{"cpu", 1, {}};
  options.key_cache = KeyCache(1);
  const bgv::Server server(tenant.keys, options);
  EXPECT_THROW(tenant.circuit(server), OutOfMemoryError) << "no key fits";
  options.key_budget = 1000;
  EXPECT_THROW(bgv::Server(tenant.keys, options), ParameterError);

  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  binfhe::ServerOptions gate_options{"cpu", 1};
  gate_options.key_cache = KeyCache(1);
  EXPECT_THROW(binfhe::Server(gates.keys, gate_options), OutOfMemoryError);
  gate_options.key_budget = 1000;
  EXPECT_THROW(binfhe::Server(gates.keys, gate_options), ParameterError);
}

}  // namespace
}  // namespace whorl
