// Products of integer matrices and ciphertexts: their words, and what is known of messages and
// errors.
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/server_state.h"
#include "support/binfhe_sets.h"
#include "support/counting_device.h"
#include "support/message.h"
#include "support/named_devices.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;
using Integers = std::vector<std::int32_t>;

/// Each row alone, by `linear` of arrays of single columns.
Array one_row(const Server& server, const Array& x, std::span<const std::int32_t> row,
              std::int32_t constant) {
  const std::size_t columns = row.size(), groups = x.count() / columns;
  std::vector<Array> of_columns;
  for (std::size_t k = 0; k < columns; ++k) {
    Messages index(groups);
    for (std::size_t g = 0; g < groups; ++g) index[g] = static_cast<std::uint32_t>(g * columns + k);
    of_columns.push_back(server.take(x, index));
  }
  std::vector<const Array*> inputs;
  for (const Array& each : of_columns) inputs.push_back(&each);
  return server.linear(row, inputs, constant, true);
}

class BinfheProducts : public testing::TestWithParam<std::size_t> {
 protected:
  test::Random random_;
  const Parameters parameters_ = test::varied_sets()[GetParam()];
  const test::Pair& pair_ = test::pair_of(parameters_);
};

TEST_P(BinfheProducts, HaveTheWordsOfSumsThatAreMadeAlone) {
  const Server one(pair_.keys, {.device = test::tested_device, .threads = 2}, test::failing());
  test::name_devices({backend::make_device("cpu", {1, {}}), backend::make_device("cpu", {2, {}})});
  const Server two(pair_.keys, {.device = test::named_devices},
                   {.least_share = 1, .allow_failure = 1});
  for (int round = 0; round < 3; ++round)
    for (const Under under : {Under::lwe, Under::ring}) {
      const std::size_t columns = 1 + random_.below(7), rows = 1 + random_.below(6),
                        groups = round == 0 ? 1 : 1 + random_.below(5);
      SCOPED_TRACE(std::to_string(groups) + " times " + std::to_string(rows) + " x " +
                   std::to_string(columns));
      const Messages m = random_.numbers(groups * columns, 16);
      const Ciphertexts x = pair_.client.encrypt(m, {16}, 1, under);
      const auto entries = random_.integers(rows * columns, -9, 9);
      const auto constants = random_.integers(rows, INT32_MIN, INT32_MAX);
      const Weights weights{columns, entries};
      const Array a = one.upload(x);
      const Array made = one.linear(weights, a, constants, true);
      EXPECT_EQ(made.under(), under);
      ASSERT_EQ(made.count(), groups * rows);
      const Ciphertexts got = one.download(made);
      const Ciphertexts of_two = two.download(two.linear(weights, two.upload(x), constants, true));
      EXPECT_TRUE(got.data == of_two.data && got.wide == of_two.wide);
      double most = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        const Array alone = one_row(one, a, weights.row(r), constants[r]);
        most = std::max(most, alone.noise());
        const Ciphertexts want = one.download(alone);
        with_words(got, [&]<class Word>(const std::vector<Word>& words) {
          const std::vector<Word>& of_row = words_of<Word>(want);
          for (std::size_t g = 0; g < groups; ++g)
            ASSERT_TRUE(std::equal(of_row.begin() + g * got.row(),
                                   of_row.begin() + (g + 1) * got.row(),
                                   words.begin() + (g * rows + r) * got.row()))
                << "row " << r << " of group " << g;
        });
      }
      EXPECT_NEAR(made.noise(), most, 1e-9 * most);
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, BinfheProducts,
                         testing::Range(std::size_t{0}, test::varied_sets().size()));

class BinfheProduct : public testing::Test {
 protected:
  Array bits(const Messages& m, Under under = Under::lwe) const {
    return server_.bootstrap(server_.upload(pair_.client.encrypt(m, {16}, 1)), {}, under);
  }
  Array product(const Integers& entries, std::size_t columns, const Array& x,
                std::span<const std::int32_t> constants = {}) const {
    return server_.linear(Weights{columns, entries}, x, constants, true);
  }
  const Parameters p_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(p_);
  const Server server_{pair_.keys, {.device = test::tested_device, .threads = 2}, test::failing()};
  const double c_ = Account(p_, server_.transform(), 1).constant();
};

TEST_F(BinfheProduct, DecryptToTheProductInTheClear) {
  const Messages m = {1, 2, 3, 0, 1, 5};  // two vectors
  const Integers entries = {1, 1, 1, 2, -1, 0, 0, 0, 3, 1000000007, 0, 0},
                 constants = {0, 1, -1, 2};
  for (const Under under : {Under::lwe, Under::ring}) {
    const Array x = server_.upload(pair_.client.encrypt(m, {16}, 1, under));
    const Messages got = pair_.client.decrypt(server_.download(server_.linear(
        Weights{3, std::span(entries).first(9)}, x, std::span(constants).first(3), true)));
    EXPECT_EQ(got, (Messages{6, 1, 8, 6, 0, 14}));
  }
  // Trivial ciphertexts have no errors where 16 divides the modulus: any weight is exact.
  const Array known = server_.trivial_array(m, {16});
  const Array exact = server_.linear(Weights{3, entries}, known, constants, true);
  EXPECT_EQ(exact.noise(), 0);
  EXPECT_EQ(pair_.client.decrypt(server_.download(exact)), (Messages{6, 1, 8, 9, 6, 0, 14, 2}));
  // An empty batch of vectors.
  EXPECT_EQ(product({1, 2, 3}, 3, server_.take(known, {})).count(), 0u);
}

TEST_F(BinfheProduct, NoiseIsThatOfTheRowThatHasTheMost) {
  const Array x = bits({0, 1, 1, 0, 1, 1});
  EXPECT_DOUBLE_EQ(product({1, 2, 2, 3, 0, 0}, 3, x).noise(), 9 + 16 * c_);
  EXPECT_DOUBLE_EQ(product({1, -2, 2, 5, 0, 0}, 3, x).noise(), 25);
  EXPECT_DOUBLE_EQ(product({1, 1}, 1, x).noise(), 1);
  // Errors of encryptions have nothing in common.
  const Array fresh = server_.upload(pair_.client.encrypt({0, 1, 1}, {16}, 1));
  EXPECT_DOUBLE_EQ(product({1, -2, 2}, 3, fresh).noise(), 9 * fresh_noise(p_));
}

TEST_F(BinfheProduct, CiphertextsOfAVectorMayShareErrors) {
  const Array x = bits({0, 1, 1, 0});
  // The same ciphertext twice in the second vector, and so in both.
  const Array twice = server_.take(x, Messages{0, 1, 2, 2});
  EXPECT_DOUBLE_EQ(product({3, 4}, 2, twice).noise(), 49);
  EXPECT_DOUBLE_EQ(product({3, -4}, 2, twice).noise(), 49);
  // In different vectors they do not meet.
  const Array apart = server_.take(x, Messages{0, 1, 1, 0});
  EXPECT_DOUBLE_EQ(product({3, 4}, 2, apart).noise(), 25 + 24 * c_);
  // A ciphertext and its negation, and one that is combined with all.
  const Array negated[] = {server_.take(x, Messages{0}),
                           server_.not_(server_.take(x, Messages{0}))};
  EXPECT_DOUBLE_EQ(product({3, 4}, 2, server_.concatenate(negated)).noise(), 49);
  const std::int32_t add[] = {1, 1};
  const Array shared = bits({1});
  const Array* two[] = {&x, &shared};
  const Array sums = server_.linear(add, two, 0, true);  // x_i + y
  EXPECT_DOUBLE_EQ(product({1, 1}, 2, sums).noise(), 2 + 4 + c_ * (16 - 6));
  // Results of one vector have parts in common; sums of them count all of that.
  const Array made = product({1, 0, 0, 1}, 2, x);
  const Array first = server_.take(made, Messages{0}), second = server_.take(made, Messages{1});
  const Array* both[] = {&first, &second};
  EXPECT_DOUBLE_EQ(server_.linear(add, both, 0, true).noise(), 4);
  const Array* with_x[] = {&first, &x};
  EXPECT_DOUBLE_EQ(server_.linear(add, with_x, 0, true).noise(), 4);
  // What was loaded may be what was made here, but for encryptions.
  Ciphertexts host = server_.download(x);
  host.origin.reset();
  const Array mixed[] = {server_.upload(host), bits({1, 0})};
  EXPECT_DOUBLE_EQ(product({1, 1, 1, 1, 1, 1}, 6, server_.concatenate(mixed)).noise(), 36);
  EXPECT_DOUBLE_EQ(product({1, 1, 1, 1}, 4, server_.upload(host)).noise(), 4 + 12 * c_);
}

TEST_F(BinfheProduct, BootstrapsOfResultsAreKnownAgain) {
  // A row's sum and the same sum that is made alone are the same ciphertext.
  const Array x = bits({0, 1, 1, 0});
  const Array made = product({1, 0, 1, 1}, 2, x);
  const Array alone = one_row(server_, x, Integers{1, 1}, 0);
  const Lut table = Lut::create(p_, std::vector<std::uint32_t>(16, 1), {16}, {16}, false);
  const auto looked_up = [&](const Array& of) {
    return server_.apply(std::span(&table, 1), {}, of);
  };
  const Array same = looked_up(server_.take(made, Messages{1, 3})), other = looked_up(alone);
  const std::int32_t add[] = {1, 1};
  const Array* both[] = {&same, &other};
  EXPECT_DOUBLE_EQ(server_.linear(add, both, 0, true).noise(), 4);
  const Array different = looked_up(server_.take(made, Messages{0, 2}));
  const Array* apart[] = {&different, &other};
  EXPECT_DOUBLE_EQ(server_.linear(add, apart, 0, true).noise(), 2 + 2 * c_);
}

TEST_F(BinfheProduct, MarksAreThoseOfSumsThatAreMadeAlone) {
  test::Random random;
  constexpr std::size_t columns = 5, rows = 19, groups = 3;
  const Array x = bits(random.numbers(groups * columns, 2));
  const auto entries = random.integers(rows * columns, INT32_MIN, INT32_MAX);
  const auto constants = random.integers(rows, INT32_MIN, INT32_MAX);
  const Weights weights{columns, entries};
  const auto marks_of = [](const Array& array) { return *Access::of(array).origin->values; };
  const auto made = marks_of(server_.linear(weights, x, constants, true));
  ASSERT_EQ(made.size(), groups * rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto alone = marks_of(one_row(server_, x, weights.row(r), constants[r]));
    for (std::size_t g = 0; g < groups; ++g) EXPECT_EQ(made[g * rows + r], alone[g]);
  }
}

TEST_F(BinfheProduct, MessagesFollowTheRulesOfSums) {
  const Array x = server_.upload(pair_.client.encrypt({1, 2, 3}, {16, true}, 1));
  const auto linear = [&](const Integers& entries, const Array& of, const Integers& constants,
                          bool modular, std::optional<std::uint32_t> largest) {
    return server_.linear(Weights{3, entries}, of, constants, modular, largest);
  };
  test::expect_message<EncodingError>(
      [&] {
        linear({1, 0, 0, 1, 1, -1}, x, {}, false, {});
      },
      {"the sum may be -15 … 30", "holds 0 … 15"});
  EXPECT_EQ(linear({1, 0, 0, 1, 1, -1}, x, {}, true, {}).largest(), 31u);
  EXPECT_EQ(linear({1, 0, 0, 1, 1, -1}, x, {}, false, 9).largest(), 9u);
  test::expect_message<EncodingError>(
      [&] {
        linear({1, 0, 0}, x, {}, false, 16);
      },
      {"largest = 16 is not below p = 16"});
  const Array small = server_.with_range(x, {0, 3});
  const Array ranged = linear({1, 0, 0, 1, 1, -1}, small, {-2, 1}, false, {});
  EXPECT_EQ(ranged.range()->low, -2);
  EXPECT_EQ(ranged.range()->high, 7);
  test::expect_message<EncodingError>(
      [&] {
        linear({4, 1, 0, 1, 1, -1}, small, {}, false, {});
      },
      {"-3 … 15 are 19 integers"});
}

TEST_F(BinfheProduct, Refusals) {
  const Array x = bits({0, 1, 1, 0});
  const auto refused = [&](std::size_t columns, const Integers& entries,
                           const Integers& constants) {
    test::expect_message<ShapeError>(
        [&] {
          server_.linear(Weights{columns, entries}, x, constants, true);
        },
        {"linear: ", "at least one whole row"});
  };
  refused(2, {1, 2, 3}, {});
  refused(0, {}, {});
  refused(2, {}, {});
  refused(3, {1, 2, 3}, {});
  refused(2, {1, 2, 3, 4}, {1});
  // Each row is checked: one that fails too often refuses all.
  const Server strict(pair_.keys, {"cpu", 1});
  const Array y = strict.bootstrap(strict.upload(pair_.client.encrypt({0, 1}, {4}, 1)));
  const Integers good = {1, 1, 1, 0}, bad = {1, 1, 100, 3};
  EXPECT_NO_THROW(strict.linear(Weights{2, good}, y, {}, true));
  test::expect_message<NoiseError>(
      [&] {
        strict.linear(Weights{2, bad}, y, {}, true);
      },
      {"decryption of this weighted sum"});
}

TEST_F(BinfheProduct, DryRunsCountEachSum) {
  const DryRun dry(p_, test::failing());
  const std::size_t before = dry.costs().sums;
  const Integers entries = {1, 2, 3, 4, 5, 6};
  const Array made = dry.server().linear(Weights{3, entries}, dry.fresh({16}, 12), {}, true);
  EXPECT_EQ(made.count(), 8u);
  EXPECT_EQ(dry.costs().sums - before, 8u);
  EXPECT_DOUBLE_EQ(made.noise(), 77 * fresh_noise(p_));
}

}  // namespace
}  // namespace whorl::binfhe
