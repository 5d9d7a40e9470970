// RNS on a GPU: random plans, every number of limbs a conversion has a kernel for, large batches.
#include "backend/cuda/dispatch/rns/rns.h"
#include "gpu/backend/rns_compare.h"

namespace whorl::test {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

using GpuRns = CpuAndGpu;

TEST_F(GpuRns, RandomPlans) {
  for (int i = 0; i < 40; ++i) {
    const U32 N = 1u << (8 + random.below(4));
    compare_random_rns<U32>(two, N, 7, 1 + random.below(5), random);
    compare_random_rns<U64>(two, N, 7, 1 + random.below(5), random);
    if (HasFatalFailure()) return;
  }
}

// Over clusters, with many blocks of targets and with few.
TEST_F(GpuRns, LargeRings) {
  for (U32 N = 1 << 12; N <= 1 << 17; N *= 2) {
    compare_random_rns<U32>(two, N, 4, 1 + random.below(2), random);
    compare_random_rns<U64>(two, N, 3, 1, random);
    if (HasFatalFailure()) return;
  }
}

// Few transforms of rings that clusters of blocks share, which convert what they load from one
// limb; digits of one limb and more, that end short, batches up to where they are few no longer,
// moduli of all sizes. The largest ring has short digits, which the CPU makes fast enough.
TEST_F(GpuRns, FewTransforms) {
  for (U32 N = 1 << 13; N <= 1 << 16; N *= 2)
    for (const unsigned digit_limbs : {1u, 2u, 3u, 4u, 6u})
      for (const unsigned bits : {28u, 30u, 31u}) {
        // There are four primes of each size from 26 bits on to choose from.
        if (3 * digit_limbs > 4 * (bits - 25)) continue;
        if (N == 1 << 16 && (digit_limbs > 2 || bits == 30)) continue;
        const unsigned limbs = digit_limbs + 1 + static_cast<unsigned>(random.below(digit_limbs));
        compare_rns<U32>(two,
                         random_rns_plan<U32>(N, limbs, digit_limbs, digit_limbs, random, bits),
                         1 + static_cast<unsigned>(random.below(limbs)), 1 + random.below(3), 2,
                         static_cast<U32>(2 * random.below(N) + 1), 65537, random);
        if (HasFatalFailure()) return;
      }
}

// All ends, of 2 by 2 parts and of others, over a basis that is a prefix and over one that is not.
template <class Word>
void products(const Two& two, Random& random) {
  const auto plan = random_rns_plan<Word>(512, 3, 1, 1, random);
  const RnsPair<Word> both(two, plan);
  for (const ring::Basis& basis : {ring::Basis{0, 1, 2}, ring::Basis{1, 3}})
    for (const std::size_t batch : {1u, 3u})
      for (const std::size_t parts : {1u, 2u, 3u})
        compare_products(both, *plan, basis, batch, parts, random);
}
TEST_F(GpuRns, Products) {
  products<U32>(two, random);
  products<U64>(two, random);
}

// Of moduli below 2^30 and of larger ones, which are corrected more often.
TEST_F(GpuRns, Matrices) {
  const auto compare = [&]<class Word>(unsigned most_bits) {
    const auto plan = random_rns_plan<Word>(512, 3, 1, 1, random, most_bits);
    const RnsPair<Word> both(two, plan);
    for (const ring::Basis& basis : {ring::Basis{0, 1, 2}, ring::Basis{1, 3}})
      for (const std::size_t batch : {1u, 3u})
        compare_matrices(both, *plan, basis, batch, 1 + batch % 2, random);
  };
  compare.template operator()<U32>(30);
  compare.template operator()<U32>(31);
  compare.template operator()<U64>(61);
}

// Of moduli below 2^30 and of larger ones, whose sums are kept below them.
TEST_F(GpuRns, MaskedTensors) {
  const auto compare = [&]<class Word>(unsigned most_bits) {
    const auto plan = random_rns_plan<Word>(512, 3, 1, 1, random, most_bits);
    const RnsPair<Word> both(two, plan);
    compare_masked(both, *plan, ring::Basis{0, 1, 2}, 1, random);
    compare_masked(both, *plan, ring::Basis{1, 3}, 3, random);
  };
  compare.template operator()<U32>(30);
  compare.template operator()<U32>(31);
  compare.template operator()<U64>(61);
}

// About as many transforms as are few; more rows than a launch takes, from one limb to many.
TEST_F(GpuRns, TransformsThatAreJustFew) {
  const U32 N = 1 << 13;
  compare_rns<U32>(two, random_rns_plan<U32>(N, 3, 1, 1, random, 30), 3, 12, 2, 77, 65537, random);
  const auto primes = math::ntt_primes(30, N, 67);
  std::vector<U32> all(primes.begin(), primes.end());
  const auto plan = std::make_shared<ring::RnsPlan<U32>>(N, std::span<const U32>(all).first(66),
                                                         std::span<const U32>(all).subspan(66), 33);
  compare_rns<U32>(two, plan, 66, 1, 2, 77, 65537, random);
}

TEST_F(GpuRns, LargeBatches) {
  for (const std::size_t batch : {33, 150}) {
    compare_random_rns<U32>(two, 1 << 9, 5, batch, random);
    compare_random_rns<U64>(two, 1 << 8, 4, batch, random);
    if (HasFatalFailure()) return;
  }
}

// Digits and special primes of 1 to 20 limbs: in registers, then in shared memory; the last digit
// shorter than the others.
TEST_F(GpuRns, DigitsOfManyLimbs) {
  for (unsigned size = 1; size <= 20; ++size) {
    const unsigned limbs = size + 1 + static_cast<unsigned>(random.below(size));
    const U32 g = static_cast<U32>(2 * random.below(256) + 1);
    for (const unsigned bits : {30u, 31u})
      compare_rns<U32>(two, random_rns_plan<U32>(256, limbs, size, size, random, bits),
                       limbs - static_cast<unsigned>(random.below(2)), 2, 2, g, 65537, random);
    compare_rns<U64>(two, random_rns_plan<U64>(256, limbs, size, size, random), limbs, 1, 2, g,
                     65537, random);
    if (HasFatalFailure()) return;
  }
}

// This converts from ten primes to one that is too small for sums of bytes.
TEST_F(GpuRns, ConversionToSmallModuli) {
  const auto plan = random_rns_plan<U32>(512, 10, 1, 1, random);
  const math::Modulus<U32> to[] = {math::Modulus<U32>(12289), plan->moduli()[10]};
  const ring::BaseConversion<U32> conversion(
      std::span<const math::Modulus<U32>>(plan->moduli()).first(10), to, 65537);
  const auto rows = random_rows(*plan, plan->level(10), 1, 3, random);
  expect_same(two, [&](const backend::Queue& queue) {
    const auto prepared = queue.rns<U32>().prepare_conversion(conversion);
    const auto in = put(queue, rows);
    auto out = queue.allocate<U32>(std::size_t{2} * 3 * 512);
    queue.rns<U32>().convert(*prepared, 512, in.slice(), out.slice());
    return get(queue, out);
  });
}

// What the dispatcher would take for other batches too.
TEST_F(GpuRns, ConversionsByWordsAndByBytes) {
  using backend::cuda::Products;
  const backend::cuda::Stream stream(backend::cuda::describe_gpu(0));
  const backend::cuda::TransformTables transforms;
  for (unsigned size = 5; size <= 16; ++size) {
    const unsigned limbs = size + 1 + static_cast<unsigned>(random.below(2 * size));
    const auto plan =
        random_rns_plan<U32>(512, limbs, size, size, random, random.below(2) ? 30 : 31);
    const backend::cuda::CudaRnsTables<U32> tables(stream, transforms, plan);
    const unsigned used = limbs - static_cast<unsigned>(random.below(2));
    // Blocks go through several pieces of long rows.
    const std::size_t batch = size % 5 == 0 ? 700 : 1 + random.below(20), row = batch * 512;
    SCOPED_TRACE(describe(*plan) + ", batch " + std::to_string(batch));
    const ring::Basis level = plan->level(used);
    const auto low = random_rows(*plan, level, 1, batch, random),
               own = random_rows(*plan, level, 1, batch, random),
               high = random_rows(*plan, level | plan->special_basis(), 1, batch, random);
    const auto from = stream.upload(low.data(), low.size()),
               kept = stream.upload(own.data(), own.size()),
               special = stream.upload(high.data() + used * row, size * row);
    const auto converted = [&](Products by) {
      const std::size_t up = plan->digits(used) * (used + size) * row, down = used * row;
      const auto out = stream.allocate<U32>(up + down);
      backend::cuda::convert_up<U32>(stream, tables, used, batch, from.data(), kept.data(),
                                     out.data(), by);
      backend::cuda::convert_down<U32>(stream, tables, 65537, used, 1, batch, special.data(),
                                       out.data() + up, by);
      std::vector<U32> values(up + down);
      stream.copy_out(out.data(), values.data(), values.size() * sizeof(U32));
      return values;
    };
    const auto expected = converted(Products::words);
    for (const Products by : {Products::automatic, Products::bytes, Products::bytes_by_more})
      ASSERT_TRUE(converted(by) == expected) << static_cast<int>(by);
  }
}

// More rows than one launch's parameters hold: 70 limbs of one, digits of all of them.
TEST_F(GpuRns, ManyLimbs) {
  for (const unsigned digit_limbs : {1u, 35u, 70u})
    compare_rns<U32>(two, random_rns_plan<U32>(256, 70, 2, digit_limbs, random), 70, 1, 2, 3, 65537,
                     random);
}

TEST_F(GpuRns, RandomBases) {
  for (int i = 0; i < 30; ++i) {
    const U32 N = 1u << (8 + random.below(6));
    const auto limbs = 1 + static_cast<unsigned>(random.below(7)),
               special = static_cast<unsigned>(random.below(4)),
               digit_limbs = 1 + static_cast<unsigned>(random.below(limbs));
    const std::size_t batch = 1 + random.below(6);
    compare_bases<U32>(two, random_rns_plan<U32>(N, limbs, special, digit_limbs, random), batch,
                       random);
    compare_bases<U64>(two, random_rns_plan<U64>(N, limbs, special, digit_limbs, random), batch,
                       random);
    if (HasFatalFailure()) return;
  }
}

// More primes than a launch's parameters hold, than conversions keep in registers, and all there
// may be.
TEST_F(GpuRns, BasesOfManyPrimes) {
  compare_bases<U32>(two, random_rns_plan<U32>(256, 100, 28, 40, random), 1, random);
  compare_bases<U64>(two, random_rns_plan<U64>(512, 60, 20, 20, random), 2, random);
}

// There are few primes, since the CPU takes its time for such rings.
TEST_F(GpuRns, RandomBasesOfLargeRings) {
  for (U32 N = 1 << 13; N <= 1 << 17; N *= 2)
    for (const std::size_t batch : {1u, 2u}) {
      compare_bases<U32>(two, random_rns_plan<U32>(N, 2, 1, 1, random), batch, random);
      compare_bases<U64>(two, random_rns_plan<U64>(N, 2, 1, 1, random), batch, random);
      if (HasFatalFailure()) return;
    }
}

/// Cheddar's chain: 43 main primes, 4 terminal ones and 12 special ones, of up to 31 bits.
struct Cheddar {
  ring::Basis main = ring::Basis::range(0, 43), terminal = ring::Basis::range(43, 4),
              special = ring::Basis::range(47, 12);
  std::shared_ptr<const ring::RnsPlan<U32>> plan;

  explicit Cheddar(U32 N = 1 << 12) {
    const auto primes = math::ntt_primes(30, N, 59);
    const std::vector<U32> all(primes.begin(), primes.end());
    plan = std::make_shared<ring::RnsPlan<U32>>(N, std::span<const U32>(all).first(47),
                                                std::span<const U32>(all).subspan(47), 12);
  }
};

/// Some primes go, others come back, of the terminal ones and of the main ones.
void rescale_rationally(const Two& two, const Cheddar& c, std::span<const std::size_t> batches,
                        std::size_t parts, Random& random) {
  const RnsPair<U32> both(two, c.plan);
  const ring::Basis two_terminal = ring::Basis::range(43, 2);
  for (const std::size_t batch : batches) {
    // Two main ones go, two terminal ones come; three terminal ones go, two main ones come; all
    // special ones go.
    compare_division(both, *c.plan, c.main | two_terminal, ring::Basis::range(0, 41) | c.terminal,
                     1, batch, parts, 5, random);
    compare_division(both, *c.plan, ring::Basis::range(0, 39) | c.terminal,
                     ring::Basis::range(0, 41) | ring::Basis{43}, 1, batch, parts, 5, random);
    const ring::Basis used = ring::Basis::range(0, 20) | two_terminal;
    compare_division(both, *c.plan, used | c.special, used, 1, batch, parts, 5, random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}
TEST_F(GpuRns, RationalRescaling) {
  const std::size_t batches[] = {1, 2};
  rescale_rationally(two, Cheddar(), batches, 2, random);
  // In the ring that the chain is made for.
  rescale_rationally(two, Cheddar(1 << 16), std::span(batches).first(1), 1, random);
}

TEST_F(GpuRns, ModulusRaising) {
  const Cheddar c;
  const RnsPair<U32> both(two, c.plan);
  for (const std::size_t batch : {1u, 3u})
    compare_raise(both, *c.plan, {0, 43}, c.main | c.terminal, batch, random);
}

TEST_F(GpuRns, KeysOverAFewPrimesOfTheirOwn) {
  const Cheddar c;
  const RnsPair<U32> both(two, c.plan);
  compare_switching(both, *c.plan, {{0}, {{0}}, {47}}, {0}, 3, 77, random);
  compare_switching(both, *c.plan, {{0, 43, 44}, {{0, 44}, {43}}, {58}}, {0, 43, 44}, 2, 77,
                    random);
  // The usual key over a basis that is no prefix.
  compare_switching(both, *c.plan, c.plan->key_layout(),
                    ring::Basis::range(0, 30) | ring::Basis{43, 45}, 1, 77, random);
}

template <class Word>
void foreign() {
  Random random;
  const Two two;
  const auto plan = random_rns_plan<Word>(256, 3, 1, 2, random);
  const RnsKeyRows<Word> rows(*plan, random);
  const auto& gpu = two.gpu->rns<Word>();
  const auto& cpu = two.cpu->rns<Word>();
  const auto ours = gpu.prepare(plan), theirs = cpu.prepare(plan);
  const auto key = cpu.prepare_key(*theirs, rows.source());
  const auto& layout = plan->key_layout();
  auto x = two.gpu->allocate<Word>(3 * 256), y = two.gpu->allocate<Word>(8 * 256),
       z = two.gpu->allocate<Word>(8 * 256);
  const auto in = std::as_const(x).slice(), digits = std::as_const(y).slice();
  const ring::Basis level = plan->level(3);
  const auto extend = [&](const backend::RnsTables<Word>& tables) {
    gpu.extend(tables, level, layout.digits, layout.rows(), ring::Lift::exact, in, y.slice());
  };
  EXPECT_THROW(gpu.prepare_key(*theirs, rows.source()), DeviceError);
  EXPECT_THROW(extend(*theirs), DeviceError);
  EXPECT_THROW(gpu.inner_product(*key, *ours, level, 1, digits, z.slice()), DeviceError);
  EXPECT_THROW(gpu.ntt(*theirs, level, 1, x.slice()), DeviceError);
  extend(*ours);  // and still works
  two.gpu->device().open()->rns<Word>().prepare_key(*ours, rows.source());

  const auto gpus = usable_gpus();
  if (gpus.size() < 2) return;
  const auto queue = backend::open_queue(gpus[1]);
  const auto& second = queue->rns<Word>();
  EXPECT_THROW(second.prepare_key(*ours, rows.source()), DeviceError);
  const auto tables = second.prepare(plan);
  const auto other = second.prepare_key(*tables, rows.source());
  EXPECT_THROW(gpu.inner_product(*other, *ours, level, 1, digits, z.slice()), DeviceError);
}
TEST_F(GpuRns, ForeignTablesAndKeys) {
  foreign<U32>();
  foreign<U64>();
}

// Another queue of the device uses the tables and keys at once.
TEST_F(GpuRns, OtherQueues) {
  const auto plan = random_rns_plan<U32>(4096, 5, 2, 2, random);
  const RnsKeyRows<U32> rows(*plan, random);
  const auto data = random_rows(*plan, plan->all(), plan->digits(), 3, random);
  const auto run = [&](const backend::Queue& queue, const backend::RnsTables<U32>& tables,
                       const backend::RnsSwitchKey<U32>& key) {
    const auto x = put(queue, data);
    auto out = queue.allocate<U32>(2 * 7 * 3 * 4096);
    queue.rns<U32>().inner_product(key, tables, plan->level(5), 5, x.slice(), out.slice());
    return get(queue, out);
  };
  const auto tables = two.gpu->rns<U32>().prepare(plan);
  const auto key = two.gpu->rns<U32>().prepare_key(*tables, rows.source());
  const auto other = two.gpu->device().open();
  EXPECT_TRUE(run(*other, *tables, *key) == run(*two.gpu, *tables, *key));
}

}  // namespace
}  // namespace whorl::test
