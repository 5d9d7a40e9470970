// A server on several devices: the same bits, calls from several threads, a device that fails,
// batches and keys beyond a device's memory.
#include "support/bgv_scene.h"
#include "support/limited_device.h"
#include "support/named_devices.h"
#include "support/test.h"
#include "whorl/bgv/server.h"

namespace whorl::bgv {
namespace {

SessionOptions on_named_devices() {
  SessionOptions out;
  out.device = test::named_devices;
  return out;
}

/// Something of everything.
Ciphertexts circuit(const Server& server, const Ciphertexts& x, const Ciphertexts& y,
                    const Ciphertexts& one, std::span<const std::int64_t> values) {
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

struct DevicesScene {
  Parameters p = bgv_insecure({1024, 65537, 30, 8, 2});
  const test::BgvPair& pair = bgv_pair(p);
  test::Random random;
  std::vector<std::int64_t> values = Clear::random(p, Packing::slots, 1, random).as_signed();
  Ciphertexts fresh(std::size_t count) {
    return pair.client.encrypt(Clear::random(p, Packing::slots, count, random).as_signed());
  }
};

void expect_same(const Ciphertexts& a, const Ciphertexts& b) {
  EXPECT_EQ(a.info.noise, b.info.noise);
  EXPECT_EQ(a.info.factor, b.info.factor);
  ASSERT_EQ(a.data.bytes(), b.data.bytes());
  EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.bytes()), 0);
}

TEST(BgvServerDevices, SameBitsOnSeveral) {
  DevicesScene scene;
  const Server alone(scene.pair.keys, {"cpu", 1, {}});
  EXPECT_EQ(alone.devices().size(), 1u);
  for (const std::size_t count : {1u, 2u, 7u}) {
    const Ciphertexts x = scene.fresh(count), y = scene.fresh(count), one = scene.fresh(1);
    const Ciphertexts due = circuit(alone, x, y, one, scene.values);
    for (const auto& [devices, most] : {std::pair<std::size_t, std::size_t>{2, 512}, {3, 2}}) {
      const test::NamedStrains strained(devices, most);
      const Server server(scene.pair.keys, on_named_devices());
      EXPECT_EQ(server.devices().size(), devices);
      EXPECT_EQ(server.device().substr(0, 18), "tested:0, tested:1");
      EXPECT_EQ(server.key_bytes(), devices * alone.key_bytes());
      expect_same(circuit(server, x, y, one, scene.values), due);
    }
  }
}

TEST(BgvServerDevices, CallsFromSeveralThreads) {
  DevicesScene scene;
  const test::NamedStrains strained(2);
  const Server server(scene.pair.keys, on_named_devices());
  const Ciphertexts x = scene.fresh(3), y = scene.fresh(3), one = scene.fresh(1);
  const Ciphertexts due = circuit(server, x, y, one, scene.values);
  std::vector<std::optional<Ciphertexts>> got(4);
  std::vector<std::thread> threads;
  for (auto& result : got)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) result = circuit(server, x, y, one, scene.values);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& result : got) expect_same(*result, due);
}

TEST(BgvServerDevices, OneThatFailsIsLeftOut) {
  DevicesScene scene;
  const Server alone(scene.pair.keys, {"cpu", 1, {}});
  const Ciphertexts x = scene.fresh(4), y = scene.fresh(4), one = scene.fresh(1);
  const Ciphertexts due = circuit(alone, x, y, one, scene.values);
  const std::vector<std::int64_t> rows(4 * std::size_t{alone.parameters().N()}, 3);
  const auto by_rows = [&](const Server& server, const Array& a, const Plaintexts& m) {
    return server.download(server.add_plain(server.multiply_plain(a, m), rows));
  };
  const Ciphertexts due_by_rows =
      by_rows(alone, alone.upload(x), alone.encode(rows, Packing::slots));
  for (const long calls : {0L, 1L, 3L, 7L, 20L}) {
    SCOPED_TRACE(calls);
    test::NamedStrains strained(2);
    const Server server(scene.pair.keys, on_named_devices());
    const Array kept = server.negate(server.upload(scene.fresh(4))), single = server.upload(one);
    const Array of_x = server.upload(x);
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
    expect_same(server.download(of_x), x);  // the caller has its words
    EXPECT_NO_THROW(server.download(server.negate(of_x)));
    expect_same(by_rows(server, of_x, prepared), due_by_rows);  // and the server, values
    expect_same(circuit(server, x, y, one, scene.values), due);
    strained.strains[0]->calls_left = 0;
    EXPECT_THROW(server.negate(single), DeviceError);
    EXPECT_THROW(server.upload(x), DeviceError);
  }
}

TEST(BgvServerDevices, BatchesBeyondTheMemoryOfADevice) {
  DevicesScene scene;
  const Server alone(scene.pair.keys, {"cpu", 1, {}});
  const Ciphertexts x = scene.fresh(12), y = scene.fresh(12), one = scene.fresh(1);
  const Ciphertexts due = circuit(alone, x, y, one, scene.values);
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
  const Server server(scene.pair.keys, on_named_devices());
  const std::size_t each = x.data.bytes() / 12;
  limit->bytes = limit->used + 40 * each;
  expect_same(circuit(server, x, y, one, scene.values), due);
  const Array a = server.upload(x);
  std::vector<Array> sums = {a};
  for (int i = 0; i < 8; ++i) sums.push_back(server.add(sums.back(), a));
  EXPECT_LE(limit->used.load(), limit->bytes.load());
  EXPECT_GT(sums.size() * a.bytes(), 40 * each) << "not all of it fits";
  const Array nine = server.multiply_scalar(a, 9);
  const auto values = scene.pair.client.decrypt(server.download(sums.back()));
  EXPECT_EQ(values, scene.pair.client.decrypt(server.download(nine)));
}

TEST(BgvServerDevices, KeysWithinABudget) {
  DevicesScene scene;
  const Server alone(scene.pair.keys, {"cpu", 1, {}});
  const Ciphertexts x = scene.fresh(2), y = scene.fresh(2), one = scene.fresh(1);
  const Ciphertexts due = circuit(alone, x, y, one, scene.values);
  const std::size_t key = alone.key_bytes() / scene.pair.keys.keys.size();
  SessionOptions options{"cpu", 1, {}};
  for (const std::size_t room : {key, 2 * key + 100}) {
    options.key_bytes = room;
    const Server server(scene.pair.keys, options);
    EXPECT_EQ(server.key_bytes(), 0u);
    for (int i = 0; i < 2; ++i) {
      expect_same(circuit(server, x, y, one, scene.values), due);
      EXPECT_GT(server.key_bytes(), 0u);
      EXPECT_LE(server.key_bytes(), room);
    }
  }
  options.key_bytes = key - 1;
  const Server none(scene.pair.keys, options);
  const Array a = none.upload(x);
  EXPECT_THROW(none.multiply(a, a), OutOfMemoryError);
}

}  // namespace
}  // namespace whorl::bgv
