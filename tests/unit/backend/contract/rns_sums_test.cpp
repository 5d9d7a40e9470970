// Sums of products, products of ciphertexts and sums with weights against sums of single words, on
// every device and by relay.
#include "ring/automorphism.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::get;
using test::put;

template <class Word>
class BackendRnsSums : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRnsSums, test::BothWords);

/// A sum over some primes of a plan.
template <class Word>
struct Case {
  std::shared_ptr<const ring::RnsPlan<Word>> plan;
  ring::Basis basis;
  std::size_t parts, batch;
  bool onto;

  Case(std::size_t terms, test::Random& random, bool large = false)
      : plan(test::random_rns_plan<Word>(large ? 8192u : 256u << random.below(2), 5, 2, 2, random,
                                         sizeof(Word) == 4 && random.below(2) ? 30 : 64)),
        basis(test::random_part(plan->all(), random)),
        parts(1 + random.below(3)),
        batch(1 + random.below(5)),
        onto(random.below(2) == 1),
        terms_(terms) {}
  std::string describe() const {
    return test::describe(*plan) + ", basis " + basis.describe() + ", batch " +
           std::to_string(batch) + ", " + std::to_string(parts) + " parts, " +
           std::to_string(terms_) + " terms" + (onto ? ", onto" : "");
  }
  std::size_t N() const { return plan->N(); }
  std::uint32_t random_g(test::Random& random) const {
    return random.below(2) ? 1 : static_cast<std::uint32_t>(2 * random.below(plan->N()) + 1);
  }
  /// At the largest residues, where sums come closest to overflow, or at any.
  std::vector<Word> residues(const ring::Basis& over, std::size_t its_parts, std::size_t its_batch,
                             test::Random& random) const {
    std::vector<Word> out = test::random_rows(*plan, over, its_parts, its_batch, random);
    if (random.below(2)) return out;
    const auto moduli = plan->moduli_of(over);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = moduli[i / (its_batch * N()) % moduli.size()].value() - 1;
    return out;
  }
  /// Where a key serves: at a level of the usual one, or over any primes with digits in sequence
  /// whose first or last is smaller, of one prime each, of all, and in no sequence.
  struct Level {
    ring::KeyLayout layout;
    ring::Basis basis, rows;
    std::size_t digits;
  };
  Level level(std::size_t kind, test::Random& random) const {
    const ring::KeyLayout layouts[] = {plan->key_layout(),
                                       {{0, 1, 2, 3, 4}, {{0}, {1, 2}, {3, 4}}, {5, 6}},
                                       {{0, 1, 2, 3}, {{0}, {1}, {2}, {3}}, {6}},
                                       {{1, 2, 4}, {{1, 2, 4}}, {5}},
                                       {{0, 2, 5}, {{0, 5}, {2}}, {1, 6}}};
    const ring::KeyLayout& layout = layouts[kind % 5];
    const ring::Basis over =
        kind % 5 == 0 ? plan->level(1 + static_cast<unsigned>(random.below(plan->limbs())))
                      : test::random_part(layout.chain, random);
    const auto used = [&](const ring::Basis& digit) { return !(digit & over).empty(); };
    const auto digits = static_cast<std::size_t>(std::ranges::count_if(layout.digits, used));
    return {layout, over, over | layout.special, digits};
  }
  std::unique_ptr<const RnsSwitchKey<Word>> key(const RnsOps<Word>& ops,
                                                const RnsTables<Word>& tables,
                                                const ring::KeyLayout& layout,
                                                test::Random& random) const {
    return ops.prepare_key(tables, layout, test::RnsKeyRows<Word>(*plan, layout, random).source());
  }
  std::vector<Word> weights(const ring::Basis& of, test::Random& random) const {
    std::vector<Word> out;
    for (const auto& q : plan->moduli_of(of))
      out.push_back(static_cast<Word>(random.below(q.value())));
    return out;
  }
  /// The sum at each place: term(k, part, row, item of the batch, place, modulus).
  template <class Term>
  std::vector<Word> due(const std::vector<Word>& before, const Term& term) const {
    std::vector<Word> out = before;
    const auto moduli = plan->moduli_of(basis);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / (batch * N()) % moduli.size();
      if (!onto) out[i] = 0;
      for (std::size_t k = 0; k < terms_; ++k)
        out[i] = moduli[row].add(out[i], term(k, i / (batch * N()) / moduli.size(), row,
                                              i / N() % batch, i % N(), moduli[row]));
    }
    return out;
  }

 private:
  std::size_t terms_;
};

/// A buffer that does not begin at 16 bytes, now and then.
template <class Word>
struct Placed {
  Buffer<Word> buffer;
  Slice<Word> slice;
  Placed(const Queue& queue, const std::vector<Word>& values, test::Random& random) {
    const std::size_t offset = random.below(4) == 0 ? 1 : 0;
    buffer = queue.allocate<Word>(values.size() + offset);
    slice = buffer.slice().part(offset, values.size());
    queue.upload(std::span<const Word>(values), slice);
  }
};

/// body(queue, its operations) on every device.
template <class Word, class Body>
void on_each_queue(const Body& body) {
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(2);
    body(*queue, queue->template rns<Word>());
  });
}

/// Of 1 to 5 terms, and of more than a launch takes.
constexpr std::size_t counts[] = {1, 2, 3, 4, 5, 31, 33, 70};

TYPED_TEST(BackendRnsSums, Products) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const std::size_t count : counts)
      for (const bool plain : {false, true}) {
        // Several sums that share what they multiply; as linear maps have them, or any.
        Case<Word> c(count, random);
        if (plain) c.parts = 2;
        const std::size_t sums = 1 + random.below(6), batched = random.below(sums + 1);
        SCOPED_TRACE(c.describe() + ", " + std::to_string(sums) + " sums, the last " +
                     std::to_string(batched) + " as a batch" + (plain ? ", plain" : ""));
        const auto tables = ops.prepare(c.plan);
        struct Term {
          std::vector<Word> m;
          std::size_t x, m_batch;
          std::vector<std::uint32_t> from;
        };
        std::vector<std::vector<Word>> xs(1 + random.below(count));
        std::vector<Placed<Word>> x_held, m_held;
        for (auto& x : xs) {
          x = c.residues(c.basis, c.parts, c.batch, random);
          x_held.emplace_back(queue, x, random);
        }
        std::vector<Term> all;
        std::vector<ProductTerm<Word>> terms;
        for (std::size_t k = 0; k < count; ++k) {
          const ring::Basis over =
              random.below(2) ? c.basis : c.basis | test::random_part(c.plan->all(), random);
          const std::size_t m_batch = random.below(2) ? 1 : c.batch, x = random.below(xs.size());
          const std::uint32_t g = plain ? 1 : c.random_g(random);
          all.push_back({c.residues(over, 1, m_batch, random), x, m_batch,
                         ring::evaluation_permutation(c.plan->N(), g)});
          m_held.emplace_back(queue, all[k].m, random);
          terms.push_back({x_held[x].slice, m_held[k].slice, over, g,
                           static_cast<std::uint32_t>(random.below(sums))});
        }
        const auto before = c.residues(c.basis, sums * c.parts, c.batch, random);
        const auto primes = c.basis.indices();
        // As they lie, of (sums, parts, basis, B, N).
        const auto laid_out = [&](const std::vector<Word>& values) {
          std::vector<Word> lie(values.size());
          const std::size_t part = primes.size() * c.batch * c.N(),
                            alone = (sums - batched) * c.parts * part;
          for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t sum = i / part / c.parts, in_row = i % (c.batch * c.N()),
                              row = i % (c.parts * part) / (c.batch * c.N());
            lie[i < alone ? i
                          : alone + (row * batched + sum - (sums - batched)) * c.batch * c.N() +
                                in_row] = values[i];
          }
          return lie;
        };
        Placed<Word> out(queue, laid_out(before), random);
        ops.sums_of_products(*tables, c.basis, {sums, c.parts, batched}, terms, c.onto, out.slice);
        const auto expected = c.due(before, [&](std::size_t k, std::size_t part, std::size_t row,
                                                std::size_t b, std::size_t j, const auto& q) {
          if (part / c.parts != terms[k].sum) return Word{0};
          const Term& term = all[k];
          const std::size_t x_row = part % c.parts * primes.size() + row,
                            m_row = terms[k].over.rank(primes[row]) * term.m_batch;
          return q.mul(xs[term.x][(x_row * c.batch + b) * c.N() + term.from[j]],
                       term.m[(m_row + (term.m_batch == 1 ? 0 : b)) * c.N() + j]);
        });
        ASSERT_TRUE(get<Word>(queue, out.slice) == laid_out(expected));
      }
  });
}

/// Products of ciphertexts with every end: of 2 by 2 parts and of others, of one b for a batch,
/// squares of one array, over bases that are a prefix and others.
TYPED_TEST(BackendRnsSums, Tensors) {
  using Word = TypeParam;
  test::Random random;
  struct Shape {
    std::size_t m, n;
    bool square = false;
  };
  const Shape shapes[] = {{2, 2}, {1, 1}, {2, 1}, {1, 3}, {3, 2}, {2, 2, true}, {3, 3, true}};
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const Shape& shape : shapes)
      for (const bool prefix : {false, true}) {
        const std::size_t m = shape.m, n = shape.n;
        Case<Word> c(m * n + 1, random);  // the last term is the constant
        c.onto = false;
        if (prefix) c.basis = c.plan->level(1 + static_cast<unsigned>(random.below(5)));
        const auto tables = ops.prepare(c.plan);
        const std::size_t b_batch = !shape.square && random.below(2) ? 1 : c.batch,
                          rows = c.basis.size();
        const auto a = c.residues(c.basis, m, c.batch, random),
                   b = shape.square ? a : c.residues(c.basis, n, b_batch, random);
        const Placed<Word> x(queue, a, random), other(queue, b, random);
        const Slice<const Word> y = shape.square ? x.slice : other.slice;
        for (const bool doubled : {false, true})
          for (const bool adds : {false, true}) {
            SCOPED_TRACE(c.describe() + ", " + std::to_string(m) + " by " + std::to_string(n) +
                         " parts, b of a batch of " + std::to_string(b_batch) +
                         (shape.square ? ", squared" : "") + (doubled ? ", doubled" : "") +
                         (adds ? ", with a constant" : ""));
            std::vector<Word> constant;
            for (std::size_t l = 0; adds && l < rows; ++l)
              constant.push_back(random.below(2) ? c.plan->moduli_of(c.basis)[l].value() - 1
                                                 : static_cast<Word>(random.word()));
            const std::vector<Word> before((m + n - 1) * rows * c.batch * c.N());
            const auto expected =
                c.due(before, [&](std::size_t k, std::size_t part, std::size_t row, std::size_t i,
                                  std::size_t j, const auto& q) {
                  if (k == m * n) return adds && part == 0 ? q.reduce(constant[row]) : Word{0};
                  if (k / n + k % n != part) return Word{0};
                  const std::size_t b_row = (k % n * rows + row) * b_batch + (b_batch > 1 ? i : 0);
                  const Word product = q.mul(a[((k / n * rows + row) * c.batch + i) * c.N() + j],
                                             b[b_row * c.N() + j]);
                  return doubled ? q.add(product, product) : product;
                });
            Placed<Word> out(queue, before, random);
            ops.tensor(*tables, c.basis, m, x.slice, n, y, {doubled, constant}, out.slice);
            ASSERT_TRUE(get<Word>(queue, out.slice) == expected);
            constant.resize(rows + 1);
            EXPECT_THROW(
                ops.tensor(*tables, c.basis, m, x.slice, n, y, {doubled, constant}, out.slice),
                ShapeError);
          }
      }
  });
}

TYPED_TEST(BackendRnsSums, Combinations) {
  using Word = TypeParam;
  test::Random random;
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const std::size_t count : counts)
      for (const bool mixed : {false, true}) {
        const Case<Word> c(count, random);
        SCOPED_TRACE(c.describe() + (mixed ? ", mixed" : ""));
        const auto tables = ops.prepare(c.plan);
        const auto moduli = c.plan->moduli_of(c.basis);
        struct Term {
          std::vector<Word> x, weights;
          ring::Basis over;
          std::size_t batch;
          std::vector<std::uint32_t> from;
        };
        std::vector<Term> all;
        std::vector<Placed<Word>> held;
        std::vector<ScaledTerm<Word>> terms;
        std::vector<Word> constant;
        if (random.below(2))
          for (const auto& q : moduli)
            constant.push_back(random.below(2) ? q.value() - 1 : static_cast<Word>(random.word()));
        for (std::size_t k = 0; k < count; ++k) {
          // With more primes than the sum, and perhaps with others.
          ring::Basis over = test::random_part(c.plan->all(), random);
          if (!mixed) over = over | c.basis;
          std::vector<Word> weights;
          for (std::size_t l = 0; l < moduli.size() && (k == 0 || random.below(8)); ++l)
            weights.push_back(k % 2 ? moduli[l].value() - 1 : static_cast<Word>(random.word()));
          if (weights.size() < moduli.size()) weights.clear();
          const std::uint32_t g = mixed ? c.random_g(random) : 1;
          const std::size_t its_batch = mixed && random.below(3) == 0 ? 1 : c.batch;
          all.push_back({c.residues(over, c.parts, its_batch, random), weights, over, its_batch,
                         ring::evaluation_permutation(c.plan->N(), g)});
          terms.push_back({held.emplace_back(queue, all[k].x, random).slice, over, weights, g});
        }
        const auto before = c.residues(c.basis, c.parts, c.batch, random);
        Placed<Word> out(queue, before, random);
        if (constant.empty())
          ops.combine(*tables, c.basis, c.parts, terms, c.onto, out.slice);
        else
          ops.combine(*tables, c.basis, c.parts, terms, constant, c.onto, out.slice);
        const auto primes = c.basis.indices();
        const auto expected = c.due(before, [&](std::size_t k, std::size_t part, std::size_t row,
                                                std::size_t b, std::size_t j, const auto& q) {
          const Term& term = all[k];
          const Word more =
              k == 0 && part == 0 && !constant.empty() ? q.reduce(constant[row]) : Word{0};
          if (!term.over.contains(primes[row])) return more;
          const std::size_t x_row = part * term.over.size() + term.over.rank(primes[row]),
                            from = x_row * term.batch + (term.batch == 1 ? 0 : b);
          const Word x = term.x[from * c.N() + term.from[j]];
          return q.add(more, term.weights.empty() ? x : q.mul(x, q.reduce(term.weights[row])));
        });
        ASSERT_TRUE(get<Word>(queue, out.slice) == expected);
      }
  });
}

/// Inner products to which something is added: what the entry says of itself in terms of others.
TYPED_TEST(BackendRnsSums, InnerProductsWithMore) {
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
TYPED_TEST(BackendRnsSums, InnerProductsWithManyKeys) {
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
TYPED_TEST(BackendRnsSums, SumOfInnerProducts) {
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
TYPED_TEST(BackendRnsSums, WeightedInnerProducts) {
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
TYPED_TEST(BackendRnsSums, SwitchedProducts) {
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

TYPED_TEST(BackendRnsSums, Errors) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(), other = on.queue();
    const auto& ops = queue->template rns<Word>();
    constexpr std::size_t N = 256;
    const auto plan = test::random_rns_plan<Word>(N, 3, 1, 2, random);
    const auto tables = ops.prepare(plan);
    const ring::Basis basis = plan->level(2), more = plan->level(3);
    auto all = put(*queue, std::vector<Word>(64 * N, 0));
    const auto foreign = put(*other, std::vector<Word>(8 * N, 0));
    const Slice<const Word> in = std::as_const(all).slice();
    const auto rows = [&](std::size_t first, std::size_t count) {
      return in.part(first * N, count * N);
    };
    const auto to = [&](std::size_t first, std::size_t count) {
      return all.slice().part(first * N, count * N);
    };
    // Two parts over two primes, batch 2.
    const auto products = [&](const std::vector<ProductTerm<Word>>& terms, Slice<Word> out) {
      ops.sums_of_products(*tables, basis, 1, 2, terms, false, out);
    };
    EXPECT_NO_THROW(
        products({{rows(0, 8), rows(8, 4), basis}, {rows(0, 8), rows(8, 3), more, 3}}, to(16, 8)));
    EXPECT_THROW(products({}, to(16, 8)), ShapeError);
    EXPECT_THROW(
        ops.sums_of_products(*tables, basis, {1, 2, 2},
                             std::vector<ProductTerm<Word>>{{rows(0, 8), rows(8, 4), basis}}, false,
                             to(16, 8)),
        ShapeError)
        << "more in a batch than there are";
    EXPECT_THROW(products({{rows(0, 7), rows(8, 4), basis}}, to(16, 8)), ShapeError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 3), basis}}, to(16, 8)), ShapeError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 4), basis}}, to(16, 7)), ShapeError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 1), plan->level(1)}}, to(16, 8)), ParameterError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 4), basis, 2}}, to(16, 8)), ParameterError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 4), basis, 2 * N + 1}}, to(16, 8)), ParameterError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 4), basis, 1, 1}}, to(16, 8)), ShapeError);
    EXPECT_THROW(products({{rows(0, 8), rows(8, 4), basis}}, to(7, 8)), ShapeError) << "in x";
    EXPECT_THROW(products({{rows(0, 8), rows(20, 4), basis}}, to(16, 8)), ShapeError) << "in m";
    EXPECT_THROW(products({{foreign.slice(), rows(8, 4), basis}}, to(16, 8)), DeviceError);
    const auto combine = [&](const std::vector<ScaledTerm<Word>>& terms, Slice<Word> out) {
      ops.combine(*tables, basis, 2, terms, false, out);
    };
    EXPECT_NO_THROW(combine({{rows(0, 8), basis, {1, 2}}, {rows(0, 12), more, {}, 3}}, to(16, 8)));
    EXPECT_NO_THROW(combine({{rows(0, 8), basis}, {rows(0, 6), more}}, to(16, 8)));
    EXPECT_THROW(combine({}, to(16, 8)), ShapeError);
    const ScaledTerm<Word> term{rows(0, 8), basis};
    EXPECT_THROW(ops.combine(*tables, basis, 2, std::span(&term, 1), std::vector<Word>{1, 2, 3},
                             false, to(16, 8)),
                 ShapeError);
    EXPECT_THROW(combine({{rows(0, 8), more}}, to(16, 8)), ShapeError);
    EXPECT_THROW(combine({{rows(0, 8), basis, {1, 2, 3}}}, to(16, 8)), ShapeError);
    EXPECT_THROW(combine({{rows(0, 8), basis, {}, 4}}, to(16, 8)), ParameterError);
    EXPECT_THROW(combine({{rows(0, 8), basis}}, to(0, 8)), ShapeError) << "in place";
    EXPECT_THROW(combine({{foreign.slice(), basis}}, to(16, 8)), DeviceError);
  });
}

TYPED_TEST(BackendRnsSums, ErrorsOfWeightedInnerProducts) {
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
