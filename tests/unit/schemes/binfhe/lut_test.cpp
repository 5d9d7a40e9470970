#include "whorl/binfhe/lut.h"
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

std::vector<std::uint32_t> all_messages(std::uint32_t p) {
  std::vector<std::uint32_t> out(p);
  for (std::uint32_t m = 0; m < p; ++m) out[m] = m;
  return out;
}

void check(const Client& client, const Server& server, const Lut& lut) {
  SCOPED_TRACE(
      "input p = " + std::to_string(lut.input().p) + (lut.input().padding ? " padded" : "") +
      ", output p = " + std::to_string(lut.output().p) + (lut.output().padding ? " padded" : "") +
      ", kind " + std::to_string(static_cast<int>(lut.kind())));
  const auto messages = all_messages(lut.input().p);
  const Ciphertexts result =
      server.apply(std::span(&lut, 1), {}, client.encrypt(messages, lut.input()));
  EXPECT_EQ(result.encoding, lut.output());
  EXPECT_EQ(client.decrypt(result), std::vector(lut.values().begin(), lut.values().end()));
}

TEST(BinfheLut, EveryKindOnSetsOfEveryKind) {
  test::Random random;
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      SCOPED_TRACE(parameters.name());
      const test::Pair& pair = test::pair_of(parameters);
      const Server server(pair.keys, {.device = "cpu", .threads = 2},
                          test::failing({.transform = transform}));
      for (const std::uint32_t p : {2u, 3u, 4u, 5u, 7u, 8u}) {
        const auto to = static_cast<std::uint32_t>(2 + random.below(7));
        // Arbitrary, most of the time: what the values happen to be.
        if (parameters.lut_failure_log2({p, false}, true, transform) < -25)
          check(pair.client, server,
                Lut::create(parameters, random.numbers(p, to), {p, false},
                            {to, random.below(2) == 1}));
        if (parameters.lut_failure_log2({p, true}, false, transform) < -25) {
          const Lut padded =
              Lut::create(parameters, random.numbers(p, to), {p, true}, {to, random.below(2) == 1});
          ASSERT_EQ(padded.kind(), LutKind::padded);
          check(pair.client, server, padded);
        }
        if (p % 2 == 0) {
          auto values = random.numbers(p, to);
          for (std::uint32_t m = 0; m < p / 2; ++m) values[m + p / 2] = (to - values[m]) % to;
          const Lut negacyclic = Lut::create(parameters, values, {p, false}, {to, false});
          ASSERT_EQ(negacyclic.kind(), LutKind::negacyclic);
          check(pair.client, server, negacyclic);
        }
      }
    }
}

TEST(BinfheLut, TheSetsAreWideEnoughForTheTestsAbove) {
  int wide = 0;
  for (const Parameters& parameters : test::varied_sets())
    wide += parameters.lut_failure_log2({8, false}, true, Transform::ntt) < -25;
  EXPECT_GE(wide, 4);
}

TEST(BinfheLut, FunctionsAndKinds) {
  const Parameters parameters = test::insecure(test::small_literal());
  const Encoding four{4, false}, padded{4, true};
  const Lut square = Lut::create(
      parameters, [](std::uint32_t m) { return m * m % 4; }, four, four);
  EXPECT_EQ(std::vector(square.values().begin(), square.values().end()),
            (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(square.kind(), LutKind::arbitrary);
  EXPECT_EQ(Lut::create(parameters, {0, 1, 0, 3}, four, four).kind(), LutKind::negacyclic);
  EXPECT_EQ(Lut::create(parameters, {0, 1, 0, 3}, padded, four).kind(), LutKind::padded);
  // -3 is 1 modulo 4, but not where 4 values lie under a padding bit.
  EXPECT_EQ(Lut::create(parameters, {0, 1, 0, 3}, four, padded).kind(), LutKind::arbitrary);
  EXPECT_EQ(Lut::create(parameters, {0, 0, 0}, {3, false}, four).kind(), LutKind::arbitrary);
  EXPECT_EQ(Lut::create(parameters, {0, 0}, {2, false}, four).kind(), LutKind::negacyclic);
}

TEST(BinfheLut, Refusals) {
  const Parameters parameters = test::insecure(test::small_literal());
  const Encoding four{4, false};
  EXPECT_THROW(Lut::create(parameters, {0, 1, 2}, four, four), EncodingError);
  EXPECT_THROW(Lut::create(parameters, {0, 1, 2, 4}, four, four), EncodingError);
  EXPECT_THROW(Lut::create(parameters, std::vector<std::uint32_t>{0}, {1, false}, four),
               EncodingError);
  EXPECT_THROW(Lut::create(parameters, {0, 0, 0, 0}, four, {1, false}), EncodingError);
  EXPECT_THROW(Lut::create(parameters, std::vector<std::uint32_t>(129, 0), {129, false}, four),
               EncodingError);
  EXPECT_THROW(Lut::create(parameters, std::vector<std::uint32_t>(65, 1), {65, false}, four),
               EncodingError);  // arbitrary: N/4
  EXPECT_NO_THROW(Lut::create(parameters, std::vector<std::uint32_t>(64, 1), {64, false}, four));
  EXPECT_THROW(
      Lut::create(
          parameters, [](std::uint32_t) -> std::uint32_t { throw 1; }, {1u << 31, false}, four),
      EncodingError);
}

TEST(BinfheLut, ATablePerCiphertext) {
  test::Random random;
  const Parameters parameters = test::varied_sets()[3];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 2});
  const Encoding in{5, true}, out{7, false};
  std::vector<Lut> luts;
  for (int l = 0; l < 6; ++l)
    luts.push_back(Lut::create(parameters, random.numbers(5, 7), in, out));
  const auto messages = random.numbers(40, 5), index = random.numbers(40, 6);
  std::vector<std::uint32_t> expected(40);
  for (std::size_t i = 0; i < 40; ++i) expected[i] = luts[index[i]].values()[messages[i]];
  const Ciphertexts c = pair.client.encrypt(messages, in);
  EXPECT_EQ(pair.client.decrypt(server.apply(luts, index, c)), expected);

  EXPECT_THROW(server.apply({}, {}, c), ShapeError);
  EXPECT_THROW(server.apply(luts, std::span(index).first(39), c), ShapeError);
  auto wrong = index;
  wrong[17] = 6;
  EXPECT_THROW(server.apply(luts, wrong, c), ShapeError);
  auto mixed = luts;
  mixed[2] = Lut::create(parameters, random.numbers(5, 6), in, {6, false});
  EXPECT_THROW(server.apply(mixed, index, c), EncodingError);
  EXPECT_THROW(server.apply(luts, index, pair.client.encrypt(messages, {5, false})), EncodingError);
  const Lut foreign = Lut::create(test::varied_sets()[0], random.numbers(5, 7), in, out);
  EXPECT_THROW(server.apply(std::span(&foreign, 1), {}, c), ParameterMismatchError);
  EXPECT_EQ(server.apply(luts, {}, pair.client.encrypt({}, in)).count, 0u);
}

}  // namespace
}  // namespace whorl::binfhe
