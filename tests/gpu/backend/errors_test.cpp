// What goes wrong on a GPU: names, memory, every allocation in turn; leaks; threads; several
// devices.
#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/cuda/runtime/stream.h"
#include "gpu/backend/compare.h"
#include "support/binfhe_sets.h"
#include "support/message.h"
#include "whorl/binfhe.h"

namespace whorl {
namespace {

using backend::cuda::fail_allocation;
using binfhe::Ciphertexts;
using binfhe::Gate;
using binfhe::Server;
using binfhe::Transform;

Server server_on(const std::string& device, const test::Pair& pair,
                 Transform transform = Transform::ntt) {
  return Server(pair.keys, {device}, {.transform = transform});
}

/// A set that is quick to make keys for, a pair of inputs and what the CPU makes of them.
struct Nand {
  const test::Pair& pair;
  Ciphertexts a, b;
  std::vector<std::uint32_t> expected;

  explicit Nand(std::size_t count, std::size_t set = 1)
      : pair(test::pair_of(test::varied_sets()[set])),
        a(pair.client.encrypt(std::vector<std::uint32_t>(count, 1))),
        b(pair.client.encrypt(std::vector<std::uint32_t>(count, 0))),
        expected(server_on("cpu", pair).gate(Gate::nand, inputs()).data) {}
  std::array<const Ciphertexts*, 2> inputs() const { return {&a, &b}; }
  std::vector<std::uint32_t> run(const Server& server) const {
    return server.gate(Gate::nand, inputs()).data;
  }
};

std::size_t free_memory() {
  for (const auto& info : list_devices())
    if (info.name == "cuda:0") return info.free_memory;
  return 0;
}

TEST(GpuErrors, DevicesThatAreNotThere) {
  for (const char* name : {"cuda:99", "cuda:0,99", "cuda:-1", "cuda:", "cuda:0,0"}) {
    test::expect_message<DeviceError>([&] { backend::make_devices(name); }, {"cuda"});
  }
}

TEST(GpuErrors, TheListNamesModelAndMemory) {
  const auto devices = list_devices();
  ASSERT_GE(devices.size(), 2u);
  for (const auto& info : devices) {
    if (!info.usable || !info.name.starts_with("cuda")) continue;
    EXPECT_FALSE(info.description.empty());
    EXPECT_GT(info.free_memory, 0u);
    EXPECT_LE(info.free_memory, info.memory);
    EXPECT_NE(backend::make_device(info.name)->name().find(info.name), std::string::npos);
  }
}

TEST(GpuErrors, BuffersAndKeysOfOtherDevices) {
  const auto one = test::cuda(), other = test::cuda();
  const auto cpu = test::cpu();
  const auto& ring = one->ring<std::uint32_t>();
  const math::Modulus<std::uint32_t> q(7681);
  const std::span<const math::Modulus<std::uint32_t>> limb{&q, 1};
  const std::vector<std::uint32_t> zeros(256, 0);
  auto mine = test::put(*one, zeros), theirs = test::put(*other, zeros),
       hosts = test::put(*cpu, zeros);
  using Const = backend::Slice<const std::uint32_t>;
  const Const a = mine.slice(), b = theirs.slice(), c = hosts.slice();
  EXPECT_THROW(ring.add(limb, a, b, mine.slice()), DeviceError);
  EXPECT_THROW(ring.add(limb, c, a, mine.slice()), DeviceError);
  EXPECT_THROW(cpu->ring<std::uint32_t>().add(limb, a, a, hosts.slice()), DeviceError);
  const backend::SwitchShape shape{16, 8, 1 << 14, ring::Gadget(1 << 14, 5, 3), false};
  const auto key = cpu->lwe().prepare_switch_key(
      shape, [](std::size_t, std::span<std::uint64_t> x, std::span<std::uint64_t> y) {
        std::fill(x.begin(), x.end(), 0);
        std::fill(y.begin(), y.end(), 0);
      });
  const auto in = test::put(*one, std::vector<std::uint64_t>(17, 0));
  auto out = one->allocate<std::uint64_t>(9);
  EXPECT_THROW(one->lwe().key_switch<std::uint64_t>(*key, in.slice(), out.slice()), DeviceError);
}

TEST(GpuErrors, ABadLutIndexIsRefusedAtTheCall) {
  test::Random random;
  for (const auto arithmetic : {backend::Arithmetic::ntt, backend::Arithmetic::fft})
    for (const auto way : test::forced_ways) {
      SCOPED_TRACE(test::way_name(way));
      test::RotationCase<std::uint32_t> c({3, 512, 27, 2, {{7, 3}}}, 9, 2, random);
      const auto queue = test::cuda(0, way);
      const auto key = c.prepare(*queue, arithmetic);
      const auto right = c.rotate(*queue, *key, 0, 9);
      const auto good = c.index;
      const std::size_t place = random.below(9);
      c.index[place] = 2 + static_cast<std::uint32_t>(random.below(1u << 31));
      try {
        c.rotate(*queue, *key, 0, 9);
        ADD_FAILURE() << "no error";
      } catch (const ShapeError& error) {
        const std::string due = "ciphertext " + std::to_string(place) + " asks for table " +
                                std::to_string(c.index[place]) + "; it must be below 2";
        EXPECT_NE(std::string(error.what()).find(due), std::string::npos) << error.what();
      }
      c.index = good;
      EXPECT_TRUE(c.rotate(*queue, *key, 0, 9) == right);
    }
}

TEST(GpuErrors, MoreMemoryThanThereIs) {
  const auto queue = test::cuda();
  const std::size_t most = free_memory();
  try {
    queue->allocate<std::uint8_t>(2 * most + (std::size_t{1} << 40));
    ADD_FAILURE() << "allocated more than there is";
  } catch (const OutOfMemoryError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(std::to_string(2 * most + (std::size_t{1} << 40))), std::string::npos)
        << message;
    EXPECT_NE(message.find("free"), std::string::npos) << message;
  }
  const std::vector<std::uint32_t> values = {1, 2, 3};
  EXPECT_EQ(test::get(*queue, test::put(*queue, values)), values);
}

// All streams of a GPU share it: what they keep for themselves is no reason to be short.
TEST(GpuErrors, KeptMemoryComesBackWhereItIsShort) {
  const backend::cuda::Stream one(backend::cuda::describe_gpu(0)),
      other(backend::cuda::describe_gpu(0));
  constexpr std::size_t block = std::size_t{40} << 20;
  for (const auto* stream : {&one, &other}) {
    std::vector<std::shared_ptr<void>> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(stream->allocate_bytes(block));
  }
  // 400 MB are kept. Without them this does not fit.
  const std::size_t all = one.free_memory();
  EXPECT_NE(one.allocate_bytes(all - (std::size_t{200} << 20)), nullptr);
  EXPECT_NE(other.allocate_bytes(block), nullptr);
}

struct Allocations {
  std::size_t made, thrown = 0;
};
/// Lets each allocation of `run` fail in turn, and runs it again after: how many throw.
Allocations fail_each_allocation(const Nand& nand,
                                 const std::function<std::vector<std::uint32_t>()>& run) {
  EXPECT_TRUE(run() == nand.expected);
  fail_allocation(0);
  EXPECT_TRUE(run() == nand.expected);
  Allocations allocations{fail_allocation(0)};
  for (std::size_t k = 1; k <= allocations.made && !testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE("allocation " + std::to_string(k) + " of " + std::to_string(allocations.made));
    fail_allocation(k);
    try {
      // Where a batch can be halved, it is, and the call succeeds.
      EXPECT_TRUE(run() == nand.expected);
    } catch (const OutOfMemoryError& error) {
      ++allocations.thrown;
      EXPECT_NE(std::string(error.what()).find("bytes"), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not OutOfMemoryError: " << error.what();
    }
    fail_allocation(0);
    EXPECT_TRUE(run() == nand.expected) << "the call after";
  }
  return allocations;
}

TEST(GpuErrors, EveryAllocationFailingInTurn) {
  const Nand nand(3);
  const Allocations allocations =
      fail_each_allocation(nand, [&] { return nand.run(server_on("cuda:0", nand.pair)); });
  EXPECT_GT(allocations.made, 5u);
  // Those for keys cannot be done with less.
  EXPECT_GT(allocations.thrown, 0u);
}

TEST(GpuErrors, TheServerGoesOnAfterShortMemory) {
  const Nand nand(1);
  const Server server = server_on("cuda:0", nand.pair);
  // A single ciphertext cannot be halved: the keys leave for it, and come back.
  const Allocations allocations = fail_each_allocation(nand, [&] { return nand.run(server); });
  EXPECT_GT(allocations.made, 0u);
  EXPECT_EQ(allocations.thrown, 0u);
}

// After some cycles, which fill pools and caches, memory must stay where it is, to two of the
// driver's granules of 2 MB: 4 KB a cycle.
TEST(GpuErrors, AThousandServersLeakNothing) {
  const Nand nand(2);
  auto cycles = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Server server = server_on("cuda:0", nand.pair, i % 2 ? Transform::ntt : Transform::fft);
      const auto got = nand.run(server);
      if (i % 2) {
        ASSERT_TRUE(got == nand.expected) << "cycle " << i;
      }
    }
  };
  cycles(20);
  const std::size_t before = free_memory();
  cycles(1000);
  const std::size_t after = free_memory();
  EXPECT_GE(after + (std::size_t{4} << 20), before) << before - after << " bytes are gone";
}

TEST(GpuConcurrency, CallsFromSeveralThreadsOnOneServer) {
  const Nand small(3), large(700);
  const Server server = server_on("cuda:0", small.pair);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Nand& nand = (t + i) % 3 ? small : large;
        try {
          wrong += nand.run(server) != nand.expected;
        } catch (const std::exception&) {
          ++wrong;
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(GpuConcurrency, ServersMadeAndUsedInSeveralThreads) {
  const Nand first(5, 0), second(5, 3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      const Nand& nand = t % 2 ? first : second;
      try {
        for (int i = 0; i < 5; ++i)
          wrong += nand.run(server_on("cuda:0", nand.pair)) != nand.expected;
      } catch (const std::exception&) {
        ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A block that another thread drops is handed out again while work on it may be queued.
TEST(GpuConcurrency, MemoryDroppedByAnotherThread) {
  test::Random random;
  const auto queue = test::cuda();
  const math::Modulus<std::uint32_t> q(998244353);
  std::mutex mutex;
  std::vector<backend::Buffer<std::uint32_t>> unwanted;
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      std::vector<backend::Buffer<std::uint32_t>> taken;
      const std::scoped_lock lock(mutex);
      taken.swap(unwanted);
    }
  });
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    const std::size_t count = 1 + random.below(random.below(2) ? 100 : 100000);
    const std::uint32_t x = static_cast<std::uint32_t>(random.below(1 << 29)),
                        y = static_cast<std::uint32_t>(random.below(1 << 28));
    auto a = test::put(*queue, std::vector<std::uint32_t>(count, x)),
         b = test::put(*queue, std::vector<std::uint32_t>(count, y)),
         sum = queue->allocate<std::uint32_t>(count);
    queue->ring<std::uint32_t>().add({&q, 1}, std::as_const(a).slice(), std::as_const(b).slice(),
                                     sum.slice());
    {
      const std::scoped_lock lock(mutex);
      unwanted.push_back(std::move(a));
      unwanted.push_back(std::move(b));
    }
    const auto got = test::get(*queue, sum);
    EXPECT_TRUE(std::all_of(got.begin(), got.end(), [&](auto z) { return z == x + y; })) << i;
  }
  over = true;
  other.join();
}

// Values travel CPU -> GPU -> CPU -> another queue of the GPU unchanged, at sizes around a staging
// piece of 4 MB.
TEST(GpuTransfers, MovingBetweenDevices) {
  test::Random random;
  const test::Two two;
  const auto other = two.gpu->device().open();
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20,
        (std::size_t{1} << 20) + 1, (std::size_t{5} << 20) + 7}) {
    const auto values = random.residues<std::uint32_t>(count, 1ULL << 32);
    const auto there = test::put(*two.gpu, test::get(*two.cpu, test::put(*two.cpu, values)));
    const auto back = test::get(*two.gpu, there);
    ASSERT_TRUE(back == values) << count;
    ASSERT_TRUE(test::get(*other, test::put(*other, back)) == values) << count;
    if (count > 0) {
      EXPECT_THROW(test::get(*other, there), DeviceError);
    }
  }
}

}  // namespace
}  // namespace whorl
