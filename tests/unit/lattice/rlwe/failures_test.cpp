// A device that fails in the middle of an operation: with operands that are elsewhere too, it is
// done again by the others, to the same bits; with others the call says what is lost.
#include "support/limited_device.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::expect_same;
using test::RlweRig;
using test::StrainedFleet;

struct Failures : ::testing::Test {
  RlweRig<std::uint32_t> rig = RlweRig<std::uint32_t>::mixed(3, 1, 1);
  ring::Basis full = rig.plan->level(3);
  Shape many{2, full, 4}, single{2, full, 1};
  WordArray a = rig.residues(many), b = rig.residues(many), s = rig.residues(single);
  std::shared_ptr<const Evaluator> alone = rig.evaluator(StrainedFleet(1).fleet);
};

// Fails at the first memory that it hands out, or once operands came back, or after the call.
TEST_F(Failures, EveryOperationIsDoneAgain) {
  const auto data = rig.key(3, 1);
  const auto plain = rig.residues({1, rig.plan->all(), 1});
  const auto no_end = std::make_shared<run::KeyBudget>();
  using Arrays = std::vector<Array>;
  using Operation = std::function<Arrays(const Evaluator&, const Array&, const Keys&)>;
  const std::vector<std::pair<const char*, Operation>> operations = {
      {"tensor", [&](const auto& e, const Array& x,
                     const Keys&) { return Arrays{e.tensor(x, e.upload(b, many))}; }},
      {"automorphisms",
       [](const auto& e, const Array& x, const Keys& keys) {
         return e.automorphisms(x, std::vector<std::uint32_t>{3, 1}, keys, 1);
       }},
      {"linear_map",
       [&](const auto& e, const Array& x, const Keys& keys) {
         const Array m = e.upload(plain, {1, rig.plan->all(), 1});
         const Evaluator::LinearMap map{{3, 1}, {1}, [&](auto, auto) { return m; }};
         return Arrays{e.linear_map(x, map, keys, x.basis(), 1)};
       }},
      {"weighted_sums",
       [](const auto& e, const Array& x, const Keys&) {
         const std::vector<double> weights = {1, -2, 3, 4, 5, -6};
         return Arrays{e.weighted_sums(x, weights, 10, 2, {})};
       }},
      {"sums_of_made_products",
       [&](const auto& e, const Array&, const Keys&) {
         const std::vector<Array> plains(40, e.upload(plain, {1, rig.plan->all(), 1}));
         const auto writer = [&](std::span<const run::Piece> pieces) -> Evaluator::Writer {
           return [&, of = std::vector(pieces.begin(), pieces.end())](
                      std::size_t piece, const backend::Queue& queue, run::Range which,
                      const Evaluator::Words& out) {
             const auto to = std::get<backend::Slice<std::uint32_t>>(out);
             const std::size_t count = of[piece].range.count, each = to.size / count / which.count;
             for (std::size_t k = 0; k < which.count; ++k)
               for (std::size_t r = 0; r < full.size(); ++r)
                 for (std::size_t i = 0; i < count; ++i)
                   queue.fill<std::uint32_t>(
                       static_cast<std::uint32_t>(100 * (which.begin + k) + of[piece].range.begin +
                                                  i),
                       to.part(((k * full.size() + r) * count + i) * rig.N(), rig.N()));
             EXPECT_EQ(each, full.size() * rig.N());
           };
         };
         return Arrays{e.sums_of_made_products(4, full, writer, std::span(&plains, 1))};
       }},
      {"masked_tensors",
       [&](const auto& e, const Array& x, const Keys&) {
         return e.masked_tensors(std::vector<Array>{x, e.upload(b, many)}, std::vector<Array>{x},
                                 std::vector<std::uint16_t>{1, 0, 0, 1, 1, 1});
       }},
      {"take",
       [](const auto& e, const Array& x, const Keys&) {
         return Arrays{e.take(x, std::vector<std::uint32_t>{3, 0, 3, 2})};
       }},
      {"join",
       [](const auto& e, const Array& x, const Keys&) {
         return Arrays{e.join(std::vector<Array>{x, x})};
       }},
      {"upload",
       [&](const auto& e, const Array&, const Keys&) { return Arrays{e.upload(b, many)}; }},
      {"download", [&](const auto& e, const Array& x, const Keys&) {
         return Arrays{e.upload(e.download(x), many)};
       }}};
  const auto all_words = [](const Evaluator& e, const Arrays& arrays) {
    std::vector<WordArray> out;
    for (const Array& each : arrays) out.push_back(e.download(each));
    return out;
  };
  const Keys at_home(alone, std::span(&data, 1), no_end);
  for (const auto& [name, operation] : operations) {
    SCOPED_TRACE(name);
    const auto due = all_words(*alone, operation(*alone, alone->upload(a, many), at_home));
    bool in_time = false;
    int failed = 0;
    for (long calls = 0; !in_time; ++calls) {
      SCOPED_TRACE(calls);
      ASSERT_LT(calls, 80);
      const StrainedFleet devices(2);
      const auto e = rig.evaluator(devices.fleet);
      const Keys keys(e, std::span(&data, 1), no_end);
      const Array x = e->upload(a, many);
      devices.spill(1);
      devices.strains[1]->calls_left = calls;
      const Arrays made = operation(*e, x, keys);
      in_time = !devices.fleet->has_failed(1);
      if (in_time) break;
      EXPECT_EQ(made[0].pieces(), devices.fleet->pieces(made[0].count(), e->most()));
      expect_same(e->download(x), a);
      const auto words = all_words(*e, made);
      ASSERT_EQ(words.size(), due.size());
      for (std::size_t i = 0; i < due.size(); ++i) expect_same(words[i], due[i]);
      ++failed;
    }
    EXPECT_GT(failed, 0);
  }
}

TEST_F(Failures, MemoryThatOthersTookMeanwhile) {
  const Shape eight{2, full, 8};
  const WordArray words = rig.residues(eight);
  const auto due =
      alone->download(alone->tensor(alone->upload(words, eight), alone->upload(words, eight)));
  const auto limit = std::make_shared<test::MemoryLimit>();
  limit->bytes = SIZE_MAX;
  const auto fleet = std::make_shared<const run::Fleet>(
      std::vector<std::shared_ptr<const backend::Device>>{test::limited_device(limit)},
      run::FleetOptions{});
  const auto e = rig.evaluator(fleet);
  const Array x = e->upload(words, eight);
  ASSERT_EQ(x.pieces().size(), 1u);
  // The operand and its product are 16 and 24 rows of polynomials each; the room is for less.
  const std::size_t tables = limit->used - words.bytes();
  for (const std::size_t percent : {240u, 200u, 160u}) {
    SCOPED_TRACE(percent);
    limit->bytes = tables + words.bytes() * percent / 100;
    const Array product = e->tensor(x, x);
    EXPECT_GT(product.pieces().size(), 1u);
    expect_same(e->download(product), due);
  }
  limit->bytes = tables + words.bytes() / 8;
  EXPECT_THROW(e->tensor(x, x), OutOfMemoryError);
  expect_same(e->download(x), words);
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
  const WordArray copy(
      std::vector<std::uint32_t>(a.as<std::uint32_t>().begin(), a.as<std::uint32_t>().end()));
  a = WordArray();  // the array holds them
  expect_same(e->download(x), copy);
}

TEST_F(Failures, ASingleOnTheDeviceThatFails) {
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const Array one = e->negate(e->upload(s, single)), x = e->upload(a, many);
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
  devices.spill(1);
  const Array z = e->negate(e->upload(b, many));
  devices.strains[1]->calls_left = 0;
  test::expect_message<DeviceError>([&] { e->add(x, z); },
                                    {"items 2 … 3 on strained:1 of an array of 4"});
  expect_same(e->download(e->add(x, y)),
              alone->download(alone->add(alone->upload(a, many), alone->upload(b, many))));
}

TEST_F(Failures, AllDevices) {
  const StrainedFleet devices(2);
  const auto e = rig.evaluator(devices.fleet);
  const Array x = e->upload(a, many);
  for (const std::size_t lane : {0u, 1u}) {
    devices.spill(lane);
    devices.strains[lane]->calls_left = 0;
  }
  EXPECT_THROW(e->negate(x), DeviceError);
  EXPECT_EQ(devices.fleet->failed().size(), 2u);
  expect_same(e->download(x), a);
}

}  // namespace
}  // namespace whorl::lattice::rlwe
