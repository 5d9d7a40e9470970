// RNS operations on several threads: work is split otherwise, results are the same bits.
#include "support/rns.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

template <class Word>
class BackendRnsThreads : public ::testing::Test {};
TYPED_TEST_SUITE(BackendRnsThreads, test::BothWords);

template <class Word>
struct Case {
  std::shared_ptr<const ring::RnsPlan<Word>> plan;
  const test::RnsKeyRows<Word>& key;
  std::uint32_t g;
  std::size_t batch;
  std::vector<Word> a, b, sum;  ///< (2, limbs, batch, N), and of mod_down before
};

/// All results on so many threads, one after another.
template <class Word>
std::vector<Word> results(const Case<Word>& c, unsigned threads) {
  const auto device = test::cpu(threads);
  const ring::RnsPlan<Word>& plan = *c.plan;
  const unsigned limbs = plan.limbs();
  const std::size_t rows = limbs + plan.special(), row = c.batch * plan.N(), part = limbs * row;
  const auto tables = device->rns<Word>().prepare(c.plan);
  const auto key = device->rns<Word>().prepare_key(*tables, c.key.source());
  std::vector<Word> out;
  const auto keep = [&](const Buffer<Word>& buffer) {
    const auto words = test::get(*device, buffer);
    out.insert(out.end(), words.begin(), words.end());
  };
  const auto fresh = [&](std::size_t words) {
    return test::put(*device, std::vector<Word>(words));
  };
  const Buffer<Word> a = test::put(*device, c.a), b = test::put(*device, c.b);
  const std::vector<math::Modulus<Word>> moduli = plan.moduli_of(plan.level(limbs));

  auto product = fresh(3 * part);
  device->rns<Word>().tensor(*tables, plan.level(limbs), 2, a.slice(), 2, b.slice(),
                             product.slice());
  keep(product);
  auto digits = fresh(plan.digits(limbs) * rows * row);
  test::mod_up(*device, *tables, limbs, a.slice().part(0, part), digits.slice());
  keep(digits);
  const Buffer<Word>& read = digits;
  for (const std::uint32_t g : {1u, c.g}) {
    auto switched = fresh(2 * rows * row);
    device->rns<Word>().inner_product(*key, *tables, plan.level(limbs), g, read.slice(),
                                      switched.slice());
    keep(switched);
    const auto down = [&](Slice<const Word> added, std::uint32_t by, Buffer<Word>& to) {
      test::mod_down(*device, *tables, 65537, limbs, 2, std::as_const(switched).slice(), added, by,
                     to.slice());
      keep(to);
    };
    const auto sum = test::put(*device, c.sum);
    for (const std::size_t added : {std::size_t{0}, part, 2 * part})
      for (const std::uint32_t by : {1u, c.g}) {
        auto divided = fresh(2 * part);
        down(sum.slice().part(0, added), by, divided);
      }
    auto in_place = test::put(*device, c.sum);
    down(std::as_const(in_place).slice().part(0, part), 1, in_place);
  }
  if (limbs > 1) {
    auto dropped = fresh(2 * (part - row));
    test::rescale(*device, *tables, 65537, limbs, 2, a.slice(), dropped.slice());
    keep(dropped);
  }
  for (const bool evaluation_form : {false, true}) {
    auto moved = fresh(part);
    device->ring<Word>().automorphism(moduli, plan.N(), c.g, evaluation_form,
                                      a.slice().part(0, part), moved.slice());
    keep(moved);
  }
  auto added = fresh(part);
  device->ring<Word>().add(moduli, a.slice().part(0, part), b.slice().part(0, part), added.slice());
  keep(added);
  device->rns<Word>().intt(*tables, plan.level(limbs), 3, product.slice());
  keep(product);
  return out;
}

TYPED_TEST(BackendRnsThreads, AreTheBitsOfOne) {
  using Word = TypeParam;
  test::Random random;
  for (int round = 0; round < 4; ++round) {
    const auto N = static_cast<std::uint32_t>(1u << (12 + random.below(3)));
    const auto limbs = 1 + static_cast<unsigned>(random.below(4)),
               special = 1 + static_cast<unsigned>(random.below(2)),
               digit_limbs = 1 + static_cast<unsigned>(random.below(std::min(2u, limbs)));
    const auto plan = test::random_rns_plan<Word>(N, limbs, special, digit_limbs, random);
    const test::RnsKeyRows<Word> key(*plan, random);
    const std::size_t batch = 1 + random.below(2);
    const auto polynomials = [&] {
      return test::random_rows(*plan, plan->level(limbs), 2, batch, random);
    };
    const Case<Word> c{
        plan,         key,           static_cast<std::uint32_t>(2 * random.below(N) + 1),
        batch,        polynomials(), polynomials(),
        polynomials()};
    SCOPED_TRACE(test::describe(*plan) + ", batch " + std::to_string(batch) +
                 ", g = " + std::to_string(c.g));
    test::on_each_target([&] {
      const std::vector<Word> expected = results(c, 1);
      for (const unsigned threads : {2u, 3u, 2 + static_cast<unsigned>(random.below(7))})
        ASSERT_TRUE(results(c, threads) == expected) << threads << " threads";
    });
    if (this->HasFatalFailure()) return;
  }
}

// A row's digits are transformed and multiplied in one go: what the two entries by themselves give.
TYPED_TEST(BackendRnsThreads, ExtendedProductsAreThoseOfExtensions) {
  using Word = TypeParam;
  test::Random random;
  for (int round = 0; round < 6; ++round) {
    const bool large = round == 0;  // results do not pass through the caches
    const auto N = static_cast<std::uint32_t>(1u << (large ? 14 : 10 + 2 * random.below(3)));
    const auto limbs = 1 + static_cast<unsigned>(random.below(large ? 2 : 6));
    const auto plan = test::random_rns_plan<Word>(
        N, limbs, 2, 1 + static_cast<unsigned>(random.below(std::min(2u, limbs))), random);
    const test::RnsKeyRows<Word> rows(*plan, random);
    const std::size_t batch = large ? 43 : 1 + random.below(3);
    ring::Basis basis = plan->level(limbs);
    if (limbs > 1 && random.below(2)) basis = plan->level(limbs - 1);
    const ring::Basis all = basis | plan->key_layout().special;
    const auto in = test::random_rows(*plan, basis, 1, batch, random);
    const auto before = test::random_rows(*plan, all, 2, batch, random);
    const std::size_t parts = 1 + random.below(2);
    const auto more = test::random_rows(*plan, basis, parts, batch, random);
    const auto g = static_cast<std::uint32_t>(2 * random.below(N) + 1);
    std::vector<Word> weights(all.size());
    for (Word& w : weights) w = static_cast<Word>(random.below(1u << 20));
    SCOPED_TRACE(test::describe(*plan) + ", over " + basis.describe() + ", batch " +
                 std::to_string(batch) + ", g = " + std::to_string(g));
    test::on_each_target([&] {
      for (const unsigned threads : {1u, 2u}) {
        const auto device = test::cpu(threads);
        const auto& ops = device->rns<Word>();
        const auto tables = ops.prepare(plan);
        const auto key = ops.prepare_key(*tables, rows.source());
        const auto x = test::put(*device, in), added = test::put(*device, more);
        std::size_t digits = 0;
        for (const ring::Basis& digit : key->layout().digits) digits += !(digit & basis).empty();
        auto extended =
            test::put(*device, std::vector<Word>(digits * all.size() * batch * plan->N()));
        ops.extend(*tables, basis, key->layout().digits, all, ring::Lift::exact, x.slice(),
                   extended.slice());
        const Buffer<Word>& read = extended;
        for (const std::uint32_t by : {1u, g}) {
          auto due = test::put(*device, before), got = test::put(*device, before);
          ops.inner_product(*key, *tables, basis, by, read.slice(), due.slice());
          ops.extended_product(*key, *tables, basis, by, x.slice(), got.slice());
          ASSERT_TRUE(test::get(*device, got) == test::get(*device, due)) << threads << " threads";
          for (const bool onto : {false, true}) {
            const ScaledTerm<Word> term{added.slice(), basis, weights, by};
            auto due_sum = test::put(*device, before), got_sum = test::put(*device, before);
            ops.inner_product(*key, *tables, basis, read.slice(), term, onto, due_sum.slice());
            // The same of single entries.
            auto alone = test::put(*device, test::get(*device, due));
            if (onto) {
              const auto kept = test::put(*device, before);
              const ScaledTerm<Word> old{kept.slice(), all};
              ops.combine(*tables, all, 2, std::span(&old, 1), true, alone.slice());
            }
            ops.combine(*tables, all, parts, std::span(&term, 1), true,
                        alone.slice().part(0, parts * all.size() * batch * plan->N()));
            ops.extended_product(*key, *tables, basis, x.slice(), term, onto, got_sum.slice());
            const auto expected = test::get(*device, alone);
            ASSERT_TRUE(test::get(*device, due_sum) == expected) << threads << " threads";
            ASSERT_TRUE(test::get(*device, got_sum) == expected) << threads << " threads";
          }
        }
        auto refused = test::put(*device, before);
        const ScaledTerm<Word> nothing;
        EXPECT_THROW(
            ops.extended_product(*key, *tables, basis, x.slice(), nothing, true, refused.slice()),
            ParameterError);
      }
    });
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace whorl::backend
