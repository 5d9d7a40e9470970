// A core from a shared library: what is refused, and that a sound one answers as the model does.
// The library is support/fake_core.cpp, in which a fault can be set.
#include "backend/rtl/library_core.h"

#include "backend/rtl/cores.h"
#include "support/rtl_scene.h"
#include "support/test.h"

namespace whorl::backend::rtl {
namespace {

using test::RtlScene;

/// A variable of the environment, as long as this lives.
struct Variable {
  Variable(const char* given, const char* value) : name(given) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  const char* name;
};
struct Fault : Variable {
  explicit Fault(const char* fault) : Variable("WHORL_TESTS_CORE_FAULT", fault) {}
};

std::shared_ptr<const CoreLibrary> load() { return CoreLibrary::load(WHORL_TESTS_FAKE_CORE); }

struct Rig {
  RtlScene scene{{.log_N = 8, .M = 2, .max_n = 9}, 8};
  std::unique_ptr<Driver> driver;
  std::vector<std::uint32_t> rows = scene.random.residues<std::uint32_t>(3 * 9, lwe_modulus);
  std::vector<std::uint32_t> index = {0, 1, 0}, out = std::vector<std::uint32_t>(3 * 9);
  std::vector<std::uint64_t> luts = scene.random.residues<std::uint64_t>(2 * 256, prime);

  explicit Rig(std::function<bool()> interrupt = {})
      : driver(std::make_unique<Driver>(load()->create(std::move(interrupt)))) {}
  void give_keys() {
    driver->use(scene.rotation_images());
    driver->use(scene.switch_image());
  }
  void run() { driver->run({.count = 3, .rows = rows, .index = index, .luts = luts}, out); }
};

TEST(RtlLibraryCore, AnswersAsTheCpu) {
  Rig rig;
  rig.give_keys();
  rig.run();
  EXPECT_EQ(rig.out, rig.scene.bootstrapped(rig.rows, rig.luts, rig.index, false, 0, 0));
  EXPECT_EQ(rig.driver->counters().results, 3u);
}

TEST(RtlLibraryCore, RefusesWhatIsNoCore) {
  test::expect_message<DeviceError>([] { CoreLibrary::load(""); }, {"no simulated core is named"});
  test::expect_message<DeviceError>([] { CoreLibrary::load("/nowhere/core.so"); },
                                    {"/nowhere/core.so", "library.mk"});
  test::expect_message<DeviceError>([] { CoreLibrary::load("libm.so.6"); },
                                    {"is no core", "whorl_rtl_abi"});
  const std::string next = std::to_string(WHORL_RTL_ABI + 1), ours = std::to_string(WHORL_RTL_ABI);
  const Fault abi("abi");
  test::expect_message<DeviceError>(load,
                                    {("version " + next).c_str(), ("is for " + ours).c_str()});
  const Fault shape("shape");
  test::expect_message<DeviceError>(load, {"a shape that no core has", "9"});
  const Fault create("create");
  test::expect_message<DeviceError>([] { Rig(); }, {"makes no core"});
}

TEST(RtlLibraryCore, NoMemoryIsAnErrorAndTheCoreStaysUsable) {
  Rig rig;
  {
    const Fault memory("memory");
    test::expect_message<OutOfMemoryError>([&] { rig.give_keys(); },
                                           {"no memory", "bytes", "port 0"});
  }
  rig.give_keys();
  {
    const Fault memory("memory");  // for the ciphertexts
    test::expect_message<OutOfMemoryError>([&] { rig.run(); }, {"no memory", "port 9"});
  }
  rig.run();
  EXPECT_EQ(rig.out, rig.scene.bootstrapped(rig.rows, rig.luts, rig.index, false, 0, 0));
}

TEST(RtlLibraryCore, FailuresOfTheSimulationAreErrors) {
  Rig rig;
  rig.give_keys();
  {
    const Fault write("write");
    test::expect_message<DeviceError>([&] { rig.run(); }, {"write of a register", "1"});
  }
  const Fault assertion("assertion");
  test::expect_message<DeviceError>([&] { rig.run(); }, {"the simulation failed: an assertion"});
  // It says so from then on.
  test::expect_message<DeviceError>([&] { rig.run(); }, {"the simulation failed"});
}

TEST(RtlLibraryCore, ALongRunCanBeInterrupted) {
  bool stop = true;
  Rig rig([&] { return stop; });
  rig.give_keys();
  // A memory so slow that the run takes more than one piece of cycles.
  rig.driver->set_timing({.latency = 4000});
  EXPECT_THROW(rig.run(), InterruptedError);
  stop = false;
  rig.run();
  EXPECT_EQ(rig.out, rig.scene.bootstrapped(rig.rows, rig.luts, rig.index, false, 0, 0));
}

TEST(RtlLibraryCore, QueuesOfTwoThreadsTakeTurnsOnOneCore) {
  const Variable core("WHORL_RTL_CORE", WHORL_TESTS_FAKE_CORE);
  const auto device = make_device("rtl", {1, {}});
  const auto work = [&](RtlScene& scene, std::vector<std::vector<std::uint64_t>>& results) {
    const auto queue = device->open();
    const auto key = queue->rotation<std::uint64_t>().prepare(scene.rotation, scene.rows());
    const std::vector<std::uint32_t> index = {0, 0};
    for (int run = 0; run < 8; ++run) {
      const auto lwe = scene.exponents(2);
      const auto luts = scene.random.residues<std::uint64_t>(scene.core.N(), prime);
      const auto x = test::put(*queue, lwe);
      const auto tables = test::put(*queue, luts);
      auto out = queue->allocate<std::uint64_t>(2 * (scene.core.N() + 1));
      queue->rotation<std::uint64_t>().rotate_extract(*key, {x.slice(), tables.slice(), index}, 0,
                                                      out.slice());
      results.push_back(test::get(*queue, out));
      results.push_back(scene.rotated(lwe, luts, index, 0));
    }
  };
  const Shape shape{.log_N = 8, .M = 2, .max_n = 9};
  RtlScene first(shape, 9), second(shape, 8);
  std::vector<std::vector<std::uint64_t>> one, two;
  {
    const std::jthread other([&] { work(second, two); });
    work(first, one);
  }
  for (const auto* const results : {&one, &two}) {
    ASSERT_EQ(results->size(), 16u);
    for (std::size_t i = 0; i < 16; i += 2) EXPECT_EQ((*results)[i], (*results)[i + 1]);
  }
}

}  // namespace
}  // namespace whorl::backend::rtl
