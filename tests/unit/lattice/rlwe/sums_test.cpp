// What the evaluator adds up at once: terms, products with plaintexts, linear maps, relinearised
// parts. Sums mean, and have the bits of, what they stand for.
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::any_keys;
using test::expect_same;
using test::RlweRig;
using test::StrainedFleet;

template <class Word>
class RlweSums : public ::testing::Test {};
TYPED_TEST_SUITE(RlweSums, test::BothWords);

/// Double hoisting against automorphisms that are multiplied and added, one by one.
TYPED_TEST(RlweSums, MapsWithoutGiantStepsAreHoistedTwice) {
  auto rig = RlweRig<TypeParam>::even(4, 2, 2);
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  const std::vector<std::uint32_t> gs = {1, 3, 9, 511};
  std::vector<SwitchKeyData> data;
  for (const std::uint32_t g : gs)
    if (g != 1) data.push_back(rig.key(g, 1));
  const Keys keys(e, data, any_keys());
  const ring::Basis basis = rig.plan->level(3), low = rig.plan->level(4);
  for (const auto& [count, plains] :
       {std::pair<std::size_t, std::size_t>{3, 1}, {3, 3}, {1, 4}, {1, 1}}) {
    const auto m = rig.integers(count, 1000);
    const Array a = e->upload(rig.encrypt(basis, m), {2, basis, count});
    std::vector<Array> twice, once;
    std::vector<std::int64_t> due(std::max(count, plains) * rig.N());
    for (const std::uint32_t g : gs) {
      const auto p = rig.integers(plains, 3);
      twice.push_back(e->lift(p, rig.plan->all()));
      once.push_back(e->lift(p, low));
      auto turned = rig.turned(m, g);
      if (count == 1)
        for (std::size_t i = 1; i < plains; ++i)
          turned.insert(turned.end(), &turned[0], &turned[rig.N() - 1] + 1);
      const auto term = rig.product(turned, p);
      for (std::size_t i = 0; i < due.size(); ++i) due[i] += term[i];
    }
    const auto map = [&](std::size_t terms) {
      const Evaluator::LinearMap sum{
          gs, {1}, [&](auto, std::size_t b) { return b < terms ? twice[b] : Array(); }};
      return e->linear_map(a, sum, keys, basis, 1);
    };
    const Array got = map(gs.size());
    const std::vector<Array> turned = e->automorphisms(a, gs, keys, 1);
    Array plain = e->multiply_plain(turned[0], once[0]);
    for (std::size_t i = 1; i < gs.size(); ++i)
      plain = e->add(plain, e->multiply_plain(turned[i], once[i]));
    EXPECT_EQ(got.count(), std::max(count, plains));
    EXPECT_EQ(got.basis(), basis);
    const std::int64_t bound = 4 * 3 * 256 * 60;
    EXPECT_LE(rig.largest_difference(rig.phases(*e, got), due), bound);
    EXPECT_LE(rig.largest_difference(rig.phases(*e, plain), due), bound);
    // What needs no key is divided by just what it was multiplied by.
    expect_same(e->download(map(1)), e->download(e->multiply_plain(a, twice[0])), "no key");
  }
}

/// A matrix times ciphertexts has the bits of a combination of them for each row: on one device and
/// several, in one piece and in many, whose ends are within a row, and of inputs that are too many
/// for a piece.
TYPED_TEST(RlweSums, WeightedSumsAreCombinations) {
  auto rig = RlweRig<TypeParam>::mixed(4, 1, 1);
  const ring::Basis basis{0, 2, 3};
  const auto moduli = rig.plan->moduli_of(basis);
  struct Case {
    std::size_t M, K, B;
  };
  for (const auto& [devices, most] :
       {std::pair<std::size_t, std::size_t>{1, 512}, {1, 7}, {2, 512}, {3, 7}}) {
    const auto e = rig.evaluator(StrainedFleet(devices, most).fleet);
    for (const auto& [M, K, B] : {Case{1, 1, 1}, {5, 1, 1}, {1, 6, 1}, {4, 3, 3}, {30, 40, 2}})
      for (const unsigned parts : {1u, 2u, 3u}) {
        SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(M) + " by " +
                     std::to_string(K) + " by " + std::to_string(B));
        const Shape shape{parts, basis, K * B};
        const Array a = e->upload(rig.residues(shape), shape);
        const double scale = 1000;
        std::vector<double> weights(M * K);
        for (double& w : weights) w = static_cast<double>(rig.random.below(1000000)) / 1e5 - 5;
        std::vector<std::uint64_t> constants;
        for (std::size_t j = 0; j < M; ++j)
          for (const auto& q : moduli) constants.push_back(rig.random.below(q.value()));
        std::vector<Array> inputs, due, plain;
        for (std::size_t k = 0; k < K; ++k) {
          std::vector<std::uint32_t> of;
          for (std::size_t b = 0; b < B; ++b) of.push_back(static_cast<std::uint32_t>(k * B + b));
          inputs.push_back(e->take(a, of));
        }
        for (std::size_t j = 0; j < M; ++j) {
          std::vector<std::vector<std::uint64_t>> by(K);
          for (std::size_t k = 0; k < K; ++k)
            for (const auto& q : moduli)
              by[k].push_back(q.from_signed(std::llrint(weights[j * K + k] * scale)));
          const auto constant = std::span(constants).subspan(j * moduli.size(), moduli.size());
          due.push_back(e->combination(inputs, by, constant, basis));
          plain.push_back(e->combination(inputs, by, basis));
        }
        const Array got = e->weighted_sums(a, weights, scale, K, constants);
        EXPECT_EQ(got.count(), M * B);
        expect_same(e->download(got), e->download(e->join(due)), "with constants");
        expect_same(e->download(e->weighted_sums(a, weights, scale, K, {})),
                    e->download(e->join(plain)), "without");
      }
    const Array a = e->upload(rig.residues({2, basis, 6}), {2, basis, 6});
    const std::vector<double> weights(6, 1.0);
    const std::vector<std::uint64_t> two(2 * moduli.size(), 1), large(2 * moduli.size(), ~0ull);
    EXPECT_THROW(e->weighted_sums(a, weights, 1, 0, {}), ShapeError);
    EXPECT_THROW(e->weighted_sums(a, weights, 1, 4, {}), ShapeError);
    EXPECT_THROW(e->weighted_sums(a, std::span(weights).first(5), 1, 3, {}), ShapeError);
    EXPECT_THROW(e->weighted_sums(a, {}, 1, 3, {}), ShapeError);
    EXPECT_THROW(e->weighted_sums(a, weights, 1, 3, std::span(two).first(5)), ShapeError);
    EXPECT_THROW(e->weighted_sums(a, weights, 1, 3, large), RangeError);
    EXPECT_EQ(e->weighted_sums(a, weights, 1, 3, two).count(), 4u);
  }
}

/// Products with sums that masks choose have the bits of tensor and add: on one device and several,
/// in one piece and in many, of operands that are cut like the results and of others.
TYPED_TEST(RlweSums, MaskedTensorsAreSumsOfTensors) {
  auto rig = RlweRig<TypeParam>::mixed(4, 1, 1);
  const ring::Basis basis{0, 2, 3};
  struct Case {
    std::size_t H, L, J, B;
  };
  for (const auto& [devices, most] :
       {std::pair<std::size_t, std::size_t>{1, 512}, {1, 2}, {2, 512}, {3, 2}}) {
    const auto e = rig.evaluator(StrainedFleet(devices, most).fleet);
    for (const auto& [H, L, J, B] :
         {Case{1, 1, 1, 1}, {3, 5, 2, 1}, {4, 4, 3, 5}, {16, 16, 2, 7}}) {
      SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(H) + " by " +
                   std::to_string(L) + " to " + std::to_string(J) + " of " + std::to_string(B));
      const Shape shape{2, basis, B};
      std::vector<Array> all;
      for (std::size_t i = 0; i < H + L; ++i) all.push_back(e->upload(rig.residues(shape), shape));
      const std::span<const Array> high = std::span(all).first(H), low = std::span(all).subspan(H);
      std::vector<std::uint16_t> masks;
      for (std::size_t i = 0; i < J * H; ++i)
        masks.push_back(static_cast<std::uint16_t>(i == 0 ? (std::size_t{1} << L) - 1
                                                          : rig.random.below(std::size_t{1} << L)));
      const std::vector<Array> got = e->masked_tensors(high, low, masks);
      ASSERT_EQ(got.size(), J);
      for (std::size_t j = 0; j < J; ++j) {
        Array due;
        for (std::size_t h = 0; h < H; ++h) {
          Array sum;
          for (std::size_t l = 0; l < L; ++l)
            if (masks[j * H + h] >> l & 1) sum = sum ? e->add(sum, low[l]) : low[l];
          if (!sum) continue;
          const Array product = e->tensor(high[h], sum);
          due = due ? e->add(due, product) : product;
        }
        EXPECT_EQ(got[j].parts(), 3u);
        EXPECT_EQ(got[j].count(), B);
        expect_same(e->download(got[j]), e->download(due), "result " + std::to_string(j));
      }
    }
    const Array x = e->upload(rig.residues({2, basis, 2}), {2, basis, 2}),
                other = e->upload(rig.residues({2, basis, 3}), {2, basis, 3}),
                three = e->tensor(x, x), fewer = e->restrict(x, ring::Basis{0, 2}),
                coefficients = e->transform(x, Form::coefficient);
    const std::vector<Array> one{x}, two{x, x}, many(17, x);
    const std::vector<std::uint16_t> none, mask{1}, large{2}, of_many(17);
    EXPECT_EQ(e->masked_tensors(one, two, none).size(), 0u);
    EXPECT_THROW(e->masked_tensors({}, one, none), ParameterError);
    EXPECT_THROW(e->masked_tensors(one, {}, mask), ParameterError);
    EXPECT_THROW(e->masked_tensors(many, one, of_many), ParameterError);
    EXPECT_THROW(e->masked_tensors(one, many, mask), ParameterError);
    EXPECT_THROW(e->masked_tensors(one, one, large), ParameterError);
    EXPECT_THROW(e->masked_tensors(two, one, mask), ShapeError);
    for (const Array& bad : {other, three, fewer, coefficients}) {
      EXPECT_THROW(e->masked_tensors(one, std::vector<Array>{bad}, mask), ShapeError);
      EXPECT_THROW(e->masked_tensors(std::vector<Array>{x, bad}, one, none), ShapeError);
    }
    const auto stranger = rig.evaluator(StrainedFleet(1).fleet);
    const Array theirs = stranger->upload(rig.residues({2, basis, 2}), {2, basis, 2});
    EXPECT_THROW(e->masked_tensors(one, std::vector<Array>{theirs}, mask), DeviceError);
  }
}

/// Sums with plaintexts have the bits of what they stand for: restrict, multiply and add.
TYPED_TEST(RlweSums, SumsOfProductsAreRestrictedMultipliedAndAdded) {
  auto rig = RlweRig<TypeParam>::mixed(6, 2, 2);
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  const ring::Basis high = rig.plan->level(6), low = rig.plan->level(3);
  for (const ring::Basis& basis : {low, ring::Basis{0, 2, 5}})
    for (const unsigned parts : {1u, 2u, 3u}) {
      std::vector<Array> arrays, plains;
      Array due;
      // More than are added at once; of several bases, and singles among both factors.
      for (std::size_t i = 0; i < 130; ++i) {
        const Shape shape{parts, i % 3 == 0 ? basis : high, i % 4 == 1 ? 1u : 3u};
        const Shape plain{1, i % 5 == 0 ? basis : high | rig.plan->special_basis(),
                          i % 7 == 2 ? 3u : 1u};
        arrays.push_back(e->upload(rig.residues(shape), shape));
        plains.push_back(e->upload(rig.residues(plain), plain));
        const Array term = e->multiply_plain(e->restrict(arrays[i], basis), plains[i]);
        due = i == 0 ? term : e->add(due, term);
      }
      const Array got = e->sum_of_products(arrays, plains, basis);
      EXPECT_EQ(got.count(), 3u);
      expect_same(e->download(got), e->download(due), basis.describe());
      const Array one = e->sum_of_products(std::span(arrays).subspan(1, 1),
                                           std::span(plains).subspan(1, 1), basis);
      EXPECT_EQ(one.count(), 1u);
      const auto all = [&](std::size_t of_arrays, std::size_t of_plains, const ring::Basis& over) {
        static_cast<void>(e->sum_of_products(std::span(arrays).first(of_arrays),
                                             std::span(plains).first(of_plains), over));
      };
      EXPECT_THROW(all(0, 0, basis), ShapeError);
      EXPECT_THROW(all(3, 2, basis), ShapeError);
      EXPECT_THROW(all(1, 1, basis | rig.plan->special_basis()), ParameterError);
      arrays[1] = e->take(arrays[0], std::vector<std::uint32_t>{0, 1});
      EXPECT_THROW(all(2, 2, basis), ShapeError);
    }
}

/// Polynomials that are made on the way have the bits of uploaded ones: transformed, multiplied and
/// added, also by what is stored by its period.
TYPED_TEST(RlweSums, SumsOfMadeProductsAreTransformedMultipliedAndAdded) {
  using Word = TypeParam;
  auto rig = RlweRig<Word>::mixed(4, 1, 2, 1024);
  const ring::Basis high = rig.plan->all(), basis{1, 3};
  const std::size_t rows = basis.size(), N = rig.N();
  for (const std::size_t devices : {1u, 2u})
    for (const auto& [count, all] : {std::pair<std::size_t, std::size_t>{3, 70}, {1, 1}, {5, 33}}) {
      SCOPED_TRACE(testing::Message() << devices << " devices, " << all << " of " << count);
      const StrainedFleet fleet(devices, 2);
      const auto e = rig.evaluator(fleet.fleet);
      const Shape made{1, basis, count, Form::coefficient};
      std::vector<WordArray> words;
      std::vector<std::vector<Array>> plains(2);
      std::vector<Array> due(2);
      for (std::size_t k = 0; k < all; ++k) {
        words.push_back(rig.residues(made));
        const Array x = e->transform(e->upload(words[k], made), Form::evaluation);
        for (std::size_t p = 0; p < 2; ++p) {
          Shape shape{1, k % 3 == 0 ? basis : high, 1};
          if (k % 2 == 1) {  // a factor by its period has so many residues
            shape.log_repeats = 2;
            std::vector<Word> some;
            for (const auto& q : rig.plan->moduli_of(shape.basis))
              for (std::size_t i = 0; i < N / 4; ++i)
                some.push_back(static_cast<Word>(rig.random.below(q.value())));
            plains[p].push_back(e->upload(WordArray(std::move(some)), shape));
          } else {
            plains[p].push_back(e->upload(rig.residues(shape), shape));
          }
          const Array term =
              e->sum_of_products(std::span(&x, 1), std::span(&plains[p][k], 1), basis);
          due[p] = k == 0 ? term : e->add(due[p], term);
        }
      }
      const auto writer = [&](std::span<const run::Piece> pieces) -> Evaluator::Writer {
        return [&, ranges = std::vector(pieces.begin(), pieces.end())](
                   std::size_t piece, const backend::Queue& queue, run::Range which,
                   const Evaluator::Words& out) {
          const auto [begin, some] = ranges[piece].range;
          std::vector<Word> here;
          for (std::size_t k = which.begin; k < which.begin + which.count; ++k)
            for (std::size_t r = 0; r < rows; ++r) {
              const auto row =
                  words[k].template as<Word>().subspan((r * count + begin) * N, some * N);
              here.insert(here.end(), row.begin(), row.end());
            }
          queue.upload(std::span<const Word>(here), std::get<backend::Slice<Word>>(out));
        };
      };
      const Array got = e->sums_of_made_products(count, basis, writer, plains);
      EXPECT_EQ(got.parts(), 2u);
      EXPECT_EQ(got.basis(), basis);
      std::vector<Word> expected;
      for (const Array& part : due) {
        const WordArray each = e->download(part);
        expected.insert(expected.end(), each.as<Word>().begin(), each.as<Word>().end());
      }
      expect_same(e->download(got), WordArray(std::move(expected)), "made");
      const auto refused = [&](const auto& change) {
        std::vector<std::vector<Array>> bad = plains;
        change(bad);
        EXPECT_THROW(e->sums_of_made_products(count, basis, writer, bad), ShapeError);
      };
      refused([](auto& bad) { bad.clear(); });
      refused([](auto& bad) { bad[0].clear(); });
      refused([](auto& bad) { bad[1].pop_back(); });
      refused([&](auto& bad) { bad[0][0] = e->restrict(bad[0][0], ring::Basis{1}); });
      refused([&](auto& bad) { bad[1][0] = e->transform(bad[1][0], Form::coefficient); });
      refused([&](auto& bad) { bad[1][0] = e->take(bad[1][0], std::vector<std::uint32_t>{0, 0}); });
      EXPECT_THROW(e->sums_of_made_products(0, basis, writer, plains), ShapeError);
      const auto other = rig.evaluator(StrainedFleet(1).fleet);
      EXPECT_THROW(other->sums_of_made_products(count, basis, writer, plains), DeviceError);
    }
}

/// Sums with weights have the bits of what they stand for: restrict, scale and add.
TYPED_TEST(RlweSums, CombinationsAreRestrictedScaledAndAdded) {
  auto rig = RlweRig<TypeParam>::mixed(6, 2, 2);
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  const ring::Basis high = rig.plan->level(6), odd{0, 2, 5}, low = rig.plan->level(3);
  for (const ring::Basis& basis : {low, odd, ring::Basis{1, 5}})
    for (const Form form : {Form::evaluation, Form::coefficient})
      for (const unsigned parts : {1u, 2u}) {
        std::vector<Array> arrays;
        std::vector<std::vector<std::uint64_t>> weights;
        Array due;
        // More than a launch takes; of several bases, and singles among them.
        for (std::size_t i = 0; i < 35; ++i) {
          const Shape shape{parts, i % 3 == 0 ? high : basis | rig.plan->special_basis(),
                            i % 4 == 1 ? 1u : 3u, form};
          arrays.push_back(e->upload(rig.residues(shape), shape));
          weights.emplace_back();
          for (const auto& q : rig.plan->moduli_of(basis))
            weights.back().push_back(i == 2 ? 0 : rig.random.below(q.value()));
          const Array term = e->scale(e->restrict(arrays[i], basis), weights[i]);
          due = i == 0 ? term : e->add(due, term);
        }
        const Array got = e->combination(arrays, weights, basis);
        EXPECT_EQ(got.form(), form);
        EXPECT_EQ(got.count(), 3u);
        expect_same(e->download(got), e->download(due), basis.describe());
        // Two singles are a single, and a constant has its residue in every word of part 0.
        const std::vector<std::uint64_t>& constant = weights[3];
        const auto sum = [&] {
          return e->combination(std::vector<Array>{arrays[1], arrays[5]},
                                std::span(weights).first(2), constant, basis);
        };
        if (form == Form::coefficient) {
          EXPECT_THROW(sum(), ShapeError);
          continue;
        }
        std::vector<TypeParam> words;
        for (unsigned part = 0; part < parts; ++part)
          for (const std::uint64_t residue : constant)
            words.insert(words.end(), rig.N(), part == 0 ? static_cast<TypeParam>(residue) : 0);
        const Array with = e->add(e->combination(std::vector<Array>{arrays[1], arrays[5]},
                                                 std::span(weights).first(2), basis),
                                  e->upload(WordArray(words), {parts, basis, 1, form}));
        EXPECT_EQ(sum().count(), 1u);
        expect_same(e->download(sum()), e->download(with), "a constant");
      }
}

/// One division for relinearisation and rescaling: of the same bits where nothing is rescaled, else
/// of the same phases but for roundings.
TYPED_TEST(RlweSums, RelinearisesAndRescalesAtOnce) {
  auto rig = RlweRig<TypeParam>::even(5, 2, 2);
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  const std::vector<SwitchKeyData> data = {rig.key(1, 2), rig.key(1, 3)};
  const Keys keys(e, data, any_keys());
  const ring::Basis basis = rig.plan->level(4);
  const Shape shape{2, basis, 3};
  const Array x = e->upload(rig.residues(shape), shape), y = e->upload(rig.residues(shape), shape);
  const Array three = e->tensor(x, y), four = e->tensor(three, x);
  expect_same(e->download(e->relinearise(three, keys, basis, 1)),
              e->download(e->relinearise(three, keys, 1)), "no rescaling");
  for (const Array& product : {three, four})
    for (const unsigned limbs : {2u, 3u, 4u}) {
      const ring::Basis to = rig.plan->level(limbs);
      const Array got = e->relinearise(product, keys, to, 1);
      EXPECT_EQ(got.parts(), 2u);
      EXPECT_EQ(got.basis(), to);
      const Array due = limbs == 4 ? product : e->divide(product, to, 1);
      // Rounding each part of the product is off by up to 1/2, times a power of the secret.
      EXPECT_LE(rig.largest_difference(rig.phases(*e, got), rig.phases(*e, due)),
                product.parts() == 4 ? 40000 : 1000)
          << product.parts() << " parts to " << to.describe();
    }
  // This is a product that is not made.
  std::vector<std::uint64_t> constant;
  for (const auto& q : rig.plan->moduli_of(basis)) constant.push_back(q.value() / 3);
  const Shape single{2, basis, 1};
  const Array one = e->upload(rig.residues(single), single);
  for (const unsigned limbs : {2u, 3u, 4u})
    for (const Evaluator::ProductEnd& end : {Evaluator::ProductEnd{},
                                             {.doubled = true},
                                             {.constant = constant},
                                             {.doubled = true, .constant = constant},
                                             {.added = &x}}) {
      const ring::Basis to = rig.plan->level(limbs);
      const auto same = [&](const Array& a, const Array& b) {
        const Array product = e->tensor(a, b, end);
        expect_same(e->download(e->relinearised_product(a, b, end, keys, to, 1)),
                    e->download(limbs == 4 ? e->relinearise(product, keys, 1)
                                           : e->relinearise(product, keys, to, 1)),
                    "a product to " + to.describe());
      };
      same(x, y);
      same(x, x);
      same(one, y);
      same(x, one);
      same(three, x);
    }
  expect_same(e->download(e->relinearise(x, keys, rig.plan->level(3), 1)),
              e->download(e->divide(x, rig.plan->level(3), 1)), "two parts");
  expect_same(e->download(e->relinearise(x, keys, basis, 1)), e->download(x), "nothing to do");
}

/// Maps in steps against integers, with and without a rescaling.
TYPED_TEST(RlweSums, LinearMapsMeanWhatTheySay) {
  auto rig = RlweRig<TypeParam>::even(5, 2, 2);
  const auto e = rig.evaluator(StrainedFleet(2).fleet);
  std::vector<SwitchKeyData> data = {rig.key(5, 1), rig.key(25, 1)};
  const std::vector<std::uint32_t> babies = {1, 5, 0, 25};
  std::vector<std::uint32_t> turns = {1};  // of giant steps
  for (unsigned i = 1; i < 12; ++i) turns.push_back(turns.back() * 125 % (2 * rig.plan->N()));
  for (const std::uint32_t g : std::set<std::uint32_t>(turns.begin() + 1, turns.end()))
    data.push_back(rig.key(g, 1));
  const Keys keys(e, data, any_keys());
  for (const ring::Basis& over : {rig.plan->all(), rig.plan->level(4) | rig.plan->special_basis()})
    for (const std::size_t giants : {1u, 3u, 12u})
      for (const std::size_t count : {1u, 3u}) {
        // Of twelve steps three have no plaintext, the last among them.
        const auto has = [&](std::size_t i, std::size_t b) {
          return babies[b] != 0 && (giants < 12 || (i != 2 && i != 5 && i != 11));
        };
        const ring::Basis basis = rig.plan->level(4);
        const auto m = rig.integers(count, 1000);
        const Array a = e->upload(rig.encrypt(basis, m), {2, basis, count});
        std::vector<std::vector<std::int64_t>> plains;
        std::vector<Array> arrays;
        std::vector<std::int64_t> due(m.size());
        for (std::size_t i = giants; i-- > 0;) {
          due = rig.turned(due, 125);
          for (std::size_t b = 0; b < babies.size(); ++b) {
            plains.push_back(rig.integers(1, 3));
            arrays.push_back(has(i, b) ? e->lift(plains.back(), over) : Array());
            if (!has(i, b)) continue;
            const auto term = rig.product(rig.turned(m, babies[b]), plains.back());
            for (std::size_t j = 0; j < due.size(); ++j) due[j] += term[j];
          }
        }
        const auto gs = test::part(turns, 0, giants);
        const Evaluator::LinearMap map{babies, gs, [&](std::size_t i, std::size_t b) {
                                         return arrays[(giants - 1 - i) * babies.size() + b];
                                       }};
        const Array got = e->linear_map(a, map, keys, basis, 1);
        EXPECT_LE(rig.largest_difference(rig.phases(*e, got), due), 9 * 3 * 256 * 60)
            << giants << " giants, count " << count;
        // Several that share baby steps have the bits that each has alone.
        const Evaluator::LinearMap first{babies, {1}, [&](std::size_t, std::size_t b) {
                                           return arrays[(giants - 1) * babies.size() + b];
                                         }};
        const std::vector<Evaluator::LinearMap> both{map, first, map};
        const auto each = e->linear_maps(a, both, keys, basis, 1);
        ASSERT_EQ(each.size(), 3u);
        for (std::size_t i = 0; i < 3; ++i)
          expect_same(e->download(each[i]), e->download(e->linear_map(a, both[i], keys, basis, 1)),
                      "map " + std::to_string(i));
        Evaluator::LinearMap other = first;
        other.babies.push_back(0);
        EXPECT_THROW(e->linear_maps(a, std::vector{map, other}, keys, basis, 1), ShapeError);
        EXPECT_THROW(e->linear_maps(a, {}, keys, basis, 1), ShapeError);
        other = map;
        other.giants[0] = 0;
        EXPECT_THROW(e->linear_map(a, other, keys, basis, 1), ShapeError) << "a step left out";
        other.giants.clear();
        EXPECT_THROW(e->linear_map(a, other, keys, basis, 1), ShapeError) << "no step";
        other.giants = {3};
        EXPECT_THROW(e->linear_map(a, other, keys, basis, 1), MissingKeyError);
        const Array down = e->linear_map(a, map, keys, rig.plan->level(3), 1);
        const auto q = static_cast<std::int64_t>(rig.plan->moduli()[3].value());
        for (std::int64_t& x : due) x /= q;
        EXPECT_LE(rig.largest_difference(rig.phases(*e, down), due), 400);
      }
}

/// Products with plaintexts that are stored by their period have the bits that they have with all
/// values, on one device and on several.
TYPED_TEST(RlweSums, PeriodicPlaintextsAreTheSameFactors) {
  auto rig = RlweRig<TypeParam>::even(5, 2, 2, 1024);
  const std::vector<std::uint32_t> babies = {1, 5, 0, 25}, giants = {1, 125, 3};
  std::vector<SwitchKeyData> data;
  for (const std::uint32_t g : {5u, 25u, 125u, 3u}) data.push_back(rig.key(g, 1));
  const ring::Basis basis = rig.plan->level(4), wide = basis | rig.plan->special_basis();
  const Shape shape{2, basis, 5}, one{2, basis, 1};
  const WordArray words = rig.residues(shape), single = rig.residues(one);
  // In X^(2^k), and in no higher power; the last is the constant 7.
  const auto polynomial = [&](unsigned k) {
    auto m = rig.integers(1, 99);
    for (std::size_t j = 0; j < m.size(); ++j)
      if (j % (std::size_t{1} << k) != 0) m[j] = 0;
    m[(std::size_t{1} << k) % rig.N()] = 7;
    return m;
  };
  const std::vector<unsigned> ks = {0, 1, 2, 3, 8, 10};
  std::vector<std::vector<std::int64_t>> polynomials;
  for (const unsigned k : ks) polynomials.push_back(polynomial(k));
  for (const std::size_t devices : {1u, 3u}) {
    const auto e = rig.evaluator(StrainedFleet(devices).fleet);
    const Keys keys(e, data, any_keys());
    const Array a = e->upload(words, shape), b = e->upload(single, one);
    std::vector<Array> all, by_period;
    for (std::size_t i = 0; i < ks.size(); ++i) {
      all.push_back(e->lift(polynomials[i], wide));
      by_period.push_back(e->lift_by_period(polynomials[i], wide));
      EXPECT_EQ(by_period[i].shape().log_repeats, ks[i] == 1 ? 0 : ks[i]);
      EXPECT_EQ(all[i].bytes(), wide.size() * rig.N() * sizeof(TypeParam));
      EXPECT_EQ(by_period[i].bytes() << by_period[i].shape().log_repeats, all[i].bytes());
    }
    const auto same = [&](const std::string& what, const auto& run) {
      expect_same(e->download(run(by_period)), e->download(run(all)),
                  what + " on " + std::to_string(devices) + " devices");
    };
    for (std::size_t i = 0; i < ks.size(); ++i)
      for (const Array& x : {a, b})
        same("a product with one in X^" + std::to_string(1u << ks[i]),
             [&](const auto& m) { return e->multiply_plain(x, m[i]); });
    const std::vector<Array> arrays = {a, b, a, a, b, a};
    same("a sum of products",
         [&](const auto& m) { return e->sum_of_products(arrays, m, rig.plan->level(2)); });
    same("a map without giant steps", [&](const auto& m) {
      const Evaluator::LinearMap map{{1, 5, 25, 3, 1}, {1}, [&](auto, std::size_t baby) {
                                       return m[std::array{2, 3, 0, 4, 5}[baby]];
                                     }};
      return e->linear_map(a, map, keys, basis, 1);
    });
    same("a linear map", [&](const auto& m) {
      const Evaluator::LinearMap map{babies, giants, [&](std::size_t i, std::size_t step) {
                                       return babies[step] == 0 ? Array() : m[(i + step) % 6];
                                     }};
      return e->linear_maps(a, std::vector{map, map}, keys, rig.plan->level(3), 1)[1];
    });
    // They are nothing but factors.
    const Array& m = by_period[3];
    EXPECT_THROW(e->add_plain(a, m), ShapeError);
    EXPECT_THROW(e->sub_plain(a, m), ShapeError);
    EXPECT_THROW(e->download(m), ShapeError);
    EXPECT_THROW(e->add(m, m), ShapeError);
    EXPECT_THROW(e->tensor(a, m), ShapeError);
    EXPECT_THROW(e->multiply_plain(m, m), ShapeError);
    EXPECT_THROW(e->transform(m, Form::coefficient), ShapeError);
    EXPECT_THROW(e->take(m, std::vector<std::uint32_t>{0}), ShapeError);
    EXPECT_THROW(e->join(std::vector<Array>{m, m}), ShapeError);
    EXPECT_THROW(e->lift_by_period(rig.integers(2, 1), wide), ShapeError);
    EXPECT_THROW(e->upload(words, {2, basis, 5, Form::evaluation, 2}), ShapeError);
    EXPECT_THROW(e->upload(words, {1, basis, 5, Form::coefficient, 2}), ShapeError);
    EXPECT_THROW(e->upload(words, {1, basis, 5, Form::evaluation, 8}), ShapeError);
    // Values of the smaller ring are such a factor too.
    const unsigned k = 2;
    const auto small = std::make_shared<const ring::RnsPlan<TypeParam>>(
        rig.plan->in_ring(static_cast<std::uint32_t>(rig.N() >> k)));
    const auto ntts = ring::host_ntts<TypeParam>(small);
    std::vector<TypeParam> values;
    for (const unsigned l : wide.indices()) {
      std::vector<TypeParam> row;
      for (std::size_t j = 0; j < rig.N(); j += std::size_t{1} << k)
        row.push_back(small->moduli()[l].from_signed(polynomials[k][j]));
      ntts[l].forward(row);
      values.insert(values.end(), row.begin(), row.end());
    }
    const Array uploaded =
        e->upload(WordArray(std::move(values)), {1, wide, 1, Form::evaluation, k});
    expect_same(e->download(e->multiply_plain(a, uploaded)),
                e->download(e->multiply_plain(a, all[k])), "a product with uploaded values");
    EXPECT_THROW(e->upload(WordArray(std::vector<TypeParam>(uploaded.shape().words(rig.N()) - 1)),
                           uploaded.shape()),
                 ShapeError);
    EXPECT_THROW(e->upload(WordArray(std::vector<TypeParam>(uploaded.shape().words(rig.N()),
                                                            static_cast<TypeParam>(-1))),
                           uploaded.shape()),
                 RangeError);
  }
}

}  // namespace
}  // namespace whorl::lattice::rlwe
