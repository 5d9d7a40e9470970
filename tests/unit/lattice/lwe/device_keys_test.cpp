// Keys of gates on devices: put there when they are used, taken off again; each is counted for what
// it takes there.
#include "lattice/lwe/device_keys.h"
#include "backend/contract/device.h"
#include "support/lwe_operations.h"
#include "support/lwe_rig.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

/// Residues in the place of keys: they are prepared as keys are.
template <class Word, class SwitchWord>
KeyMaterial material(unsigned bits, backend::Arithmetic arithmetic, std::uint64_t Q_ks) {
  test::Random random;
  const std::uint32_t N = 256, n = 20;
  const std::uint64_t Q = math::ntt_primes(bits, N, 1)[0];
  const std::vector<ring::Gadget> gadgets(n, ring::Gadget(Q, 7, (bits + 6) / 7));
  const ring::Gadget digits(Q_ks, 7, 2);
  KeyMaterial out;
  out.rotation = RotationMethod().shape(N, Q, SecretKind::ternary, gadgets, arithmetic);
  out.rotation_b = WordArray(random.residues<Word>(
      out.rotation.row_count * out.rotation.row_words(), static_cast<Word>(Q)));
  out.key_switch = {N, n, Q_ks, digits, false};
  out.switch_b = WordArray(
      random.residues<SwitchWord>(std::size_t{N} * digits.digits(), static_cast<SwitchWord>(Q_ks)));
  return out;
}

struct Sample {
  const char* name;
  KeyMaterial keys;
};
/// One keeps doubles as words, and one has a switching key whose words are twice as wide on the
/// CPU: there one is smaller than was reserved for it, the other larger.
std::vector<Sample> samples() {
  using enum backend::Arithmetic;
  return {{"fft", material<std::uint32_t, std::uint16_t>(27, fft, 1 << 14)},
          {"ntt", material<std::uint32_t, std::uint16_t>(27, ntt, 1 << 14)},
          {"64 bits", material<std::uint64_t, std::uint32_t>(50, fft, 134215681)}};
}

std::shared_ptr<const run::Lane> lane() {
  return std::make_shared<const run::Lane>(backend::make_device("cpu", {1, {}}));
}

TEST(LweDeviceKeys, AreCountedByTheirPreparedBytes) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const auto budget = std::make_shared<run::KeyBudget>();
    const auto there = lane();
    const Keys keys(budget, sample.keys);
    EXPECT_EQ(keys.bytes_on(*there), 0u);
    std::size_t rotation = 0, key_switch = 0;
    {
      const DeviceKeys both = keys.on(*there);
      rotation = both.rotation->bytes();
      key_switch = both.key_switch->bytes();
    }
    EXPECT_GT(rotation, 0u);
    EXPECT_GT(key_switch, 0u);
    EXPECT_EQ(keys.bytes_on(*there), rotation + key_switch);
    EXPECT_EQ(budget->used(*there), rotation + key_switch);

    EXPECT_EQ(budget->make_room(*there, 1), rotation) << "the one that was asked for first";
    EXPECT_EQ(keys.bytes_on(*there), key_switch) << "the other is still there";
    keys.on(*there);
    EXPECT_EQ(keys.bytes_on(*there), rotation + key_switch);
    keys.release(*there);
    EXPECT_EQ(keys.bytes_on(*there), 0u);
    EXPECT_EQ(budget->used(*there), 0u);
  }
}

TEST(LweDeviceKeys, TwoSetsFitWhereTheirPreparedBytesDo) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const auto there = lane();
    const auto bytes = [&](const Keys& keys) {
      keys.on(*there);
      return keys.bytes_on(*there);
    };
    const std::size_t each = bytes(Keys(std::make_shared<run::KeyBudget>(), sample.keys));
    for (const std::size_t room : {2 * each, 2 * each - 1}) {
      const auto budget = std::make_shared<run::KeyBudget>(room);
      const Keys one(budget, sample.keys), other(budget, sample.keys);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(bytes(one), each);
        EXPECT_EQ(bytes(other), each);
        EXPECT_LE(budget->used(*there), room);
        EXPECT_EQ(budget->used(*there), one.bytes_on(*there) + each);
      }
      EXPECT_EQ(one.bytes_on(*there) == each, room == 2 * each);
    }
    const Keys none(std::make_shared<run::KeyBudget>(each - 1), sample.keys);
    EXPECT_THROW(none.on(*there), OutOfMemoryError);
  }
}

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
  key_switch(evaluator, evaluator.upload({rig.Q_ks, rig.N, Under::ring, 4}, 1, words.data()));
  EXPECT_EQ(budget->used(first), used);
}

}  // namespace
}  // namespace whorl::lattice::lwe
