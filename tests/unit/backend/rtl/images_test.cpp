// Images of keys and records: what is packed comes back, and lies where rtl/README.md says.
#include "backend/rtl/images.h"

#include "ring/host/kernels.h"
#include "support/rtl_scene.h"
#include "support/test.h"

namespace whorl::backend::rtl {
namespace {

using test::RtlScene;

/// Bit for bit as the document says, word by word.
std::uint64_t word_of(const Shape& core, const Bytes& image, std::size_t chunk, std::uint64_t w) {
  const std::uint64_t bits = core.mem_bits, beat = bits / 8;
  const std::uint64_t group = chunk * core.chunk_beats() + w / bits * 33, k = w % bits;
  const std::uint8_t top = image[group * beat + k / 8];
  std::uint32_t low;
  std::memcpy(&low, image.data() + (group + 1 + k / (bits / 32)) * beat + k % (bits / 32) * 4, 4);
  return low | std::uint64_t{top >> k % 8 & 1u} << 32;
}

TEST(RtlImages, OfRotationKeysComeBack) {
  for (unsigned m = 1; m <= 4; ++m)
    for (const std::uint32_t ports : {1u, 3u}) {
      SCOPED_TRACE(std::to_string(m) + " " + std::to_string(ports));
      Shape core{.log_N = 7, .L = 2, .log_Bg = 10, .M = m, .log_b = 1};
      core.mem_bits = 128;
      core.bk_ports = ports;
      const RtlScene scene(core, 7);  // the last group is short for m = 2, 3, 4
      const auto images = scene.rotation_images(2);
      ASSERT_EQ(images->ports.size(), ports);
      for (const Bytes& image : images->ports)
        EXPECT_EQ(image.size(), core.steps(7) * core.chunk_beats() * core.mem_bytes());
      std::vector<std::uint64_t> a(core.N()), b(core.N());
      const RotationKeyRows rows(core, scene.rotation, images->ports);
      for (std::size_t r = 0; r < scene.rotation.row_count; ++r) {
        rows(r, a, b);
        EXPECT_EQ(a, scene.a[r]) << r;
        EXPECT_EQ(b, scene.b[r]) << r;
      }
    }
}

TEST(RtlImages, WordsLieWhereTheDocumentSays) {
  Shape core{.log_N = 8, .L = 2, .log_Bg = 10, .M = 2};
  core.mem_bits = 64;
  core.bk_ports = 2;
  RtlScene scene(core, 4);
  const auto images = scene.rotation_images();
  const ring::NttPlan<std::uint64_t> plan(core.N(), prime);
  const ring::NttTables<std::uint64_t> tables(plan, ring::simd_words(8));
  const std::uint64_t lanes = core.lanes(), per_port = core.port_words();
  for (int draw = 0; draw < 200; ++draw) {
    const std::size_t step = scene.random.below(2), T = 1 + scene.random.below(3);
    const std::size_t row = scene.random.below(4), col = scene.random.below(2);
    const std::size_t l = scene.random.below(core.N());
    const std::size_t of = scene.rotation.first_row[2 * step] + (T - 1) * 4 + row;
    std::vector<std::uint64_t> values = col ? scene.b[of] : scene.a[of];
    ring::ntt_polynomial(tables, values.data(), values.data());
    const std::uint64_t wanted = plan.modulus().mul(values[l], plan.inverse_N());
    const std::uint64_t u = (((T - 1) * 4 + row) * 2 + col) * lanes + l % lanes;
    const std::uint64_t w = l / lanes * core.padded_words() + u % per_port;
    EXPECT_EQ(word_of(core, images->ports[u / per_port], step, w), wanted);
  }
}

TEST(RtlImages, OfSwitchKeysComeBack) {
  Shape core{.log_N = 6, .L_ks = 3, .log_Bks = 4};
  core.ksk_bits = 128;
  const RtlScene scene(core, 10);
  const auto image = scene.switch_image();
  EXPECT_EQ(image->port.size(), 64u * 3 * 3 * 16);  // 11 words are 3 beats
  std::vector<std::uint32_t> row(11);
  for (std::size_t r = 0; r < 192; ++r) {
    switch_key_row(core, 10, image->port, r, row);
    EXPECT_TRUE(
        std::equal(row.begin(), row.end(), scene.ksk.begin() + static_cast<std::ptrdiff_t>(11 * r)))
        << r;
  }
}

TEST(RtlImages, AreOfTheCoresShape) {
  const RtlScene scene({.log_N = 8, .L = 2, .log_Bg = 10, .M = 2}, 4);
  for (const Shape& other : {Shape{.log_N = 9}, Shape{.log_N = 8, .L = 3, .log_Bg = 10},
                             Shape{.log_N = 8, .M = 3}, Shape{.log_N = 8, .max_n = 3}})
    EXPECT_THROW(rotation_key_images(other, scene.rotation, scene.rows(), 1), ParameterError);
}

}  // namespace
}  // namespace whorl::backend::rtl
