// The driver: what it refuses, and that no run's results are another's.
#include "backend/rtl/driver.h"

#include "support/rtl_scene.h"
#include "support/test.h"

namespace whorl::backend::rtl {
namespace {

using test::RtlScene;

/// A model whose runs are interrupted, or never end, while the test wants it.
struct Unfinished final : Core {
  explicit Unfinished(const Shape& shape) : model(shape) {}
  std::uint32_t read(std::uint32_t address) override { return model.read(address); }
  void write(std::uint32_t address, std::uint32_t value) override {
    if (address == reg::control && ignores_starts && (value & reg::start)) return;
    model.write(address, value);
  }
  void resize(Port port, std::uint64_t bytes) override { model.resize(port, bytes); }
  void store(Port port, std::uint64_t address, std::span<const std::uint8_t> bytes) override {
    EXPECT_FALSE(model.read(reg::status) & reg::busy) << "a write under a run";
    model.store(port, address, bytes);
  }
  void load(Port port, std::uint64_t address, std::span<std::uint8_t> bytes) override {
    model.load(port, address, bytes);
  }
  void set_timing(const MemoryTiming& timing) override { model.set_timing(timing); }
  void advance(std::uint64_t cycles) override { model.advance(cycles); }
  void finish(std::uint64_t most) override {
    if (interrupts) throw InterruptedError("the test interrupts");
    if (ends) model.finish(most);
  }

  Model model;
  bool interrupts = false, ends = true, ignores_starts = false;
};

struct Rig {
  RtlScene scene{{.log_N = 6, .M = 2, .max_n = 9}, 8};
  std::shared_ptr<Unfinished> core = std::make_shared<Unfinished>(scene.core);
  Driver driver{core};
  std::vector<std::uint32_t> index = {0};
  std::vector<std::uint64_t> luts = scene.random.residues<std::uint64_t>(64, prime);

  Rig() {
    driver.use(scene.rotation_images());
    driver.use(scene.switch_image());
  }
  std::vector<std::uint32_t> run(const std::vector<std::uint32_t>& rows) {
    std::vector<std::uint32_t> out(9);
    driver.run({.count = 1, .rows = rows, .index = index, .luts = luts}, std::span(out));
    return out;
  }
  std::vector<std::uint32_t> rows() { return scene.random.residues<std::uint32_t>(9, lwe_modulus); }
};

TEST(RtlDriver, RefusesWithNumbers) {
  RtlScene scene({.log_N = 6, .M = 2, .max_n = 9}, 8);
  const auto driver = scene.driver();
  const std::vector<std::uint32_t> rows(9), index = {0};
  const std::vector<std::uint64_t> luts(64);
  std::vector<std::uint32_t> out(9);
  std::vector<std::uint64_t> samples(65);
  const Job good{.count = 1, .rows = rows, .index = index, .luts = luts};
  driver->run(good, out);
  Job job = good;
  job.rows = {rows.data(), 8};
  EXPECT_THROW(driver->run(job, out), ShapeError);
  job = good;
  job.index = {};
  EXPECT_THROW(driver->run(job, out), ShapeError);
  EXPECT_THROW(driver->run(good, std::span(out).first(8)), ShapeError);
  EXPECT_THROW(driver->run(good, samples), ShapeError);
  job = good;
  job.constant = prime;
  test::expect_message<DeviceError>([&] { driver->run(job, out); }, {"error 7"});
  driver->run(good, out);
  EXPECT_THROW(driver->set_timing({.stall = 257}), ParameterError);
  EXPECT_THROW(Driver(std::make_shared<Model>(Shape{.log_N = 5})), ParameterError);
}

TEST(RtlDriver, AnInterruptedRunIsNotTakenForTheNext) {
  Rig rig;
  const auto first = rig.rows(), second = rig.rows();
  const auto wanted = rig.run(second);
  rig.core->interrupts = true;
  EXPECT_THROW(rig.run(first), InterruptedError);
  EXPECT_EQ(rig.core->read(reg::status), reg::busy);
  rig.core->interrupts = false;
  EXPECT_EQ(rig.run(second), wanted);
  // A new key does not go under a run, either.
  rig.core->interrupts = true;
  EXPECT_THROW(rig.run(first), InterruptedError);
  rig.core->interrupts = false;
  rig.driver.use(rig.scene.rotation_images());
  EXPECT_EQ(rig.run(second), wanted);
}

TEST(RtlDriver, ARunThatDoesNotEndOrBeginIsAnError) {
  Rig rig;
  const auto rows = rig.rows();
  const auto wanted = rig.run(rows);
  rig.core->ends = false;
  EXPECT_THROW(rig.run(rows), DeviceError);
  rig.core->ends = true;
  EXPECT_EQ(rig.run(rows), wanted);
  // One that ignores a start has the STATUS of the run before it.
  Rig deaf;
  deaf.core->ignores_starts = true;
  EXPECT_THROW(deaf.run(rows), DeviceError);
}

}  // namespace
}  // namespace whorl::backend::rtl
