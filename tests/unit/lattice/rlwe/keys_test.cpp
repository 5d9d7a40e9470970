// Switching keys that are put on devices and taken off again.
#include <latch>

#include "lattice/rlwe/dry_evaluator.h"
#include "lattice/rlwe/keys.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::any_keys;

struct RlweKeys : ::testing::Test {
  test::RlweRig<std::uint32_t> rig = test::RlweRig<std::uint32_t>::even(4, 2, 2);
  std::shared_ptr<const Evaluator> e = rig.evaluator(test::StrainedFleet(2).fleet);
  std::vector<SwitchKeyData> data = {rig.key(1, 2), rig.key(3, 1), rig.key(5, 1)};
  /// On one device: two components of digits × rows polynomials.
  std::size_t each = 2 * data[0].b.bytes();
};

TEST_F(RlweKeys, AreThereAtOnceWithoutABudget) {
  const Keys keys(e, data, any_keys());
  EXPECT_EQ(each, 2u * 2 * 6 * 256 * 4);
  EXPECT_EQ(keys.bytes(), 2 * 3 * each);
  EXPECT_TRUE(keys.has(3, 1));
  EXPECT_FALSE(keys.has(3, 2));
  EXPECT_EQ(keys.get(5, 1).g(), 5u);
}

TEST_F(RlweKeys, TakeTurnsWhereThereIsRoomForOne) {
  const Keys all(e, data, any_keys()), some(e, data, std::make_shared<run::KeyBudget>(each + 1));
  EXPECT_EQ(some.bytes(), 0u);
  const Shape shape{3, rig.plan->level(4), 4};
  const Array a = e->upload(rig.residues(shape), shape);
  const std::vector<std::uint32_t> gs = {5, 3, 5};
  const auto same = [&](const Array& x, const Array& y) {
    const WordArray one = e->download(x), other = e->download(y);
    ASSERT_EQ(one.bytes(), other.bytes());
    EXPECT_EQ(std::memcmp(one.data(), other.data(), one.bytes()), 0);
    EXPECT_LE(some.bytes(), 2 * each) << "one on each device";
    EXPECT_GE(some.bytes(), each);
  };
  for (int i = 0; i < 2; ++i) {
    const Array two = e->relinearise(a, some, 1);
    same(two, e->relinearise(a, all, 1));
    const auto x = e->automorphisms(two, gs, some, 1), y = e->automorphisms(two, gs, all, 1);
    for (std::size_t k = 0; k < gs.size(); ++k) same(x[k], y[k]);
  }
  const Keys none(e, data, std::make_shared<run::KeyBudget>(each - 1));
  EXPECT_THROW(e->relinearise(a, none, 1), OutOfMemoryError);
}

TEST_F(RlweKeys, ThoseThatAreMissingAreNamed) {
  const Keys keys(e, std::span(data).first(1), any_keys());
  const auto refused = [&](std::uint32_t g, unsigned power, const std::string& name) {
    test::expect_message<MissingKeyError>([&] { keys.get(g, power); }, {name});
  };
  refused(1, 3, "s^3");
  refused(7, 1, "X^7");
  refused(511, 1, "exchange of rows");
}

TEST_F(RlweKeys, Refusals) {
  const auto refused = [&]<class Error>(SwitchKeyData bad, Error*) {
    EXPECT_THROW(Keys(e, std::span(&bad, 1), any_keys()), Error);
  };
  SwitchKeyData bad = data[0];
  bad.b = WordArray(std::vector<std::uint32_t>(7));
  refused(bad, static_cast<ShapeError*>(nullptr));
  bad.b = WordArray(std::vector<std::uint64_t>(data[0].b.size()));
  refused(bad, static_cast<ShapeError*>(nullptr));
  for (const std::uint32_t g : {2u, 513u}) {
    bad = data[0];
    bad.g = g;
    refused(bad, static_cast<ParameterError*>(nullptr));
  }
  bad = data[0];
  bad.power = 0;
  refused(bad, static_cast<ParameterError*>(nullptr));
}

TEST_F(RlweKeys, OfADryRunAreMadeOnceForAllThreads) {
  const auto shapes =
      std::make_shared<const DryEvaluator>(test::StrainedFleet(1).fleet, 256, 4, 2, 4);
  const Keys keys(shapes, rig.plan->key_layout());
  constexpr unsigned threads = 4, count = 2000;
  std::latch start(threads);
  std::vector<std::vector<const Key*>> got(threads);
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      start.arrive_and_wait();
      for (unsigned i = 0; i < count; ++i) got[t].push_back(&keys.get(2 * i + 1, 1));
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(keys.sources().size(), count);
  for (unsigned t = 1; t < threads; ++t) EXPECT_EQ(got[t], got[0]);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
