// Operations on arrays of LWE ciphertexts: against the formulas, on one device and several, and
// where one of them fails in the middle.
#include "lattice/lwe/evaluator.h"
#include "support/counting_device.h"
#include "support/lwe_operations.h"
#include "support/lwe_rig.h"
#include "support/slow_rotation.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

using test::LweRig;
using test::StrainedFleet;
using test::words_of;
using Words = std::vector<std::uint64_t>;

// ---- formulas

template <class Word>
void check_key_switch(LweRig<std::uint32_t>& rig, std::size_t devices) {
  SCOPED_TRACE(std::to_string(devices) + " devices, words of " + std::to_string(sizeof(Word)));
  const Evaluator evaluator(StrainedFleet(devices, 3).fleet, rig.on_host(), 1 << 14);
  const std::size_t count = 1 + rig.random.below(20), row = rig.N + 1;
  const Form form{rig.Q_ks, rig.N, Under::ring, sizeof(Word)};
  const auto words = rig.random.template residues<Word>(count * row, rig.Q_ks);
  const Array out = key_switch(evaluator, evaluator.upload(form, count, words.data()));
  EXPECT_EQ(out.form(), (Form{rig.Q_ks, rig.n, Under::lwe, sizeof(Word)}));
  Words due;
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = test::part(words, i * row, row);
    const auto one = rig.switched(Words(word.begin(), word.end()));
    due.insert(due.end(), one.begin(), one.end());
  }
  EXPECT_EQ(words_of(evaluator, out), due);
}

TEST(LweEvaluator, KeySwitching) {
  for (const bool table : {false, true}) {
    LweRig<std::uint32_t> rig(27, table);
    for (const std::size_t devices : {1u, 2u, 3u}) {
      check_key_switch<std::uint32_t>(rig, devices);
      check_key_switch<std::uint64_t>(rig, devices);
    }
  }
}

TEST(LweEvaluator, KeySwitchingTakesWhatItsKeyIsFor) {
  LweRig<std::uint32_t> rig(27);
  const StrainedFleet devices(1);
  const Evaluator with(devices.fleet, rig.on_host(), 1 << 14), without(devices.fleet, nullptr, 1);
  const std::vector<std::uint32_t> words(rig.N + 1);
  const auto form = [&](std::uint64_t modulus, Under under) {
    return Form{modulus, rig.N, under, 4};
  };
  const auto refused = [&](const Form& of) {
    EXPECT_THROW(key_switch(with, with.upload(of, 1, words.data())), ShapeError) << of.describe();
  };
  refused(form(rig.Q_ks / 2, Under::ring));
  refused(form(rig.Q_ks, Under::lwe));
  refused({rig.Q_ks, rig.N - 1, Under::ring, 4});
  const Form due = form(rig.Q_ks, Under::ring);
  EXPECT_THROW(key_switch(without, without.upload(due, 1, words.data())), DeviceError);
}

TEST(LweEvaluator, WithoutKeysNoDeviceFails) {
  const LweRig<std::uint32_t> rig(27);
  const StrainedFleet devices(2);
  const Evaluator without(devices.fleet, nullptr, 1);
  const std::vector<std::uint32_t> words(4 * (rig.N + 1));
  const Array in = without.upload({rig.Q_ks, rig.N, Under::ring, 4}, 4, words.data());
  EXPECT_THROW(key_switch(without, in), DeviceError);
  EXPECT_THROW(to_exponents(without, in, 2 * rig.N, 0, 0), DeviceError);
  EXPECT_THROW(rotate(without, in, Tables(rig.N, rig.Q_ks, 0), std::vector<std::uint32_t>{0}, 0),
               DeviceError);
  EXPECT_TRUE(devices.fleet->failed().empty());
}

/// round(x·to/from) mod to, halves up.
std::uint64_t rounded(std::uint64_t x, std::uint64_t from, std::uint64_t to) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(x) * to * 2 + from) /
                                    (2 * static_cast<unsigned __int128>(from)) % to);
}

std::shared_ptr<const run::Fleet> slow_fleet(std::size_t devices) {
  std::vector<std::shared_ptr<const backend::Device>> all;
  for (std::size_t d = 0; d < devices; ++d)
    all.push_back(std::make_shared<backend::RelayDevice<test::SlowRotationQueue>>(
        "slow:" + std::to_string(d), backend::make_device("cpu", {1, {}})));
  return std::make_shared<const run::Fleet>(std::move(all), run::FleetOptions{});
}

TEST(LweEvaluator, ExponentsAreRounded) {
  LweRig<std::uint32_t> rig(27);
  for (const std::size_t devices : {1u, 2u})
    for (const std::uint64_t q : {512ULL, 1ULL << 14, 1000003ULL}) {
      const Evaluator evaluator(StrainedFleet(devices).fleet, rig.on_host(), 1 << 14);
      const std::size_t count = 1 + rig.random.below(20), row = rig.n + 1;
      const auto words = rig.random.residues<std::uint32_t>(count * row, q);
      const Array in = evaluator.upload({q, rig.n, Under::lwe, 4}, count, words.data());
      const std::uint64_t to = 2 * rig.N, offset = rig.random.below(to);
      const Array out = to_exponents(evaluator, in, to, offset, 0);
      EXPECT_EQ(out.form(), (Form{to, rig.n, Under::lwe, 4}));
      Words due;
      for (std::size_t i = 0; i < words.size(); ++i)
        due.push_back((rounded(words[i], q, to) + (i % row == rig.n ? offset : 0)) % to);
      EXPECT_EQ(words_of(evaluator, out), due) << "q = " << q;
      EXPECT_EQ(words_of(evaluator, in), Words(words.begin(), words.end())) << "the operand stays";
    }
}

TEST(LweEvaluator, ExponentsAreOddWhereTheMethodAsksForIt) {
  const RotationMethod method(RotationMethod::Kind::automorphism, 4);
  LweRig<std::uint32_t> rig(27, false, method);
  for (const std::uint64_t q : {512ULL, 1ULL << 14, 1ULL << 20}) {
    const Evaluator evaluator(slow_fleet(2), rig.on_host(), 1 << 14);
    const std::size_t count = 1 + rig.random.below(20), row = rig.n + 1;
    const auto words = rig.random.residues<std::uint32_t>(count * row, q);
    const Array in = evaluator.upload({q, rig.n, Under::lwe, 4}, count, words.data());
    const std::uint64_t to = 2 * rig.N, offset = rig.random.below(to), unit = q / to;
    const auto got = words_of(evaluator, to_exponents(evaluator, in, to, offset, 0));
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i % row == rig.n) {
        EXPECT_EQ(got[i], (2 * rounded(words[i], q, to / 2) + offset) % to) << "b";
      } else {
        EXPECT_EQ(got[i], 2 * rounded((words[i] + q - unit) % q, q, to / 2) + 1) << "a";
        EXPECT_EQ(got[i] % 2, 1u);
      }
    }
  }
}

// ---- a device that fails

struct LweFailures : ::testing::Test {
  LweRig<std::uint32_t> rig{27};
  Form form{rig.Q_ks, rig.N, Under::ring, 4};
  using Shared = std::shared_ptr<const std::vector<std::uint32_t>>;
  Shared many = words(4), more = words(4), one = words(1);

  Shared words(std::size_t count) {
    return std::make_shared<const std::vector<std::uint32_t>>(
        rig.random.residues<std::uint32_t>(count * form.row(), form.modulus));
  }
  Evaluator on(const StrainedFleet& devices) const {
    return {devices.fleet, rig.on_host(), 1 << 14};
  }
  Array upload(const Evaluator& evaluator, const Shared& words, bool owned) const {
    return evaluator.upload(form, words->size() / form.row(), words->data(),
                            owned ? std::shared_ptr<const void>(words) : nullptr);
  }
  static Array sum(const Evaluator& evaluator, const Array& a, const Array& b) {
    const Array* in[] = {&a, &b};
    const std::int64_t weights[] = {2, -3};
    return linear(evaluator, weights, in, 5);
  }
  static Words of(const Shared& words) { return {words->begin(), words->end()}; }

  /// `work` on a and b, whose words the host has, gives the bits that one device gives, wherever in
  /// the call the second of two fails.
  void survives(bool owned,
                const std::function<Array(const Evaluator&, const Array&, const Array&)>& work) {
    const Evaluator alone = on(StrainedFleet(1));
    const Words due =
        words_of(alone, work(alone, upload(alone, many, false), upload(alone, more, false)));
    bool in_time = false;
    for (long calls = 0; !in_time; ++calls) {
      SCOPED_TRACE(calls);
      const StrainedFleet devices(2);
      const Evaluator evaluator = on(devices);
      const Array a = upload(evaluator, many, owned), b = upload(evaluator, more, owned);
      if (!owned) devices.spill(1);
      devices.strains[1]->calls_left = calls;
      const Array out = work(evaluator, a, b);
      in_time = !devices.fleet->has_failed(1);
      ASSERT_LT(calls, 100);
      if (in_time) break;
      ASSERT_EQ(words_of(evaluator, out), due);
      EXPECT_EQ(words_of(evaluator, a), of(many));
      EXPECT_EQ(words_of(evaluator, work(evaluator, a, b)), due) << "and the server goes on";
    }
  }
};

TEST_F(LweFailures, SpilledOperands) {
  survives(false, &sum);
  survives(false, [](const Evaluator& evaluator, const Array& a, const Array&) {
    return key_switch(evaluator, a);
  });
}

TEST_F(LweFailures, UploadedOperands) {
  survives(true, &sum);
  survives(true, [](const Evaluator& evaluator, const Array& a, const Array& b) {
    const Array both[] = {b, a};
    return evaluator.join(both);
  });
  survives(true, [](const Evaluator& evaluator, const Array& a, const Array&) {
    const std::vector<std::uint32_t> index = {3, 0, 2, 2, 1};
    return evaluator.take(a, index);
  });
}

TEST_F(LweFailures, UploadedOperandsTheirCallerHasDropped) {
  const StrainedFleet devices(2);
  const Evaluator evaluator = on(devices);
  const Array a = upload(evaluator, many, true), b = upload(evaluator, more, true);
  devices.strains[1]->calls_left = 0;
  more.reset();
  test::expect_message<DeviceError>(
      [&] { sum(evaluator, a, b); },
      {"; input 1 is lost: ciphertexts 2 … 3 of 4 lay on strained:1", "strained:1 was unplugged"});
  EXPECT_EQ(words_of(evaluator, sum(evaluator, a, a)).size(), 4 * form.row());
}

TEST_F(LweFailures, SinglesThatMetBatches) {
  const Evaluator alone = on(StrainedFleet(1));
  const auto single = [&](const Evaluator& evaluator) { return upload(evaluator, one, false); };
  const Words due = words_of(alone, sum(alone, single(alone), single(alone)));
  const StrainedFleet devices(2);
  const Evaluator evaluator = on(devices);
  const Array s = single(evaluator);
  EXPECT_EQ(words_of(evaluator, sum(evaluator, upload(evaluator, many, false), s)),
            words_of(alone, sum(alone, upload(alone, many, false), single(alone))));
  devices.strains[0]->calls_left = 0;
  EXPECT_EQ(words_of(evaluator, sum(evaluator, s, s)), due);
  EXPECT_TRUE(devices.fleet->has_failed(0));
  EXPECT_EQ(words_of(evaluator, s), of(one));
}

TEST_F(LweFailures, ASingleOnTheDeviceThatFails) {
  const StrainedFleet devices(2);
  const Evaluator evaluator = on(devices);
  const Array s = upload(evaluator, one, false), a = upload(evaluator, many, true);
  devices.strains[0]->calls_left = 0;  // its copy for the other device is not made any more
  EXPECT_THROW(sum(evaluator, a, s), DeviceError);
  EXPECT_TRUE(devices.fleet->has_failed(0));
  EXPECT_NO_THROW(sum(evaluator, a, a));
}

TEST_F(LweFailures, AllDevices) {
  const StrainedFleet devices(2);
  const Evaluator evaluator = on(devices);
  const Array a = upload(evaluator, many, true);
  for (const auto& strain : devices.strains) strain->calls_left = 0;
  EXPECT_THROW(sum(evaluator, a, a), DeviceError);
  EXPECT_EQ(devices.fleet->failed().size(), 2u);
  EXPECT_EQ(words_of(evaluator, a), of(many));
}

/// Rows of an array on any lanes: within a piece of it, from several, from another device.
TEST(LweEvaluator, RowsAreHadWhereTheyAreNeeded) {
  LweRig<std::uint32_t> rig(27);
  for (const std::size_t devices : {1u, 2u, 3u}) {
    const StrainedFleet strained(devices, 3);
    const run::Fleet& fleet = *strained.fleet;
    const Evaluator evaluator(strained.fleet, nullptr, 1 << 14);
    const Form form{1024, 30, Under::lwe, 4};
    for (const std::size_t count : {1u, 20u}) {
      const auto words = rig.random.residues<std::uint32_t>(count * form.row(), form.modulus);
      const Array array = evaluator.upload(form, count, words.data());
      for (int i = 0; i < 20; ++i) {
        std::vector<run::Piece> pieces(1 + rig.random.below(4));
        for (auto& [lane, range] : pieces) {
          lane = rig.random.below(devices);
          range.begin = rig.random.below(count);
          range.count = 1 + rig.random.below(count - range.begin);
        }
        const std::vector<Rows> found = evaluator.placed(array, pieces);
        ASSERT_EQ(found.size(), pieces.size());
        for (std::size_t k = 0; k < pieces.size(); ++k) {
          const auto [begin, some] = pieces[k].range;
          const run::Lane& lane = *fleet.lane(pieces[k].lane);
          const auto held = lane.hold();
          std::vector<std::uint32_t> got(some * form.row());
          ASSERT_EQ(found[k].count(), some);
          Stages(lane.queue()).download(found[k], got.data());
          EXPECT_EQ(got, test::part(words, begin * form.row(), some * form.row()));
        }
      }
    }
  }
  // Another's array is refused, and a lost one named.
  const StrainedFleet two(2);
  const Evaluator evaluator(two.fleet, nullptr, 1 << 14),
      other(StrainedFleet(1).fleet, nullptr, 1 << 14);
  const std::vector<std::uint32_t> words(4 * 31);
  const Array array = evaluator.upload({1024, 30, Under::lwe, 4}, 4, words.data());
  const run::Piece all{0, {0, 4}};
  EXPECT_THROW(other.placed(array, std::span(&all, 1)), DeviceError);
  two.fleet->mark_failed(1, "unplugged");
  EXPECT_THROW(evaluator.placed(array, std::span(&all, 1)), DeviceError);
}

TEST(LweEvaluator, SinglesAreBroughtToOtherDevicesOnce) {
  LweRig<std::uint32_t> rig(27);
  const auto [traffic, fleet] = test::CountingFleet(2);
  const Evaluator evaluator(fleet, nullptr, 1 << 10);
  const Form form{1024, 30, Under::lwe, 4};
  const auto words = rig.random.residues<std::uint32_t>(5 * form.row(), form.modulus);
  const Array many = evaluator.upload(form, 4, words.data()),
              one = evaluator.upload(form, 1, words.data());
  const Array* in[] = {&many, &one};
  const std::int64_t weights[] = {1, 1};
  for (auto& each : traffic) each->in = each->out = 0;
  for (int repeat = 0; repeat < 3; ++repeat) linear(evaluator, weights, in, 0);
  EXPECT_EQ(traffic[0]->out, form.row_bytes());
  EXPECT_EQ(traffic[1]->in, form.row_bytes());
}

}  // namespace
}  // namespace whorl::lattice::lwe
