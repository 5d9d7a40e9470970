// Arrays that stay on devices: the bits of the host's batches, and what moves.
#include "support/binfhe_sets.h"
#include "support/counting_device.h"
#include "support/named_devices.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

class BinfheArrays : public ::testing::Test {
 protected:
  Ciphertexts bits(std::size_t count, Encoding encoding = {}) {
    return pair_.client.encrypt(random_.numbers(count, 2), encoding);
  }
  test::Random random_;
  const Parameters parameters_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(parameters_);
};

TEST_F(BinfheArrays, OperationsGiveTheBitsOfHostBatches) {
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(parameters.name());
      const test::Pair& pair = test::pair_of(parameters);
      const Server server(pair.keys, {.device = test::tested_device, .threads = 2},
                          {.transform = transform});
      // More than a piece where that does not take long.
      auto m = random_.numbers(parameters == parameters_ ? 600 : 20, 2);
      const Ciphertexts x = pair.client.encrypt(m), y = pair.client.encrypt(m),
                        z = pair.client.encrypt(m);
      const Array a = server.upload(x), b = server.upload(y), c = server.upload(z);
      EXPECT_EQ(a.count(), m.size());
      EXPECT_EQ(a.bytes(), m.size() * 4 * x.row());
      const auto same = [&](const Array& got, const Ciphertexts& want) {
        const Ciphertexts there = server.download(got);
        EXPECT_EQ(there.encoding, want.encoding);
        EXPECT_TRUE(there.data == want.data);
      };
      same(a, x);
      const Array *two[] = {&a, &b}, *three[] = {&a, &b, &c};
      const Ciphertexts *host_two[] = {&x, &y}, *host_three[] = {&x, &y, &z};
      same(server.gate(Gate::nand, two), server.gate(Gate::nand, host_two));
      same(server.gate(Gate::xor_, two, Encoding{8, false}),
           server.gate(Gate::xor_, host_two, Encoding{8, false}));
      same(server.gate(Gate::majority, three), server.gate(Gate::majority, host_three));
      same(server.mux(a, b, c), server.mux(x, y, z));
      same(server.not_(a), server.not_(x));
      same(server.bootstrap(a), server.bootstrap(x));
      const std::int32_t weights[] = {2, -3};
      same(server.linear(weights, two, 5), server.linear(weights, host_two, 5));
      const std::vector<Lut> luts = {Lut::create(parameters, {0, 1, 2, 3}, {}, {}),
                                     Lut::create(parameters, {3, 1, 1, 2}, {}, {})};
      same(server.apply(luts, m, a), server.apply(luts, m, x));
      same(server.trivial_array(m), server.trivial(m));
    }
}

TEST_F(BinfheArrays, ASingleMeetsAll) {
  const Server server(pair_.keys, {test::tested_device, 2});
  const Ciphertexts x = bits(5), one = bits(1);
  const Array a = server.upload(x), b = server.upload(one);
  const Array *mixed[] = {&a, &b}, *other[] = {&b, &a};
  const std::vector<std::uint32_t> zeros(5, 0);
  const Array repeated = server.take(b, zeros);
  const Array* full[] = {&a, &repeated};
  const auto want = server.download(server.gate(Gate::and_, full)).data;
  EXPECT_TRUE(server.download(server.gate(Gate::and_, mixed)).data == want);
  EXPECT_TRUE(server.download(server.gate(Gate::and_, other)).data == want);
  const Array c = server.upload(bits(4));
  const Array* uneven[] = {&a, &c};
  EXPECT_THROW(server.gate(Gate::and_, uneven), ShapeError);
}

TEST_F(BinfheArrays, TakeAndConcatenate) {
  const Server server(pair_.keys, {test::tested_device, 2});
  const std::vector<std::uint32_t> m = {0, 1, 2, 3};
  const Array a = server.upload(pair_.client.encrypt(m));
  const std::vector<std::uint32_t> index = {3, 0, 0, 2, 1};
  const auto open = [&](const Array& x) { return pair_.client.decrypt(server.download(x)); };
  EXPECT_EQ(open(server.take(a, index)), index);
  const Array all[] = {a, server.take(a, index), a};
  EXPECT_EQ(open(server.concatenate(all)),
            (std::vector<std::uint32_t>{0, 1, 2, 3, 3, 0, 0, 2, 1, 0, 1, 2, 3}));
  EXPECT_EQ(server.take(a, {}).count(), 0u);
  EXPECT_THROW(server.take(a, std::vector<std::uint32_t>{4}), ShapeError);
  EXPECT_THROW(server.concatenate({}), ShapeError);
  const Array mixed[] = {a, server.upload(bits(1, {8, false}))};
  EXPECT_THROW(server.concatenate(mixed), EncodingError);
}

TEST_F(BinfheArrays, OnlyInputsComeInAndOneResultGoesOut) {
  test::on_each_device([&](const test::Executor& executor) {
    const auto traffic = std::make_shared<test::Traffic>();
    using Counting = backend::RelayDevice<test::CountingQueue, std::shared_ptr<test::Traffic>>;
    test::name_devices({std::make_shared<Counting>(
        "counting:0", backend::make_device(executor.name(), {2, {}}), traffic)});
    const Server server(pair_.keys, {test::named_devices});
    const Ciphertexts x = bits(100), y = bits(100);
    Ciphertexts z = bits(100);
    z.seed.reset();
    // Of those from a seed, bodies come in.
    const std::size_t batch = x.data.size() * sizeof(std::uint32_t),
                      bodies = x.count * sizeof(std::uint32_t);
    traffic->in = traffic->out = 0;
    const Array a = server.upload(x), b = server.upload(y), c = server.upload(z);
    EXPECT_EQ(traffic->in, 2 * bodies + batch);
    const Array* first[] = {&a, &b};
    const Array d = server.gate(Gate::xor_, first);
    const Array* second[] = {&d, &c};
    const Array e = server.gate(Gate::and_, second);
    EXPECT_EQ(traffic->in, 2 * bodies + batch);
    EXPECT_EQ(traffic->out, 0u);
    const Ciphertexts result = server.download(e);
    EXPECT_EQ(traffic->out, batch);
    const auto p = pair_.client.decrypt(x), q = pair_.client.decrypt(y),
               r = pair_.client.decrypt(z), got = pair_.client.decrypt(result);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], (p[i] ^ q[i]) & r[i]);
  });
}

TEST_F(BinfheArrays, ServersOfOneSessionAndKeyTakeEachOthers) {
  const Session session({test::tested_device, 1});
  const Server first(pair_.keys, session), second(pair_.keys, session, {.least_share = 1});
  const Client other(parameters_);
  const Server stranger(other.evaluation_keys(1), session);
  const Ciphertexts x = bits(5);
  const Array a = first.upload(x), b = second.upload(x);
  const Array *both[] = {&a, &b}, *alone[] = {&a, &a};
  EXPECT_NO_THROW(second.check(a));
  EXPECT_EQ(pair_.client.decrypt(second.download(second.gate(Gate::and_, both))),
            pair_.client.decrypt(first.download(first.gate(Gate::and_, alone))));
  EXPECT_THROW(stranger.check(a), KeyMismatchError);
  EXPECT_THROW(stranger.download(a), KeyMismatchError);
}

TEST_F(BinfheArrays, StrangersAreRefused) {
  const Server server(pair_.keys, {test::tested_device, 1}),
      twin(pair_.keys, {test::tested_device, 1});
  const Client other(parameters_);
  const Server stranger(other.evaluation_keys(1), {test::tested_device, 1});
  const Array a = server.upload(bits(2)), b = twin.upload(bits(2)),
              c = stranger.upload(other.encrypt(std::vector<std::uint32_t>{0, 1}));
  const Array *with_twin[] = {&a, &b}, *with_stranger[] = {&a, &c};
  test::expect_message<DeviceError>([&] { server.gate(Gate::and_, with_twin); },
                                    {"give both servers one session"});
  EXPECT_THROW(server.gate(Gate::and_, with_stranger), KeyMismatchError);
  EXPECT_THROW(server.download(b), DeviceError);
  EXPECT_THROW(server.check(b), DeviceError);
  EXPECT_THROW(server.check(c), DeviceError);
  EXPECT_THROW(server.upload(other.encrypt(std::vector<std::uint32_t>{0})), KeyMismatchError);
}

TEST_F(BinfheArrays, MayOutliveTheirServerAndMeetInThreads) {
  std::vector<Array> kept;
  {
    const Server server(pair_.keys, {test::tested_device, 2});
    const Array a = server.upload(bits(30));
    const Array* both[] = {&a, &a};
    const auto want = server.download(server.gate(Gate::nand, both)).data;
    std::atomic<int> wrong = 0;
    {
      std::vector<std::jthread> callers;
      for (int t = 0; t < 4; ++t)
        callers.emplace_back([&] {
          for (int i = 0; i < 3; ++i)
            wrong += server.download(server.gate(Gate::nand, both)).data != want;
        });
    }
    EXPECT_EQ(wrong, 0);
    kept.push_back(a);
  }
  EXPECT_EQ(kept[0].count(), 30u);
  kept.clear();
}

TEST_F(BinfheArrays, KeysStayWithinTheirBudget) {
  const Server free(pair_.keys, {test::tested_device, 1});
  const std::size_t bytes = free.key_bytes();
  EXPECT_GT(bytes, 0u);
  SessionOptions options{test::tested_device, 1};
  options.key_bytes = 16 * bytes;
  const Server bounded(pair_.keys, options);
  const Ciphertexts x = bits(3);
  EXPECT_TRUE(bounded.bootstrap(x).data == free.bootstrap(x).data);
  options.key_bytes = bytes / 16;
  EXPECT_THROW(Server(pair_.keys, options), OutOfMemoryError);
}

}  // namespace
}  // namespace whorl::binfhe
