// What a server refuses, and what its arrays and keys are beside their values.
#include "support/bgv_scene.h"
#include "support/test.h"
#include "support/wrong_ciphertexts.h"

namespace whorl::bgv {
namespace {

TEST(BgvServer, Refusals) {
  const Parameters p = bgv_insecure({1024, 65537, 30, 4, 2});
  const auto& [client, keys] = bgv_pair(p);
  const SessionOptions options{test::tested_device, 1, {}};
  const Server server(keys, options), twin(keys, options);
  EXPECT_EQ(server.parameters(), p);
  EXPECT_EQ(server.key_id(), client.key_id());
  EXPECT_EQ(server.device().substr(0, 3), std::string(test::tested_device).substr(0, 3));
  EXPECT_GT(server.key_bytes(), keys.bytes());
  const std::vector<std::int64_t> row(1024, 3), two(2048, 4);
  const Ciphertexts good = client.encrypt(row);
  const Array a = server.upload(good), pair = server.upload(client.encrypt(two)),
              packed = server.upload(client.encrypt(row, Packing::coefficients));
  // Others' objects.
  const Client other(p), elsewhere(bgv_insecure({1024, 12289, 30, 4, 2}));
  EXPECT_THROW(server.upload(other.encrypt(row)), KeyMismatchError);
  EXPECT_THROW(server.upload(elsewhere.encrypt(row)), ParameterMismatchError);
  EXPECT_THROW(twin.download(a), DeviceError);
  EXPECT_THROW(twin.add(a, a), DeviceError);
  const Array empty;
  EXPECT_THROW(server.download(empty), ShapeError);
  EXPECT_THROW(server.negate(empty), ShapeError);
  EXPECT_THROW(server.inner_sum(empty, 1), ShapeError);
  EXPECT_THROW(server.rotate(empty, 1), ShapeError);
  // Shapes and packings.
  const Array three = server.take(a, std::vector<std::uint32_t>{0, 0, 0});
  for (const auto& operation : {&Server::add, &Server::sub}) {
    EXPECT_THROW((server.*operation)(three, pair), ShapeError);
    EXPECT_THROW((server.*operation)(a, packed), EncodingError);
    EXPECT_THROW((server.*operation)(a, empty), ShapeError);
  }
  EXPECT_THROW(server.multiply(three, pair), ShapeError);
  EXPECT_THROW(server.multiply(a, packed), EncodingError);
  EXPECT_THROW(server.rotate(packed, 1), EncodingError);
  EXPECT_THROW(server.swap_rows(packed), EncodingError);
  EXPECT_THROW(server.inner_sum(packed, 2), EncodingError);
  EXPECT_THROW(server.add_plain(three, two), ShapeError);
  EXPECT_THROW(server.add_plain(a, std::vector<std::int64_t>(1025)), ShapeError);
  EXPECT_THROW(server.sub_plain(a, std::vector<std::int64_t>()), ShapeError);
  EXPECT_THROW(server.multiply_plain(pair, std::vector<std::int64_t>(3 * 1024)), ShapeError);
  EXPECT_NO_THROW(server.multiply_plain(pair, row));
  const Plaintexts plain = server.encode(two, Packing::slots);
  const Plaintexts coefficients = server.encode(row, Packing::coefficients), nothing;
  for (const auto operation :
       {static_cast<Array (Server::*)(const Array&, const Plaintexts&) const>(&Server::add_plain),
        static_cast<Array (Server::*)(const Array&, const Plaintexts&) const>(&Server::sub_plain),
        static_cast<Array (Server::*)(const Array&, const Plaintexts&) const>(
            &Server::multiply_plain)}) {
    EXPECT_THROW((server.*operation)(three, plain), ShapeError);
    EXPECT_THROW((server.*operation)(a, coefficients), EncodingError);
    EXPECT_THROW((server.*operation)(a, nothing), ShapeError);
    EXPECT_THROW((server.*operation)(empty, plain), ShapeError);
    EXPECT_THROW((twin.*operation)(twin.upload(good), plain), DeviceError);
  }
  EXPECT_THROW(server.encode(std::vector<std::int64_t>(1023), Packing::slots, 4), ShapeError);
  EXPECT_THROW(server.encode({}, Packing::slots), ShapeError);
  EXPECT_THROW(server.take(a, {}), ShapeError);
  EXPECT_THROW(server.take(plain, {}), ShapeError);
  EXPECT_THROW(server.take(empty, std::vector<std::uint32_t>{0}), ShapeError);
  EXPECT_THROW(server.take(plain, std::vector<std::uint32_t>{2}), ShapeError);
  test::expect_message<ShapeError>(
      [&] {
        server.take(pair, std::vector<std::uint32_t>{1, 0, 7});
      },
      {"index 7 at place 2", "a batch of 2"});
  EXPECT_THROW(server.concatenate({}), ShapeError);
  EXPECT_THROW(server.concatenate(std::vector<Array>{a, packed}), EncodingError);
  EXPECT_THROW(server.concatenate(std::vector<Array>{a, empty}), ShapeError);
  EXPECT_THROW(server.concatenate(std::vector<Array>{a, server.multiply(a, a, false)}), ShapeError);
  EXPECT_THROW(twin.concatenate(std::vector<Array>{a, a}), DeviceError);
  for (const std::uint32_t columns : {0u, 3u, 1024u, 0x80000000u})
    EXPECT_THROW(server.inner_sum(a, columns), ParameterError) << columns;
  for (const unsigned limbs : {0u, 5u}) EXPECT_THROW(server.mod_switch(a, limbs), ParameterError);
  EXPECT_THROW(server.mod_switch(server.mod_switch(a, 2), 3), ParameterError);
  // Keys that are not there.
  KeyRequest none;
  none.relinearise = 2;
  const Server bare(client.evaluation_keys(none), options);
  const Array b = bare.upload(good);
  EXPECT_THROW(bare.multiply(b, b), MissingKeyError);
  EXPECT_NO_THROW(bare.multiply(b, b, false));
  EXPECT_THROW(bare.rotate(b, 1), MissingKeyError);
  EXPECT_NO_THROW(bare.rotate(b, 512));
  EXPECT_THROW(bare.swap_rows(b), MissingKeyError);
  EXPECT_THROW(server.rotate(a, 5), MissingKeyError);
  // By what was asked for.
  const auto expect_message = [](const auto& call, const std::string& message) {
    EXPECT_EQ(test::message_of<MissingKeyError>([&] { call(); }), message);
  };
  KeyRequest few;
  few.rotations = {1, 2, -3};
  const Server some(client.evaluation_keys(few), options);
  const Array c = some.upload(good);
  const std::string held = "the keys hold rotations 1, 2, -3";
  expect_message([&] { some.rotate(c, 3); },
                 "rotation by 3 has no key: ask the client for rotations=[3]; " + held);
  expect_message([&] { some.rotate(c, -509); },
                 "rotation by -509 has no key: ask the client for rotations=[-509]; " + held);
  expect_message(
      [&] {
        some.rotate_many(c, std::vector<std::int64_t>{1, 7});
      },
      "rotation by 7 has no key: ask the client for rotations=[7]; " + held);
  expect_message([&] { some.inner_sum(c, 8); },
                 "rotation by 4 has no key: ask the client for rotations=[4]; " + held);
  expect_message([&] { some.swap_rows(c); },
                 "the exchange of rows has no key: ask the client for swap_rows=True; " + held);
  expect_message(
      [&] { bare.rotate(b, 1); },
      "rotation by 1 has no key: ask the client for rotations=[1]; the keys hold no rotations");
  test::expect_message<MissingKeyError>([&] { bare.relinearise(bare.multiply(b, b, false)); },
                                        {"relinearise=3"});
}

TEST(BgvServer, RefusesForgedData) {
  const Parameters p = bgv_insecure({1024, 65537, 30, 4, 2});
  const auto& [client, keys] = bgv_pair(p);
  const SessionOptions options{test::tested_device, 1, {}};
  const Server server(keys, options);
  const Ciphertexts good = client.encrypt(std::vector<std::int64_t>(2048, 3));
  const auto refused = [&]<class Error>(const auto& change, Error*) {
    Ciphertexts bad = good;
    change(bad);
    EXPECT_THROW(server.upload(bad), Error);
  };
  ShapeError* const shape = nullptr;
  RangeError* const range = nullptr;
  test::each_wrong_shape(refused);
  for (const std::uint64_t factor : {0ULL, 65537ULL})
    refused([=](Ciphertexts& c) { c.info.factor = factor; }, range);
  for (const double noise : {std::nan(""), -1.0, 1e6, HUGE_VAL})
    refused([=](Ciphertexts& c) { c.info.noise = noise; }, range);
  refused([](Ciphertexts& c) { c.data = WordArray(std::vector<std::uint64_t>(c.data.size())); },
          shape);
  for (const std::size_t row : {0u, 3u, 7u})
    refused(
        [=, &p](Ciphertexts& c) {
          const auto words = c.data.as<std::uint32_t>();
          std::vector<std::uint32_t> copy(words.begin(), words.end());
          copy[row * 2048 + 2047] = static_cast<std::uint32_t>(p.literal().chain[row % 4]);
          c.data = WordArray(std::move(copy));
        },
        range);
  // Keys.
  EvaluationKeys bad = keys;
  bad.keys[0].b = WordArray(std::vector<std::uint32_t>(7));
  EXPECT_THROW(Server(bad, options), ShapeError);
  bad = keys;
  bad.keys[0].g = 2;
  EXPECT_THROW(Server(bad, options), ParameterError);
  bad.keys[0].g = 2049;
  EXPECT_THROW(Server(bad, options), ParameterError);
  bad = keys;
  bad.keys[0].power = 0;
  EXPECT_THROW(Server(bad, options), ParameterError);
  EXPECT_THROW(Server(keys, {"no such device", 1, {}}), DeviceError);
}

// docs/bgv.md: a key is 2·digits·(L + K)·N words on the device; its seeded half travels.
TEST(BgvServer, KeyBytes) {
  on_each_scene([](Scene& scene) {
    const Parameters& p = scene.p;
    const std::size_t polynomials = std::size_t{p.digits()} * (p.limbs() + p.special());
    const std::size_t half = polynomials * p.N() * p.word_bytes();
    const std::size_t keys = bgv_pair(p).keys.keys.size();
    EXPECT_EQ(scene.server.key_bytes(), keys * 2 * half);
    EXPECT_EQ(bgv_pair(p).keys.bytes(), keys * (half + 32 + 8));
  });
  Requirements needs;
  needs.depth = 24;
  needs.plain_modulus = 786433;
  const Parameters deep = Parameters::choose(needs);
  KeyRequest request;
  for (std::int64_t columns = 1; columns <= 16; ++columns) request.rotations.push_back(columns);
  EXPECT_LT(2 * key_bytes(deep, request), std::size_t{8'000'000'000}) << deep.literal().name;
}

TEST(BgvServer, ArraysOutliveTheirServer) {
  const Parameters p = bgv_insecure();
  const auto& [client, keys] = bgv_pair(p);
  Array a;
  EXPECT_EQ(a.bytes(), 0u);
  {
    const Server server(keys, {test::tested_device, 1, {}});
    a = server.upload(client.encrypt(std::vector<std::int64_t>(1024, 5)));
  }
  EXPECT_GT(a.bytes(), 0u);
  EXPECT_EQ(a.info().count, 1u);
  Plaintexts m;
  EXPECT_EQ(m.bytes(), 0u);
  EXPECT_EQ(m.count(), 0u);
  m = Server(keys, {test::tested_device, 1, {}})
          .encode(std::vector<std::int64_t>(1024, 5), Packing::slots);
  EXPECT_GT(m.bytes(), 0u);
}

TEST(BgvServer, ThreadsDoNotChangeBits) {
  test::on_each_device([](const test::Executor& executor) {
    const Parameters p = bgv_insecure({1024, 65537, 30, 6, 2});
    Scene scene(p, executor);
    const Server other(bgv_pair(p).keys, {executor.name(), 3, {}});
    const Clear m = scene.clear(), n = scene.clear();
    const Ciphertexts x = scene.client.encrypt(m.as_signed()),
                      y = scene.client.encrypt(n.as_signed());
    const auto run = [&](const Server& server) {
      const Array product = server.multiply(server.upload(x), server.upload(y));
      return server.download(server.add(server.rotate(product, 1), server.swap_rows(product)));
    };
    const Ciphertexts a = run(scene.server), b = run(other);
    ASSERT_EQ(a.data.bytes(), b.data.bytes());
    EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.bytes()), 0);
  });
}

// As a collector of garbage does.
TEST(BgvServer, ArraysAreDroppedByOtherThreads) {
  const Parameters p = bgv_insecure();
  Scene scene(p, test::Executor(test::tested_device), 2);
  const Server& server = scene.server;
  const Value a = scene.fresh(), b = scene.fresh();
  const Plaintexts plain = server.encode(b.clear.as_signed(), scene.packing);
  std::mutex mutex;
  std::vector<Array> arrays;
  std::vector<Plaintexts> plaintexts;
  bool done = false;
  std::vector<std::thread> droppers;
  for (int i = 0; i < 2; ++i)
    droppers.emplace_back([&] {
      for (bool last = false; !last;) {
        std::vector<Array> some;
        std::vector<Plaintexts> others;
        {
          const std::scoped_lock lock(mutex);
          last = done;
          some.swap(arrays);
          others.swap(plaintexts);
        }
      }
    });
  const Clear due = (a.clear * b.clear + b.clear) * b.clear;
  for (int i = 0; i < 50; ++i) {
    const Array product = server.multiply(a.array, b.array);
    const Array sum = server.add_plain(product, plain);
    const Plaintexts taken = server.take(plain, std::vector<std::uint32_t>(scene.count, 0));
    {
      const std::scoped_lock lock(mutex);
      arrays.push_back(product);
      arrays.push_back(server.take(product, std::vector<std::uint32_t>{0}));
      plaintexts.push_back(taken);
    }
    if (i % 10 == 0) scene.expect(server.multiply_plain(sum, plain), due, "while others drop");
    if (HasFatalFailure()) break;
  }
  {
    const std::scoped_lock lock(mutex);
    done = true;
  }
  for (auto& thread : droppers) thread.join();
}

}  // namespace
}  // namespace whorl::bgv
