// The accelerator as a device: it takes what a core runs, and leaves the rest to the CPU.
#include "backend/rtl/rtl_device.h"

#include "backend/rtl/cores.h"
#include "support/rtl_scene.h"
#include "support/test.h"

namespace whorl::backend::rtl {
namespace {

using test::RtlScene;

struct Scene : RtlScene {
  std::vector<std::uint32_t> lwe = exponents(5), index = {0, 1, 1, 0, 1};
  std::vector<std::uint64_t> luts = random.residues<std::uint64_t>(2 * core.N(), prime);
  Scene() : RtlScene({.log_N = 8, .M = 2, .max_n = 16}, 16) {}

  /// Samples of coefficient 0, or of several.
  std::vector<std::uint64_t> rotate_on(const Queue& queue, const RotationKey& key,
                                       std::span<const std::uint32_t> offsets) const {
    const auto x = test::put(queue, lwe);
    const auto tables = test::put(queue, luts);
    auto out = queue.allocate<std::uint64_t>(5 * offsets.size() * (core.N() + 1));
    queue.rotation<std::uint64_t>().rotate_extract(key, {x.slice(), tables.slice(), index}, offsets,
                                                   99, out.slice());
    return test::get(queue, out);
  }
};

TEST(RtlDevice, TakesWhatACoreRuns) {
  const Scene scene;
  const auto queue = open_queue("rtl-model:PES=2,K=1", {2, {}}), cpu = test::cpu();
  EXPECT_EQ(queue->name(), "rtl-model:PES=2,K=1");
  const auto key = queue->rotation<std::uint64_t>().prepare(scene.rotation, scene.rows());
  const auto same = cpu->rotation<std::uint64_t>().prepare(scene.rotation, scene.rows());
  // An image of 33 bits a word, its copy behind the port, and a double for each word.
  EXPECT_EQ(key->bytes(),
            2 * 8u * scene.core.chunk_beats() * 64 + 8 * 8u * scene.core.row_words() / 2 * 256);
  const std::uint32_t offsets[] = {0, 3, 255};
  for (const std::size_t some : {1u, 3u})
    EXPECT_EQ(scene.rotate_on(*queue, *key, std::span(offsets).first(some)),
              scene.rotate_on(*cpu, *same, std::span(offsets).first(some)));

  const auto samples =
      RtlScene(scene.core, 16).random.residues<std::uint32_t>(257 * 4, lwe_modulus);
  const auto rows = [&](std::size_t first, std::size_t count, std::uint32_t* out,
                        std::size_t stride) {
    for (std::size_t r = 0; r < count; ++r)
      std::copy_n(scene.ksk.begin() + static_cast<std::ptrdiff_t>((first + r) * 17), 17,
                  out + r * stride);
  };
  const auto ksk = queue->lwe().prepare_switch_key<std::uint32_t>(scene.switching, rows);
  EXPECT_EQ(ksk->bytes(), 2 * 256u * 8 * 2 * 64);
  const auto x = test::put(*queue, samples);
  auto out = queue->allocate<std::uint32_t>(4 * 17);
  queue->lwe().key_switch<std::uint32_t>(*ksk, x.slice(), out.slice());
  EXPECT_EQ(test::get(*queue, out), scene.switched(samples));
  // The same in words of 64 bits.
  const std::vector<std::uint64_t> wide(samples.begin(), samples.end());
  const auto y = test::put(*queue, wide);
  auto wide_out = queue->allocate<std::uint64_t>(4 * 17);
  queue->lwe().key_switch<std::uint64_t>(*ksk, y.slice(), wide_out.slice());
  const auto got = test::get(*queue, wide_out);
  EXPECT_TRUE(std::ranges::equal(got, scene.switched(samples)));
}

TEST(RtlDevice, TellsWhatItsLastRunsCounted) {
  const Scene scene;
  const auto device = make_device("rtl-model:PES=2,K=1", {2, {}});
  const auto* const counting = dynamic_cast<const Counting*>(device.get());
  ASSERT_NE(counting, nullptr);
  EXPECT_TRUE(counting->counters().empty());
  const auto queue = device->open();
  auto key = queue->rotation<std::uint64_t>().prepare(scene.rotation, scene.rows());
  const std::uint32_t offsets[] = {0};
  scene.rotate_on(*queue, *key, offsets);
  const auto runs = counting->counters();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run, "rotate");
  ASSERT_EQ(runs[0].values.size(), Counters::size);
  // Five ciphertexts in batches of two: 8 steps of 16 coefficients for each of three batches.
  const auto value = [&](std::string_view name) {
    return std::ranges::find(runs[0].values, name, &std::pair<std::string, std::uint64_t>::first)
        ->second;
  };
  EXPECT_EQ(value("SLOTS"), 24u);
  EXPECT_EQ(value("PE_SLOTS"), 40u);
  EXPECT_EQ(value("RESULTS"), 5u);
  EXPECT_GE(value("CYCLES"), 24u * 128);
  key.reset();  // and its core with it
  EXPECT_TRUE(counting->counters().empty());
  EXPECT_EQ(dynamic_cast<const Counting*>(make_device("cpu").get()), nullptr);
}

TEST(RtlDevice, KindsOfRunsOnOneCoreKeepTheirCounters) {
  const Scene scene;
  const auto driver = scene.driver();
  const std::size_t N = scene.core.N();
  const auto rotate = [&](std::uint32_t count) {
    std::vector<std::uint64_t> out(count * (N + 1));
    driver->run({.mode = Mode::rotate,
                 .count = count,
                 .rows = std::span(scene.lwe).first(count * 17),
                 .exponents = true,
                 .index = std::span(scene.index).first(count),
                 .luts = scene.luts},
                std::span(out));
  };
  EXPECT_FALSE(driver->counters(Mode::rotate));
  rotate(3);
  const auto first = driver->counters(Mode::rotate);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->results, 3u);
  const std::vector<std::uint32_t> samples(2 * (N + 1), 7);
  std::vector<std::uint32_t> switched(std::size_t{2} * 17);
  driver->run({.mode = Mode::key_switch, .count = 2, .rows = samples}, std::span(switched));
  EXPECT_EQ(driver->counters(Mode::rotate), first);
  EXPECT_EQ(driver->counters(Mode::key_switch)->results, 2u);
  EXPECT_EQ(driver->counters(Mode::key_switch)->slots, 0u);
  EXPECT_FALSE(driver->counters(Mode::bootstrap));
  rotate(5);
  EXPECT_EQ(driver->counters(Mode::rotate)->results, 5u);
  EXPECT_EQ(driver->counters(Mode::key_switch)->results, 2u);
}

TEST(RtlDevice, KnowsWhatNoCoreRuns) {
  const Scene scene;
  const auto fits = [](RotationShape shape) {
    Shape core;
    return fit(shape, core);
  };
  EXPECT_TRUE(fits(scene.rotation));
  for (const auto& change : std::vector<std::function<void(RotationShape&)>>{
           [](RotationShape& s) { s.kind = RotationKind::ginx; },
           [](RotationShape& s) { s.Q = 12289; }, [](RotationShape& s) { s.raised_by = 12289; },
           [](RotationShape& s) { s.arithmetic = Arithmetic::fft; },
           [](RotationShape& s) { s.group = 5; }, [](RotationShape& s) { s.N = 16384; },
           [](RotationShape& s) { s.gadgets.back() = ring::Gadget(prime, 9, 2); }}) {
    RotationShape shape = scene.rotation;
    change(shape);
    EXPECT_FALSE(fits(shape));
  }
  SwitchShape switching = scene.switching;
  Shape core;
  EXPECT_TRUE(fit(switching, core));
  switching.table = true;
  EXPECT_FALSE(fit(switching, core));
  // A core that was built takes its own shape only.
  OneCore one(std::make_shared<Model>(scene.core), 1);
  EXPECT_NE(one.find(scene.rotation), nullptr);
  EXPECT_NE(one.find(scene.switching), nullptr);
  const OneCore other(std::make_shared<Model>(Shape{.log_N = 8, .M = 3, .L_ks = 7}), 1);
  const auto says = [](const auto& find, const char* what) {
    test::expect_message<DeviceError>([&] { static_cast<void>(find()); }, {what});
  };
  says([&] { return other.find(scene.rotation); }, "M = 2, here 3");
  says([&] { return other.find(scene.switching); }, "L_KS = 8, here 7");
  // Neither does a model with lanes that the ring has not.
  const ModelCores wide(Shape{.log_b = 4}, {});
  says([&] { return wide.find(scene.rotation); }, "LOG_B");
  // Keys of other kinds go to the CPU.
  RotationShape ginx = scene.rotation;
  ginx.kind = RotationKind::ginx;
  EXPECT_EQ(other.find(ginx), nullptr);
  EXPECT_EQ(wide.find(ginx), nullptr);
}

TEST(RtlDevice, NamesAreChecked) {
  for (const char* name : {"rtl-model:", "rtl-model:M=2", "rtl-model:K=0", "rtl-model:K=",
                           "rtl-model:K=2,", "rtl-model:K=2x", "rtl-model:MEM_BITS=100",
                           "rtl-model:LOG_B=4294967296", "rtl-model:K=2,K=3", "rtl-model:=2"})
    EXPECT_THROW(open_queue(name), DeviceError) << name;
  EXPECT_NO_THROW(open_queue("rtl-model:K=2,LOG_B=1,BK_PORTS=2"));
}

}  // namespace
}  // namespace whorl::backend::rtl
