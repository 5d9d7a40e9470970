// Products of two ciphertexts whose last part is switched: what the entry says of itself in terms
// of others, on every device and by relay.
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
class BackendRnsSwitchedProduct : public ::testing::Test {};
using BothWords = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(BackendRnsSwitchedProduct, BothWords);

/// At the largest residues, where sums come closest to overflow, or at any.
template <class Word>
std::vector<Word> residues(const ring::RnsPlan<Word>& plan, const ring::Basis& basis,
                           std::size_t batch, test::Random& random) {
  std::vector<Word> out = test::random_rows(plan, basis, 2, batch, random);
  if (random.below(2)) return out;
  const auto moduli = plan.moduli_of(basis);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = moduli[i / (batch * plan.N()) % moduli.size()].value() - 1;
  return out;
}

template <class Word>
std::vector<Word> random_residues(const ring::RnsPlan<Word>& plan, const ring::Basis& basis,
                                  test::Random& random) {
  std::vector<Word> out;
  for (const auto& q : plan.moduli_of(basis))
    out.push_back(static_cast<Word>(random.below(q.value())));
  return out;
}

/// Digits of the usual key, of others in sequence whose first or last is smaller, of one prime
/// each, and in no sequence.
ring::KeyLayout layout_of(const ring::KeyLayout& usual, std::size_t kind) {
  switch (kind) {
    case 0:
      return usual;
    case 1:
      return {{0, 1, 2, 3, 4}, {{0}, {1, 2}, {3, 4}}, {5, 6}};
    case 2:
      return {{0, 1, 2, 3}, {{0}, {1}, {2}, {3}}, {6}};
    case 3:
      return {{1, 2, 4}, {{1, 2, 4}}, {5}};
    default:
      return {{0, 2, 5}, {{0, 5}, {2}}, {1, 6}};
  }
}

TYPED_TEST(BackendRnsSwitchedProduct, IsAProductAndASwitch) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    const auto queue = on.queue(2);
    const auto& ops = queue->template rns<Word>();
    for (std::size_t i = 0; i < 40; ++i) {
      // Now and then as large as is needed for a product to be made within its key switch.
      const bool large = i % 8 == 7;
      const auto held =
          test::random_rns_plan<Word>(large ? 8192u : 256u << random.below(2), 5, 2, 2, random,
                                      sizeof(Word) == 4 && random.below(2) ? 30 : 64);
      const auto& plan = *held;
      const auto tables = ops.prepare(held);
      const ring::KeyLayout layout = layout_of(plan.key_layout(), i % 5);
      const ring::Basis basis =
          i % 5 == 0 ? plan.level(1 + static_cast<unsigned>(random.below(plan.limbs())))
                     : test::random_part(layout.chain, random);
      const ring::Basis rows = basis | layout.special;
      const auto key =
          ops.prepare_key(*tables, layout, test::RnsKeyRows<Word>(plan, layout, random).source());
      const std::size_t batch = (large ? 3 : 1) + random.below(6),
                        of_b = random.below(2) ? batch : 1, part = basis.size() * batch * plan.N(),
                        out_words = 2 * rows.size() * batch * plan.N();
      SCOPED_TRACE(test::describe(plan) + ", level " + basis.describe() + " of " +
                   layout.chain.describe() + ", batch " + std::to_string(batch) + " times " +
                   std::to_string(of_b));
      // Arrays that do not begin at 16 bytes, now and then.
      const std::size_t offset = random.below(4) == 0 ? 1 : 0;
      const auto placed = [&](const std::vector<Word>& values) {
        auto buffer = queue->template allocate<Word>(values.size() + offset);
        queue->upload(std::span<const Word>(values), buffer.slice().part(offset, values.size()));
        return buffer;
      };
      const auto x = placed(residues(plan, basis, batch, random)),
                 y = placed(residues(plan, basis, of_b, random));
      const bool square = of_b == batch && random.below(4) == 0;
      const Slice<const Word> a = x.slice().part(offset, 2 * part),
                              b = square
                                      ? a
                                      : y.slice().part(offset, 2 * basis.size() * of_b * plan.N());
      const bool doubled = random.below(2);
      const auto constant =
          random.below(2) ? random_residues(plan, basis, random) : std::vector<Word>();
      const auto weights = random_residues(plan, rows, random);
      auto room = placed(test::random_rows(plan, rows, 2, batch, random));
      const Slice<Word> got = room.slice().part(offset, out_words);
      auto due = queue->template allocate<Word>(out_words),
           c = queue->template allocate<Word>(3 * part);
      const FactorsOf<Word> factors{a, b, doubled, constant, weights};
      ops.switched_product(*key, *tables, basis, factors, got);
      ops.tensor(*tables, basis, 2, a, 2, b, {doubled, constant}, c.slice());
      const Slice<const Word> made = c.slice();
      ops.extended_product(*key, *tables, basis, made.part(2 * part, part),
                           {made.part(0, 2 * part), basis, weights}, false, due.slice());
      ASSERT_TRUE(get<Word>(*queue, got) == get(*queue, due));

      const auto refuses_shape = [&](FactorsOf<Word> other, Slice<Word> out) {
        EXPECT_THROW(ops.switched_product(*key, *tables, basis, other, out), ShapeError);
      };
      FactorsOf<Word> other = factors;
      other.a = a.part(0, a.size - 1);
      refuses_shape(other, got);
      other = factors;
      other.b = b.part(0, plan.N());
      refuses_shape(other, got);
      refuses_shape(factors, got.part(0, out_words - plan.N()));
      other = factors;
      other.weights = other.weights.first(weights.size() - 1);
      refuses_shape(other, got);
      other = factors;
      other.a = Slice<const Word>(got).part(0, 2 * part);
      refuses_shape(other, got);
    }
  });
}

}  // namespace
}  // namespace whorl::backend
