// Keys of LWE ciphertexts on devices: put there when they are used, taken off again.
#include "lattice/lwe/device_keys.h"

#include <gtest/gtest.h>

#include "support/lwe_rig.h"
#include "support/strained_device.h"

namespace whorl::lattice::lwe {
namespace {

TEST(LweDeviceKeys, AreReleasedAndComeBack) {
  test::LweRig<std::uint32_t> rig(27);
  const auto budget = std::make_shared<run::KeyBudget>();
  const auto keys = rig.on_host(budget);
  const test::StrainedFleet devices(2);
  const run::Lane &first = *devices.fleet->lane(0), &second = *devices.fleet->lane(1);
  EXPECT_EQ(budget->used(first), 0u);
  keys->release(first);  // nothing is there
  keys->on(first);
  keys->on(second);
  const std::size_t used = budget->used(first);
  EXPECT_GT(used, 0u);
  {
    const DeviceKeys there = keys->on(first);
    keys->release(first);
    EXPECT_EQ(budget->used(first), used) << "a call holds them";
    EXPECT_EQ(there.key_switch->shape().Q_ks, rig.Q_ks);
    EXPECT_NE(keys->on(first).rotation, there.rotation) << "prepared anew";
    keys->release(first);
  }
  EXPECT_EQ(budget->used(first), 0u);
  EXPECT_GT(budget->used(second), 0u) << "another device keeps them";

  const Evaluator evaluator(devices.fleet, keys, 1 << 14);
  const std::vector<std::uint32_t> words(rig.N + 1);
  evaluator.key_switch(evaluator.upload({rig.Q_ks, rig.N, Under::ring, 4}, 1, words.data()));
  EXPECT_EQ(budget->used(first), used);
}

}  // namespace
}  // namespace whorl::lattice::lwe
