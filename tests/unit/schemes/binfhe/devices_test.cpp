// Servers on several devices: order, bits, failures, short memory, interrupts. Two CPUs and devices
// that fail on command stand for GPUs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "schemes/binfhe/server_on_devices.h"
#include "support/binfhe_sets.h"
#include "support/random.h"
#include "support/targets.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

using backend::Buffer;
using backend::Device;
using backend::Slice;

/// How a FaultyDevice behaves, and what was seen of it; shared by its siblings.
struct Script {
  std::string name = "faulty:0";
  unsigned queues = 1;
  std::size_t batch_limit = 512;
  /// Blind rotations of more ciphertexts than this are OutOfMemoryError.
  std::atomic<std::size_t> memory = SIZE_MAX;
  /// The k-th blind rotation from now on (1: the next) and all after it throw DeviceError; 0: none.
  std::atomic<int> fails_in = 0;
  std::atomic<bool> lost = false;
  /// The k-th download from now on is OutOfMemoryError; 0: none.
  std::atomic<int> download_fails_in = 0;
  std::chrono::microseconds pause{0};  ///< for each ciphertext rotated

  std::mutex mutex;
  std::vector<std::size_t> pieces;  ///< sizes of the blind rotations done
  std::atomic<std::size_t> rotated = 0;
  std::atomic<int> siblings = 0;
  std::atomic<int> in_flight = 0, most_in_flight = 0;  ///< results not yet downloaded
};

/// Forwards the contract to a CPU; its own buffers hold the CPU's.
class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, std::shared_ptr<Script> script)
      : inner_(std::move(inner)), script_(std::move(script)) {}

  std::string name() const override { return script_->name; }
  unsigned threads() const override { return inner_->threads(); }
  std::unique_ptr<Device> sibling() const override {
    ++script_->siblings;
    return std::make_unique<FaultyDevice>(inner_->sibling(), script_);
  }
  unsigned queues() const override { return script_->queues; }
  std::size_t batch_limit(std::size_t) const override { return script_->batch_limit; }

  void wait() const override { inner_->wait(); }
  void ntt(backend::NttPlans<std::uint32_t> p, Slice<std::uint32_t> d) const override {
    inner_->ntt(p, of(d));
  }
  void ntt(backend::NttPlans<std::uint64_t> p, Slice<std::uint64_t> d) const override {
    inner_->ntt(p, of(d));
  }
  void intt(backend::NttPlans<std::uint32_t> p, Slice<std::uint32_t> d) const override {
    inner_->intt(p, of(d));
  }
  void intt(backend::NttPlans<std::uint64_t> p, Slice<std::uint64_t> d) const override {
    inner_->intt(p, of(d));
  }
  void fft(const ring::FftPlan& plan, Slice<const double> in,
           Slice<std::complex<double>> out) const override {
    inner_->fft(plan, of(in), of(out));
  }
  void ifft(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
            Slice<double> out) const override {
    inner_->ifft(plan, of(in), of(out));
  }
#define WHORL_FORWARD(Word)                                                                        \
  void add(backend::Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)     \
      const override {                                                                             \
    inner_->add(q, of(a), of(b), of(out));                                                         \
  }                                                                                                \
  void sub(backend::Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)     \
      const override {                                                                             \
    inner_->sub(q, of(a), of(b), of(out));                                                         \
  }                                                                                                \
  void neg(backend::Moduli<Word> q, Slice<const Word> a, Slice<Word> out) const override {         \
    inner_->neg(q, of(a), of(out));                                                                \
  }                                                                                                \
  void mul(backend::Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out)     \
      const override {                                                                             \
    inner_->mul(q, of(a), of(b), of(out));                                                         \
  }                                                                                                \
  void mul_add(backend::Moduli<Word> q, Slice<const Word> a, Slice<const Word> b, Slice<Word> out) \
      const override {                                                                             \
    inner_->mul_add(q, of(a), of(b), of(out));                                                     \
  }                                                                                                \
  void mul_scalar(backend::Moduli<Word> q, Slice<const Word> a, std::span<const Word> scalars,     \
                  Slice<Word> out) const override {                                                \
    inner_->mul_scalar(q, of(a), scalars, of(out));                                                \
  }                                                                                                \
  void automorphism(backend::Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation,    \
                    Slice<const Word> a, Slice<Word> out) const override {                         \
    inner_->automorphism(q, N, g, evaluation, of(a), of(out));                                     \
  }                                                                                                \
  bool all_below(backend::Moduli<Word> q, Slice<const Word> a) const override {                    \
    return inner_->all_below(q, of(a));                                                            \
  }                                                                                                \
  void take(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,               \
            Slice<const Word> in, std::size_t first, Slice<Word> out) const override {             \
    inner_->take(rows, N, index, of(in), first, of(out));                                          \
  }                                                                                                \
  std::unique_ptr<backend::RotationKey> prepare_rotation_key(                                      \
      const backend::RotationShape& shape, const backend::RowSource<Word>& rows) const override {  \
    return inner_->prepare_rotation_key(shape, rows);                                              \
  }                                                                                                \
  void blind_rotate(const backend::RotationKey& key, Slice<const std::uint32_t> lwe,               \
                    Slice<const Word> luts, Slice<const std::uint32_t> index, Slice<Word> out)     \
      const override {                                                                             \
    before_rotation(index.size);                                                                   \
    inner_->blind_rotate(key, of(lwe), of(luts), of(index), of(out));                              \
  }                                                                                                \
  void blind_rotate_extract(const backend::RotationKey& key, Slice<const std::uint32_t> lwe,       \
                            Slice<const Word> luts, Slice<const std::uint32_t> index,              \
                            std::uint64_t constant, Slice<Word> out) const override {              \
    before_rotation(index.size);                                                                   \
    inner_->blind_rotate_extract(key, of(lwe), of(luts), of(index), constant, of(out));            \
  }                                                                                                \
  void sample_extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant,                    \
                      Slice<const Word> rlwe, Slice<Word> out) const override {                    \
    inner_->sample_extract(Q, N, constant, of(rlwe), of(out));                                     \
  }                                                                                                \
  std::unique_ptr<backend::RnsTables<Word>> prepare_rns(                                           \
      std::shared_ptr<const ring::RnsPlan<Word>> plan, std::uint64_t t) const override {           \
    return inner_->prepare_rns(std::move(plan), t);                                                \
  }                                                                                                \
  std::unique_ptr<backend::RnsSwitchKey<Word>> prepare_rns_key(                                    \
      const backend::RnsTables<Word>& tables, const backend::RnsRowSource<Word>& rows)             \
      const override {                                                                             \
    return inner_->prepare_rns_key(tables, rows);                                                  \
  }                                                                                                \
  void rns_ntt(const backend::RnsTables<Word>& tables, unsigned limbs, bool special,               \
               std::size_t parts, Slice<Word> data) const override {                               \
    inner_->rns_ntt(tables, limbs, special, parts, of(data));                                      \
  }                                                                                                \
  void rns_intt(const backend::RnsTables<Word>& tables, unsigned limbs, bool special,              \
                std::size_t parts, Slice<Word> data) const override {                              \
    inner_->rns_intt(tables, limbs, special, parts, of(data));                                     \
  }                                                                                                \
  void base_convert(const ring::BaseConversion<Word>& conversion, std::uint32_t N,                 \
                    Slice<const Word> in, Slice<Word> out) const override {                        \
    inner_->base_convert(conversion, N, of(in), of(out));                                          \
  }                                                                                                \
  void mod_up(const backend::RnsTables<Word>& tables, unsigned limbs, Slice<const Word> in,        \
              Slice<Word> out) const override {                                                    \
    inner_->mod_up(tables, limbs, of(in), of(out));                                                \
  }                                                                                                \
  void inner_product(const backend::RnsSwitchKey<Word>& key,                                       \
                     const backend::RnsTables<Word>& tables, unsigned limbs, std::uint32_t g,      \
                     Slice<const Word> digits, Slice<Word> out) const override {                   \
    inner_->inner_product(key, tables, limbs, g, of(digits), of(out));                             \
  }                                                                                                \
  void mod_down(const backend::RnsTables<Word>& tables, unsigned limbs, std::size_t parts,         \
                Slice<const Word> in, Slice<const Word> added, std::uint32_t g, Slice<Word> out)   \
      const override {                                                                             \
    inner_->mod_down(tables, limbs, parts, of(in), of(added), g, of(out));                         \
  }                                                                                                \
  void rescale(const backend::RnsTables<Word>& tables, unsigned limbs, std::size_t parts,          \
               Slice<const Word> in, Slice<Word> out) const override {                             \
    inner_->rescale(tables, limbs, parts, of(in), of(out));                                        \
  }                                                                                                \
  void tensor(const backend::RnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,         \
              Slice<const Word> x, std::size_t b_parts, Slice<const Word> y, Slice<Word> out)      \
      const override {                                                                             \
    inner_->tensor(tables, limbs, a_parts, of(x), b_parts, of(y), of(out));                        \
  }
  WHORL_FORWARD(std::uint32_t)
  WHORL_FORWARD(std::uint64_t)
#undef WHORL_FORWARD
#define WHORL_FORWARD(In, Out)                                                          \
  void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, bool mean, \
                      Slice<const In> in, Slice<Out> out) const override {              \
    inner_->modulus_switch(from, to, row, mean, of(in), of(out));                       \
  }
  WHORL_FORWARD(std::uint32_t, std::uint32_t)
  WHORL_FORWARD(std::uint32_t, std::uint64_t)
  WHORL_FORWARD(std::uint64_t, std::uint64_t)
  WHORL_FORWARD(std::uint64_t, std::uint32_t)
#undef WHORL_FORWARD
  std::unique_ptr<backend::SwitchKey> prepare_switch_key(
      const backend::SwitchShape& shape,
      const backend::SwitchRows<std::uint16_t>& rows) const override {
    return inner_->prepare_switch_key(shape, rows);
  }
  std::unique_ptr<backend::SwitchKey> prepare_switch_key(
      const backend::SwitchShape& shape,
      const backend::SwitchRows<std::uint32_t>& rows) const override {
    return inner_->prepare_switch_key(shape, rows);
  }
  std::unique_ptr<backend::SwitchKey> prepare_switch_key(
      const backend::SwitchShape& shape,
      const backend::SwitchRows<std::uint64_t>& rows) const override {
    return inner_->prepare_switch_key(shape, rows);
  }
  void lwe_key_switch(const backend::SwitchKey& key, Slice<const std::uint64_t> in,
                      Slice<std::uint64_t> out) const override {
    inner_->lwe_key_switch(key, of(in), of(out));
    const int now = ++script_->in_flight;
    int most = script_->most_in_flight;
    while (now > most && !script_->most_in_flight.compare_exchange_weak(most, now)) {
    }
  }
  void lwe_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                  std::span<const Slice<const std::uint32_t>> in, std::uint64_t constant,
                  Slice<std::uint32_t> out) const override {
    std::vector<Slice<const std::uint32_t>> inner;
    for (const auto& slice : in) inner.push_back(of(slice));
    inner_->lwe_linear(q, row, weights, inner, constant, of(out));
  }

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    auto held = std::make_shared<Buffer<std::uint8_t>>(inner_->allocate<std::uint8_t>(bytes));
    return {held, held->slice().data};
  }
  void copy_in(const void* host, void* device, std::size_t bytes) const override {
    inner_->upload<std::uint8_t>({static_cast<const std::uint8_t*>(host), bytes},
                                 {static_cast<std::uint8_t*>(device), bytes, inner_.get()});
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    if (script_->download_fails_in > 0 && --script_->download_fails_in == 0)
      throw OutOfMemoryError(name() + ": no pinned memory for " + std::to_string(bytes) + " bytes");
    inner_->download<std::uint8_t>({static_cast<const std::uint8_t*>(device), bytes, inner_.get()},
                                   {static_cast<std::uint8_t*>(host), bytes});
    --script_->in_flight;
  }

 private:
  template <class T>
  Slice<T> of(const Slice<T>& slice) const {
    check(slice);
    return {slice.data, slice.size, inner_.get()};
  }
  void before_rotation(std::size_t count) const {
    if (script_->fails_in > 0 && --script_->fails_in == 0) script_->lost = true;
    if (script_->lost) throw DeviceError(name() + ": code 999");
    if (count > script_->memory)
      throw OutOfMemoryError(name() + ": no memory for " + std::to_string(count) + " ciphertexts");
    std::this_thread::sleep_for(script_->pause * count);
    const std::scoped_lock lock(script_->mutex);
    script_->pieces.push_back(count);
    script_->rotated += count;
  }

  std::unique_ptr<Device> inner_;
  std::shared_ptr<Script> script_;
};

class BinfheDevices : public ::testing::Test {
 protected:
  std::shared_ptr<Script> add(const std::string& name, unsigned threads = 1) {
    auto script = std::make_shared<Script>();
    script->name = name;
    devices_.push_back(std::make_unique<FaultyDevice>(
        backend::make_device("cpu", {threads, interrupt_, {}}), script));
    return script;
  }
  void add_cpu(unsigned threads = 1) {
    devices_.push_back(backend::make_device("cpu", {threads, interrupt_, {}}));
  }
  /// A server on the devices added so far.
  Server server(std::size_t least_share = 1) {
    ServerOptions options;
    options.interrupt = interrupt_;
    options.transform = Transform::ntt;
    return ServerOnDevices::make(pair_.keys, std::move(devices_), options, least_share);
  }
  Ciphertexts bits(std::size_t count) {
    std::vector<std::uint32_t> m(count);
    for (auto& b : m) b = static_cast<std::uint32_t>(random_.below(2));
    return pair_.client.encrypt(m);
  }
  Ciphertexts nand(const Server& server, const Ciphertexts& a, const Ciphertexts& b) const {
    const Ciphertexts* in[] = {&a, &b};
    return server.gate(Gate::nand, in);
  }
  std::vector<std::uint32_t> expected(const Ciphertexts& a, const Ciphertexts& b) const {
    return nand(plain_, a, b).data;
  }

  test::Random random_;
  const Parameters parameters_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(parameters_);
  const Server plain_{pair_.keys, {"cpu", 2, Transform::ntt, {}}};
  std::function<bool()> interrupt_;
  std::vector<std::unique_ptr<Device>> devices_;
};

TEST_F(BinfheDevices, EveryOperationGivesTheSameBits) {
  const std::size_t count = 90 + random_.below(40);
  const Ciphertexts a = bits(count), b = bits(count), c = bits(count);
  const std::vector<Lut> luts = {Lut::create(parameters_, {0, 1, 2, 3}, {4, false}, {4, false}),
                                 Lut::create(parameters_, {3, 1, 1, 2}, {4, false}, {4, false})};
  std::vector<std::uint32_t> index(count);
  for (auto& i : index) i = static_cast<std::uint32_t>(random_.below(2));
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
      for (const auto& script : scripts) {
        EXPECT_GT(script->rotated, 0u);
        for (const std::size_t size : script->pieces) EXPECT_LE(size, script->batch_limit);
      }
      EXPECT_TRUE(several.failed_devices().empty());
    }
  }
}

TEST_F(BinfheDevices, PiecesCoverTheBatchEvenly) {
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t begin = random_.below(1000), count = random_.below(20000),
                      limit = 1 + random_.below(10000);
    const unsigned queues = 1 + static_cast<unsigned>(random_.below(3));
    const auto pieces = pieces_of({begin, count}, limit, queues);
    std::size_t at = begin, least = SIZE_MAX, most = 0;
    for (const Range& piece : pieces) {
      ASSERT_EQ(piece.begin, at);
      at += piece.count;
      least = std::min(least, piece.count);
      most = std::max(most, piece.count);
    }
    ASSERT_EQ(at, begin + count);
    if (pieces.empty()) continue;
    EXPECT_LE(most, limit);
    EXPECT_LE(most - least, 1u);
    if (count >= 2048 * queues) {
      EXPECT_GE(pieces.size(), queues);
    } else {
      EXPECT_EQ(pieces.size(), (count + limit - 1) / limit);
    }
  }
  EXPECT_EQ(pieces_of({0, 4096}, 1 << 20, 2).size(), 2u);
  EXPECT_EQ(pieces_of({0, 4095}, 1 << 20, 2).size(), 1u);
  EXPECT_EQ(pieces_of({0, 65536}, 1 << 20, 2).size(), 2u);
  EXPECT_EQ(pieces_of({0, 3}, 0, 2).size(), 3u);
}

TEST_F(BinfheDevices, QueuesAreInFlightTogether) {
  const auto script = add("faulty:0");
  script->queues = 2;
  script->batch_limit = 10;
  const Server one = server();
  const Ciphertexts a = bits(50), b = bits(50);
  EXPECT_TRUE(nand(one, a, b).data == expected(a, b));
  EXPECT_EQ(script->pieces.size(), 5u);
  EXPECT_EQ(script->most_in_flight, 2);
  EXPECT_EQ(script->in_flight, 0);
  EXPECT_EQ(script->siblings, 1);
  nand(one, a, b);
  EXPECT_EQ(script->siblings, 1) << "queues are kept";
}

TEST_F(BinfheDevices, ASmallBatchGoesToOneDevice) {
  const auto first = add("faulty:0"), second = add("faulty:1");
  const Server two = server(10);
  const Ciphertexts a = bits(19), b = bits(19);
  EXPECT_TRUE(nand(two, a, b).data == expected(a, b));
  EXPECT_EQ(first->rotated + second->rotated, 19u);
  EXPECT_TRUE(first->rotated == 0 || second->rotated == 0);
  const Ciphertexts c = bits(20);
  nand(two, c, c);
  EXPECT_EQ(first->rotated + second->rotated, 39u);
  EXPECT_TRUE(first->rotated >= 10 && second->rotated >= 10);
  EXPECT_TRUE(nand(two, bits(0), bits(0)).data.empty());
}

TEST_F(BinfheDevices, SharesFollowMeasuredSpeed) {
  const auto slow = add("slow"), fast = add("fast");
  slow->pause = std::chrono::microseconds(20000);  // far above the work itself
  fast->pause = std::chrono::microseconds(1000);
  const Server two = server(8);
  const Ciphertexts a = bits(16);
  nand(two, a, a);
  EXPECT_EQ(slow->rotated, 8u) << "equal at first";
  for (int i = 0; i < 4; ++i) nand(two, a, a);
  const std::size_t before = slow->rotated;
  nand(two, a, a);
  const std::size_t share = slow->rotated - before;
  EXPECT_LT(share, 7u);
}

TEST_F(BinfheDevices, OneThatFailsIsNamedAndReplaced) {
  for (const int k : {1, 2, 4}) {
    SCOPED_TRACE(k);
    const auto bad = add("faulty:0"), good = add("faulty:1");
    add_cpu();
    bad->batch_limit = 5;
    bad->queues = 2;
    bad->fails_in = k;
    const Server three = server();
    const std::size_t count = 60 + random_.below(20);
    const Ciphertexts a = bits(count), b = bits(count);
    EXPECT_TRUE(nand(three, a, b).data == expected(a, b));
    ASSERT_EQ(three.failed_devices().size(), 1u);
    EXPECT_EQ(three.failed_devices()[0].name, "faulty:0");
    EXPECT_EQ(three.failed_devices()[0].message, "faulty:0: code 999");
    bad->lost = false;  // it is not asked again
    const std::size_t rotated = bad->rotated;
    EXPECT_TRUE(nand(three, a, b).data == expected(a, b));
    EXPECT_EQ(bad->rotated, rotated);
    EXPECT_EQ(three.failed_devices().size(), 1u);
    good->fails_in = 1;
    EXPECT_TRUE(nand(three, b, a).data == expected(b, a));
    ASSERT_EQ(three.failed_devices().size(), 2u);
    EXPECT_EQ(three.failed_devices()[1].name, "faulty:1");
  }
}

TEST_F(BinfheDevices, AllThatFailAreNamed) {
  const auto first = add("faulty:0"), second = add("faulty:1");
  first->fails_in = second->fails_in = 1;
  const Server two = server();
  const Ciphertexts a = bits(20);
  for (int repeat = 0; repeat < 2; ++repeat) {
    try {
      nand(two, a, a);
      FAIL() << "no error";
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("faulty:0: code 999"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("faulty:1: code 999"), std::string::npos);
    }
    EXPECT_EQ(two.failed_devices().size(), 2u);
  }
}

TEST_F(BinfheDevices, ASingleDeviceMayRecover) {
  const auto only = add("faulty:0");
  only->fails_in = 1;
  const Server one = server();
  const Ciphertexts a = bits(20);
  EXPECT_THROW(nand(one, a, a), DeviceError);
  EXPECT_TRUE(one.failed_devices().empty());
  only->lost = false;
  EXPECT_TRUE(nand(one, a, a).data == expected(a, a));
}

TEST_F(BinfheDevices, ShortMemoryHalvesPieces) {
  for (const unsigned queues : {1u, 2u}) {
    for (const std::size_t memory : {1u, 7u, 30u}) {
      SCOPED_TRACE(std::to_string(queues) + " queues, memory for " + std::to_string(memory));
      const auto script = add("faulty:0");
      script->queues = queues;
      script->batch_limit = 64;
      script->memory = memory;
      const Server one = server();
      const Ciphertexts a = bits(100), b = bits(100);
      EXPECT_TRUE(nand(one, a, b).data == expected(a, b));
      EXPECT_EQ(script->rotated, 100u);
      for (const std::size_t size : script->pieces) EXPECT_LE(size, memory);
      script->memory = 0;
      EXPECT_THROW(nand(one, a, b), OutOfMemoryError);
      script->memory = 1000;
      EXPECT_TRUE(nand(one, a, b).data == expected(a, b)) << "the server goes on";
      // Short where results are fetched: the piece is done again.
      script->download_fails_in = 1;
      EXPECT_TRUE(nand(one, a, b).data == expected(a, b));
    }
  }
}

TEST_F(BinfheDevices, ShortMemoryOnOneOfSeveral) {
  const auto small = add("faulty:0"), large = add("faulty:1");
  small->memory = 0;
  const Server two = server();
  const Ciphertexts a = bits(40), b = bits(40);
  EXPECT_TRUE(nand(two, a, b).data == expected(a, b));
  EXPECT_EQ(large->rotated, 40u);
  EXPECT_TRUE(two.failed_devices().empty()) << "memory may come back";
  large->memory = 0;
  EXPECT_THROW(nand(two, a, b), OutOfMemoryError);
  small->memory = large->memory = 1000;
  EXPECT_TRUE(nand(two, a, b).data == expected(a, b));
}

TEST_F(BinfheDevices, CallsFromSeveralThreads) {
  const auto first = add("faulty:0"), second = add("faulty:1");
  for (const auto& script : {first, second}) {
    script->queues = 2;
    script->batch_limit = 6;
  }
  second->fails_in = 9;  // in the midst of it
  const Server two = server();
  const Ciphertexts a = bits(48), b = bits(48);
  const auto want = expected(a, b);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 4; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < 4; ++i) wrong += nand(two, a, b).data != want;
      });
  }
  EXPECT_EQ(wrong, 0);
  ASSERT_EQ(two.failed_devices().size(), 1u);
  EXPECT_EQ(two.failed_devices()[0].name, "faulty:1");
  EXPECT_LE(first->siblings, 8) << "queues are made for calls that meet, not for each call";
}

TEST_F(BinfheDevices, InterruptIsPolledFromTheCallingThread) {
  std::atomic<bool> stop = false;
  std::atomic<int> elsewhere = 0;
  const std::thread::id here = std::this_thread::get_id();
  interrupt_ = scheduled([&] {
    elsewhere += std::this_thread::get_id() != here;
    return stop.load();
  });
  const auto first = add("faulty:0"), second = add("faulty:1");
  for (const auto& script : {first, second}) {
    script->batch_limit = 1;
    script->pause = std::chrono::microseconds(20000);
  }
  const Server two = server();
  const Ciphertexts a = bits(100);
  std::jthread soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_THROW(nand(two, a, a), InterruptedError);
  EXPECT_LT(first->rotated + second->rotated, 100u) << "stopped between pieces";
  stop = false;
  first->pause = second->pause = std::chrono::microseconds(0);
  EXPECT_TRUE(nand(two, a, a).data == expected(a, a));
  EXPECT_EQ(elsewhere, 0);
  interrupt_ = nullptr;
}

TEST_F(BinfheDevices, InterruptThatThrows) {
  std::atomic<bool> stop = false;
  struct Mine {};
  interrupt_ = scheduled([&]() -> bool {
    if (stop) throw Mine();
    return false;
  });
  const auto first = add("faulty:0"), second = add("faulty:1");
  first->batch_limit = second->batch_limit = 1;
  first->pause = second->pause = std::chrono::microseconds(5000);
  const Server two = server();
  const Ciphertexts a = bits(60);
  stop = true;
  EXPECT_THROW(nand(two, a, a), Mine);
  stop = false;
  EXPECT_TRUE(nand(two, a, a).data == expected(a, a));
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
    try {
      Server(pair_.keys, {name, 1, {}, {}});
      FAIL() << "no error";
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("cuda:all"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(backend::make_device("cuda:0,1"), DeviceError);
  EXPECT_EQ(backend::make_devices("cpu").size(), 1u);
  EXPECT_EQ(backend::make_devices("").size(), 1u);
}

TEST_F(BinfheDevices, WhatIsThereIsListed) {
  const auto devices = backend::list_devices();
  ASSERT_GE(devices.size(), 2u) << "a CPU, and GPUs or why there is none";
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_TRUE(devices[0].usable);
  EXPECT_FALSE(devices[0].description.empty());
  EXPECT_GT(devices[0].memory, devices[0].free_memory);
  EXPECT_GT(devices[0].free_memory, 0u);
  for (std::size_t d = 1; d < devices.size(); ++d) {
    EXPECT_EQ(devices[d].name.find("cuda"), 0u);
    if (devices[d].usable) {
      EXPECT_EQ(backend::make_devices(devices[d].name).size(), 1u);
      continue;
    }
    EXPECT_FALSE(devices[d].why.empty());
    EXPECT_THROW(backend::make_devices(devices[d].name), DeviceError);
  }
}

TEST_F(BinfheDevices, RotationIsPassedOn) {
  for (const auto rotation : {RotationSchedule::automatic, RotationSchedule::single,
                              RotationSchedule::cluster, RotationSchedule::shared}) {
    const Server one(pair_.keys, {"cpu", 1, {}, {}, rotation});
    EXPECT_EQ(one.rotation(), rotation);
  }
}

}  // namespace
}  // namespace whorl::binfhe
