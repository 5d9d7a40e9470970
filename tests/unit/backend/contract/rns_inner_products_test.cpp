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

}  // namespace
}  // namespace whorl::backend
