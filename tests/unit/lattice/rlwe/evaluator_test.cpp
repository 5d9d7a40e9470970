// Operations on arrays of ciphertexts: what they mean, and that bits do not depend on where pieces
// lie.
#include "lattice/rlwe/evaluator.h"
#include "support/counting_device.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::any_keys;
using test::expect_same;
using test::RlweRig;
using test::StrainedFleet;

template <class Word>
class RlweEvaluator : public ::testing::Test {};
TYPED_TEST_SUITE(RlweEvaluator, test::BothWords);

TYPED_TEST(RlweEvaluator, BitsDoNotDependOnTheFleet) {
  auto rig = RlweRig<TypeParam>::mixed(5, 2, 2);
  const auto& plan = *rig.plan;
  const std::uint32_t inverse = 2 * plan.N() - 1;
  const std::vector<SwitchKeyData> keys = {rig.key(1, 2), rig.key(1, 3), rig.key(3, 1),
                                           rig.key(inverse, 1)};
  // No multiple of four: the shares of four devices differ.
  const std::size_t many = 4 * rig.random.below(3) + 2 + rig.random.below(2);
  SCOPED_TRACE(many);
  const ring::Basis full = plan.level(5), low = plan.level(3);
  const Shape two{2, full, many}, single{2, full, 1}, plain{1, plan.all(), many},
      one_plain{1, plan.all(), 1}, few{2, low, many};
  const WordArray a = rig.residues(two), b = rig.residues(two), s = rig.residues(single),
                  m = rig.residues(plain), o = rig.residues(one_plain), f = rig.residues(few);
  auto some = rig.random.numbers(1 + rig.random.below(12), many);
  const auto scalar = rig.random.between(-1000, 1000);

  const auto circuit = [&](const std::shared_ptr<const Evaluator>& e) {
    const Keys held(e, keys, any_keys());
    const Array x = e->upload(a, two), y = e->upload(b, two), one = e->upload(s, single),
                p = e->upload(m, plain), q = e->upload(o, one_plain), z = e->upload(f, few);
    std::vector<Array> out = {x, one, p};
    const auto keep = [&](Array array) -> const Array& { return out.emplace_back(array); };
    keep(e->add(x, y));
    keep(e->sub(x, one));
    keep(e->sub(one, y));
    keep(e->negate(x));
    keep(e->scale(x, scalar));
    keep(e->add_plain(x, p));
    keep(e->sub_plain(x, q));
    keep(e->add_plain(one, p));
    keep(e->multiply_plain(z, p));
    keep(e->multiply_plain(one, p));
    keep(e->multiply_plain(x, q));
    const Array three = e->tensor(x, y), four = e->tensor(three, one);
    keep(three);
    keep(four);
    keep(e->add(four, x));
    keep(e->sub(x, three));
    keep(e->relinearise(three, held, 1));
    keep(e->relinearise(four, held, 65537));
    keep(e->relinearise(four, held, low, 65537));
    keep(e->relinearise(x, held, low, 1));
    keep(e->relinearised_product(x, y, {}, held, x.basis(), 65537));
    keep(e->relinearised_product(one, y, {.doubled = true}, held, low, 1));
    const std::vector<Array> summed = {x, z, one, y};
    std::vector<std::vector<std::uint64_t>> weights(4);
    for (std::uint64_t i = 0; i < 12; ++i) weights[i / 3].push_back(i * i * 5003);
    keep(e->combination(summed, weights, low));
    keep(e->combination(summed, weights, weights[1], low));
    const Evaluator::LinearMap map{
        {1, 0, inverse}, {inverse, 1, 0, 3}, [&](std::size_t i, std::size_t baby) {
          return i == 2 || baby == 1 ? Array() : i == 0 ? p : q;
        }};
    keep(e->linear_map(x, map, held, low, 1));
    keep(e->linear_map(one, map, held, full, 1));
    const std::vector<std::uint32_t> gs = {3, 1, inverse};
    for (const Array& turned : e->automorphisms(x, gs, held, 2)) keep(turned);
    keep(e->key_switch(z, held.get(3, 1), 1));
    keep(e->divide(x, low, 65537));
    keep(e->divide(x, plan.level(2) | plan.special_basis(), 1));
    keep(e->extend(z, plan.all(), ring::Lift::exact));
    keep(e->restrict(x, ring::Basis{0, 2, 3}));
    keep(e->transform(e->transform(x, Form::coefficient), Form::evaluation));
    const Array digits = e->digits(z, 1, plan.key_layout());
    keep(digits);
    keep(e->inner_product(digits, held.get(3, 1), 3));
    keep(e->take(x, some));
    keep(e->take(one, std::vector<std::uint32_t>(many, 0)));
    const std::vector<Array> arrays = {x, one, e->take(y, some), x};
    keep(e->join(arrays));
    keep(e->take(e->join(arrays), some));
    keep(e->interleave(std::vector<Array>{x, y, x}));
    const Evaluator::LinearMap sum{
        {3, 1, inverse}, {1}, [&](auto, std::size_t baby) { return baby == 0 ? p : q; }};
    keep(e->linear_map(x, sum, held, full, 1));
    keep(e->linear_map(one, sum, held, full, 2));
    e->fleet().wait();
    std::vector<WordArray> words;
    for (const Array& each : out) words.push_back(e->download(each));
    return words;
  };
  const auto due = circuit(rig.evaluator(StrainedFleet(1).fleet));
  for (const auto& [devices, most] :
       {std::pair<std::size_t, std::size_t>{1, 2}, {2, 512}, {2, 1}, {3, 2}, {4, 512}, {4, 1}}) {
    const auto got = circuit(rig.evaluator(StrainedFleet(devices, most).fleet));
    ASSERT_EQ(got.size(), due.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_same(got[i], due[i],
                  "result " + std::to_string(i) + " on " + std::to_string(devices) +
                      " devices, pieces of " + std::to_string(most));
  }
}

/// What devices make of real numbers is what the host makes of them, wherever pieces lie.
TYPED_TEST(RlweEvaluator, RealNumbersAreRounded) {
  auto rig = RlweRig<TypeParam>::mixed(3, 1, 1);
  const std::size_t N = rig.N(), count = 5;
  const ring::Basis basis{0, 2, 3};
  std::vector<double> reals(count * N);
  std::vector<std::int64_t> integers(count * N);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    reals[i] = static_cast<double>(rig.random.between(-(1LL << 40), 1LL << 40)) / 1024;
    integers[i] = std::llrint(reals[i] * 1.5);
  }
  for (const std::size_t devices : {1u, 3u}) {
    const auto e = rig.evaluator(StrainedFleet(devices, 2).fleet);
    const Array made = e->lift(reals, 1.5, basis);
    EXPECT_EQ(made.pieces(), e->fleet().pieces(count, 2));
    expect_same(e->download(made), e->download(e->lift(integers, basis)), "reals");
  }
}

/// Polynomials with small coefficients from their values, with every period: these are in Y, a
/// power of X.
TYPED_TEST(RlweEvaluator, PolynomialsFromTheirValues) {
  auto rig = RlweRig<TypeParam>::mixed(3, 1, 1, 1024);  // short periods in smaller rings
  const std::size_t N = rig.N(), count = 5;
  const ring::Basis basis{0, 2, 3};
  for (std::size_t period = 1; period <= N / 2; period *= 2) {
    SCOPED_TRACE(period);
    const std::size_t step = N / (2 * period);
    std::vector<std::int64_t> integers(count * N);
    std::vector<std::complex<double>> values(count * period);
    for (std::size_t b = 0; b < count; ++b)
      for (std::size_t k = 0; k < 2 * period; ++k) {
        const std::int64_t c = integers[b * N + k * step] = rig.random.between(-100, 100);
        std::uint64_t e = k * step;
        for (std::size_t j = 0; j < period; ++j, e = 5 * e % (2 * N))
          values[b * period + j] +=
              std::polar(static_cast<double>(c) / 8,
                         std::numbers::pi * static_cast<double>(e) / static_cast<double>(N));
      }
    for (const std::size_t devices : {1u, 3u}) {
      const auto e = rig.evaluator(StrainedFleet(devices, 2).fleet);
      const Array made = e->interpolate(values, period, 8, basis);
      EXPECT_EQ(made.pieces(), e->fleet().pieces(count, 2));
      expect_same(e->download(made), e->download(e->lift(integers, basis)), "values");
    }
    // By their period, also if they are given twice: products are what those of all values are.
    const auto e = rig.evaluator(StrainedFleet(1).fleet);
    const Shape shape{2, basis, 3};
    const Array a = e->upload(rig.residues(shape), shape);
    const auto once = test::part(values, 0, period);
    auto twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    const Array due = e->multiply_plain(a, e->interpolate(once, period, 8, basis));
    for (const auto& given : {once, twice}) {
      if (given.size() > N / 2) continue;
      const Array factor = e->interpolate_by_period(given, given.size(), 8, basis)[0];
      EXPECT_EQ(factor.bytes(),
                basis.size() * (8 * period > N ? N : 2 * period) * sizeof(TypeParam));
      expect_same(e->download(e->multiply_plain(a, factor)), e->download(due), "a factor");
    }
    // Several at once, on each number of devices.
    for (const std::size_t devices : {1u, 3u}) {
      const auto many = rig.evaluator(StrainedFleet(devices, 2).fleet);
      const Array x = many->upload(rig.residues(shape), shape);
      const auto factors = many->interpolate_by_period(values, period, 8, basis);
      ASSERT_EQ(factors.size(), count);
      for (std::size_t i = 0; i < count; ++i)
        expect_same(
            many->download(many->multiply_plain(x, factors[i])),
            many->download(many->multiply_plain(
                x, many->interpolate(test::part(values, i * period, period), period, 8, basis))),
            "one of several factors");
    }
  }
}

TYPED_TEST(RlweEvaluator, ArraysAreSplitByOneRule) {
  auto rig = RlweRig<TypeParam>::mixed(3, 1, 1);
  const StrainedFleet two(2, 3);
  const auto e = rig.evaluator(two.fleet);
  EXPECT_EQ(e->most(), 3u);
  for (const std::size_t count : {1u, 2u, 5u, 12u}) {
    const Shape shape{2, rig.plan->level(3), count};
    const Array a = e->upload(rig.residues(shape), shape), b = e->add(a, a);
    EXPECT_EQ(a.pieces(), two.fleet->pieces(count, 3));
    EXPECT_EQ(b.pieces(), a.pieces());
    EXPECT_EQ(a.bytes(), 6 * count * rig.N() * sizeof(TypeParam));
    for (const run::Piece& piece : a.pieces()) EXPECT_LE(piece.range.count, 3u);
  }
}

/// What stands together in an interleaved batch needs nothing from another device.
TYPED_TEST(RlweEvaluator, InterleavedArraysStayWhereTheyAre) {
  auto rig = RlweRig<TypeParam>::mixed(3, 1, 1);
  const auto [traffic, fleet] = test::CountingFleet(2);
  const auto e = rig.evaluator(fleet);
  const Shape shape{2, rig.plan->level(3), 4};
  const std::vector<Array> pair = {e->upload(rig.residues(shape), shape),
                                   e->upload(rig.residues(shape), shape)};
  for (const auto& each : traffic) each->in = each->out = 0;
  const Array both = e->interleave(pair);
  const std::vector<Array> back = {e->take(both, std::vector<std::uint32_t>{0, 2, 4, 6}),
                                   e->take(both, std::vector<std::uint32_t>{1, 3, 5, 7})};
  fleet->wait();
  for (const auto& each : traffic) {
    EXPECT_EQ(each->in, 0u);
    EXPECT_EQ(each->out, 0u);
  }
  for (std::size_t i = 0; i < 2; ++i)
    expect_same(e->download(back[i]), e->download(pair[i]), "array " + std::to_string(i));
  const std::vector<std::uint32_t> order = {0, 4, 1, 5, 2, 6, 3, 7};
  expect_same(e->download(both), e->download(e->take(e->join(pair), order)), "order");
}

/// Phases come out as integers say, up to what switching and rounding add.
TYPED_TEST(RlweEvaluator, MeansWhatItSays) {
  auto rig = RlweRig<TypeParam>::even(4, 2, 2);
  const std::uint32_t g = 5;
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  const std::vector<SwitchKeyData> data = {rig.key(1, 2), rig.key(g, 1)};
  const Keys keys(e, data, any_keys());
  const ring::Basis basis = rig.plan->level(4);
  const Shape shape{2, basis, 3};
  const auto m = rig.integers(3, 1000), n = rig.integers(3, 1000), p = rig.integers(1, 20);
  const Array a = e->upload(rig.encrypt(basis, m), shape),
              b = e->upload(rig.encrypt(basis, n), shape);
  const auto near = [&](const Array& got, const std::vector<std::int64_t>& due, std::int64_t bound,
                        const char* what) {
    EXPECT_LE(rig.largest_difference(rig.phases(*e, got), due), bound) << what;
  };
  std::vector<std::int64_t> sum(m.size()), less(m.size());
  for (std::size_t i = 0; i < m.size(); ++i) {
    sum[i] = m[i] + n[i];
    less[i] = m[i] - n[i];
  }
  near(a, m, 40, "fresh");
  near(e->add(a, b), sum, 80, "add");
  near(e->sub(a, b), less, 80, "sub");
  near(e->automorphisms(a, std::span(&g, 1), keys, 1)[0], rig.turned(m, g), 400, "automorphism");
  near(e->key_switch(a, keys.get(g, 1), 1), rig.turned(m, g), 400, "key_switch");
  const Array plain = e->lift(p, rig.plan->all());
  near(e->multiply_plain(a, plain), rig.product(m, p), 40 * 20 * 256, "multiply_plain");
  std::vector<std::int64_t> with = m;
  for (std::size_t i = 0; i < with.size(); ++i) with[i] -= p[i % rig.N()];
  near(e->sub_plain(a, plain), with, 40, "sub_plain");
  // Products of small messages fit one prime of 26 bits.
  const auto x = rig.integers(3, 1), y = rig.integers(3, 1);
  const Array small =
      e->tensor(e->upload(rig.encrypt(basis, x), shape), e->upload(rig.encrypt(basis, y), shape));
  const auto xy = rig.product(x, y);
  near(small, xy, 256 * 40 * 40, "tensor");
  const Array two = e->relinearise(small, keys, 1);
  EXPECT_EQ(two.parts(), 2u);
  EXPECT_LE(rig.largest_difference(rig.phases(*e, two), rig.phases(*e, small)), 400)
      << "relinearise";
}

TYPED_TEST(RlweEvaluator, Refusals) {
  auto rig = RlweRig<TypeParam>::mixed(4, 1, 2);
  const auto e = rig.evaluator(StrainedFleet(2).fleet),
             other = rig.evaluator(StrainedFleet(1).fleet);
  const ring::Basis full = rig.plan->level(4), low = rig.plan->level(2);
  const Shape shape{2, full, 3};
  const WordArray words = rig.residues(shape);
  const Array a = e->upload(words, shape), empty;
  // Residues from outside.
  const auto good = words.as<TypeParam>();
  std::vector<TypeParam> bad(good.begin(), good.end());
  const std::size_t row = 5, at = row * 3 * rig.N() + 2 * rig.N() + 7;
  const TypeParam q = rig.plan->moduli()[1].value();
  bad[at] = q;
  test::expect_message<RangeError>(
      [&] { e->upload(WordArray(bad), shape); },
      {"residue " + std::to_string(q), "row 5", "prime " + std::to_string(q)});
  EXPECT_THROW(e->upload(words, {2, full, 4}), ShapeError);
  EXPECT_THROW(e->upload(words, {0, full, 3}), ShapeError);
  EXPECT_THROW(e->upload(words, {2, full, 0}), ShapeError);
  EXPECT_THROW(e->upload(words, {2, ring::Basis{9}, 3}), ParameterError);
  EXPECT_THROW(e->upload(words, {2, ring::Basis(), 3}), ParameterError);
  EXPECT_THROW(e->upload(WordArray(std::vector<std::uint16_t>(good.size())), shape), ShapeError);
  EXPECT_THROW(e->lift(std::vector<std::int64_t>(rig.N() + 1), full), ShapeError);
  EXPECT_THROW(e->lift(std::vector<double>(rig.N() + 1), 1, full), ShapeError);
  EXPECT_THROW(e->lift(std::vector<double>(rig.N()), 0, full), ParameterError);
  const std::vector<std::complex<double>> slots(rig.N());
  EXPECT_THROW(e->interpolate(slots, rig.N(), 1, full), ShapeError);
  EXPECT_THROW(e->interpolate(slots, 3, 1, full), ShapeError);
  EXPECT_THROW(e->interpolate(slots, 0, 1, full), ShapeError);
  EXPECT_THROW(e->interpolate(std::span(slots).first(3), 2, 1, full), ShapeError);
  EXPECT_THROW(e->interpolate({}, 2, 1, full), ShapeError);
  EXPECT_THROW(e->interpolate_by_period(slots, rig.N(), 1, full), ShapeError);
  EXPECT_THROW(e->interpolate_by_period(slots, 3, 1, full), ShapeError);
  EXPECT_THROW(e->interpolate_by_period({}, 1, 1, full), ShapeError);
  EXPECT_THROW(e->interpolate(slots, 2, 1, ring::Basis{9}), ParameterError);
  // Others' arrays, none, other primes, other counts.
  EXPECT_THROW(other->download(a), DeviceError);
  EXPECT_THROW(other->add(a, a), DeviceError);
  EXPECT_THROW(e->negate(empty), ShapeError);
  const Array few = e->divide(a, low, 1), two = e->take(a, std::vector<std::uint32_t>{0, 2});
  EXPECT_THROW(e->add(a, few), ShapeError);
  EXPECT_THROW(e->tensor(a, few), ShapeError);
  EXPECT_THROW(e->add(a, two), ShapeError);
  EXPECT_THROW(e->tensor(a, two), ShapeError);
  EXPECT_THROW(e->take(a, {}), ShapeError);
  EXPECT_THROW(e->join({}), ShapeError);
  EXPECT_THROW(e->join(std::vector<Array>{a, few}), ShapeError);
  EXPECT_THROW(e->interleave({}), ShapeError);
  EXPECT_THROW(e->interleave(std::vector<Array>{a, few}), ShapeError);
  EXPECT_THROW(e->interleave(std::vector<Array>{a, two}), ShapeError);
  EXPECT_THROW(e->add_plain(a, a), ShapeError);
  EXPECT_THROW(e->add_plain(a, e->lift(rig.integers(1, 1), low)), ShapeError);
  EXPECT_THROW(e->restrict(few, full), ParameterError);
  EXPECT_THROW(e->divide(few, full, 1), ParameterError);
  EXPECT_THROW(e->scale(a, std::vector<std::uint64_t>(3)), ShapeError);
  EXPECT_THROW(e->scale(a, std::vector<std::uint64_t>(4, q)), RangeError);
  const auto combine = [&](std::vector<Array> arrays, std::size_t lists, std::uint64_t weight) {
    const std::vector<std::vector<std::uint64_t>> weights(lists, {weight, 1});
    return e->combination(arrays, weights, low);
  };
  EXPECT_NO_THROW(combine({a, few}, 2, 3));
  EXPECT_THROW(combine({}, 0, 1), ShapeError);
  EXPECT_THROW(combine({a, few}, 1, 1), ShapeError);
  EXPECT_THROW(combine({a, few}, 2, ~std::uint64_t{0}), RangeError);
  EXPECT_THROW(combine({a, two}, 2, 1), ShapeError);
  EXPECT_THROW(combine({a, e->lift(rig.integers(3, 1), low)}, 2, 1), ShapeError);
  EXPECT_THROW(combine({a, e->transform(few, Form::coefficient)}, 2, 1), ShapeError);
  EXPECT_THROW(combine({a, e->divide(a, ring::Basis{0}, 1)}, 2, 1), ParameterError);
  EXPECT_THROW(
      e->combination(std::vector<Array>{a}, std::vector<std::vector<std::uint64_t>>{{1}}, low),
      ShapeError);
  const std::vector<std::vector<std::uint64_t>> one_list = {{1, 1}};
  const auto with = [&](const std::vector<std::uint64_t>& constant) {
    return e->combination(std::vector<Array>{a}, one_list, constant, low);
  };
  EXPECT_NO_THROW(with({2, 3}));
  EXPECT_THROW(with({2, 3, 4}), ShapeError);
  EXPECT_THROW(with({2, ~std::uint64_t{0}}), RangeError);
  const Array coefficients = e->transform(a, Form::coefficient);
  EXPECT_THROW(e->tensor(a, coefficients), ShapeError);
  EXPECT_THROW(e->add(a, coefficients), ShapeError);
  EXPECT_THROW(e->divide(coefficients, low, 1), ShapeError);
  EXPECT_THROW(e->level(0), ParameterError);
  EXPECT_THROW(e->level(5), ParameterError);
  test::expect_message<ShapeError>(
      [&] {
        e->take(a, std::vector<std::uint32_t>{1, 3});
      },
      {"index 3 at place 1"});
}

}  // namespace
}  // namespace whorl::lattice::rlwe
