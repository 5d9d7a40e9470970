// Operations that belong together (backend::together): kernels that are launched as one, graphs
// that are used again with other arguments, and what may happen in between.
#include <random>
#include <thread>

#include "backend/cuda/runtime/launch_queue.h"
#include "backend/cuda/runtime/stream.h"
#include "gpu/backend/compare.h"
#include "gpu/backend/rns_compare.h"

namespace whorl::test {
namespace {

using U32 = std::uint32_t;
using backend::cuda::LaunchQueue;

/// Adds y to what is there, so many times: as many launches.
struct Adding {
  math::Modulus<U32> q{998244353};
  void operator()(const backend::Queue& queue, backend::Buffer<U32>& sum,
                  const backend::Buffer<U32>& y, std::size_t times) const {
    for (std::size_t i = 0; i < times; ++i)
      queue.ring<U32>().add({&q, 1}, std::as_const(sum).slice(), y.slice(), sum.slice());
  }
  U32 expected(U32 x, U32 y, std::size_t times) const {
    return q.add(x, q.mul(y, q.reduce(static_cast<U32>(times))));
  }
};

// Key switching of other values and other places in memory each time: the first is launched kernel
// by kernel, the second makes the graph, the others set its arguments anew.
TEST(GpuTogether, SmallKeySwitchesAgainAndAgain) {
  Random random;
  const Two two;
  for (const U32 N : {1u << 9, 1u << 13}) {
    const auto plan = random_rns_plan<U32>(N, 4, 2, 2, random);
    const RnsKeyRows<U32> key(*plan, random);
    const std::size_t rows = 6, digits = 2;
    const ring::Basis level = plan->level(4);
    const auto run = [&](const backend::Queue& queue, const backend::RnsTables<U32>& tables,
                         const backend::RnsSwitchKey<U32>& with, const std::vector<U32>& a, U32 g) {
      const auto x = put(queue, a);
      const auto& ops = queue.rns<U32>();
      auto out = queue.allocate<U32>(2 * 4 * N);
      backend::together(queue, [&] {
        auto raised = queue.allocate<U32>(digits * rows * N),
             sums = queue.allocate<U32>(2 * rows * N);
        ops.extend(tables, level, plan->key_layout().digits, plan->all(), ring::Lift::exact,
                   x.slice().part(4 * N, 4 * N), raised.slice());
        ops.inner_product(with, tables, level, g, std::as_const(raised).slice(), sums.slice());
        ops.divide(tables, plan->all(), level, 65537, 2, std::as_const(sums).slice(),
                   x.slice().part(0, 4 * N), g, out.slice());
      });
      return get(queue, out);
    };
    const auto& cpu = two.cpu->rns<U32>();
    const auto& gpu = two.gpu->rns<U32>();
    const auto cpu_tables = cpu.prepare(plan), gpu_tables = gpu.prepare(plan);
    const auto cpu_key = cpu.prepare_key(*cpu_tables, key.source()),
               gpu_key = gpu.prepare_key(*gpu_tables, key.source());
    std::vector<backend::Buffer<U32>> elsewhere;  // moves what is allocated next
    for (int i = 0; i < 6; ++i) {
      const auto a = random_rows(*plan, level, 2, 1, random);
      const auto g = static_cast<U32>(2 * random.below(N) + 1);
      EXPECT_EQ(run(*two.gpu, *gpu_tables, *gpu_key, a, g),
                run(*two.cpu, *cpu_tables, *cpu_key, a, g))
          << "N = " << N << ", time " << i;
      elsewhere.push_back(two.gpu->allocate<U32>((2 + i) * 4 * N));
    }
  }
}

/// x, then for each bit of `pattern` plus or minus y, in one operation.
U32 add_or_subtract(const backend::Queue& queue, unsigned pattern, unsigned bits, std::size_t size,
                    U32 x, U32 y) {
  const Adding add;
  auto sum = put(queue, std::vector<U32>(size, x));
  const auto by = put(queue, std::vector<U32>(size, y));
  backend::together(queue, [&] {
    for (unsigned k = 0; k < bits; ++k)
      pattern >> k & 1
          ? queue.ring<U32>().sub({&add.q, 1}, std::as_const(sum).slice(), by.slice(), sum.slice())
          : queue.ring<U32>().add({&add.q, 1}, std::as_const(sum).slice(), by.slice(), sum.slice());
  });
  const auto got = get(queue, sum);
  EXPECT_EQ(got, std::vector<U32>(size, got[0])) << pattern;
  return got[0];
}

// More sequences than graphs are kept, several times each, so that graphs are dropped and made
// again; with other sizes of the same kernels; by two queues at a time.
TEST(GpuTogether, SmallSequencesOfManyKinds) {
  const auto run = [](const backend::Queue& queue, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Adding add;
    constexpr unsigned bits = 7;
    for (int pass = 0; pass < 2; ++pass)
      for (unsigned pattern = 0; pattern < LaunchQueue::most_graphs + 20; ++pattern)
        for (int again = 0; again < 3; ++again) {
          const auto x = static_cast<U32>(random() % add.q.value()),
                     y = static_cast<U32>(random() % add.q.value());
          const std::size_t size = 1 + random() % (again == 1 ? 100000 : 1000);
          U32 expected = x;
          for (unsigned k = 0; k < bits; ++k)
            expected = pattern >> k & 1 ? add.q.sub(expected, y) : add.q.add(expected, y);
          EXPECT_EQ(add_or_subtract(queue, pattern, bits, size, x, y), expected) << pattern;
        }
  };
  const auto queue = cuda();
  const auto other = queue->device().open();
  std::thread beside([&] { run(*other, 1); });
  run(*queue, 2);
  beside.join();
}

// Scopes have every length up to beyond what is launched at once, in scopes within scopes.
TEST(GpuTogether, SmallSequencesOfManyLengths) {
  Random random;
  const auto queue = cuda();
  const Adding add;
  for (std::size_t times = 0; times <= 3 * LaunchQueue::most + 5; times += 1 + times / 8)
    for (int again = 0; again < 4; ++again) {
      const auto x = static_cast<U32>(random.below(add.q.value())),
                 y = static_cast<U32>(random.below(add.q.value()));
      auto sum = put(*queue, std::vector<U32>(1000, x));
      const auto by = put(*queue, std::vector<U32>(1000, y));
      backend::together(*queue, [&] {
        add(*queue, sum, by, times / 2);
        backend::together(*queue, [&] { add(*queue, sum, by, times - times / 2); });
      });
      EXPECT_EQ(get(*queue, sum), std::vector<U32>(1000, add.expected(x, y, times))) << times;
    }
}

// Downloads, uploads, waits and errors in the midst.
TEST(GpuTogether, SmallInterruptions) {
  const auto queue = cuda();
  const Adding add;
  for (int again = 0; again < 3; ++again) {
    auto sum = put(*queue, std::vector<U32>(5000, 1));
    const auto by = put(*queue, std::vector<U32>(5000, 2));
    const auto got = backend::together(*queue, [&] {
      add(*queue, sum, by, 3);
      EXPECT_EQ(get(*queue, sum), std::vector<U32>(5000, 7));
      add(*queue, sum, by, 2);
      queue->upload(std::span<const U32>(std::vector<U32>(2500, 100)), sum.slice().part(0, 2500));
      add(*queue, sum, by, 2);
      queue->wait();
      EXPECT_THROW(
          queue->ring<U32>().add({&add.q, 1}, by.slice(), by.slice().part(0, 10), sum.slice()),
          ShapeError);
      add(*queue, sum, by, 1);
      return get(*queue, sum);
    });
    EXPECT_EQ(got[0], 106u);
    EXPECT_EQ(got[4999], 17u);
  }
  auto sum = put(*queue, std::vector<U32>(5000, 1));
  const auto by = put(*queue, std::vector<U32>(5000, 2));
  EXPECT_THROW(backend::together(*queue,
                                 [&] {
                                   add(*queue, sum, by, 4);
                                   throw ShapeError("of whoever calls");
                                 }),
               ShapeError);
  EXPECT_EQ(get(*queue, sum), std::vector<U32>(5000, 9)) << "what was begun is done";
}

// What is dropped before its kernels are launched is still theirs: another queue that takes memory
// of that size does not get it, be it a kept block, which a lack of memory gives back, or one too
// large to be kept.
TEST(GpuTogether, MemoryDroppedBeforeItsKernelsAreLaunched) {
  const auto queue = cuda();
  const auto other = queue->device().open();
  const Adding add;
  for (const std::size_t count : {std::size_t{3} << 20, std::size_t{18} << 20}) {
    const std::vector<U32> ones(count, 1);
    auto sum = queue->allocate<U32>(count);
    std::vector<backend::Buffer<U32>> taken;
    backend::together(*queue, [&] {
      const auto ten = put(*queue, std::vector<U32>(count, 10));
      {
        auto dropped = queue->allocate<U32>(count);
        queue->ring<U32>().add({&add.q, 1}, ten.slice(), ten.slice(), dropped.slice());
        queue->ring<U32>().add({&add.q, 1}, std::as_const(dropped).slice(), ten.slice(),
                               sum.slice());
      }
      backend::cuda::fail_allocation(1);  // as if memory were short
      EXPECT_THROW(other->allocate<U32>(count), OutOfMemoryError);
      backend::cuda::fail_allocation(0);
      for (int i = 0; i < 4; ++i) taken.push_back(put(*other, ones));
      other->wait();
    });
    EXPECT_EQ(get(*queue, sum), std::vector<U32>(count, 30)) << count;
    for (const auto& each : taken) EXPECT_TRUE(get(*other, each) == ones) << count;
  }
}

// Each allocation failing in turn, within an operation: a named error, and the next one is right.
TEST(GpuTogether, SmallAllocationsFailingInTurn) {
  const auto queue = cuda();
  const Adding add;
  const auto by = put(*queue, std::vector<U32>(3000, 2));
  const auto whole = [&] {
    auto sum = put(*queue, std::vector<U32>(3000, 1));
    backend::together(*queue, [&] {
      add(*queue, sum, by, 2);
      auto more = queue->allocate<U32>(3000);
      queue->ring<U32>().add({&add.q, 1}, std::as_const(sum).slice(), by.slice(), more.slice());
      add(*queue, sum, more, 1);
    });
    return get(*queue, sum);
  };
  const std::vector<U32> expected(3000, 12);
  EXPECT_EQ(whole(), expected);
  backend::cuda::fail_allocation(0);
  EXPECT_EQ(whole(), expected);
  const std::size_t made = backend::cuda::fail_allocation(0);
  ASSERT_GE(made, 2u);
  for (std::size_t k = 1; k <= made; ++k) {
    backend::cuda::fail_allocation(k);
    EXPECT_THROW(whole(), OutOfMemoryError) << k;
    backend::cuda::fail_allocation(0);
    EXPECT_EQ(whole(), expected) << k;
  }
}

}  // namespace
}  // namespace whorl::test
