// Integers of many bits: their digits, and programs of them.
#include "whorl/circuits/binfhe/integers.h"

#include <string>
#include <vector>

#include "support/binfhe_sets.h"
#include "support/message.h"
#include "support/test.h"
#include "whorl/binfhe/client.h"

namespace whorl::integers {
namespace {

using binfhe::Lut;
using binfhe::ProgramRecorder;
using binfhe::Under;
using Array = Program::Array;

/// W128_P128 with a key of 16 coefficients.
binfhe::Parameters toy() {
  binfhe::ParameterLiteral literal = binfhe::Parameters::named("W128_P128").literal();
  literal.n = 16;
  literal.gadget = {{16, 23, 1}};
  return test::insecure(literal);
}

struct Integers : testing::Test {
  test::Random random;
  const binfhe::Parameters parameters = toy();
  const test::Pair& pair = test::pair_of(parameters);
  const binfhe::Server server{pair.keys, {.device = test::tested_device, .threads = 2}};

  /// Any bits, as an integer of the kind.
  Integer any(const Kind& kind) {
    Integer value;
    for (std::uint32_t i = 0; i < Kind::most_bits; ++i) {
      const bool top = i >= kind.bits - 1;
      const std::uint32_t from = kind.bits - 1;
      const bool bit = !top || i == from ? random.below(2) != 0
                       : kind.is_signed  ? (value.words[from / 64] >> from % 64 & 1) != 0
                                         : false;
      value.words[i / 64] |= std::uint64_t{bit} << i % 64;
    }
    return value;
  }
};

TEST_F(Integers, ComeBackInAllKinds) {
  for (const std::uint32_t bits : {1u, 2u, 3u, 8u, 63u, 64u, 65u, 127u, 128u, 255u, 256u})
    for (const bool is_signed : {false, true}) {
      SCOPED_TRACE(std::to_string(bits) + (is_signed ? " signed" : ""));
      const Kind kind{bits, is_signed};
      std::vector<Integer> values;
      for (int k = 0; k < 4; ++k) values.push_back(any(kind));
      const Ciphertexts sent = encrypt(pair.client, values, kind, {2, 1, 2});
      EXPECT_EQ(sent.shape(), (Shape{2, 1, 2}));
      EXPECT_EQ(sent.count(), 4u);
      EXPECT_EQ(*sent.digits()->shape, (Shape{(bits + 1) / 2, 2, 1, 2}));
      EXPECT_EQ(sent.digits()->under, Under::ring);
      EXPECT_EQ(decrypt(pair.client, sent), values);
      EXPECT_EQ(Ciphertexts(*sent.digits(), kind).shape(), sent.shape());
    }
}

// Digit i of all integers stands before digit i + 1; the last has the sign.
TEST_F(Integers, HaveTheirDigitsInOrder) {
  const Ciphertexts sent = encrypt(pair.client, {-3, 13}, {5, true});
  EXPECT_EQ(pair.client.decrypt(*sent.digits()), (std::vector<std::uint32_t>{1, 1, 3, 3, 31, 0}));
  const Ciphertexts whole = encrypt(pair.client, {-8, 7}, {4, true});
  EXPECT_EQ(pair.client.decrypt(*whole.digits()), (std::vector<std::uint32_t>{0, 3, 30, 1}));
}

TEST_F(Integers, ThatTheKindDoesNotHaveAreRefused) {
  const auto refused = [&](const Integer& value, Kind kind) {
    test::expect_message<EncodingError>(
        [&] {
          encrypt(pair.client, {0, value}, kind);
        },
        {"index 1"});
  };
  refused(256, {8, false});
  refused(-1, {8, false});
  refused(128, {8, true});
  refused(-129, {8, true});
  refused(-1, {255, false});
  encrypt(pair.client, {255, 0}, {8, false});
  encrypt(pair.client, {-128, 127}, {8, true});
  EXPECT_THROW(encrypt(pair.client, {0}, {0, false}), ParameterError);
  EXPECT_THROW(encrypt(pair.client, {0}, {257, false}), ParameterError);
  const std::vector<Integer> three(3);
  EXPECT_THROW(encrypt(pair.client, three, {8, false}, {2}), ShapeError);
  EXPECT_EQ(decrypt(pair.client, encrypt(pair.client, {}, {8, false})).size(), 0u);
}

TEST(Integer, TurnsIntoWordsWhereTheseHoldIt) {
  EXPECT_EQ(Integer(-5).to_int64(), -5);
  EXPECT_EQ(Integer(~std::uint64_t{0}).to_uint64(), ~std::uint64_t{0});
  EXPECT_EQ(Integer(std::int8_t{-1}), Integer(-1));
  EXPECT_THROW(static_cast<void>(Integer(-5).to_uint64()), RangeError);
  EXPECT_THROW(static_cast<void>(Integer(~std::uint64_t{0}).to_int64()), RangeError);
  EXPECT_THROW(static_cast<void>(Integer({0, 1, 0, 0}).to_uint64()), RangeError);
}

/// Integers of 4 bits: their digits added up, with carries left; and whether they are odd.
struct IntegerPrograms : Integers {
  const Kind kind{4, false};
  const Array pairs{kind, {2}};

  binfhe::Program digits() const {
    ProgramRecorder recorder(parameters, encoding, {4, 4});
    const std::int32_t weights[] = {1, 1};
    const std::uint32_t both[] = {0, 1}, index[] = {0, 0};
    std::vector<std::uint32_t> odd(32);
    for (std::uint32_t m = 0; m < 16; ++m) {
      odd[m] = m % 2 == 1 ? 8 : 0;
      odd[m + 16] = (32 - odd[m]) % 32;
    }
    const Lut lut = Lut::create(parameters, odd, encoding, encoding, true, true);
    const auto sum = recorder.linear(weights, both);
    return recorder.program({sum, recorder.apply({&lut, 1}, index, recorder.take(sum, {0, 1}))});
  }
  Program program() const {
    return {digits(),
            {pairs, pairs},
            {{kind, {2}, Digits::carries}, {{1, false}, {2}, Digits::flags}},
            1e-6,
            -64};
  }
};

TEST_F(IntegerPrograms, GiveWhatClientsDecrypt) {
  const Program sums = program();
  EXPECT_EQ(sums.rotations(), 2u);
  EXPECT_EQ(sums.layers(), 1u);
  for (int round = 0; round < 8; ++round) {
    std::vector<Integer> a, b;
    for (int k = 0; k < 2; ++k) a.push_back(any(kind)), b.push_back(any(kind));
    const Ciphertexts x = encrypt(pair.client, a, kind), y = encrypt(pair.client, b, kind);
    const std::vector<Ciphertexts> made = sums.run(server, {&x, &y});
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[1].kind(), (Kind{1, false}));
    EXPECT_EQ(made[1].shape(), (Shape{2}));
    EXPECT_EQ(made[0].digits()->under, Under::lwe);
    const auto sum = decrypt(pair.client, made[0]), odd = decrypt(pair.client, made[1]);
    for (std::size_t k = 0; k < 2; ++k) {
      const std::uint64_t due = a[k].to_uint64() + b[k].to_uint64();
      EXPECT_EQ(sum[k].to_uint64(), due % 16);
      EXPECT_EQ(odd[k].to_uint64(), due % 2);
    }
  }
}

TEST_F(IntegerPrograms, TakeWhatTheyWereMadeFor) {
  const Program sums = program();
  const Ciphertexts x = encrypt(pair.client, {1, 2}, kind);
  const auto run = [&](const Ciphertexts& other) { return sums.run(server, {&x, &other}); };
  test::expect_message<ShapeError>([&] { sums.run(server, {&x}); }, {"2 inputs", "not 1"});
  test::expect_message<EncodingError>(
      [&] {
        run(encrypt(pair.client, {1, 2}, {4, true}));
      },
      {"input 1", "4 bits, signed", "takes those of 4 bits"});
  const std::vector<Integer> two = {1, 2};
  test::expect_message<ShapeError>(
      [&] {
        run(encrypt(pair.client, two, kind, {2, 1}));
      },
      {"input 1", "(2, 1)", "(2,)"});
  const Ciphertexts result = run(encrypt(pair.client, {1, 2}, kind))[0];
  test::expect_message<KeyMismatchError>([&] { run(result); }, {"input 1", "result"});
  binfhe::Ciphertexts stated =
      server.download(server.with_range(server.upload(x.digits()), {0, 3}));
  stated.shape = Shape{2, 2};
  const Ciphertexts within(stated, kind);
  test::expect_message<EncodingError>([&] { run(within); }, {"input 1", "0 … 3"});
  binfhe::Ciphertexts noisy = *x.digits();
  noisy.seed.reset();
  noisy.noise = 0.5;
  test::expect_message<NoiseError>([&] { run(Ciphertexts(noisy, kind)); }, {"0.5", "1e-06"});
  const binfhe::Client other(parameters);
  EXPECT_THROW(run(encrypt(other, {1, 2}, kind)), KeyMismatchError);
  binfhe::ParameterLiteral literal = parameters.literal();
  literal.n = 20;
  literal.gadget = {{20, 23, 1}};
  const test::Pair& theirs = test::pair_of(test::insecure(literal));
  const Ciphertexts foreign = encrypt(theirs.client, {1, 2}, kind);
  EXPECT_THROW(run(foreign), ParameterMismatchError);
  const binfhe::Server stranger(theirs.keys, {.device = "cpu", .threads = 1});
  const Ciphertexts another = encrypt(theirs.client, {1, 2}, kind);
  EXPECT_THROW(sums.run(stranger, {&foreign, &another}), ParameterMismatchError);
}

// failure_log2 holds of independent errors.
TEST_F(IntegerPrograms, TakeNoCiphertextTwice) {
  const Program sums = program();
  const Ciphertexts x = encrypt(pair.client, {1, 2}, kind), y = encrypt(pair.client, {1, 2}, kind);
  const auto refused = [&](const Ciphertexts& a, const Ciphertexts& b, const char* what,
                           const char* also = "") {
    test::expect_message<NoiseError>([&] { sums.run(server, {&a, &b}); }, {what, also});
  };
  const auto rows = [&](const Ciphertexts& of, std::initializer_list<std::uint32_t> index) {
    binfhe::Ciphertexts taken = take(*of.digits(), std::span(index.begin(), index.size()));
    taken.shape = Shape{2, 2};
    return Ciphertexts(std::move(taken), kind);
  };
  sums.run(server, {&x, &y});
  refused(x, x, "of input 0", "of input 1");
  refused(y, rows(y, {1, 0, 3, 2}), "input 0", "input 1");
  refused(rows(x, {0, 1, 2, 2}), y, "integer 0 of input 0", "integer 1 of input 0");
  // Parts that lost their seed, as in files of rows; and the negation, whose error is the same.
  binfhe::Ciphertexts plain = *x.digits();
  plain.seed.reset();
  plain.noise = server.upload(x.digits()).noise();
  refused(x, Ciphertexts(plain, kind), "input 0", "input 1");
  const binfhe::Array on_server[] = {server.upload(x.digits()), server.upload(y.digits())};
  const binfhe::Array* terms[] = {&on_server[0], &on_server[1]};
  const std::int32_t minus[] = {-1}, ones[] = {1, 1};
  binfhe::Ciphertexts negated = server.download(server.linear(minus, {terms, 1}));
  negated.shape = Shape{2, 2};
  refused(x, Ciphertexts(negated, kind), "input 0", "input 1");
  binfhe::Ciphertexts sum = server.download(server.linear(ones, terms));
  sum.shape = Shape{2, 2};
  refused(Ciphertexts(sum, kind), y, "input 0", "input 1");
  // Which errors a sum has is lost in files.
  sum.origin.reset();
  const Ciphertexts loaded(sum, kind), other = encrypt(pair.client, {1, 2}, kind);
  refused(other, loaded, "or may have it");
}

TEST_F(IntegerPrograms, AreThoseOfTheirDigits) {
  const auto make = [&](std::vector<Array> inputs, std::vector<Array> results, double noise = 1e-6,
                        double failure_log2 = -64) {
    return Program(digits(), std::move(inputs), std::move(results), noise, failure_log2);
  };
  const Array bits{{1, false}, {2}, Digits::flags}, sums{kind, {2}, Digits::carries};
  make({pairs, pairs}, {sums, bits});
  EXPECT_THROW(make({pairs}, {sums, bits}), ShapeError);
  EXPECT_THROW(make({pairs, pairs}, {sums}), ShapeError);
  EXPECT_THROW(make({pairs, {kind, {3}}}, {sums, bits}), ShapeError);
  EXPECT_THROW(make({pairs, {kind, {~std::uint64_t{0}, 2}}}, {sums, bits}), ShapeError);
  EXPECT_THROW(make({pairs, {kind, Shape(32, 1)}}, {sums, bits}), ShapeError);
  EXPECT_THROW(make({pairs, {{0, false}, {2}}}, {sums, bits}), ParameterError);
  EXPECT_THROW(make({pairs, {{257, false}, {2}}}, {sums, bits}), ParameterError);
  EXPECT_THROW(make({pairs, sums}, {sums, bits}), EncodingError);
  EXPECT_THROW(make({pairs, pairs}, {{kind, {2}, Digits::flags}, bits}), EncodingError);
  EXPECT_THROW(make({pairs, pairs}, {{kind, {2}, static_cast<Digits>(3)}, bits}), EncodingError);
  EXPECT_THROW(make({pairs, pairs}, {sums, bits}, -1), RangeError);
  EXPECT_THROW(make({pairs, pairs}, {sums, bits}, 2), RangeError);
  EXPECT_THROW(make({pairs, pairs}, {sums, bits}, 0, 1), RangeError);
  ProgramRecorder octal(parameters, {8, false}, {2});
  EXPECT_THROW(Program(octal.program({0}), {{{4, false}, {}}}, {{{4, false}, {}}}, 0, 0),
               EncodingError);
  EXPECT_THROW(Ciphertexts(pair.client.encrypt({1, 2}, {8, false}), kind), EncodingError);
  EXPECT_THROW(Ciphertexts(pair.client.encrypt({1, 2, 3}, encoding), kind), EncodingError);
  for (const std::uint32_t bits : {0u, 300u})
    test::expect_message<ParameterError>(
        [&] {
          Ciphertexts(pair.client.encrypt({1, 2, 3}, encoding), {bits, false});
        },
        {"bits is " + std::to_string(bits)});
  test::expect_message<ParameterError>(
      [&] {
        make({pairs, {{257, false}, {2}}}, {sums, bits});
      },
      {"input 1", "257"});
}

}  // namespace
}  // namespace whorl::integers
