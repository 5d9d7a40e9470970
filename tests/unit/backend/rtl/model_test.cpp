// The model of the core against the CPU's kernels, bit for bit.
#include "backend/rtl/model.h"

#include "support/rtl_scene.h"

namespace whorl::backend::rtl {
namespace {

using test::RtlScene;

/// All modes.
void compare(RtlScene& scene, std::uint32_t count) {
  const std::uint32_t N = scene.core.N(), luts = 3;
  const auto driver = scene.driver();
  const auto tables = scene.random.residues<std::uint64_t>(std::size_t{luts} * N, prime);
  const auto index = scene.random.numbers(count, luts);
  const auto constant = scene.random.below(prime);
  const auto offset = static_cast<std::uint32_t>(scene.random.below(2 * N));

  const auto exponents = scene.exponents(count);
  std::vector<std::uint64_t> samples(std::size_t{count} * (N + 1));
  driver->run({.mode = Mode::rotate,
               .count = count,
               .rows = exponents,
               .exponents = true,
               .constant = constant,
               .index = index,
               .luts = tables},
              samples);
  EXPECT_EQ(samples, scene.rotated(exponents, tables, index, constant));

  const auto long_rows =
      scene.random.residues<std::uint32_t>(std::size_t{count} * (N + 1), lwe_modulus);
  std::vector<std::uint32_t> out(std::size_t{count} * (scene.n + 1));
  driver->run({.mode = Mode::key_switch, .count = count, .rows = long_rows}, out);
  EXPECT_EQ(out, scene.switched(long_rows));

  for (const bool centred : {false, true}) {
    const auto rows =
        scene.random.residues<std::uint32_t>(std::size_t{count} * (scene.n + 1), lwe_modulus);
    driver->run({.mode = Mode::bootstrap,
                 .count = count,
                 .rows = rows,
                 .centred = centred,
                 .offset = offset,
                 .constant = constant,
                 .index = index,
                 .luts = tables},
                out);
    EXPECT_EQ(out, scene.bootstrapped(rows, tables, index, centred, offset, constant)) << centred;
  }
}

TEST(RtlModel, IsTheCpuOnEverySimdTarget) {
  test::on_each_target([] {
    for (unsigned m = 1; m <= 4; ++m) {
      SCOPED_TRACE(m);
      Shape core{.log_N = 8, .L = 2, .log_Bg = 10, .M = m};
      core.bk_ports = m;
      core.mem_bits = 64u << m;
      core.L_ks = 5;
      core.log_Bks = 3;
      RtlScene scene(core, 13);
      compare(scene, 11);
    }
    RtlScene scene({.log_N = 9, .L = 3, .log_Bg = 11, .M = 2, .log_b = 2, .L_ks = 16}, 9);
    compare(scene, 3);
    RtlScene one_digit({.log_N = 11, .L = 1, .log_Bg = 20, .M = 2, .L_ks = 4, .log_Bks = 4}, 6);
    compare(one_digit, 2);
  });
}

TEST(RtlModel, BootstrapsSetsOfThePaper) {
  for (unsigned m = 1; m <= 4; ++m) {
    SCOPED_TRACE(m);
    RtlScene scene({.log_N = 10, .L = 2, .log_Bg = 10, .M = m}, 500);
    compare(scene, 2);
  }
  RtlScene scene({.log_N = 11, .L = 3, .log_Bg = 7, .M = 2, .max_n = 592}, 592);
  compare(scene, 1);
}

TEST(RtlModel, TakesRingsThatTheLibraryHasNoTransformFor) {
  // Rotation by X^a of a key that is 0 leaves the test vector, turned by b.
  Shape core{.log_N = 6, .L = 2, .log_Bg = 10, .M = 2};
  RtlScene scene(core, 5);
  for (auto* half : {&scene.a, &scene.b})
    for (auto& row : *half) std::ranges::fill(row, 0);
  const auto driver = scene.driver();
  const auto lut = scene.random.residues<std::uint64_t>(64, prime);
  const std::vector<std::uint32_t> rows = {1, 2, 3, 4, 5, 70}, index = {0};
  std::vector<std::uint64_t> out(65);
  driver->run({.mode = Mode::rotate,
               .count = 1,
               .rows = rows,
               .exponents = true,
               .index = index,
               .luts = lut},
              out);
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[64], (prime - lut[70 - 64]) % prime);
}

}  // namespace
}  // namespace whorl::backend::rtl
