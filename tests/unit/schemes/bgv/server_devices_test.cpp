// A server on several devices: the same bits, calls from several threads, a device that fails,
// batches and keys beyond a device's memory.
#include "support/bgv_scene.h"
#include "support/limited_device.h"
#include "support/named_devices.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

/// Batches, and a circuit of something of everything on them.
struct DevicesScene {
  explicit DevicesScene(std::size_t count) : x(fresh(count)), y(fresh(count)) {}

  Parameters p = bgv_insecure({1024, 65537, 30, 8, 2});
  const test::BgvPair& pair = bgv_pair(p);
  const Server alone{pair.keys, {.device = "cpu", .threads = 1}};
  test::Random random;
  std::vector<std::int64_t> values = Clear::random(p, Packing::slots, 1, random).as_signed();
  Ciphertexts x, y, one = fresh(1), due = circuit(alone);

  Ciphertexts fresh(std::size_t count) {
    return pair.client.encrypt(Clear::random(p, Packing::slots, count, random).as_signed());
  }
  Ciphertexts circuit(const Server& server) const {
    const Array a = server.upload(x), b = server.upload(y), single = server.upload(one);
    const Array product = server.multiply(server.add(a, single), b);
    const Array sum = server.sub(server.add_plain(product, values), server.rotate(b, 3));
    const Array turned = server.add(server.swap_rows(sum), server.multiply(single, product));
    std::vector<std::uint32_t> backwards(x.info.count);
    for (std::size_t i = 0; i < backwards.size(); ++i)
      backwards[i] = static_cast<std::uint32_t>(backwards.size() - 1 - i);
    const std::vector<Array> both = {server.take(turned, backwards), single};
    return server.download(server.shrink(server.multiply_plain(server.concatenate(both), values)));
  }
  static void expect_same(const Ciphertexts& a, const Ciphertexts& b) {
    EXPECT_EQ(a.info.noise, b.info.noise);
    EXPECT_EQ(a.info.factor, b.info.factor);
    ASSERT_EQ(a.data.bytes(), b.data.bytes());
    EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.bytes()), 0);
  }
  void expect_due(const Server& server) const { expect_same(circuit(server), due); }
};

TEST(BgvServerDevices, SameBitsOnSeveral) {
  for (const std::size_t count : {1u, 2u, 7u}) {
    const DevicesScene scene(count);
    EXPECT_EQ(scene.alone.devices().size(), 1u);
    for (const auto& [devices, most] : {std::pair<std::size_t, std::size_t>{2, 512}, {3, 2}}) {
      const test::NamedStrains strained(devices, most);
      const Server server(scene.pair.keys, {.device = test::named_devices});
      EXPECT_EQ(server.devices().size(), devices);
      EXPECT_EQ(server.device().substr(0, 18), "tested:0, tested:1");
      EXPECT_EQ(server.key_bytes(), devices * scene.alone.key_bytes());
      scene.expect_due(server);
    }
  }
}

TEST(BgvServerDevices, CallsFromSeveralThreads) {
  const DevicesScene scene(3);
  const test::NamedStrains strained(2);
  const Server server(scene.pair.keys, {.device = test::named_devices});
  std::vector<std::optional<Ciphertexts>> got(4);
  std::vector<std::thread> threads;
  for (auto& result : got)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) result = scene.circuit(server);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& result : got) DevicesScene::expect_same(*result, scene.due);
}

TEST(BgvServerDevices, OneThatFailsIsLeftOut) {
  DevicesScene scene(4);
  const Server& alone = scene.alone;
  const std::vector<std::int64_t> rows(4 * std::size_t{alone.parameters().N()}, 3);
  const auto by_rows = [&](const Server& server, const Array& a, const Plaintexts& m) {
    return server.download(server.add_plain(server.multiply_plain(a, m), rows));
  };
  const Ciphertexts due_by_rows =
      by_rows(alone, alone.upload(scene.x), alone.encode(rows, Packing::slots));
  for (const long calls : {0L, 1L, 3L, 7L, 20L}) {
    SCOPED_TRACE(calls);
    test::NamedStrains strained(2);
    const Server server(scene.pair.keys, {.device = test::named_devices});
    const Array kept = server.negate(server.upload(scene.fresh(4))),
                single = server.upload(scene.one);
    const Array of_x = server.upload(scene.x);
    const Plaintexts prepared = server.encode(rows, Packing::slots);
    EXPECT_TRUE(server.failed_devices().empty());
    strained.strains[1]->calls_left = calls;
    std::string message;
    for (int i = 0; i < 30 && message.empty(); ++i) try {
        server.multiply(kept, kept);
      } catch (const DeviceError& error) {
        message = error.what();
      }
    EXPECT_NE(message.find("tested:1 was unplugged"), std::string::npos) << message;
    EXPECT_NE(message.find("items 2 … 3 on tested:1 of an array of 4"), std::string::npos)
        << message;
    ASSERT_EQ(server.failed_devices().size(), 1u);
    EXPECT_EQ(server.failed_devices()[0].name, "tested:1");
    // What lay there is lost and said to be; all else goes on.
    EXPECT_THROW(server.download(kept), DeviceError);
    EXPECT_THROW(server.negate(kept), DeviceError);
    EXPECT_NO_THROW(server.download(server.negate(single)));
    DevicesScene::expect_same(server.download(of_x), scene.x);  // the caller has its words
    EXPECT_NO_THROW(server.download(server.negate(of_x)));
    DevicesScene::expect_same(by_rows(server, of_x, prepared),
                              due_by_rows);  // and the server, values
    scene.expect_due(server);
    strained.strains[0]->calls_left = 0;
    EXPECT_THROW(server.negate(single), DeviceError);
    EXPECT_THROW(server.upload(scene.x), DeviceError);
  }
}

TEST(BgvServerDevices, BatchesBeyondTheMemoryOfADevice) {
  const DevicesScene scene(12);
  const auto limit = std::make_shared<test::MemoryLimit>();
  limit->bytes = SIZE_MAX;
  // Small pieces, in little memory.
  class Queue final : public backend::Relay {
   public:
    using Relay::Relay;
    std::size_t batch_limit(std::size_t, std::size_t) const override { return 2; }
  };
  test::name_devices(
      {std::make_shared<backend::RelayDevice<Queue>>("limited", test::limited_device(limit))});
  const Server server(scene.pair.keys, {.device = test::named_devices});
  const std::size_t each = scene.x.data.bytes() / 12;
  limit->bytes = limit->used + 40 * each;
  scene.expect_due(server);
  const Array a = server.upload(scene.x);
  std::vector<Array> sums = {a};
  for (int i = 0; i < 8; ++i) sums.push_back(server.add(sums.back(), a));
  EXPECT_LE(limit->used.load(), limit->bytes.load());
  EXPECT_GT(sums.size() * a.bytes(), 40 * each) << "not all of it fits";
  const Array nine = server.multiply_scalar(a, 9);
  const auto values = scene.pair.client.decrypt(server.download(sums.back()));
  EXPECT_EQ(values, scene.pair.client.decrypt(server.download(nine)));
}

TEST(BgvServerDevices, KeysWithinABudget) {
  const DevicesScene scene(2);
  const std::size_t key = scene.alone.key_bytes() / scene.pair.keys.keys.size();
  SessionOptions options{"cpu", 1, {}};
  for (const std::size_t room : {key, 2 * key + 100}) {
    options.key_bytes = room;
    const Server server(scene.pair.keys, options);
    EXPECT_EQ(server.key_bytes(), 0u);
    for (int i = 0; i < 2; ++i) {
      scene.expect_due(server);
      EXPECT_GT(server.key_bytes(), 0u);
      EXPECT_LE(server.key_bytes(), room);
    }
  }
  options.key_bytes = key - 1;
  const Server none(scene.pair.keys, options);
  const Array a = none.upload(scene.x);
  EXPECT_THROW(none.multiply(a, a), OutOfMemoryError);
}

}  // namespace
}  // namespace whorl::bgv
