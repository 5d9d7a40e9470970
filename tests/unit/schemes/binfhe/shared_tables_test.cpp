// Tables that share rotations, tables of one rotation beside a linear part, and coarse tables.
#include <numeric>

#include "schemes/binfhe/gates.h"
#include "schemes/binfhe/linear_part.h"
#include "schemes/binfhe/multi_value.h"
#include "support/binfhe_sets.h"
#include "support/message.h"
#include "support/test.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;

Messages all_messages(std::uint32_t p) {
  Messages out(p);
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

Messages values_of(const Lut& lut) { return {lut.values().begin(), lut.values().end()}; }

/// Sets of other rotations than those of varied_sets().
std::vector<Parameters> further_sets() {
  std::vector<Parameters> sets;
  ParameterLiteral p = test::small_literal();
  p.name = "AP, q = N";
  p.q = 256;
  p.rotation = {RotationKind::ap, 4};
  sets.push_back(test::insecure(p));
  p = test::small_literal();
  p.name = "unrolled";
  p.rotation = {RotationKind::unrolled, 3};
  p.lwe_secret = SecretDistribution::binary;
  sets.push_back(test::insecure(p));
  return sets;
}

TEST(BinfheSharedTables, EachResultIsThatOfItsTable) {
  test::Random random;
  std::vector<Parameters> sets = test::varied_sets();
  for (const Parameters& set : further_sets()) sets.push_back(set);
  std::size_t looked_up = 0;
  for (const Parameters& parameters : sets)
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      const test::Pair& pair = test::pair_of(parameters);
      const Server server(pair.keys, {.device = "cpu", .threads = 2},
                          test::failing({.transform = transform}));
      for (const Encoding input : {Encoding{2, true}, Encoding{3, true}, Encoding{4}, Encoding{2}})
        for (const std::uint32_t count : {1U, 2U, 3U, 4U}) {
          const bool arbitrary = !input.padding && input.p > 2;
          if (parameters.lut_failure_log2(input, arbitrary, transform, count) > -25) continue;
          SCOPED_TRACE(parameters.name() + ", " + describe(input) + ", " + std::to_string(count));
          std::vector<Lut> luts;
          for (std::uint32_t l = 0; l < count; ++l) {
            const auto to = static_cast<std::uint32_t>(2 + random.below(7));
            luts.push_back(Lut::create(parameters, random.numbers(input.p, to), input,
                                       {to, random.below(2) == 1}));
          }
          Messages messages(5 * input.p);
          for (std::size_t i = 0; i < messages.size(); ++i)
            messages[i] = static_cast<std::uint32_t>(i % input.p);
          const auto results =
              server.apply_many(luts, server.upload(pair.client.encrypt(messages, input, 1)));
          ASSERT_EQ(results.size(), luts.size());
          for (std::size_t l = 0; l < luts.size(); ++l) {
            EXPECT_EQ(results[l].encoding(), luts[l].output());
            Messages want;
            for (const std::uint32_t m : messages) want.push_back(luts[l].values()[m]);
            EXPECT_EQ(pair.client.decrypt(server.download(results[l])), want) << l;
          }
          looked_up += count > 1;
        }
    }
  EXPECT_GE(looked_up, 60U);
}

TEST(BinfheSharedTables, KindsMayDiffer) {
  const Parameters parameters = test::varied_sets()[4];  // 2^20 > 2N
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 1});
  const Encoding eight{8};
  const Lut negacyclic = Lut::create(parameters, {1, 2, 3, 1, 7, 6, 5, 7}, eight, eight),
            near = Lut::create(parameters, {0, 1, 2, 3, 0, 0, 0, 0}, eight, {4}, true, true),
            arbitrary = Lut::create(parameters, {3, 1, 4, 1, 5, 2, 6, 5}, eight, eight);
  ASSERT_EQ(near.kind(), LutKind::near_negacyclic);
  const Array x = server.upload(pair.client.encrypt(all_messages(8), eight));
  for (const std::vector<Lut>& luts :
       {std::vector{negacyclic, near}, {near, arbitrary}, {arbitrary, negacyclic}}) {
    const DryRun dry(parameters);
    const auto counted = dry.server().apply_many(luts, dry.fresh(eight, 8));
    const bool two = luts[0].kind() == LutKind::arbitrary || luts[1].kind() == LutKind::arbitrary;
    EXPECT_EQ(dry.costs().bootstraps, two ? 16U : 8U);
    EXPECT_EQ(dry.costs().key_switches, 8 * (luts.size() + (two ? 1 : 0)));
    const auto results = server.apply_many(luts, x);
    for (std::size_t l = 0; l < luts.size(); ++l) {
      EXPECT_EQ(pair.client.decrypt(server.download(results[l])), values_of(luts[l]));
      EXPECT_EQ(results[l].noise(), counted[l].noise());
      // By two rotations nothing of the input is left.
      EXPECT_EQ(results[l].noise() > 1, luts[l].weight() != 0 && !two);
    }
  }
}

/// The same words whatever the pieces, and those of apply for a table alone.
TEST(BinfheSharedTables, BitsAreTheSameInEveryBatch) {
  test::Random random;
  const Parameters parameters = test::varied_sets()[4];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 2});
  const Encoding in{4, true};
  std::vector<Lut> luts;
  for (int l = 0; l < 3; ++l)
    luts.push_back(Lut::create(parameters, random.numbers(4, 8), in, {8}));
  const Array x = server.upload(pair.client.encrypt(random.numbers(9, 4), in));
  const auto together = server.apply_many(luts, x);
  for (std::uint32_t i = 0; i < 9; ++i) {
    const std::uint32_t at[] = {i};
    const auto one = server.apply_many(luts, server.take(x, at));
    for (std::size_t l = 0; l < luts.size(); ++l)
      EXPECT_TRUE(server.download(server.take(together[l], at)).data ==
                  server.download(one[l]).data);
  }
  const auto alone = server.apply_many(std::span(luts).first(1), x);
  EXPECT_TRUE(server.download(alone[0]).data ==
              server.download(server.apply(std::span(luts).first(1), {}, x)).data);
}

TEST(BinfheSharedTables, WhatResultsHaveInCommonIsKnown) {
  const Parameters parameters = test::varied_sets()[4];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 1});
  const Encoding in{4, true};
  const std::vector<Lut> luts(2, Lut::create(parameters, {1, 0, 1, 0}, in, {8}));
  const Array x = server.upload(pair.client.encrypt({0, 1, 2, 3}, in));
  const auto results = server.apply_many(luts, x), again = server.apply_many(luts, x);
  const auto sum = [&](const Array& a, const Array& b) {
    const std::int32_t weights[] = {1, 1};
    const Array* both[] = {&a, &b};
    return server.linear(weights, both).noise();
  };
  const double shared = parameters.noise(parameters.literal().transform).constant;
  EXPECT_LT(sum(results[0], results[1]), 2.5) << shared;  // two coefficients
  EXPECT_DOUBLE_EQ(sum(results[0], again[0]), 4);         // one, computed twice
}

TEST(BinfheSharedTables, Refusals) {
  const Parameters parameters = Parameters::named("W128_P64");
  const DryRun dry(parameters);
  const Server& server = dry.server();
  const Encoding eight{8, true};
  const Lut lut = Lut::create(parameters, all_messages(8), eight, {8});
  const Array x = dry.fresh(eight, 3);
  EXPECT_THROW(server.apply_many({}, x), ShapeError);
  test::expect_message<NoiseError>(
      [&] { server.apply_many(std::vector(2, lut), x); },
      {"a table of one rotation, which up to 2 tables share", "p = 8 with padding", "2^-10.9"});
  test::expect_message<EncodingError>(
      [&] { server.apply_many(std::vector(33, lut), x); },
      {"33 tables share rotations of at most 8 sectors", "look fewer tables up at once"});
  const Lut other = Lut::create(parameters, {0, 1}, {2, true}, {8});
  EXPECT_THROW(server.apply_many(std::vector{lut, other}, x), EncodingError);
  EXPECT_THROW(server.apply_many(std::vector(2, other), x), EncodingError);
  const Lut foreign = Lut::create(Parameters::named("W128_P128"), all_messages(8), eight, {8});
  EXPECT_THROW(server.apply_many(std::vector(2, foreign), x), ParameterMismatchError);
  EXPECT_THROW(parameters.lut_failure_log2(eight, false, Transform::ntt, 0), RangeError);

  const Parameters walks = Parameters::named("openfhe_1_6/STD128_LMKCDEY", true);
  const DryRun walking(walks);
  const Lut bit = Lut::create(walks, {0, 1}, {2, true}, {4}),
            wide = Lut::create(walks, {0, 1}, {2, true}, {8});
  const Array y = walking.fresh({2, true}, 1);
  test::expect_message<ParameterError>(
      [&] {
        walking.server().apply_many(std::vector{bit, wide}, y);
      },
      {"STD128_LMKCDEY read odd exponents", "apply each by itself"});
  // Values need no phases; outputs have one p.
  EXPECT_NO_THROW(walking.server().apply_many(std::vector(2, bit), y));
}

// ---- tables by one rotation of a common factor

/// Coefficient 0 of X^-j·h·(1 + … + X^(N-1))·W(X), plus the constant, is a table's value, for every
/// phase j, in clear.
TEST(BinfheMultiValue, WeightsMakeTheTestVectorOfTheTable) {
  test::Random random;
  const Parameters parameters = test::varied_sets()[5];
  const std::uint64_t Q = parameters.Q();
  const std::uint32_t N = parameters.N();
  for (int round = 0; round < 60; ++round) {
    const bool padding = random.below(2) == 1, arbitrary = !padding && round % 3 == 0;
    const auto p = static_cast<std::uint32_t>(2 * (1 + random.below(4)));
    const Encoding out{static_cast<std::uint32_t>(2 + random.below(9)), padding};
    auto values = random.numbers(p, out.p);
    if (!padding && !arbitrary)
      for (std::uint32_t m = 0; m < p / 2; ++m) values[m + p / 2] = (out.p - values[m]) % out.p;
    const Lut lut = Lut::create(parameters, values, {p, padding}, out);
    const auto made = multi_value(parameters, std::span(&lut, 1), arbitrary);
    ASSERT_TRUE(made);
    const MultiValue::Table& table = made->tables[0];
    double squares = 0;
    for (const std::int64_t weight : table.weights) squares += static_cast<double>(weight * weight);
    EXPECT_EQ(squares, table.squares);
    const std::uint32_t here = padding || arbitrary ? p : p / 2;
    for (std::uint32_t j = 0; j < N; ++j) {
      __int128 sum = table.constant;
      for (std::size_t k = 0; k < made->offsets.size(); ++k) {
        // Coefficient c of X^-j times the sum of all X^i is 1, or -1 from N - j on. The coefficient
        // N - b, negated, is coefficient 0 of the product with X^b.
        const int sign = (j + made->offsets[k] < N ? 1 : -1) * (k == 0 ? 1 : -1);
        sum += static_cast<__int128>(sign * table.weights[k]) * made->half;
      }
      const auto got = static_cast<std::uint64_t>((sum % Q + Q) % Q),
                 want = encode(values[std::uint64_t{j} * here / N], out, Q);
      const std::uint64_t off = (got + Q - want) % Q;
      ASSERT_LE(std::min(off, Q - off), 4096U) << "j = " << j;
    }
  }
}

TEST(BinfheMultiValue, IsTakenWherePhasesFail) {
  test::Random random;
  std::size_t by_values = 0;
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(parameters.name());
      const test::Pair& pair = test::pair_of(parameters);
      const Server server(pair.keys, {.device = "cpu", .threads = 2},
                          {.transform = transform, .allow_failure = 0x1p-25});
      for (const Encoding input :
           {Encoding{4, true}, Encoding{8, true}, Encoding{4}, Encoding{8}}) {
        const bool near = !input.padding && input.p == 8;
        std::vector<Lut> luts;
        for (std::uint32_t l = 0; l < 5; ++l) {
          auto values = random.numbers(input.p, 4);
          if (near)
            for (std::uint32_t m = 0; m < 4; ++m) values[m + 4] = (4 - values[m] + l % 2) % 4;
          luts.push_back(Lut::create(parameters, values, input, {4}, true, near));
        }
        Messages messages(3 * input.p);
        for (std::size_t i = 0; i < messages.size(); ++i)
          messages[i] = static_cast<std::uint32_t>(i % input.p);
        std::vector<Array> results;
        try {
          results = server.apply_many(luts, server.upload(pair.client.encrypt(messages, input, 1)));
        } catch (const NoiseError&) {
          continue;
        } catch (const EncodingError&) {
          continue;
        }
        for (std::size_t l = 0; l < luts.size(); ++l) {
          Messages want;
          for (const std::uint32_t m : messages) want.push_back(luts[l].values()[m]);
          EXPECT_EQ(pair.client.decrypt(server.download(results[l])), want) << l;
        }
        const double a = results[0].noise(), b = results[1].noise();
        if (a == 1 || b == 1) continue;
        ++by_values;
        // Results of one rotation share its errors.
        const std::int32_t weights[] = {1, 1};
        const Array* both[] = {&results[0], &results[1]};
        EXPECT_NEAR(server.linear(weights, both, 0, true).noise(), a + b + 2 * std::sqrt(a * b),
                    1e-9);
      }
    }
  EXPECT_GE(by_values, 6U);
}

TEST(BinfheMultiValue, FourBitsOfAMessageByOneRotation) {
  const Parameters parameters = Parameters::named("W128_P128");
  ServerOptions options;
  options.allow_failure = 0x1p-128;
  const DryRun dry(parameters, options);
  std::vector<Lut> bits;
  for (std::uint32_t k = 0; k < 4; ++k)
    bits.push_back(Lut::create(parameters, [k](std::uint32_t m) { return (m >> k) & 1; },
                               {16, true}, {4, true}));
  const auto results = dry.server().apply_many(bits, dry.fresh({16, true}, 7));
  EXPECT_EQ(dry.costs().bootstraps, 7U);
  EXPECT_EQ(dry.costs().key_switches, 28U);
  // Values rise or fall 15, 7 and 3 times, and once.
  for (std::size_t k = 1; k < 4; ++k) EXPECT_LE(results[k].noise(), results[k - 1].noise());
  EXPECT_GT(results[0].noise(), 1.1);
  EXPECT_LT(results[0].noise(), 2);
  EXPECT_EQ(results[3].noise(), 1);
}

// ---- tables of one rotation beside a linear part

/// The definition, on the circle in units of 1/(4·p·S'): g(x + p/2) = -g(x).
TEST(BinfheNearNegacyclic, PartsAreThoseOfTheDefinition) {
  test::Random random;
  int found = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto p = static_cast<std::uint32_t>(2 * (1 + random.below(4)));
    const Encoding in{p},
        out{static_cast<std::uint32_t>(2 + random.below(7)), random.below(2) == 1};
    const Messages values = random.numbers(p, out.p);
    const auto part = linear_part(values, in, out);
    const auto S = static_cast<std::int64_t>(out.sectors()), wide = 4 * std::int64_t{p} * S;
    // All weights and constants of half units are tried in its place.
    bool any = false;
    for (std::int64_t weight = 0; weight < p / 2 && !any; ++weight)
      for (std::int64_t constant = 0; constant < 4 * S && !any; ++constant) {
        bool holds = true;
        const auto g = [&](std::uint32_t x) {
          return 4 * p * std::int64_t{values[x]} - 4 * S * weight * x - constant * p;
        };
        for (std::uint32_t x = 0; x < p / 2; ++x) holds &= (g(x) + g(x + p / 2)) % wide == 0;
        any = holds;
      }
    EXPECT_EQ(part.has_value(), any);
    found += any;
  }
  EXPECT_GT(found, 200);
}

TEST(BinfheNearNegacyclic, OneRotationLooksThemUp) {
  test::Random random;
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(parameters.name());
      const test::Pair& pair = test::pair_of(parameters);
      const Server server(pair.keys, {.device = "cpu", .threads = 2},
                          test::failing({.transform = transform}));
      for (const std::uint32_t p : {4U, 6U, 8U}) {
        if (parameters.lut_failure_log2({p}, false, transform) > -25) continue;
        Messages relu(p), distance(p), threshold(p);
        for (std::uint32_t m = 0; m < p; ++m) {
          relu[m] = m < p / 2 ? m : 0;
          distance[m] = std::min(m, p - m);
          threshold[m] = m < p / 2 ? 3 : 1;
        }
        std::vector<Lut> luts{Lut::create(parameters, distance, {p}, {p}, true, true),
                              Lut::create(parameters, threshold, {p}, {5, true}, true, true)};
        if (parameters.q() % p == 0) {
          luts.push_back(Lut::create(parameters, relu, {p}, {p / 2}, true, true));
          EXPECT_EQ(luts[2].weight(), 1);
        } else {
          EXPECT_THROW(Lut::create(parameters, relu, {p}, {p / 2}, true, true), EncodingError);
        }
        for (const Lut& lut : luts) {
          if (lut.kind() != LutKind::negacyclic) {
            EXPECT_EQ(lut.kind(), LutKind::near_negacyclic);
          }
          const Ciphertexts x = pair.client.encrypt(all_messages(p), {p}, 1);
          const Ciphertexts got = server.apply(std::span(&lut, 1), {}, x);
          EXPECT_EQ(pair.client.decrypt(got), values_of(lut));
          const double of_input = lut.weight() * lut.weight() * x.noise;
          EXPECT_NEAR(got.noise, 1 + of_input, 1e-9);
        }
      }
    }
}

TEST(BinfheNearNegacyclic, TakeOneRotationAndSayWhatTheyKeep) {
  const Parameters parameters = Parameters::named("W128_P128");
  const Encoding eight{8}, four{4};
  const Lut relu = Lut::create(parameters, {0, 1, 2, 3, 0, 0, 0, 0}, eight, four, true, true);
  const DryRun dry(parameters);
  const Array x = dry.fresh(eight, 5);
  const Array once = dry.server().apply(std::span(&relu, 1), {}, x);
  EXPECT_EQ(dry.costs().bootstraps, 5U);
  EXPECT_NEAR(once.noise(), 1 + x.noise(), 1e-12);
  EXPECT_EQ(once.largest(), 3U);
  // The input's errors are in the output: their sum counts more than that of two bootstraps.
  const std::int32_t weights[] = {1, 1};
  const Lut same = Lut::create(parameters, {1, 2, 3, 0, 3, 2, 1, 0}, eight, four);
  ASSERT_EQ(same.kind(), LutKind::negacyclic);
  const Array fresh = dry.server().apply(std::span(&same, 1), {}, dry.fresh(eight, 5));
  const Array* both[] = {&once, &fresh};
  EXPECT_GT(dry.server().linear(weights, both).noise(), 2);
  // The identity keeps all of its input, and would not refresh it: only who asks gets it.
  EXPECT_EQ(Lut::create(parameters, all_messages(8), eight, eight).kind(), LutKind::arbitrary);
  EXPECT_EQ(Lut::create(parameters, all_messages(8), eight, eight, true, true).weight(), 1);
}

TEST(BinfheNearNegacyclic, Refusals) {
  const Parameters parameters = Parameters::named("W128_P128");
  const Encoding eight{8};
  test::expect_message<EncodingError>(
      [&] {
        Lut::create(parameters, {0, 1, 4, 1, 0, 1, 4, 3}, eight, eight, true, true);
      },
      {"no rotation by itself looks these values up: with p = 8", "linear in m modulo 8",
       "leave one_rotation out"});
  EXPECT_THROW(Lut::create(parameters, {0, 1, 2}, {3}, eight, true, true), EncodingError);
  // 2/3 of the input are no multiple of it.
  EXPECT_THROW(Lut::create(parameters, {0, 1, 2, 0, 0, 0}, {6}, {9}, true, true), EncodingError);
  // Outputs that a noisy input leaves too much noise are refused.
  const Parameters gates = Parameters::named("W128_P64");
  const DryRun dry(gates);
  const Lut relu = Lut::create(gates, {0, 1, 2, 3, 0, 0, 0, 0}, eight, {4}, true, true);
  const std::int32_t weights[] = {40};
  const Array x = dry.fresh({2}, 1);
  const Array* inputs[] = {&x};
  EXPECT_NO_THROW(dry.server().apply(std::span(&relu, 1), {}, dry.fresh(eight, 1)));
  const Lut mixed[] = {relu, Lut::create(gates, {3, 2, 1, 0, 0, 1, 2, 3}, eight, {4}, true, true)};
  EXPECT_THROW(dry.server().apply(mixed, std::vector<std::uint32_t>{0}, dry.fresh(eight, 1)),
               EncodingError);
  EXPECT_NO_THROW(dry.server().linear(weights, inputs, 0, true));
}

// ---- other scales

TEST(BinfheDivided, MessagesAreThoseOfTheSmallerModulus) {
  const Parameters parameters = test::varied_sets()[4];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 1});
  const Array x = server.upload(pair.client.encrypt({0, 4, 8, 12}, {16, true}));
  const Array quarter = server.divided(x, 4);
  EXPECT_EQ(quarter.encoding(), (Encoding{4, true}));
  EXPECT_EQ(pair.client.decrypt(server.download(quarter)), (Messages{0, 1, 2, 3}));
  EXPECT_EQ(quarter.largest(), x.largest() / 4);
  const auto range = server.divided(server.with_range(x, {0, 12}), 4).range();
  ASSERT_TRUE(range);
  EXPECT_EQ(range->high, 3);
  for (const std::uint32_t by : {0U, 3U, 16U}) EXPECT_THROW(server.divided(x, by), EncodingError);
}

// ---- ciphertexts under the ring key

TEST(BinfheSharedTables, TakeInputsUnderTheRingKey) {
  const Parameters parameters = test::varied_sets()[4];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 1});
  const Encoding eight{8};
  const Array x =
      server.upload(pair.client.encrypt(all_messages(8), eight, allowed_failure, Under::ring));
  ASSERT_EQ(x.under(), Under::ring);
  const Lut distance = Lut::create(parameters, {0, 1, 2, 3, 4, 3, 2, 1}, eight, eight, true, true),
            other = Lut::create(parameters, {1, 2, 3, 1, 7, 6, 5, 7}, eight, eight),
            relu = Lut::create(parameters, {0, 1, 2, 3, 0, 0, 0, 0}, eight, {4}, true, true);
  const std::vector<Lut> luts{distance, other};
  const auto results = server.apply_many(luts, x);
  for (std::size_t l = 0; l < luts.size(); ++l) {
    EXPECT_EQ(results[l].under(), Under::lwe);
    EXPECT_EQ(pair.client.decrypt(server.download(results[l])), values_of(luts[l]));
  }
  // By values: three bits of a padded message, where five tables have no phases.
  const Array y =
      server.upload(pair.client.encrypt(all_messages(8), {8, true}, allowed_failure, Under::ring));
  std::vector<Lut> bits;
  for (std::uint32_t k = 0; k < 5; ++k)
    bits.push_back(
        Lut::create(parameters, [k](std::uint32_t m) { return (m >> k % 3) & 1; }, {8, true}, {4}));
  const auto of_bits = server.apply_many(bits, y);
  EXPECT_GT(of_bits[0].noise(), 1);
  for (std::size_t k = 0; k < bits.size(); ++k)
    EXPECT_EQ(pair.client.decrypt(server.download(of_bits[k])), values_of(bits[k]));
  // A table that adds nothing may also give the ring key; one that adds its input takes neither.
  const Array of_ring = server.apply(std::span(&distance, 1), {}, x, {}, Under::ring);
  EXPECT_EQ(of_ring.under(), Under::ring);
  EXPECT_EQ(pair.client.decrypt(server.download(of_ring)), values_of(distance));
  const Array lwe = server.to_lwe_key(x);
  EXPECT_EQ(pair.client.decrypt(server.download(server.apply(std::span(&relu, 1), {}, lwe))),
            values_of(relu));
  const auto refused = [&](const Array& input, Under under) {
    test::expect_message<KeyMismatchError>(
        [&] { server.apply(std::span(&relu, 1), {}, input, {}, under); },
        {"one_rotation", "under the ring key: to_lwe_key switches them"});
  };
  refused(x, Under::lwe);
  refused(lwe, Under::ring);
  EXPECT_THROW(server.apply_many(std::vector{relu, distance}, x), KeyMismatchError);
  const Array half = server.divided(
      server.upload(pair.client.encrypt({0, 2, 6}, eight, allowed_failure, Under::ring)), 2);
  EXPECT_EQ(half.under(), Under::ring);
  EXPECT_EQ(pair.client.decrypt(server.download(half)), (Messages{0, 1, 3}));
}

// ---- coarse tables

TEST(BinfheCoarse, TablesOfManyInputsStayWithinTheirBound) {
  test::Random random;
  ParameterLiteral literal = test::small_literal();
  literal.q = 512;
  const Parameters parameters = test::insecure(literal);
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 2});
  const std::uint32_t p = 1U << 14;
  const auto relu = [&](std::uint32_t m) { return m < p / 2 ? m : 0; };
  const auto distance = [&](std::uint32_t m) { return std::min(m, p - m); };
  const Lut luts[] = {
      Lut::create(parameters, relu, {p}, {p / 2}, false, true),
      Lut::create(parameters, distance, {p}, {p}, false),
      Lut::create(parameters, distance, {p}, {p}, false, true),
      Lut::create(
          parameters, [](std::uint32_t m) { return m / 8; }, {p / 2, true}, {p}, false)};
  EXPECT_EQ(luts[0].kind(), LutKind::near_negacyclic);
  EXPECT_EQ(luts[1].kind(), LutKind::arbitrary);
  EXPECT_EQ(luts[2].kind(), LutKind::near_negacyclic);
  EXPECT_EQ(luts[3].kind(), LutKind::padded);
  for (const Lut& lut : luts) {
    const std::uint32_t most = lut.input().p, p_out = lut.output().p, bound = lut.error_bound();
    EXPECT_GT(lut.reach(), most / 512);
    EXPECT_LT(lut.reach(), most / 8);
    EXPECT_LT(bound, p_out / 2);
    Messages m(400);
    for (auto& each : m) each = static_cast<std::uint32_t>(random.below(most));
    const auto got = pair.client.decrypt(
        server.apply(std::span(&lut, 1), {}, pair.client.encrypt(m, lut.input(), 1)));
    std::uint32_t farthest = 0;
    double mean = 0;
    for (std::size_t i = 0; i < m.size(); ++i) {
      const std::uint32_t off = (got[i] + p_out - lut.values()[m[i]]) % p_out;
      farthest = std::max(farthest, std::min(off, p_out - off));
      mean += (off > p_out / 2 ? double(off) - p_out : double(off)) / 400;
    }
    EXPECT_LE(farthest, bound) << describe(lut.input());
    // Samples lie at messages, and not half a sample beside them.
    EXPECT_LT(std::abs(mean), bound / 4.0);
  }
}

/// The paper's sets take the paper's inputs (Xiao et al., TCHES 2025, §5.2 and §5.3).
TEST(BinfheCoarse, SetsOfXiaoTakeTheirInputs) {
  const Parameters set = Parameters::named("xiao/RELU", true);
  constexpr std::uint32_t p = 1U << 16;
  const auto relu = [](std::uint32_t m) { return m < p / 2 ? m : 0; };
  const Lut once = Lut::create(set, relu, {p}, {p / 2}, false, true);
  EXPECT_EQ(once.kind(), LutKind::near_negacyclic);
  EXPECT_LT(once.error_bound(), p / 16);
  const Lut twice = Lut::create(set, relu, {p}, {p}, false);
  EXPECT_EQ(twice.error_bound(), p / 2);  // at the end of the circle relu jumps
  EXPECT_LT(twice.error_bound(1, allowed_failure, MessageRange{-(1 << 14), 1 << 14}), p / 4);
  const Parameters tree = Parameters::named("xiao/DECISION_TREE", true);
  const Lut threshold = Lut::create(
      tree, [](std::uint32_t m) { return m < 700 ? 1 : 0; }, {1U << 11}, {4}, false);
  EXPECT_LT(threshold.reach(), 100U);
  EXPECT_THROW(Lut::create(set, relu, {p}, {p / 2}), EncodingError);  // not exactly
  test::expect_message<EncodingError>(
      [&] {
        Lut::create(
            set, [](std::uint32_t) { return 0; }, {p - 1}, {4}, false);
      },
      {"must be a power of two; the next is 65536"});
  EXPECT_THROW(Lut::create(set, relu, {2 * p}, {p}, false), EncodingError);
  const Client client(test::insecure(test::small_literal()));
  test::expect_message<EncodingError>(
      [&] { client.encrypt({0}, {4096}); },
      {"p = 4096 is not in 2 … 128", "allow_failure=1 takes up to 65536"});
  EXPECT_NO_THROW(client.encrypt({4095}, {4096}, 1));
}

}  // namespace
}  // namespace whorl::binfhe
