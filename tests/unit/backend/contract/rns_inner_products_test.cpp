// Inner products with switching keys, sums of them with and without weights, and products of
// ciphertexts whose last part is switched, on every device and by relay.
#include "unit/backend/contract/rns_sums.h"

namespace whorl::backend {
namespace {

using test::get;
using test::put;

template <class Word>
class BackendRnsInnerProducts : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRnsInnerProducts, test::BothWords);

/// Inner products to which something is added: what the entry says of itself in terms of others.
TYPED_TEST(BackendRnsInnerProducts, InnerProductsWithMore) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (int i = 0; i < 24; ++i) {
      const Case<Word> c(1, random);
      const auto& plan = *c.plan;
      const auto tables = ops.prepare(c.plan);
      const auto [layout, basis, rows, digits] = c.level(i, random);
      const auto key = c.key(ops, *tables, layout, random);
      const ring::Basis over = i % 3 ? basis : test::random_part(plan.all(), random);
      const std::size_t parts = 1 + random.below(2);
      const std::uint32_t g = c.random_g(random);
      SCOPED_TRACE(c.describe() + ", of level " + basis.describe() + ", added over " +
                   over.describe() + ", g = " + std::to_string(g));
      const auto d = put(queue, test::random_rows(plan, rows, digits, c.batch, random));
      Placed<Word> x(queue, test::random_rows(plan, over, parts, c.batch, random), random);
      const std::vector<Word> weights =
          random.below(4) ? c.weights(rows, random) : std::vector<Word>();
      const ScaledTerm<Word> added{x.slice, over, weights, g};
      const std::size_t part = rows.size() * c.batch * c.N();
      const auto before = test::random_rows(plan, rows, 2, c.batch, random);
      auto got = put(queue, before), due = put(queue, before),
           inner = queue.allocate<Word>(2 * part);
      ops.inner_product(*key, *tables, basis, d.slice(), added, c.onto, got.slice());
      ops.inner_product(*key, *tables, basis, g, d.slice(), inner.slice());
      const ScaledTerm<Word> all{std::as_const(inner).slice(), rows};
      ops.combine(*tables, rows, 2, std::span(&all, 1), c.onto, due.slice());
      ops.combine(*tables, rows, parts, std::span(&added, 1), true,
                  due.slice().part(0, parts * part));
      ASSERT_TRUE(get(queue, got) == get(queue, due));
      EXPECT_THROW(ops.inner_product(*key, *tables, basis, d.slice(),
                                     {x.slice.part(0, c.N()), over, weights, g}, false,
                                     due.slice().part(1, part)),
                   ShapeError);
      EXPECT_THROW(ops.inner_product(*key, *tables, basis, d.slice(), {x.slice, over, weights, 2},
                                     false, due.slice()),
                   ParameterError);
      const Slice<const Word> inside =
          got.slice().part(part, std::size_t{basis.size()} * c.batch * c.N());
      EXPECT_THROW(
          ops.inner_product(*key, *tables, basis, d.slice(), {inside, basis}, false, got.slice()),
          ShapeError);
    }
  });
}

/// Inner products of the same digits with several keys: those with each of them.
TYPED_TEST(BackendRnsInnerProducts, InnerProductsWithManyKeys) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const std::size_t count : {1, 2, 5, 16, 19}) {  // and more than a launch takes
      const Case<Word> c(count, random);
      const auto& plan = *c.plan;
      const auto tables = ops.prepare(c.plan);
      const auto [layout, basis, rows, digits] = c.level(count, random);
      std::vector<std::unique_ptr<const RnsSwitchKey<Word>>> keys;
      for (std::size_t k = 0; k < 1 + count / 2; ++k)
        keys.push_back(c.key(ops, *tables, layout, random));
      std::vector<TurnedKey<Word>> terms;
      for (std::size_t i = 0; i < count; ++i)
        terms.push_back({keys[random.below(keys.size())].get(), c.random_g(random)});
      const std::size_t part = rows.size() * c.batch * c.N();
      const std::vector<Word> weights = c.weights(rows, random);
      Placed<Word> d(queue, test::random_rows(plan, rows, digits, c.batch, random), random);
      const Slice<const Word> of = d.slice;
      for (const std::size_t parts : {0, 1, 2}) {
        SCOPED_TRACE(c.describe() + ", of level " + basis.describe() + ", " +
                     std::to_string(parts) + " parts added");
        Placed<Word> x(queue, test::random_rows(plan, basis, parts, c.batch, random), random),
            got(queue, test::random_rows(plan, rows, count * 2, c.batch, random), random);
        ops.inner_products(terms, *tables, basis, of, {x.slice, basis, weights}, got.slice);
        auto due = queue.allocate<Word>(count * 2 * part);
        for (std::size_t i = 0; i < count; ++i) {
          const Slice<Word> own = due.slice().part(i * 2 * part, 2 * part);
          if (parts == 0)
            ops.inner_product(*terms[i].key, *tables, basis, terms[i].g, of, own);
          else
            ops.inner_product(*terms[i].key, *tables, basis, of,
                              {x.slice, basis, weights, terms[i].g}, false, own);
        }
        ASSERT_TRUE(get<Word>(queue, got.slice) == get(queue, due));
      }
      // Refused: no term or key, another layout or exponent, sizes that do not fit.
      auto both = queue.allocate<Word>(4 * part);
      const Slice<Word> out = both.slice().part(0, 2 * part);
      const auto make = [&](const std::vector<TurnedKey<Word>>& some, const ScaledTerm<Word>& more,
                            Slice<Word> to) {
        ops.inner_products(some, *tables, basis, of, more, to);
      };
      const RnsSwitchKey<Word>* const key = keys[0].get();
      const auto strange = c.key(ops, *tables, {{0}, {{0}}, {6}}, random);
      EXPECT_NO_THROW(make({{key, 3}}, {}, out));
      EXPECT_THROW(make({}, {}, out), ShapeError);
      EXPECT_THROW(make({{nullptr, 1}}, {}, out), ShapeError);
      EXPECT_THROW(make({{key, 2}}, {}, out), ParameterError);
      EXPECT_THROW(make({{key, 1}, {key, 1}}, {}, out), ShapeError);
      EXPECT_THROW(make({{key, 1}, {strange.get(), 1}}, {}, both.slice()), ParameterError);
      EXPECT_THROW(make({{key, 1}}, {of.part(0, c.N() * c.batch), basis, weights, 3}, out),
                   ParameterError);
      EXPECT_THROW(make({{key, 1}}, {out.part(0, basis.size() * c.batch * c.N()), basis}, out),
                   ShapeError);
    }
  });
}

/// Arrays of a batch with a key and an X^g each, to one sum: as one by one, at any of their places.
TYPED_TEST(BackendRnsInnerProducts, SumOfInnerProducts) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const std::size_t count : {1, 2, 3, 7, 18}) {  // and more than a launch takes
      const Case<Word> c(count, random);
      const auto& plan = *c.plan;
      const auto tables = ops.prepare(c.plan);
      const auto [layout, basis, rows, digits] = c.level(random.below(5), random);
      std::vector<std::unique_ptr<const RnsSwitchKey<Word>>> keys;
      std::vector<TurnedKey<Word>> terms;
      for (std::size_t i = 0; i < count; ++i) {
        if (i % 2 == 0) keys.push_back(c.key(ops, *tables, layout, random));
        terms.push_back({keys[random.below(keys.size())].get(), c.random_g(random)});
      }
      // Some arrays before those that are used, and behind them.
      const std::size_t first = random.below(3), of = first + count + random.below(3),
                        array = c.batch * c.N(), part = rows.size() * array;
      const auto x = test::random_rows(plan, rows, digits, of * c.batch, random),
                 y = test::random_rows(plan, rows, 1, of * c.batch, random);
      const auto before = test::random_rows(plan, rows, 2, c.batch, random);
      Placed<Word> d(queue, x, random), more(queue, y, random);
      const Slice<const Word> from = d.slice, added = more.slice;
      const auto taken = [&](const std::vector<Word>& values, std::size_t i) {
        std::vector<Word> own;
        for (std::size_t at = i * array; at < values.size(); at += of * array)
          own.insert(own.end(), values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.begin() + static_cast<std::ptrdiff_t>(at + array));
        return own;
      };
      for (const bool onto : {false, true})
        for (const bool adds : {false, true}) {
          SCOPED_TRACE(c.describe() + ", of level " + basis.describe() + ", " +
                       std::to_string(count) + " terms from " + std::to_string(first) + " on of " +
                       std::to_string(of) + (onto ? ", onto" : "") + (adds ? ", added" : ""));
          Placed<Word> got(queue, before, random);
          ops.sum_of_inner_products(terms, *tables, basis, from, adds ? added : Slice<const Word>(),
                                    first, onto, got.slice);
          auto due = put(queue, onto ? before : std::vector<Word>(2 * part, 0)),
               inner = queue.allocate<Word>(2 * part);
          for (std::size_t i = 0; i < count; ++i) {
            const auto own = put(queue, taken(x, first + i)),
                       its_more = put(queue, taken(y, first + i));
            ops.inner_product(*terms[i].key, *tables, basis, terms[i].g, own.slice(),
                              inner.slice());
            const ScaledTerm<Word> all{std::as_const(inner).slice(), rows},
                turned{its_more.slice(), rows, {}, terms[i].g};
            ops.combine(*tables, rows, 2, std::span(&all, 1), true, due.slice());
            if (adds)
              ops.combine(*tables, rows, 1, std::span(&turned, 1), true, due.slice().part(0, part));
          }
          ASSERT_TRUE(get<Word>(queue, got.slice) == get(queue, due));
        }
      // Refused: no term or key, another layout or exponent, arrays that are not there, overlaps.
      auto place = queue.allocate<Word>(2 * part);
      const auto make = [&](const std::vector<TurnedKey<Word>>& some, std::size_t at,
                            Slice<const Word> also, Slice<Word> to) {
        ops.sum_of_inner_products(some, *tables, basis, from, also, at, false, to);
      };
      const RnsSwitchKey<Word>* const key = keys[0].get();
      const auto strange = c.key(ops, *tables, {{0}, {{0}}, {6}}, random);
      const Slice<Word> out = place.slice();
      EXPECT_NO_THROW(make({{key, 3}}, of - 1, added, out));
      EXPECT_THROW(make({}, 0, added, out), ShapeError);
      EXPECT_THROW(make({{nullptr, 1}}, 0, added, out), ShapeError);
      EXPECT_THROW(make({{key, 2}}, 0, added, out), ParameterError);
      EXPECT_THROW(make({{key, 1}}, of, added, out), ShapeError);
      EXPECT_THROW(make({{key, 1}}, of + 1, added, out), ShapeError);
      EXPECT_THROW(make({{key, 1}}, 0, added.part(0, added.size - array), out), ShapeError);
      EXPECT_THROW(make({{key, 1}}, 0, added, out.part(0, 2 * part - 1)), ShapeError);
      EXPECT_THROW(make({{strange.get(), 1}, {key, 1}}, 0, added, out), ParameterError);
      EXPECT_THROW(make({{key, 1}}, 0, added, d.slice.part(0, 2 * part)), ShapeError);
    }
  });
}

/// Sums of inner products with keys, each by a weight: what the entry says of itself in terms of
/// others.
TYPED_TEST(BackendRnsInnerProducts, WeightedInnerProducts) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (std::size_t i = 0; i < 10; ++i) {
      const Case<Word> c(4, random);
      const auto tables = ops.prepare(c.plan);
      const auto [layout, basis, rows, digits] = c.level(i, random);
      SCOPED_TRACE(c.describe() + ", of level " + basis.describe());
      const auto x = put(queue, test::random_rows(*c.plan, rows, digits, c.batch, random));
      const auto before = test::random_rows(*c.plan, rows, 2, c.batch, random);
      auto out = put(queue, before), sum = put(queue, before), inner = put(queue, before),
           weighted = put(queue, before);
      const auto moduli = c.plan->moduli_of(rows);
      std::vector<math::Modulus<Word>> both = moduli;
      both.insert(both.end(), moduli.begin(), moduli.end());
      std::vector<std::unique_ptr<const RnsSwitchKey<Word>>> keys;
      std::vector<Buffer<Word>> weights;
      std::vector<WeightedKey<Word>> terms;
      for (std::size_t k = 0; k < 4; ++k) {
        // One weight for all, or one each, in any order; g = 1 among them.
        const std::size_t each = random.below(2) ? 1 : c.batch;
        keys.push_back(c.key(ops, *tables, layout, random));
        weights.push_back(put(queue, test::random_rows(*c.plan, rows, 1, each, random)));
        const std::uint32_t g = k == 1 ? 1 : c.random_g(random);
        terms.push_back({keys[k].get(), g, std::as_const(weights.back()).slice()});
        ops.inner_product(*keys[k], *tables, basis, g, x.slice(), inner.slice());
        ops.tensor(*tables, rows, 2, std::as_const(inner).slice(), 1, terms.back().weight,
                   weighted.slice());
        if (k == 0 && !c.onto)
          queue.copy<Word>(std::as_const(weighted).slice(), sum.slice());
        else
          queue.ring<Word>().add(both, std::as_const(sum).slice(), std::as_const(weighted).slice(),
                                 sum.slice());
      }
      ops.weighted_inner_products(terms, *tables, basis, x.slice(), c.onto, out.slice());
      const auto expected = get(queue, sum);
      ASSERT_TRUE(get(queue, out) == expected);
      // In two pieces.
      auto pieces = put(queue, before);
      const std::span<const WeightedKey<Word>> all = terms;
      ops.weighted_inner_products(all.first(1), *tables, basis, x.slice(), c.onto, pieces.slice());
      ops.weighted_inner_products(all.subspan(1), *tables, basis, x.slice(), true, pieces.slice());
      ASSERT_TRUE(get(queue, pieces) == expected);
    }
  });
}

/// Products of two ciphertexts whose last part is switched: what the entry says of itself in terms
/// of others.
TYPED_TEST(BackendRnsInnerProducts, SwitchedProducts) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (std::size_t i = 0; i < 40; ++i) {
      // Now and then as large as is needed for a product to be made within its key switch.
      const bool large = i % 8 == 7;
      Case<Word> c(1, random, large);
      c.batch = (large ? 3 : 1) + random.below(6);
      const auto& plan = *c.plan;
      const auto tables = ops.prepare(c.plan);
      const auto [layout, basis, rows, digits] = c.level(i, random);
      const auto key = c.key(ops, *tables, layout, random);
      const std::size_t of_b = random.below(2) ? c.batch : 1,
                        part = basis.size() * c.batch * plan.N(),
                        out_words = 2 * rows.size() * c.batch * plan.N();
      SCOPED_TRACE(c.describe() + ", level " + basis.describe() + " of " + layout.chain.describe() +
                   ", times " + std::to_string(of_b));
      const Placed<Word> x(queue, c.residues(basis, 2, c.batch, random), random),
          y(queue, c.residues(basis, 2, of_b, random), random);
      const Slice<const Word> a = x.slice,
                              b = of_b == c.batch && random.below(4) == 0 ? a : y.slice;
      const bool doubled = random.below(2);
      const auto constant = random.below(2) ? c.weights(basis, random) : std::vector<Word>();
      const auto weights = c.weights(rows, random);
      const Placed<Word> got(queue, test::random_rows(plan, rows, 2, c.batch, random), random);
      auto due = queue.allocate<Word>(out_words), product = queue.allocate<Word>(3 * part);
      const FactorsOf<Word> factors{a, b, doubled, constant, weights};
      ops.switched_product(*key, *tables, basis, factors, got.slice);
      ops.tensor(*tables, basis, 2, a, 2, b, {doubled, constant}, product.slice());
      const Slice<const Word> made = product.slice();
      ops.extended_product(*key, *tables, basis, made.part(2 * part, part),
                           {made.part(0, 2 * part), basis, weights}, false, due.slice());
      ASSERT_TRUE(get<Word>(queue, got.slice) == get(queue, due));

      const auto refuses = [&](const auto& change, Slice<Word> out) {
        FactorsOf<Word> other = factors;
        change(other);
        EXPECT_THROW(ops.switched_product(*key, *tables, basis, other, out), ShapeError);
      };
      using F = FactorsOf<Word>;
      refuses([&](F& f) { f.a = a.part(0, a.size - 1); }, got.slice);
      refuses([&](F& f) { f.b = b.part(0, plan.N()); }, got.slice);
      refuses([](F&) {}, got.slice.part(0, out_words - plan.N()));
      refuses([&](F& f) { f.weights = f.weights.first(weights.size() - 1); }, got.slice);
      refuses([&](F& f) { f.a = Slice<const Word>(got.slice).part(0, 2 * part); }, got.slice);
    }
  });
}

TYPED_TEST(BackendRnsInnerProducts, ErrorsOfWeightedInnerProducts) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(), other = on.queue();
    const auto& ops = queue->template rns<Word>();
    constexpr std::size_t N = 256, rows = 4;
    const auto plan = test::random_rns_plan<Word>(N, 3, 1, 2, random);
    const auto tables = ops.prepare(plan);
    ring::KeyLayout layout = plan->key_layout();
    const auto make = [&] {
      return ops.prepare_key(*tables, layout,
                             test::RnsKeyRows<Word>(*plan, layout, random).source());
    };
    const auto one = make(), two = make();
    layout.digits = {ring::Basis{0}, ring::Basis{1, 2}};
    const auto apart_key = make();
    auto all = put(*queue, std::vector<Word>(64 * N, 0));
    const auto foreign = put(*other, std::vector<Word>(rows * N, 0));
    const Slice<const Word> in = std::as_const(all).slice(), digits = in.part(0, 2 * 2 * rows * N),
                            weight = in.part(32 * N, 2 * rows * N);
    const auto out = [&](std::size_t first) {
      return all.slice().part(first * N, 2 * 2 * rows * N);
    };
    const auto call = [&](const std::vector<WeightedKey<Word>>& terms, Slice<Word> to) {
      ops.weighted_inner_products(terms, *tables, plan->level(3), digits, false, to);
    };
    const RnsSwitchKey<Word>*a = one.get(), *b = two.get();
    EXPECT_NO_THROW(call({{a, 1, weight}, {b, 3, weight.part(0, rows * N)}}, out(16)));
    EXPECT_THROW(call({}, out(16)), ShapeError);
    EXPECT_THROW(call({{nullptr, 1, weight}}, out(16)), ShapeError);
    EXPECT_THROW(call({{a, 1, weight}, {nullptr, 1, weight}}, out(16)), ParameterError);
    EXPECT_THROW(call({{a, 1, weight}, {apart_key.get(), 1, weight}}, out(16)), ParameterError);
    EXPECT_THROW(call({{a, 1, weight}, {b, 2, weight}}, out(16)), ParameterError);
    EXPECT_THROW(call({{a, 1, weight}, {b, 1, weight.part(0, N)}}, out(16)), ShapeError);
    EXPECT_THROW(call({{a, 1, weight}, {b, 1, foreign.slice()}}, out(16)), DeviceError);
    EXPECT_THROW(call({{a, 1, weight}}, out(15)), ShapeError) << "in the digits";
    EXPECT_THROW(call({{a, 1, weight}}, out(17)), ShapeError) << "in the weight";
    EXPECT_THROW(call({{a, 1, weight}}, all.slice().part(16 * N, 2 * rows * N)), ShapeError);
    EXPECT_THROW(ops.weighted_inner_products(std::vector<WeightedKey<Word>>{{a, 1, weight}},
                                             *tables, plan->level(2), digits, false, out(16)),
                 ShapeError);
  });
}

}  // namespace
}  // namespace whorl::backend
