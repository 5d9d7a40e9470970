// Sums of inner products with keys, each by a weight: what the entry says of itself in terms of
// others, on every device and by relay.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/random.h"
#include "support/rns.h"
#include "support/targets.h"
#include "whorl/error.h"

namespace whorl::backend {
namespace {

using test::get;
using test::put;

template <class Word>
class BackendRnsWeighted : public ::testing::Test {};
using BothWords = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(BackendRnsWeighted, BothWords);

/// A plan of three limbs, two a digit, and a special prime, and keys of it.
template <class Word>
struct Scene {
  Scene(const Queue& queue, std::size_t count, test::Random& random)
      : ops(queue.rns<Word>()),
        plan(test::random_rns_plan<Word>(256, 3, 1, 2, random)),
        tables(ops.prepare(plan)) {
    for (std::size_t k = 0; k < count; ++k)
      keys.push_back(ops.prepare_key(*tables, test::RnsKeyRows<Word>(*plan, random).source()));
  }
  const RnsOps<Word>& ops;
  std::shared_ptr<const ring::RnsPlan<Word>> plan;
  std::unique_ptr<const RnsTables<Word>> tables;
  std::vector<std::unique_ptr<const RnsSwitchKey<Word>>> keys;
};

TYPED_TEST(BackendRnsWeighted, IsTheSumOfItsTerms) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(2);
    const Scene<Word> s(*queue, 4, random);
    for (const unsigned used : {2u, 3u})
      for (const std::size_t batch : {1, 3})
        for (const bool onto : {false, true}) {
          SCOPED_TRACE(std::to_string(used) + " limbs, batch " + std::to_string(batch) +
                       (onto ? ", onto" : ""));
          const ring::Basis basis = s.plan->level(used), rows = basis | s.plan->special_basis();
          const std::size_t digits = s.plan->digits(used);
          const auto x = put(*queue, test::random_rows(*s.plan, rows, digits, batch, random));
          const auto before = test::random_rows(*s.plan, rows, 2, batch, random);
          auto out = put(*queue, before), sum = put(*queue, before), inner = put(*queue, before),
               weighted = put(*queue, before);
          const auto moduli = s.plan->moduli_of(rows);
          std::vector<math::Modulus<Word>> both = moduli;
          both.insert(both.end(), moduli.begin(), moduli.end());
          std::vector<Buffer<Word>> weights;
          std::vector<WeightedKey<Word>> terms;
          for (std::size_t k = 0; k < s.keys.size(); ++k) {
            // One weight for all, or one each, in any order; g = 1 among them.
            const std::size_t each = random.below(2) ? 1 : batch;
            weights.push_back(put(*queue, test::random_rows(*s.plan, rows, 1, each, random)));
            const auto g =
                k == 1 ? 1u : static_cast<std::uint32_t>(2 * random.below(s.plan->N()) + 1);
            terms.push_back({s.keys[k].get(), g, std::as_const(weights.back()).slice()});
            s.ops.inner_product(*s.keys[k], *s.tables, basis, g, x.slice(), inner.slice());
            s.ops.tensor(*s.tables, rows, 2, std::as_const(inner).slice(), 1, terms.back().weight,
                         weighted.slice());
            if (k == 0 && !onto)
              queue->copy<Word>(std::as_const(weighted).slice(), sum.slice());
            else
              queue->ring<Word>().add(both, std::as_const(sum).slice(),
                                      std::as_const(weighted).slice(), sum.slice());
          }
          s.ops.weighted_inner_products(terms, *s.tables, basis, x.slice(), onto, out.slice());
          const auto expected = get(*queue, sum);
          ASSERT_TRUE(get(*queue, out) == expected);
          // In two pieces.
          auto pieces = put(*queue, before);
          const std::span<const WeightedKey<Word>> all = terms;
          s.ops.weighted_inner_products(all.first(1), *s.tables, basis, x.slice(), onto,
                                        pieces.slice());
          s.ops.weighted_inner_products(all.subspan(1), *s.tables, basis, x.slice(), true,
                                        pieces.slice());
          ASSERT_TRUE(get(*queue, pieces) == expected);
        }
  });
}

TYPED_TEST(BackendRnsWeighted, Errors) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(), other = on.queue();
    const Scene<Word> s(*queue, 2, random);
    constexpr std::size_t N = 256, rows = 4;
    ring::KeyLayout layout = s.plan->key_layout();
    layout.digits = {ring::Basis{0}, ring::Basis{1, 2}};
    const auto apart_key = s.ops.prepare_key(
        *s.tables, layout, test::RnsKeyRows<Word>(*s.plan, layout, random).source());
    auto all = put(*queue, std::vector<Word>(64 * N, 0));
    const auto foreign = put(*other, std::vector<Word>(rows * N, 0));
    const Slice<const Word> in = std::as_const(all).slice(), digits = in.part(0, 2 * 2 * rows * N),
                            weight = in.part(32 * N, 2 * rows * N);
    const auto out = [&](std::size_t first) {
      return all.slice().part(first * N, 2 * 2 * rows * N);
    };
    const auto call = [&](const std::vector<WeightedKey<Word>>& terms, Slice<Word> to) {
      s.ops.weighted_inner_products(terms, *s.tables, s.plan->level(3), digits, false, to);
    };
    const RnsSwitchKey<Word>*a = s.keys[0].get(), *b = s.keys[1].get();
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
    EXPECT_THROW(s.ops.weighted_inner_products(std::vector<WeightedKey<Word>>{{a, 1, weight}},
                                               *s.tables, s.plan->level(2), digits, false, out(16)),
                 ShapeError);
  });
}

}  // namespace
}  // namespace whorl::backend
