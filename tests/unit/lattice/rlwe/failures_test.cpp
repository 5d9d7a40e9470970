// A device that fails in the middle of an operation: with operands that are elsewhere too, it is
// done again by the others, to the same bits; with others the call says what is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/rlwe_rig.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {
namespace {

using test::RlweRig;
using test::StrainedFleet;

void expect_same(const WordArray& a, const WordArray& b) {
  ASSERT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
}

struct Failures : ::testing::Test {
  RlweRig<std::uint32_t> rig = RlweRig<std::uint32_t>::mixed(3, 1, 1);
  ring::Basis full = rig.plan->level(3);
  Shape many{2, full, 4}, single{2, full, 1};
  WordArray a = rig.residues(many), b = rig.residues(many), s = rig.residues(single);
  std::shared_ptr<const Evaluator> alone = rig.evaluator(StrainedFleet(1).fleet);

  /// All arrays of a lane leave for the host.
  static void spill(const StrainedFleet& devices, std::size_t lane) {
    const auto held = devices.fleet->lane(lane)->hold();
    while (devices.fleet->lane(lane)->residents().spill()) {
    }
  }
};

TEST_F(Failures, OperandsOnTheHost) {
  const auto due = alone->download(alone->tensor(alone->upload(a, many), alone->upload(b, many)));
  bool in_time = false;
  // Fails at the first memory that it hands out, or once operands came back, or after the call.
  for (long calls = 0; !in_time; ++calls) {
    SCOPED_TRACE(calls);
    const StrainedFleet devices(2);
    const auto e = rig.evaluator(devices.fleet);
    const Array x = e->upload(a, many), y = e->upload(b, many);
    spill(devices, 1);
    devices.strains[1]->calls_left = calls;
    const Array product = e->tensor(x, y);
    in_time = !devices.fleet->has_failed(1);
    ASSERT_LT(calls, 50);
    if (in_time) break;
    EXPECT_EQ(product.pieces(), devices.fleet->pieces(many.count, e->most()));
    expect_same(e->download(product), due);
    expect_same(e->download(x), a);
    expect_same(e->download(e->tensor(x, y)), due);
  }
}

TEST_F(Failures, OperandsWhoseWordsTheCallerHas) {
  const auto due = alone->download(alone->tensor(alone->upload(a, many), alone->upload(b, many)));
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const Array x = e->upload(a, many), y = e->upload(b, many), z = e->upload(s, single);
  devices.strains[1]->calls_left = 0;
  expect_same(e->download(e->tensor(x, y)), due);
  EXPECT_TRUE(devices.fleet->has_failed(1));
  expect_same(e->download(x), a);
  const std::vector<std::uint32_t> index = {3, 0};
  expect_same(e->download(e->take(x, index)),
              alone->download(alone->take(alone->upload(a, many), index)));
  expect_same(e->download(z), s);
  a = WordArray();
  EXPECT_THROW(e->download(x), DeviceError);
}

TEST_F(Failures, ASingleOnTheDeviceThatFails) {
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const Array one = e->upload(rig.residues(single), single), x = e->upload(a, many);
  devices.strains[0]->calls_left = 0;  // its copy for the other device is not made any more
  EXPECT_THROW(e->add(x, one), DeviceError);
  EXPECT_TRUE(devices.fleet->has_failed(0));
  EXPECT_NO_THROW(e->add(x, x));
}

TEST_F(Failures, ReplicatedSingles) {
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const auto due =
      alone->download(alone->tensor(alone->upload(s, single), alone->upload(s, single)));
  const Array one = e->upload(s, single), x = e->upload(a, many);
  e->add(x, one);  // on both now
  const auto words = e->download(one);
  s = WordArray();
  devices.strains[0]->calls_left = 0;
  expect_same(e->download(e->tensor(one, one)), due);
  EXPECT_TRUE(devices.fleet->has_failed(0));
  expect_same(e->download(one), words);
}

TEST_F(Failures, LostOperandsAreNamed) {
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const Array x = e->upload(a, many), y = e->upload(b, many);
  spill(devices, 1);
  const Array z = e->upload(rig.residues(many), many);
  devices.strains[1]->calls_left = 0;
  try {
    e->add(x, z);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("items 2 … 3 on strained:1 of an array of 4"),
              std::string::npos)
        << error.what();
  }
  expect_same(e->download(e->add(x, y)),
              alone->download(alone->add(alone->upload(a, many), alone->upload(b, many))));
}

TEST_F(Failures, AllDevices) {
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const Array x = e->upload(a, many);
  for (const std::size_t lane : {0u, 1u}) {
    spill(devices, lane);
    devices.strains[lane]->calls_left = 0;
  }
  EXPECT_THROW(e->negate(x), DeviceError);
  EXPECT_EQ(devices.fleet->failed().size(), 2u);
  expect_same(e->download(x), a);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
