// What a host can do wrong: each ends in its error, and the next run is sound.
#include "support/rtl_scene.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {
namespace {

using test::RtlScene;

struct Rig {
  RtlScene scene;
  Model model;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> good;

  Rig() : scene({.log_N = 6, .M = 2, .K = 2, .max_n = 9}, 8), model(scene.core) {
    const auto keys = scene.rotation_images();
    const auto ksk = scene.switch_image();
    model.resize(bk_port, keys->ports[0].size() + alignment);
    model.store(bk_port, 0, keys->ports[0]);
    model.resize(ksk_port, ksk->port.size());
    model.store(ksk_port, 0, ksk->port);
    // Records of one beat, two test vectors, results.
    model.resize(io_port, 16384);
    const std::vector<std::uint32_t> record = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1};
    for (int c = 0; c < 3; ++c)
      model.store(io_port, static_cast<std::uint64_t>(64 * c),
                  {reinterpret_cast<const std::uint8_t*>(record.data()), 40});
    // Behind them, what is no test vector: it would be number 1 at address 0.
    const std::vector<std::uint8_t> large(8, 0xFF);
    model.store(io_port, 512, large);
    good = {{reg::mode, 0},
            {reg::group, 2},
            {reg::lwe_n, 8},
            {reg::count, 3},
            {reg::luts, 2},
            {reg::offset, 5},
            {reg::constant, 7},
            {reg::constant + 4, 0},
            {reg::in_addr, 0},
            {reg::in_addr + 4, 0},
            {reg::lut_addr, 4096},
            {reg::out_addr, 8192},
            {reg::ksk_addr, 0},
            {reg::bk_addr, 0},
            {reg::io_bytes, 16384},
            {reg::ksk_bytes, ksk->port.size()},
            {reg::bk_bytes, keys->ports[0].size()}};
  }
  void write(std::uint32_t address, std::uint64_t value) {
    model.write(address, static_cast<std::uint32_t>(value));
  }
  Code run(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& changes) {
    for (const auto& [address, value] : good) write(address, value);
    for (const auto& [address, value] : changes) write(address, value);
    model.write(reg::control, reg::start);
    model.finish(~0ull);
    const auto code = static_cast<Code>(model.read(reg::error));
    EXPECT_EQ(model.read(reg::status), code == Code::ok ? reg::done : reg::failed);
    return code;
  }
};

TEST(RtlDescriptor, EachErrorHasItsCode) {
  Rig rig;
  const auto bk_end = rig.good.back().second;
  const struct {
    Code code;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> changes;
  } cases[] = {
      {Code::n_zero, {{reg::lwe_n, 0}}},
      {Code::n_large, {{reg::lwe_n, 10}}},
      {Code::group_wrong, {{reg::group, 1}}},
      {Code::count_zero, {{reg::count, 0}}},
      {Code::mode_wrong, {{reg::mode, 3}}},
      {Code::mode_wrong, {{reg::mode, 4}}},
      {Code::mode_wrong, {{reg::mode, 1 << 10}, {reg::lwe_n, 0}}},
      {Code::luts_zero, {{reg::luts, 0}}},
      {Code::range_wrong, {{reg::offset, 128}}},
      {Code::range_wrong, {{reg::constant, prime & 0xFFFFFFFF}, {reg::constant + 4, 1}}},
      {Code::misaligned, {{reg::in_addr, 64}}},
      {Code::misaligned, {{reg::bk_addr, 2048}}},
      {Code::inputs_end, {{reg::count, 300}}},
      {Code::inputs_end, {{reg::in_addr + 4, 1}}},
      {Code::luts_end, {{reg::luts, 1 << 20}}},
      {Code::luts_end, {{reg::lut_addr, 16384}}},
      {Code::results_end, {{reg::out_addr, 16384}}},
      {Code::ksk_end, {{reg::ksk_bytes, 64}}},
      {Code::bk_end, {{reg::bk_addr, 4096}}},
      {Code::bk_end, {{reg::bk_bytes, bk_end - 1}}},
      {Code::exponent_wrong, {{reg::mode, reg::exponents}, {reg::lut_addr, 4096}}},
      {Code::lut_number, {{reg::luts, 1}}},
      {Code::lut_value, {{reg::lut_addr, 0}}},
  };
  for (const auto& [code, changes] : cases) {
    SCOPED_TRACE(meaning(code));
    if (code == Code::exponent_wrong) {
      const std::uint8_t large = 200;
      rig.model.store(io_port, 64 + 4, {&large, 1});
    }
    EXPECT_EQ(rig.run(changes), code);
    const std::uint8_t small = 2;
    rig.model.store(io_port, 64 + 4, {&small, 1});
    EXPECT_EQ(rig.run({}), Code::ok);
  }
}

// Their beats are counted in 40 bits; no memory of that size is needed to be told so.
TEST(RtlDescriptor, ResultsOf2To40BeatsAreTooMany) {
  Shape shape;
  shape.mem_bits = 64;  // 1,025 beats a result
  Descriptor d;
  d.mode = 1;
  d.group = shape.M;
  d.n = 500;
  d.luts = 1;
  d.io_bytes = ~std::uint64_t{0};
  d.bk_bytes = ~std::uint64_t{0};
  d.count = static_cast<std::uint32_t>((std::uint64_t{1} << 40) / 1025);
  EXPECT_EQ(check(d, shape), Code::ok);
  ++d.count;
  EXPECT_EQ(check(d, shape), Code::results_end);
}

TEST(RtlDescriptor, ModesIgnoreWhatTheyDoNotUse) {
  Rig rig;
  EXPECT_EQ(rig.run({{reg::mode, 2},
                     {reg::count, 1},
                     {reg::luts, 0},
                     {reg::offset, 9999},
                     {reg::lut_addr, 1},
                     {reg::bk_addr, 1},
                     {reg::bk_bytes, 0}}),
            Code::ok);
  EXPECT_EQ(rig.run({{reg::mode, 1}, {reg::count, 1}, {reg::ksk_addr, 1}, {reg::ksk_bytes, 0}}),
            Code::ok);
}

TEST(RtlDescriptor, AnAbortEndsARunAndTheNextIsSound) {
  Rig rig;
  for (const auto& [address, value] : rig.good) rig.write(address, value);
  rig.model.write(reg::control, reg::start);
  rig.model.advance(100);
  EXPECT_EQ(rig.model.read(reg::status), reg::busy);
  rig.model.write(reg::count, 77);  // ignored while it runs
  EXPECT_EQ(rig.model.read(reg::count), 3u);
  rig.model.write(reg::control, reg::abort);
  EXPECT_EQ(rig.model.read(reg::status), reg::failed);
  EXPECT_EQ(static_cast<Code>(rig.model.read(reg::error)), Code::aborted);
  EXPECT_EQ(rig.run({}), Code::ok);
}

TEST(RtlDescriptor, StepsOfTimeEndWhereTheCountersSay) {
  Rig rig;
  ASSERT_EQ(rig.run({}), Code::ok);
  const std::uint32_t cycles = rig.model.read(reg::counters);
  rig.model.write(reg::control, reg::start);
  rig.model.advance(cycles - 1);
  EXPECT_EQ(rig.model.read(reg::status), reg::busy);
  rig.model.advance(1);
  EXPECT_EQ(rig.model.read(reg::status), reg::done);
  EXPECT_EQ(rig.model.read(reg::counters), cycles);
}

TEST(RtlDescriptor, SizesPastTheMemoryFailWhereTheyAreUsed) {
  Rig rig;
  const std::uint64_t more = 1 << 30;
  EXPECT_EQ(rig.run({{reg::io_bytes, more}, {reg::ksk_bytes, more}, {reg::bk_bytes, more}}),
            Code::ok);
  EXPECT_EQ(rig.run({{reg::io_bytes, more}, {reg::out_addr, 65536}}), Code::write_error);
  EXPECT_EQ(rig.run({{reg::io_bytes, more}, {reg::lut_addr, 65536}}), Code::read_error);
  EXPECT_EQ(rig.run({{reg::bk_bytes, more}, {reg::bk_addr, 65536}}), Code::read_error);
  EXPECT_EQ(rig.run({}), Code::ok);
}

}  // namespace
}  // namespace whorl::backend::rtl
