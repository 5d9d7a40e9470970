// Sums of products, products of ciphertexts and combinations against sums of single words, on every
// device and by relay.
#include "unit/backend/contract/rns_sums.h"
#include "ring/automorphism.h"

namespace whorl::backend {
namespace {

using test::get;
using test::put;

template <class Word>
class BackendRnsSums : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRnsSums, test::BothWords);

/// Sums have 1 to 5 terms, and more than a launch takes.
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
        for (auto& x : xs) {  // of the batch, or one for all of it
          x = c.residues(c.basis, c.parts, random.below(3) == 0 ? 1 : c.batch, random);
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
          const auto& x = xs[term.x];
          const std::size_t x_batch = x.size() / (c.parts * primes.size() * c.N()),
                            of_x = x_row * x_batch + (x_batch == 1 ? 0 : b);
          return q.mul(x[of_x * c.N() + term.from[j]],
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

/// Matrices of one to many rows and columns, also more than a tile, of a batch; from the first
/// result on and from within a row; with constants and without.
TYPED_TEST(BackendRnsSums, Matrices) {
  using Word = TypeParam;
  test::Random random;
  struct Shape {
    std::size_t M, K;
  };
  const Shape shapes[] = {{1, 1}, {3, 2}, {2, 40}, {17, 16}, {70, 3}};
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const auto& [M, K] : shapes)
      for (const bool adds : {false, true}) {
        Case<Word> c(K + 1, random);  // the last term is the constant
        c.onto = false;
        const std::size_t B = c.batch, rows = c.basis.size(), N = c.N(),
                          stride = M * K + random.below(5), end = (M - 1) * B + 1 + random.below(B),
                          first = random.below(std::min(B, end)), count = end - first;
        SCOPED_TRACE(c.describe() + ", " + std::to_string(M) + " by " + std::to_string(K) +
                     ", results " + std::to_string(first) + " … " +
                     std::to_string(first + count - 1));
        const auto tables = ops.prepare(c.plan);
        const auto moduli = c.plan->moduli_of(c.basis);
        const auto x = c.residues(c.basis, c.parts, K * B, random);
        std::vector<Word> weights, constants;
        const bool largest = random.below(2);
        const auto below = [&](Word q) {
          return largest ? q - 1 : static_cast<Word>(random.below(q));
        };
        for (const auto& q : moduli) {
          for (std::size_t i = 0; i < stride; ++i) weights.push_back(below(q.value()));
          for (std::size_t j = 0; adds && j < M; ++j) constants.push_back(below(q.value()));
        }
        const Placed<Word> held_x(queue, x, random), held_w(queue, weights, random),
            held_c(queue, constants, random);
        Placed<Word> out(queue, std::vector<Word>(c.parts * rows * count * N), random);
        const WeightedSums<Word> sums{held_x.slice, held_w.slice, held_c.slice, K, first};
        ops.weighted_sums(*tables, c.basis, c.parts, sums, out.slice);
        std::vector<Word> expected(out.slice.size);
        for (std::size_t at = 0; at < expected.size(); ++at) {
          const std::size_t slab = at / (count * N), row = slab % rows, i = at / N % count + first,
                            j = i / B, b = i % B;
          const auto& q = moduli[row];
          if (adds && slab < rows) expected[at] = constants[row * M + j];
          for (std::size_t k = 0; k < K; ++k)
            expected[at] = q.add(expected[at], q.mul(weights[row * stride + j * K + k],
                                                     x[((slab * K + k) * B + b) * N + at % N]));
        }
        ASSERT_TRUE(get<Word>(queue, out.slice) == expected);
        const auto refused = [&](WeightedSums<Word> bad) {
          EXPECT_THROW(ops.weighted_sums(*tables, c.basis, c.parts, bad, out.slice), ShapeError);
        };
        WeightedSums<Word> bad = sums;
        bad.inputs = 0;
        refused(bad);
        bad = sums;
        bad.first = B;
        refused(bad);
        bad = sums;
        bad.weights = bad.weights.part(0, rows * (M * K - 1));
        refused(bad);
        bad = sums;
        bad.x = bad.x.part(0, bad.x.size - 1);
        refused(bad);
        bad = sums;
        bad.x = std::as_const(out.buffer).slice().part(0, 0);
        refused(bad);
        if (constants.size() < 2) continue;  // without the only one there are none
        bad = sums;
        bad.constants = bad.constants.part(0, bad.constants.size - 1);
        refused(bad);
      }
  });
}

/// Products with sums that masks choose: of every number of groups of low arrays and others that
/// fill none, with empty masks, full ones and any; with more outputs than a launch takes, and none.
TYPED_TEST(BackendRnsSums, MaskedTensors) {
  using Word = TypeParam;
  test::Random random;
  struct Shape {
    std::size_t H, L, J;
  };
  const Shape shapes[] = {{1, 1, 1},   {3, 2, 5},   {4, 4, 4},  {2, 6, 3}, {5, 8, 1},
                          {16, 16, 8}, {13, 11, 2}, {2, 3, 70}, {16, 4, 0}};
  on_each_queue<Word>([&](const Queue& queue, const RnsOps<Word>& ops) {
    for (const auto& [H, L, J] : shapes) {
      Case<Word> c(H, random);
      const std::size_t rows = c.basis.size(), words = rows * c.batch * c.N();
      SCOPED_TRACE(c.describe() + ", " + std::to_string(H) + " high, " + std::to_string(L) +
                   " low, " + std::to_string(J) + " outputs");
      const auto tables = ops.prepare(c.plan);
      const auto moduli = c.plan->moduli_of(c.basis);
      std::vector<std::vector<Word>> values;
      std::vector<Placed<Word>> held, outs;
      std::vector<Slice<const Word>> inputs;
      for (std::size_t i = 0; i < H + L; ++i) {
        values.push_back(c.residues(c.basis, 2, c.batch, random));
        inputs.push_back(held.emplace_back(queue, values[i], random).slice);
      }
      std::vector<std::uint16_t> masks;
      for (std::size_t i = 0; i < J * H; ++i) {
        const std::size_t all = (std::size_t{1} << L) - 1, kind = i < H ? 1 : random.below(4);
        masks.push_back(static_cast<std::uint16_t>(kind == 0   ? 0
                                                   : kind == 1 ? all
                                                               : random.below(all + 1)));
      }
      for (std::size_t i = (J - 1) * H; J > 1 && i < J * H; ++i) masks[i] = 0;
      std::vector<Slice<Word>> to;
      for (std::size_t j = 0; j < J; ++j)
        to.push_back(outs.emplace_back(queue, std::vector<Word>(3 * words), random).slice);
      const std::span<const Slice<const Word>> all(inputs);
      const MaskedTensors<Word> of{all.first(H), all.subspan(H), masks};
      ops.masked_tensors(*tables, c.basis, of, to);
      for (std::size_t j = 0; j < J; ++j) {
        std::vector<Word> expected(3 * words);
        for (std::size_t at = 0; at < words; ++at) {
          const auto& q = moduli[at / (c.batch * c.N())];
          for (std::size_t h = 0; h < H; ++h) {
            Word s[2] = {0, 0};
            for (std::size_t l = 0; l < L; ++l)
              for (std::size_t part = 0; part < 2; ++part)
                if (masks[j * H + h] >> l & 1)
                  s[part] = q.add(s[part], values[H + l][part * words + at]);
            for (std::size_t a = 0; a < 2; ++a)
              for (std::size_t b = 0; b < 2; ++b) {
                Word& sum = expected[(a + b) * words + at];
                sum = q.add(sum, q.mul(values[h][a * words + at], s[b]));
              }
          }
        }
        ASSERT_TRUE(get<Word>(queue, to[j]) == expected) << "output " << j;
      }
      if (J == 0) continue;
      const auto refused = [&]<class Error>(const MaskedTensors<Word>& bad,
                                            std::span<const Slice<Word>> at, Error*) {
        EXPECT_THROW(ops.masked_tensors(*tables, c.basis, bad, at), Error);
      };
      ParameterError* const parameter = nullptr;
      ShapeError* const shape = nullptr;
      const std::vector<Slice<const Word>> many(17, inputs[0]);
      const std::vector<std::uint16_t> of_many(J * many.size());
      refused({many, of.low, of_many}, to, parameter);
      refused({of.high, many, masks}, to, parameter);
      refused({of.high, {}, masks}, to, parameter);
      refused({{}, of.low, {}}, {}, parameter);
      refused({of.high, of.low, std::span(masks).first(J * H - 1)}, to, shape);
      std::vector<std::uint16_t> beyond = masks;
      if (L < 16) {
        beyond.back() = static_cast<std::uint16_t>(1u << L);
        refused({of.high, of.low, beyond}, to, parameter);
      }
      std::vector<Slice<const Word>> bad = inputs;
      bad[H] = bad[H].part(0, words);
      refused({std::span(bad).first(H), std::span(bad).subspan(H), masks}, to, shape);
      bad = inputs;
      bad[0] = bad[0].part(0, 2 * words - 1);
      refused({std::span(bad).first(H), std::span(bad).subspan(H), masks}, to, shape);
      bad = inputs;
      bad[H + L - 1] = Slice<const Word>(to[0]).part(words, 2 * words);
      refused({std::span(bad).first(H), std::span(bad).subspan(H), masks}, to, shape);
      std::vector<Slice<Word>> less = to;
      less[J - 1] = less[J - 1].part(0, words);
      refused(of, less, shape);
      if (J > 1) {
        less[J - 1] = less[0];
        refused(of, less, shape);
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

}  // namespace
}  // namespace whorl::backend
