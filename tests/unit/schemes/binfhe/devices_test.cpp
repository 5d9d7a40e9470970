// Servers on several devices: order, bits, failures. Two CPUs and devices that fail on command
// stand for GPUs; what a fleet does of itself is tested in tests/unit/run.
#include "support/binfhe_sets.h"
#include "support/named_devices.h"
#include "support/scripted_device.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using test::Script;

/// Its work is blind rotation, an item a ciphertext.
class FaultyRotation final : public backend::RelayRotation<std::uint32_t> {
 public:
  FaultyRotation(const backend::Queue& queue, const backend::Queue& behind, Script& script)
      : RelayRotation(queue, behind), script_(script) {}

 protected:
  void run_rotations(const backend::RotationKey& key, const Batch& batch) const override {
    script_.begin(queue().name(), batch.count);
    RelayRotation::run_rotations(key, batch);
    script_.end(batch.count);
  }

 private:
  Script& script_;
};

class FaultyQueue final : public backend::Relay {
 public:
  FaultyQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> of,
              std::shared_ptr<Script> script)
      : Relay(std::move(device), std::move(of)), script_(std::move(script)) {
    offer<backend::RotationOps<std::uint32_t>>(
        std::make_shared<FaultyRotation>(*this, behind(), *script_));
  }
  std::size_t batch_limit(std::size_t, std::size_t) const override { return script_->batch_limit; }

 private:
  std::shared_ptr<Script> script_;
};

using FaultyDevice = test::DeviceByScript<FaultyQueue>;

class BinfheDevices : public ::testing::Test {
 protected:
  std::shared_ptr<Script> add(const std::string& name) {
    auto script = std::make_shared<Script>();
    script->name = name;
    devices_.push_back(std::make_shared<FaultyDevice>(script));
    return script;
  }
  void add_cpu(unsigned threads = 1) {
    devices_.push_back(backend::make_device("cpu", {threads, {}}));
  }
  /// A server on the devices added so far.
  Server server(std::size_t least_share = 1) {
    test::name_devices(std::exchange(devices_, {}));
    return Server(pair_.keys, {test::named_devices},
                  {.transform = Transform::ntt, .least_share = least_share});
  }
  Ciphertexts bits(std::size_t count) { return pair_.client.encrypt(random_.numbers(count, 2)); }
  template <class Batch>
  static Batch nand(const Server& server, const Batch& a, const Batch& b) {
    const Batch* in[] = {&a, &b};
    return server.gate(Gate::nand, in);
  }
  std::vector<std::uint32_t> expected(const Ciphertexts& a, const Ciphertexts& b) const {
    return nand(plain_, a, b).data;
  }

  test::Random random_;
  const Parameters parameters_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(parameters_);
  const Server plain_{pair_.keys, {.device = "cpu", .threads = 2}, {.transform = Transform::ntt}};
  std::vector<std::shared_ptr<const backend::Device>> devices_;
};

TEST_F(BinfheDevices, EveryOperationGivesTheSameBits) {
  const std::size_t count = 90 + random_.below(40);
  const Ciphertexts a = bits(count), b = bits(count), c = bits(count);
  const std::vector<Lut> luts = {Lut::create(parameters_, {0, 1, 2, 3}, {4, false}, {4, false}),
                                 Lut::create(parameters_, {3, 1, 1, 2}, {4, false}, {4, false})};
  const auto index = random_.numbers(count, 2);
  const std::int32_t weights[] = {2, -3};
  const Ciphertexts* two[] = {&a, &b};
  const auto all = [&](const Server& server) {
    return std::vector<std::vector<std::uint32_t>>{nand(server, a, b).data,
                                                   server.mux(a, b, c).data,
                                                   server.bootstrap(a, Encoding{8, false}).data,
                                                   server.apply(luts, index, a).data,
                                                   server.linear(weights, two, 5).data,
                                                   server.not_(a).data};
  };
  const auto of_arrays = [&](const Server& server) {
    const Array x = server.upload(a), y = server.upload(b), z = server.upload(c);
    const Array* both[] = {&x, &y};
    std::vector<std::vector<std::uint32_t>> out;
    for (const Array& array :
         {nand(server, x, y), server.mux(x, y, z), server.bootstrap(x, Encoding{8, false}),
          server.apply(luts, index, x), server.linear(weights, both, 5), server.not_(x)})
      out.push_back(server.download(array).data);
    return out;
  };
  const auto want = all(plain_);
  for (const std::size_t devices : {1u, 2u, 3u}) {
    for (const unsigned queues : {1u, 2u, 3u}) {
      SCOPED_TRACE(std::to_string(devices) + " devices of " + std::to_string(queues) + " queues");
      std::vector<std::shared_ptr<Script>> scripts;
      for (std::size_t d = 0; d < devices; ++d) {
        scripts.push_back(add("faulty:" + std::to_string(d)));
        scripts.back()->queues = queues;
        scripts.back()->batch_limit = 1 + random_.below(40);
      }
      add_cpu(2);
      const Server several = server();
      EXPECT_EQ(several.devices().size(), devices + 1);
      EXPECT_EQ(several.devices()[0], "faulty:0");
      EXPECT_EQ(several.device().find("faulty:0, "), 0u);
      for (int repeat = 0; repeat < 2; ++repeat) {  // the second with measured speeds
        const auto got = all(several);
        for (std::size_t op = 0; op < want.size(); ++op)
          ASSERT_TRUE(got[op] == want[op]) << "operation " << op;
      }
      const auto got = of_arrays(several);
      for (std::size_t op = 0; op < want.size(); ++op)
        ASSERT_TRUE(got[op] == want[op]) << "operation " << op << " on arrays";
      for (const auto& script : scripts) {
        EXPECT_GT(script->done, 0u);
        for (const std::size_t size : script->pieces) EXPECT_LE(size, script->batch_limit);
      }
      EXPECT_TRUE(several.failed_devices().empty());
    }
  }
}

TEST_F(BinfheDevices, ArraysOfAFailedDeviceAreNamedAndTheServerGoesOn) {
  const auto first = add("faulty:0"), second = add("faulty:1");
  add_cpu();
  const Server three = server();
  const Ciphertexts x = bits(30), y = bits(30), one = bits(1);
  const Array a = three.upload(x), b = three.upload(y), single = three.upload(one);
  second->fails_in = 1;
  test::expect_message<DeviceError>([&] { nand(three, a, b); },
                                    {"input 0 is lost: ciphertexts 10 … 19 of 30 lay on faulty:1",
                                     "input 1 is lost", "code 999"});
  ASSERT_EQ(three.failed_devices().size(), 1u);
  EXPECT_EQ(three.failed_devices()[0].name, "faulty:1");
  EXPECT_THROW(three.download(a), DeviceError);
  // What lies elsewhere is worked on, and moved where it is needed.
  const Array c = three.upload(x), d = three.upload(y);
  EXPECT_TRUE(three.download(nand(three, c, d)).data == expected(x, y));
  const std::vector<std::uint32_t> kept = {0, 5, 9};
  EXPECT_THROW(three.take(a, kept), DeviceError);
  EXPECT_TRUE(three.download(nand(three, single, single)).data == expected(one, one));
  // One that holds no operand of the call: the others do its share.
  const Array* pair[] = {&single, &single};
  EXPECT_EQ(three.gate(Gate::and_, pair).count(), 1u);
  EXPECT_TRUE(nand(three, x, y).data == expected(x, y)) << "and batches of the host";
}

TEST_F(BinfheDevices, ArraysOfCiphertextsThatTheHostHasSurviveAFailure) {
  for (const int k : {1, 2, 3}) {
    SCOPED_TRACE(k);
    const auto first = add("faulty:0"), second = add("faulty:1");
    first->batch_limit = second->batch_limit = 3;
    add_cpu();
    const Server three = server();
    auto x = std::make_shared<const Ciphertexts>(bits(30)),
         y = std::make_shared<const Ciphertexts>(bits(30));
    const auto want = expected(*x, *y);
    const Array a = three.upload(x), b = three.upload(y);
    second->fails_in = k;
    EXPECT_TRUE(three.download(nand(three, a, b)).data == want);
    ASSERT_EQ(three.failed_devices().size(), 1u);
    EXPECT_EQ(three.failed_devices()[0].name, "faulty:1");
    EXPECT_TRUE(three.download(a).data == x->data);
    first->fails_in = k;
    x.reset();
    EXPECT_TRUE(three.download(nand(three, a, b)).data == want) << "the arrays hold them";
    EXPECT_EQ(three.failed_devices().size(), 2u);
    EXPECT_EQ(y.use_count(), 2);
  }
  EXPECT_THROW(plain_.upload(std::shared_ptr<const Ciphertexts>()), ShapeError);
  const auto alone = std::make_shared<const Ciphertexts>(bits(3));
  const Array kept = plain_.upload(alone);
  EXPECT_EQ(alone.use_count(), 1) << "one device has nobody to give its part to";
  EXPECT_TRUE(plain_.download(plain_.upload(std::make_shared<const Ciphertexts>(*alone))).data ==
              alone->data);
}

TEST_F(BinfheDevices, ArraysBeyondAPieceOfMemory) {
  const auto script = add("faulty:0");
  script->batch_limit = 7;
  const Server one = server();
  const Ciphertexts x = bits(40), y = bits(40);
  const Array a = one.upload(x), b = one.upload(y);
  EXPECT_TRUE(one.download(nand(one, a, b)).data == expected(x, y));
  for (const std::size_t size : script->pieces) EXPECT_LE(size, 7u);
  script->memory = 0;
  EXPECT_THROW(nand(one, a, b), OutOfMemoryError);
  script->memory = 1000;
  EXPECT_TRUE(one.download(nand(one, a, b)).data == expected(x, y)) << "the server goes on";
}

TEST_F(BinfheDevices, CallsFromSeveralThreads) {
  const auto first = add("faulty:0"), second = add("faulty:1");
  test::fail_amid_calls(*first, *second);
  const Server two = server();
  const Ciphertexts a = bits(48), b = bits(48);
  const auto want = expected(a, b);
  EXPECT_EQ(test::failed_calls([&] { return nand(two, a, b).data == want; }), 0);
  ASSERT_EQ(two.failed_devices().size(), 1u);
  EXPECT_EQ(two.failed_devices()[0].name, "faulty:1");
  EXPECT_EQ(two.failed_devices()[0].message, "faulty:1: code 999");
}

TEST_F(BinfheDevices, ASmallBatchGoesToOneDevice) {
  const auto first = add("faulty:0"), second = add("faulty:1");
  const Server two = server(10);
  const Ciphertexts a = bits(19), b = bits(19);
  EXPECT_TRUE(nand(two, a, b).data == expected(a, b));
  EXPECT_EQ(first->done + second->done, 19u);
  EXPECT_TRUE(first->done == 0 || second->done == 0);
  const Ciphertexts c = bits(20);
  nand(two, c, c);
  EXPECT_EQ(first->done + second->done, 39u);
  EXPECT_TRUE(first->done >= 10 && second->done >= 10);
  EXPECT_TRUE(nand(two, bits(0), bits(0)).data.empty());
}

TEST_F(BinfheDevices, TablesOfAPieceAreItsOwn) {
  // More tables than a piece has ciphertexts: each piece takes those that it uses.
  const auto script = add("faulty:0");
  script->batch_limit = 7;
  const Server one = server();
  std::vector<Lut> luts;
  for (std::uint32_t f = 0; f < 64; ++f)
    luts.push_back(
        Lut::create(parameters_, {f % 4, f / 4 % 4, f / 16, (f + 1) % 4}, {4, false}, {4, false}));
  const std::size_t count = 100;
  std::vector<std::uint32_t> index(count), m(count), want(count);
  for (std::size_t i = 0; i < count; ++i) {
    index[i] = static_cast<std::uint32_t>(random_.below(luts.size()));
    m[i] = static_cast<std::uint32_t>(random_.below(4));
    want[i] = luts[index[i]].values()[m[i]];
  }
  // All arbitrary or all negacyclic: tables of one call are of one kind.
  std::vector<Lut> arbitrary;
  std::map<std::uint32_t, std::uint32_t> number;
  for (std::uint32_t l = 0; l < luts.size(); ++l) {
    if (luts[l].kind() != LutKind::arbitrary) continue;
    number[l] = static_cast<std::uint32_t>(arbitrary.size());
    arbitrary.push_back(luts[l]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!number.contains(index[i])) index[i] = number.begin()->first;
    want[i] = luts[index[i]].values()[m[i]];
    index[i] = number[index[i]];
  }
  const Ciphertexts c = pair_.client.encrypt(m, {4, false});
  const Ciphertexts out = one.apply(arbitrary, index, c);
  EXPECT_EQ(pair_.client.decrypt(out), want);
  EXPECT_TRUE(out.data == plain_.apply(arbitrary, index, c).data);
}

TEST_F(BinfheDevices, OddNames) {
  for (const char* name : {"cuda:", "cuda:0,0", "cuda:x", "gpu", "cuda:0,", "cuda:-1", "cuda:1 ",
                           "cuda:99999999999", "CPU", "cpu:0", "cuda:all,0"}) {
    SCOPED_TRACE(name);
    test::expect_message<DeviceError>([&] { Server(pair_.keys, {name, 1}); }, {"cuda:all", name});
  }
  EXPECT_THROW(backend::make_device("cuda:0,1"), DeviceError);
  EXPECT_EQ(backend::make_devices("cpu").size(), 1u);
  EXPECT_EQ(backend::make_devices("").size(), 1u);
}

TEST_F(BinfheDevices, WhatIsThereIsListed) {
  const auto devices = list_devices();
  ASSERT_GE(devices.size(), 2u) << "a CPU, and GPUs or why there is none";
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_TRUE(devices[0].usable);
  EXPECT_FALSE(devices[0].description.empty());
  EXPECT_GT(devices[0].memory, devices[0].free_memory);
  EXPECT_GT(devices[0].free_memory, 0u);
  for (std::size_t d = 1; d < devices.size(); ++d) {
    EXPECT_TRUE(devices[d].name.starts_with("cuda") || devices[d].name.starts_with("rtl"));
    if (devices[d].usable) {
      EXPECT_EQ(backend::make_devices(devices[d].name).size(), 1u);
      continue;
    }
    EXPECT_FALSE(devices[d].why.empty());
    EXPECT_THROW(backend::make_devices(devices[d].name), DeviceError);
  }
}

TEST_F(BinfheDevices, RotationIsPassedOn) {
  for (const auto rotation :
       {RotationSchedule::automatic, RotationSchedule::single, RotationSchedule::cluster,
        RotationSchedule::grid, RotationSchedule::shared}) {
    const Server one(pair_.keys, {.device = "cpu", .threads = 1}, {.rotation = rotation});
    EXPECT_EQ(one.rotation(), rotation);
  }
}

}  // namespace
}  // namespace whorl::binfhe
