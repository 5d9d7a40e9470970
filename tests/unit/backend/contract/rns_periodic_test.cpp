// Factors that are stored by their period give the bits of the same factors with all their values,
// in every entry that takes them, on every device and by relay.
#include "support/rns.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::get;
using test::put;

template <class Word>
class BackendRnsPeriodic : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRnsPeriodic, test::BothWords);

/// Some factors over one basis, each as it is stored and with all its values.
template <class Word>
struct Factors {
  struct Factor {
    unsigned log_repeats;
    Buffer<Word> buffers[2];
    Slice<const Word> stored, all;
  };
  std::vector<Factor> each;

  /// For each ciphertext of the batch, or one for all. Periods are any, 1 and N among them.
  Factors(const Queue& queue, const ring::RnsPlan<Word>& plan, const ring::Basis& over,
          std::size_t batch, std::size_t count, test::Random& random) {
    const auto log_N = static_cast<unsigned>(std::bit_width(plan.N()) - 1);
    for (std::size_t k = 0; k < count; ++k) {
      Factor factor{
          random.below(4) ? 2 + static_cast<unsigned>(random.below(log_N - 1)) : 0, {}, {}, {}};
      std::vector<Word> all = test::random_rows(plan, over, 1, random.below(2) ? 1 : batch, random);
      std::vector<Word> stored(all.size() >> factor.log_repeats);
      for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = all[i << factor.log_repeats];
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = stored[i >> factor.log_repeats];
      // Now and then from a place on that is not at 16 bytes.
      const std::size_t offset = random.below(2);
      stored.insert(stored.begin(), offset, 0);
      factor.buffers[0] = put(queue, stored);
      factor.buffers[1] = put(queue, all);
      factor.stored = std::as_const(factor.buffers[0]).slice().part(offset, stored.size() - offset);
      factor.all = std::as_const(factor.buffers[1]).slice();
      each.push_back(std::move(factor));
    }
  }
  Slice<const Word> slice(std::size_t k, bool stored) const {
    return stored ? each[k].stored : each[k].all;
  }
  unsigned log_repeats(std::size_t k, bool stored) const {
    return stored ? each[k].log_repeats : 0;
  }
};

/// A plan, keys of it, and a part of it.
template <class Word>
struct Scene {
  const RnsOps<Word>& ops;
  std::shared_ptr<const ring::RnsPlan<Word>> plan;
  std::unique_ptr<const RnsTables<Word>> tables;
  std::unique_ptr<const RnsSwitchKey<Word>> keys[2];
  unsigned used;
  ring::Basis basis, rows, wide;
  std::size_t batch;
  bool onto;

  Scene(const Queue& queue, test::Random& random)
      : ops(queue.rns<Word>()),
        plan(test::random_rns_plan<Word>(256u << random.below(3), 4, 2, 2, random)),
        tables(ops.prepare(plan)),
        used(1 + static_cast<unsigned>(random.below(4))),
        basis(plan->level(used)),
        rows(basis | plan->special_basis()),
        wide(rows | test::random_part(plan->all(), random)),
        batch(1 + random.below(9)),
        onto(random.below(2) == 1) {
    for (auto& key : keys)
      key = ops.prepare_key(*tables, test::RnsKeyRows<Word>(*plan, random).source());
  }
  std::string describe() const {
    return test::describe(*plan) + ", " + std::to_string(used) + " limbs used, batch " +
           std::to_string(batch) + (onto ? ", onto" : "");
  }
  std::uint32_t random_g(test::Random& random) const {
    return static_cast<std::uint32_t>(2 * random.below(plan->N()) + 1);
  }
};

constexpr int scenes = 12;

/// body(scene, queue, random) for random scenes.
template <class Word, class Body>
void on_scenes(const Body& body) {
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(2);
    test::Random random;
    for (int i = 0; i < scenes; ++i) {
      const Scene<Word> s(*queue, random);
      SCOPED_TRACE(s.describe());
      body(s, *queue, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST(BackendRnsPeriodic, Products) {
  using Word = TypeParam;
  on_scenes<Word>([](const Scene<Word>& s, const Queue& queue, test::Random& random) {
    const std::size_t parts = 1 + random.below(3), sums = 1 + random.below(6),
                      batched = random.below(sums + 1), count = random.below(4) ? 7 : 45;
    const auto x = put(queue, test::random_rows(*s.plan, s.rows, parts, s.batch, random)),
               y = put(queue, test::random_rows(*s.plan, s.rows, parts, s.batch, random));
    const auto before = test::random_rows(*s.plan, s.rows, sums * parts, s.batch, random);
    const Factors<Word> m(queue, *s.plan, s.wide, s.batch, count, random);
    // Without automorphisms several sums are made at once.
    const bool turns = random.below(2) == 1;
    std::vector<ProductTerm<Word>> terms;
    for (std::size_t k = 0; k < count; ++k)
      terms.push_back({(k % 3 ? x : y).slice(),
                       {},
                       s.wide,
                       turns ? s.random_g(random) : 1,
                       static_cast<std::uint32_t>(random.below(sums))});
    const auto run = [&](bool stored) {
      for (std::size_t k = 0; k < count; ++k) {
        terms[k].m = m.slice(k, stored);
        terms[k].log_repeats = m.log_repeats(k, stored);
      }
      auto out = put(queue, before);
      s.ops.sums_of_products(*s.tables, s.rows, {sums, parts, batched}, terms, s.onto, out.slice());
      return get(queue, out);
    };
    ASSERT_TRUE(run(true) == run(false)) << parts << " parts, " << sums << " sums, " << count
                                         << " terms" << (turns ? ", turned" : "");
  });
}

TYPED_TEST(BackendRnsPeriodic, TurnedProducts) {
  using Word = TypeParam;
  on_scenes<Word>([](const Scene<Word>& s, const Queue& queue, test::Random& random) {
    const SumLayout lie{1 + random.below(5), 2, random.below(2)};
    const std::size_t digits = s.plan->digits(s.used), count = random.below(4) ? 6 : 36;
    const auto raised = put(queue, test::random_rows(*s.plan, s.rows, digits, s.batch, random)),
               x = put(queue, test::random_rows(*s.plan, s.basis, 2, s.batch, random));
    const auto before = test::random_rows(*s.plan, s.rows, 2 * lie.sums, s.batch, random);
    const Factors<Word> m(queue, *s.plan, s.wide, s.batch, count * lie.sums, random);
    std::vector<TurnedProduct<Word>> terms(count);
    std::vector<std::size_t> numbers;  // of the factors
    for (std::size_t k = 0; k < count; ++k) {
      if (k % 5 != 0) {
        terms[k].key = s.keys[k % 2].get();
        terms[k].g = s.random_g(random);
      }
      for (std::uint32_t sum = 0; sum < lie.sums; ++sum)
        if (random.below(4)) {
          terms[k].factors.push_back({{}, s.wide, sum});
          numbers.push_back(k * lie.sums + sum);
        }
    }
    const auto run = [&](bool stored) {
      auto number = numbers.begin();
      for (auto& term : terms)
        for (auto& factor : term.factors) {
          factor.m = m.slice(*number, stored);
          factor.log_repeats = m.log_repeats(*number++, stored);
        }
      auto out = put(queue, before);
      s.ops.sums_of_turned_products(s.plan->key_layout(), *s.tables, s.basis, lie, terms,
                                    raised.slice(), {x.slice(), s.basis}, s.onto, out.slice());
      return get(queue, out);
    };
    ASSERT_TRUE(run(true) == run(false)) << lie.sums << " sums, " << count << " terms";
  });
}

TYPED_TEST(BackendRnsPeriodic, PeriodsThatCannotBeRightAreRefused) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue();
    const auto& ops = queue->template rns<Word>();
    constexpr std::size_t N = 256, rows = 3;
    const auto plan = test::random_rns_plan<Word>(N, 2, 1, 1, random);
    const auto tables = ops.prepare(plan);
    auto all = put(*queue, std::vector<Word>(32 * N, 0));
    const Slice<const Word> in = std::as_const(all).slice();
    const auto out = all.slice().part(24 * N, 2 * rows * N);
    // Each entry with a factor of so many words, for a batch of one: expect(call) for each.
    const auto calls = [&](unsigned log_repeats, std::size_t words, const auto& expect) {
      const ring::Basis basis = plan->all(), level = plan->level(2);
      const Slice<const Word> x = in.part(0, 2 * rows * N), m = in.part(12 * N, words);
      const ProductTerm<Word> product{x, m, basis, 1, 0, log_repeats};
      TurnedProduct<Word> turned;
      turned.factors.push_back({m, basis, 0, log_repeats});
      expect(
          [&] { ops.sums_of_products(*tables, basis, 1, 2, std::span(&product, 1), false, out); });
      expect([&] {
        ops.sums_of_turned_products(plan->key_layout(), *tables, level, {1, 2, 0},
                                    std::span(&turned, 1), {}, {x, basis}, false, out);
      });
    };
    const auto fits = [](const auto& call) { EXPECT_NO_THROW(call()); };
    const auto no_period = [](const auto& call) { EXPECT_THROW(call(), ParameterError); };
    const auto no_rows = [](const auto& call) { EXPECT_THROW(call(), ShapeError); };
    calls(0, rows * N, fits);
    calls(2, rows * N / 4, fits);
    calls(8, rows, fits);
    calls(1, rows * N / 2, no_period);
    calls(9, rows, no_period);
    calls(32, rows * N, no_period);
    calls(2, rows * N, no_rows);
    calls(0, rows * N / 4, no_rows);
    calls(8, rows - 1, no_rows);
  });
}

}  // namespace
}  // namespace whorl::backend
