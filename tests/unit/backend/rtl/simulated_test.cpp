// The simulated core against the model: the same bits, and the same cycles. It runs where
// WHORL_RTL_CORE names a core (rtl/sim/library.mk); one of a small shape takes seconds.
#include <cstdlib>

#include "backend/rtl/library_core.h"
#include "support/rtl_scene.h"

namespace whorl::backend::rtl {
namespace {

void expect_same_counters(const Counters& got, const Counters& wanted) {
  for (std::size_t c = 0; c < Counters::size; ++c) EXPECT_EQ(got[c], wanted[c]) << counter_name(c);
}

MemoryTiming random_timing(test::Random& random) {
  MemoryTiming t;
  t.latency = static_cast<std::uint32_t>(random.below(60));
  t.bytes_a_cycle = random.below(3) == 0 ? static_cast<std::uint32_t>(20 + random.below(300)) : 0;
  const std::uint32_t stalls[] = {0, 3, 128, 256};
  t.stall = stalls[random.below(4)];
  t.stall_cycles = static_cast<std::uint32_t>(1 + random.below(9));
  t.seed = random.word();
  return t;
}

TEST(RtlSimulated, CountsTheCyclesOfTheModel) {
  const char* const path = std::getenv("WHORL_RTL_CORE");
  if (!path) GTEST_SKIP() << "WHORL_RTL_CORE names no core";
  const char* const wanted = std::getenv("WHORL_RTL_RUNS");
  const int runs = wanted ? std::atoi(wanted) : 12;
  const auto library = CoreLibrary::load(path);
  const Shape core = library->shape();
  Driver simulated(library->create({}));
  ASSERT_EQ(simulated.shape(), core);
  test::Random random;
  for (int run = 0; run < runs; ++run) {
    SCOPED_TRACE(run);
    const auto n = static_cast<std::uint32_t>(1 + random.below(core.max_n));
    test::RtlScene scene(core, n, random.word());
    const auto model = scene.driver();
    const auto timing = random_timing(random);
    const auto rotation = scene.rotation_images();
    const auto switching = scene.switch_image();
    for (Driver* driver : {model.get(), &simulated}) {
      driver->set_timing(timing);
      driver->use(rotation);
      driver->use(switching);
    }
    const auto mode = static_cast<Mode>(random.below(3));
    const auto count = static_cast<std::uint32_t>(1 + random.below(2ull * core.capacity() + 1));
    const std::uint32_t N = core.N(), luts = 2;
    const bool rotates = mode != Mode::key_switch;
    const bool exponents = rotates && random.below(2) == 0;
    const auto rows = random.residues<std::uint32_t>(std::size_t{count} * ((rotates ? n : N) + 1),
                                                     exponents ? 2ull * N : lwe_modulus);
    const auto tables = random.residues<std::uint64_t>(std::size_t{luts} * N, prime);
    auto index = random.numbers(count, luts);
    const Job job{.mode = mode,
                  .count = count,
                  .rows = rows,
                  .exponents = exponents,
                  .centred = random.below(2) == 0,
                  .offset = static_cast<std::uint32_t>(random.below(2 * N)),
                  .constant = random.below(prime),
                  .index = index,
                  .luts = tables};
    const auto compare = [&]<class Word>(std::vector<Word> a) {
      std::vector<Word> b = a;
      model->run(job, std::span<Word>(a));
      simulated.run(job, std::span<Word>(b));
      EXPECT_EQ(b, a);
    };
    if (mode == Mode::rotate)
      compare(std::vector<std::uint64_t>(std::size_t{count} * (N + 1)));
    else
      compare(std::vector<std::uint32_t>(std::size_t{count} * (n + 1)));
    expect_same_counters(simulated.counters(), model->counters());
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "mode " << static_cast<int>(mode) << ", n = " << n << ", " << count
                    << " ciphertexts, latency " << timing.latency << ", stall " << timing.stall
                    << " of " << timing.stall_cycles << ", " << timing.bytes_a_cycle
                    << " bytes a cycle";
      return;
    }
  }
}

}  // namespace
}  // namespace whorl::backend::rtl
