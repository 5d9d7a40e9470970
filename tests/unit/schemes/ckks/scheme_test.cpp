#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/noise.h"
#include "support/ckks_party.h"
#include "support/test.h"
#include "whorl/ckks.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using Values = test::Complexes;

Values random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  return test::random_complexes(random, count);
}

struct Party : test::CkksParty {
  explicit Party(const Parameters& p, const KeyRequest& request = {3, {1, 2, 4, 8, -1}, true})
      : CkksParty(p, request) {}

  /// No error is above the largest that the account's allows, and the account's is not more than
  /// `loose` times as large as it is. The largest of n errors that are independent is below
  /// 2^(-20/n) of their deviation with a chance below 10^-7 (see test::largest_error).
  /// `independent` is n, by default the number of values.
  void expect(const Array& a, const Values& want, const char* what, double loose = 1.5,
              std::size_t independent = 0) const {
    const Values got = values(a);
    ASSERT_EQ(got.size(), want.size()) << what;
    const double worst = test::worst(got, want);
    const double error = std::exp2(a.info().error);
    EXPECT_LT(worst, test::largest_error(a))
        << what << " error 2^" << std::log2(worst) << " account 2^" << a.info().error;
    const double n = static_cast<double>(independent == 0 ? want.size() : independent);
    EXPECT_GT(worst, error / loose * std::exp2(-20 / n))
        << what << " error 2^" << std::log2(worst) << " account 2^" << a.info().error;
    for (const Complex& z : want)
      EXPECT_LE(std::abs(z), std::exp2(a.info().bound) * 1.0001) << what;
  }
};

Values map(const Values& a, const Values& b, const std::function<Complex(Complex, Complex)>& f) {
  Values out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(f(a[i], b[i]));
  return out;
}

TEST(Ckks, OperationsAreWithinTheirErrors) {
  for (const test::CkksShape& shape : test::ckks_shapes) {
    SCOPED_TRACE(testing::Message()
                 << "scale " << shape.scale_bits << ", words " << shape.word_bits);
    const Party party(test::ckks_insecure(shape));
    const Server& s = party.server;
    const Values x = random_values(64, 1), y = random_values(64, 2);
    const Array a = party.upload(x), b = party.upload(y);
    party.expect(a, x, "encrypt");
    party.expect(s.add(a, b), map(x, y, [](Complex u, Complex v) { return u + v; }), "add");
    party.expect(s.sub(a, b), map(x, y, [](Complex u, Complex v) { return u - v; }), "sub");
    const Values products = map(x, y, [](Complex u, Complex v) { return u * v; });
    const Array product = s.multiply(a, b);
    EXPECT_EQ(product.info().level, 2u);
    EXPECT_EQ(product.info().scale, s.parameters().scale(2));
    party.expect(product, products, "multiply");
    party.expect(s.multiply(a, b, {false, false}), products, "multiply only", 2);
    party.expect(s.rescale(s.relinearise(s.multiply(a, b, {false, false}))), products, "by hand");
    party.expect(s.multiply_plain(a, y), products, "multiply_plain");
    party.expect(s.add_plain(a, y), map(x, y, [](Complex u, Complex v) { return u + v; }),
                 "add_plain");
    party.expect(s.multiply_scalar(a, 0.3), map(x, x, [](Complex u, Complex) { return 0.3 * u; }),
                 "real scalar");
    party.expect(s.multiply_scalar(a, Complex(0.3, -0.4)),
                 map(x, x, [](Complex u, Complex) { return Complex(0.3, -0.4) * u; }),
                 "complex scalar");
    for (const Complex added : {Complex(-0.7), Complex(0, 0.4), Complex(0.3, -0.4), Complex()})
      party.expect(s.add_scalar(a, added), map(x, x, [&](Complex u, Complex) { return u + added; }),
                   "an added scalar");
    party.expect(s.multiply_integer(a, -3), map(x, x, [](Complex u, Complex) { return -3.0 * u; }),
                 "integer");
    party.expect(s.multiply_by_i(a),
                 map(x, x, [](Complex u, Complex) { return Complex(0, 1) * u; }), "i");
    party.expect(s.conjugate(a), map(x, x, [](Complex u, Complex) { return std::conj(u); }),
                 "conjugate");
    for (const std::int64_t by : {1, 4, -1, 0}) {
      Values turned(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) turned[i] = x[(i + by + x.size()) % x.size()];
      party.expect(s.rotate(a, by), turned, "rotate");
    }
    // Different levels, down to the last one, and products of sums of them.
    const Array cube = s.multiply(product, a);
    EXPECT_EQ(cube.info().level, 1u);
    const Array last = s.multiply(cube, s.add(product, b));
    EXPECT_EQ(last.info().level, 0u);
    EXPECT_EQ(last.info().scale, s.parameters().scale(0));
    // Products are stated with the bounds of values, which are larger than values.
    party.expect(last, map(x, y, [](Complex u, Complex v) { return u * v * u * (u * v + v); }),
                 "levels", 8);
    party.expect(s.lower(a, 0), x, "lower");
    EXPECT_THROW(s.multiply(last, last), NoiseError);
    EXPECT_THROW(s.rescale(a), EncodingError);
  }
}

TEST(Ckks, EveryNumberOfSlotsAndReals) {
  const Parameters p = test::ckks_insecure();
  const Party party(p);
  for (std::size_t length = 1; length <= p.slots(); length *= 2) {
    const Values x = random_values(length, 3);
    party.expect(party.upload(x), x, "slots");
    const Values several = random_values(3 * length, 4);
    party.expect(party.upload(several, length), several, "several");
  }
  const std::vector<double> reals{0.5, -0.25, 0.125};
  const auto got = party.client.decrypt_raw(party.client.encrypt(reals));
  ASSERT_EQ(got.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got[i].imag(), 0.0);
    EXPECT_NEAR(got[i].real(), reals[i], 1e-8);
  }
}

TEST(Ckks, CoefficientsMultiplyAsPolynomials) {
  const Party party(test::ckks_insecure());
  const std::vector<double> x{0.5, -0.25, 0.125}, y{0.5, 0.5};
  const auto encrypt = [&](const std::vector<double>& v) {
    return party.server.upload(party.client.encrypt(v, {}, Packing::coefficients));
  };
  const Values got = party.values(party.server.multiply(encrypt(x), encrypt(y)));
  const std::vector<double> want{0.25, 0.125, -0.0625, 0.0625};  // both lengths, less one
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i].real(), want[i], 1e-7);
}

TEST(Ckks, SumOfAVector) {
  const Party party(test::ckks_insecure());
  const Values x = random_values(16, 5);
  const Array sum = party.server.sum(party.upload(x));
  EXPECT_EQ(sum.info().length, 1u);
  party.expect(sum, {std::accumulate(x.begin(), x.end(), Complex())}, "sum", 4);
}

TEST(Ckks, SumsWithAPeriodAreRepeated) {
  const Party party(test::ckks_insecure());
  const Values x = random_values(16, 5);
  Values sums(4);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % 4] += x[i];
  const Array sum = party.server.sum(party.upload(x), 4);
  party.expect(sum, sums, "sums", 4);

  Values repeated;
  for (std::size_t i = 0; i < x.size(); ++i) repeated.push_back(sums[i % 4]);
  const Array wide = party.server.repeat(sum, 16);
  party.expect(wide, repeated, "repeated", 4, sums.size());
  for (std::size_t i = 0; i < x.size(); ++i) repeated[i] += x[i];
  party.expect(party.server.add(wide, party.upload(x)), repeated, "met by a longer vector", 4,
               sums.size());

  for (const std::uint64_t bad : {0, 3, 32})
    EXPECT_THROW(party.server.sum(party.upload(x), bad), ShapeError) << bad;
  const std::uint64_t slots = party.server.parameters().slots();
  for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{10}, 2 * slots})
    EXPECT_THROW(party.server.repeat(sum, bad), ShapeError) << bad;
  EXPECT_EQ(party.server.repeat(sum, slots).info().length, slots);
  for (const std::uint64_t bad : {4, 6})
    EXPECT_THROW(party.server.repeat(party.upload(random_values(3, 6)), bad), ShapeError) << bad;
}

TEST(Ckks, SomeValuesInAllSlots) {
  KeyRequest request{.rotations = {}};
  request_sum(request, 16);
  EXPECT_EQ(request.rotations, (std::vector<std::int64_t>{1, 2, 4, 8}));
  KeyRequest halves;
  request_sum(halves, 16, 4);
  EXPECT_EQ(halves.rotations, (std::vector<std::int64_t>{4, 8}));
  KeyRequest others;
  request_sum(others, 12);  // as of 16
  EXPECT_EQ(others.rotations, request.rotations);
  EXPECT_THROW(request_sum(request, 0), ShapeError);
  EXPECT_THROW(request_sum(request, (1u << 24) + 1), ShapeError);
  EXPECT_THROW(request_sum(request, 16, 3), ShapeError);

  const Client client(test::ckks_insecure());
  const Server server(client.evaluation_keys(request),
                      {.device = test::tested_device, .threads = 1});
  const Values x = random_values(16, 2);
  const Array a = server.upload(client.encrypt(x));
  const auto expect = [&](const Array& got, const Values& want) {
    const auto values = client.decrypt_raw(server.download(got));
    ASSERT_EQ(values.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_LT(std::abs(values[i] - want[i]), test::largest_error(got)) << i;
    EXPECT_LE(std::exp2(got.info().bound), std::exp2(a.info().bound));
  };
  for (const std::uint64_t first : {0u, 5u, 15u}) {
    const Array one = server.replicate(a, first);
    EXPECT_EQ(one.info().level, a.info().level - 1);
    expect(one, {x[first]});
    Values everywhere(16, x[first]);
    expect(server.repeat(one, 16), everywhere);
  }
  expect(server.replicate(a, 8, 4), {x[8], x[9], x[10], x[11]});
  EXPECT_EQ(server.replicate(a, 0, 16).info().level, a.info().level);
  for (const auto& [first, count] :
       {std::pair<std::uint64_t, std::uint64_t>{16, 1}, {2, 4}, {0, 3}, {0, 32}, {0, 0}})
    EXPECT_THROW(server.replicate(a, first, count), ShapeError) << first << ", " << count;
  // Sums of products of three parts relinearise once, and so have the error of that.
  const Array raw = server.square(a, {.relinearised = false});
  EXPECT_EQ(server.sum(raw).info().error, server.sum(server.relinearise(raw)).info().error);
}

TEST(Ckks, ErrorsThatAreKnown) {
  const Party party(test::ckks_insecure());
  const Array x = party.upload(random_values(4, 8));
  EXPECT_EQ(party.server.with_error(x, 0x1p-60).info().error, -60);
  EXPECT_EQ(party.server.with_error(x, 1).info().error, x.info().error);
  EXPECT_EQ(party.server.with_error(x, 0x1p-60).info().bound, x.info().bound);
  for (const double bad : {0.0, -1.0, std::nan("")})
    EXPECT_THROW(party.server.with_error(x, bad), ParameterError) << bad;
}

TEST(Ckks, PublicKeysEncryptAndKeysAreTold) {
  const Party party(test::ckks_insecure()), other(test::ckks_insecure());
  const Values x = random_values(64, 7);
  const Ciphertexts c = encrypt(party.client.public_key(), x);
  EXPECT_FALSE(c.seed);
  party.expect(party.server.upload(c), x, "public");
  EXPECT_THROW(static_cast<void>(other.client.decrypt_raw(c)), KeyMismatchError);
  EXPECT_THROW(static_cast<void>(other.server.upload(c)), KeyMismatchError);
  EXPECT_THROW(static_cast<void>(party.server.rotate(party.upload(x), 3)), MissingKeyError);
}

TEST(Ckks, WhatDoesNotFitIsRefused) {
  const Party party(test::ckks_insecure({.depth = 2}));
  const Server& s = party.server;
  EXPECT_THROW(party.client.encrypt(Values{{0.9, 0.9}}), EncodingError);
  EXPECT_THROW(party.client.encrypt(Values{{std::nan(""), 0}}), EncodingError);
  EXPECT_THROW(party.client.encrypt(Values{1.0}, {.bound = std::exp2(40)}), EncodingError);
  // Level 0 holds values up to 2^9: 2^10 with the sign.
  Array a = s.upload(party.client.encrypt(Values{20.0}, {.bound = 32}));
  a = s.multiply(a, a);
  EXPECT_THROW(static_cast<void>(s.multiply(a, a)), NoiseError);
  EXPECT_THROW(static_cast<void>(s.add(s.multiply(a, a, {true, false}), s.lower(a, 0))), Error);
}

TEST(Ckks, WhatDoesNotFitIsNamed) {
  const Account account(test::ckks_insecure());
  CiphertextInfo a = account.fresh(Packing::real, 1, 4, 1, true);
  const auto said = [&](double bound, double error) {
    a = Account::with_log2_bound(a, bound);
    a.error = error;
    return test::message_of<NoiseError>([&] { return account.multiply_integer(a, 1); });
  };
  const double most = account.parameters().log2_Q(a.level) - std::log2(a.scale);
  EXPECT_EQ(said(0, -20), "");
  EXPECT_NE(said(most + 5, -20).find("values of up to"), std::string::npos);
  EXPECT_NE(said(0, most + 5).find("errors with a standard deviation"), std::string::npos);
  // The advice helps: so many bits hold the values, and where no number of them does, none is
  // named.
  const double held = account.parameters().log2_Q(0) - 1 - std::log2(account.parameters().scale(0));
  a.level = 0;
  a.scale = account.parameters().scale(0);
  ASSERT_LT(held, Requirements::most_value_bits - 0.3);
  const double above = (held + Requirements::most_value_bits) / 2;
  const std::string bits =
      "value_bits = " + std::to_string(static_cast<int>(std::ceil(above + 1e-3)));
  EXPECT_NE(said(above, -20).find(bits), std::string::npos) << said(above, -20);
  EXPECT_NE(said(above, -20).find("with_bound"), std::string::npos);
  EXPECT_EQ(said(30, -20).find("value_bits"), std::string::npos);
  EXPECT_NE(said(30, -20).find("a larger depth"), std::string::npos);
}

/// What is known of them is what is known of one product of the sums.
TEST(Ckks, ProductsWithChosenSums) {
  const Account account(test::ckks_insecure({.depth = 2}));
  CiphertextInfo x = account.fresh(Packing::real, 3, 4, 1, true), off = x;
  off.error += 5;
  const std::vector<CiphertextInfo> high(16, x), low{x, off, x, x};
  const CiphertextInfo got = account.masked_tensors(high, 1.5, low, 3);
  EXPECT_EQ(got.parts, 3u);
  EXPECT_EQ(got.level, x.level);
  EXPECT_EQ(got.count, 3u);
  EXPECT_EQ(got.scale, x.scale * x.scale);
  EXPECT_NEAR(std::exp2(got.bound), 4.5, 1e-9);
  // Of every mask: sum_h (|x_h|·sum of the low errors + the high error·|sum|), and both errors.
  const double of_high = 16 * std::exp2(x.error), of_low = 4 * std::exp2(off.error);
  EXPECT_NEAR(got.error, std::log2(1.5 * of_low + 3 * of_high + of_high * of_low), 1e-9);
  const auto refused = [&](const CiphertextInfo& bad) {
    EXPECT_THROW(static_cast<void>(account.masked_tensors(high, 1, std::array{bad}, 1)),
                 ShapeError);
    EXPECT_THROW(static_cast<void>(account.masked_tensors(std::array{x, bad}, 1, low, 1)),
                 ShapeError);
  };
  CiphertextInfo bad = x;
  bad.count = 2;
  refused(bad);
  bad = x;
  --bad.level;
  refused(bad);
  bad = x;
  bad.parts = 3;
  refused(bad);
  bad = x;
  bad.scale *= 2;
  EXPECT_THROW(static_cast<void>(account.masked_tensors(std::array{x, bad}, 1, low, 1)),
               ShapeError);
}

TEST(Ckks, ProductsWithoutALevelSaySo) {
  const Party party(test::ckks_insecure({.depth = 1}));
  const Server& s = party.server;
  const Array x = s.upload(party.client.encrypt(std::vector<double>{0.5, -0.5, 0.25})),
              a = s.lower(x, 0);
  const auto said = [](const auto& operation) { return test::message_of<NoiseError>(operation); };
  const std::vector<Complex> plain{0.5, 0.5, 0.5};
  for (const std::string& message :
       {said([&] { return s.multiply(a, x); }), said([&] { return s.square(a); }),
        said([&] { return s.multiply_scalar(a, 0.5); }), said([&] {
          return s.multiply_scalar(a, {0, 0.5});
        }),
        said([&] { return s.multiply_plain(a, plain); }), said([&] { return s.replicate(a, 1); }),
        said([&] { return s.sum(a); }), said([&] { return s.rescale(a); }),
        // Their scale is above the modulus, however small the values are.
        said([&] {
          return s.multiply(a, a, {true, false});
        }),
        said([&] {
          return s.multiply(s.with_bound(a, 1e-8), a, {false, false});
        }),
        said([&] { return s.multiply_plain(s.with_bound(a, 1e-30), plain, 0, false); })}) {
    EXPECT_NE(message.find("larger depth"), std::string::npos) << message;
    EXPECT_EQ(message.find("value_bits"), std::string::npos) << message;
  }
}

TEST(Ckks, SumsOfOtherLengthsAtLevel0SayWhatHelps) {
  const Party party(test::ckks_insecure({.depth = 1}));
  const Server& s = party.server;
  const Array x = s.lower(party.upload({0.5, -0.5, 0.25}), 0);
  for (const std::uint64_t period : {1, 2})
    EXPECT_EQ(test::message_of<NoiseError>([&] { return s.sum(x, period); }),
              "sum: the length, 3, is no power of two, so that a sum takes a level, and the "
              "ciphertext is at level 0: take parameters with a larger depth, bootstrap before, or "
              "encrypt the values with zeros behind, as 4 values");
  // That helps, too.
  party.expect(s.sum(s.lower(party.upload({0.5, -0.5, 0.25, 0}), 0)), {0.25}, "a sum");
}

TEST(Ckks, NumbersAreAddedAtAnyScaleAndToAnyParts) {
  const Party party(test::ckks_insecure({.depth = 3}));
  const Server& s = party.server;
  const std::vector<double> x{0.5, -0.25, 0.75};
  const Array a = s.upload(party.client.encrypt(x));
  for (const Finish finish : {Finish{true, true}, Finish{true, false}, Finish{false, false}})
    for (const Complex by : {Complex(1.5), Complex(0.25, -1)}) {
      const Array sum = s.add_scalar(s.multiply(a, a, finish), by);
      Values want;
      for (const double v : x) want.push_back(v * v + by);
      party.expect(sum, want, "a product and a number");
      const Values row{by, -3.0 * by, 1e6 * by};
      for (std::size_t i = 0; i < x.size(); ++i) want[i] = x[i] * x[i] - row[i];
      party.expect(s.sub_plain(s.multiply(a, a, finish), row), want, "a product and an array");
    }
  // Numbers that at that scale have more bits than a word.
  const Array bare = s.multiply(a, a, {true, false});
  const Values want{x[0] * x[0] + 1e12, x[1] * x[1] - 1e-12, x[2] * x[2]},
      got = party.values(s.add_plain(bare, Values{1e12, -1e-12, 0}));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i].real(), want[i].real(), 1e-3);
  const Array coefficients = s.upload(party.client.encrypt(x, {}, Packing::coefficients));
  const Array product = s.multiply(coefficients, coefficients, {true, false});
  const Values sums = party.values(s.add_plain(product, Values{3e7, -0.5}));
  EXPECT_NEAR(sums[0].real(), 3e7 + 0.25, 1e-3);
  EXPECT_NEAR(sums[1].real(), -0.25 - 0.5, 1e-3);
}

TEST(Ckks, BoundsOfRealValuesAreFollowedAtBothEnds) {
  const Party party(test::ckks_insecure({.depth = 3}));
  const Server& s = party.server;
  const auto encrypt = [&](double low, double high) {
    return s.upload(party.client.encrypt(std::vector<double>{low, high}, {.bound = {low, high}}));
  };
  const Array a = encrypt(1, 3), b = encrypt(-2, 5);
  const auto expect = [](const Array& x, double low, double high) {
    EXPECT_NEAR(x.info().bounds().low, low, 1e-9);
    EXPECT_NEAR(x.info().bounds().high, high, 1e-9);
    EXPECT_LE(std::abs(std::exp2(x.info().bound) - std::max(std::abs(low), std::abs(high))), 1e-9);
  };
  expect(a, 1, 3);
  expect(s.add(a, b), -1, 8);
  expect(s.sub(a, b), -4, 5);
  expect(s.negate(a), -3, -1);
  expect(s.multiply(a, b), -6, 15);
  expect(s.square(b), 0, 25);
  expect(s.square(a), 1, 9);
  expect(s.multiply_integer(a, -2), -6, -2);
  expect(s.multiply_scalar(a, -0.5), -1.5, -0.5);
  expect(s.add_scalar(a, -2), -1, 1);
  const std::vector<Complex> plain{2, -1};
  expect(s.add_plain(a, plain), 0, 5);
  expect(s.sub_plain(a, plain), -1, 4);
  expect(s.multiply_plain(a, plain), -3, 6);
  expect(s.sum(a), 2, 6);
  expect(s.replicate(a, 1), 1, 3);
  expect(s.rotate(a, 1), 1, 3);
  expect(s.lower(a, 0), 1, 3);
  expect(s.concatenate(std::vector{a, b}), -2, 5);
  expect(s.with_bound(b, {-1, 2}), -1, 2);
  expect(s.with_bound(b, 1), -1, 1);
  expect(s.with_bound(a, 2), 1, 2);
  expect(s.with_bound(b, {-7, 9}), -2, 5);
  const Array complex = s.multiply_by_i(a);
  EXPECT_EQ(complex.info().bounds().low, -3);
  EXPECT_EQ(party.server.download(a).info.low, 1);

  EXPECT_THROW(s.with_bound(a, {2, 1}), ParameterError);
  EXPECT_THROW(s.with_bound(a, {4, 5}), ParameterError);
  EXPECT_THROW(s.with_bound(complex, {1, 2}), EncodingError);
  EXPECT_THROW(encrypt(2, 1), EncodingError);
  EXPECT_THROW(party.client.encrypt(std::vector<double>{0.5}, {.bound = {1, 2}}), EncodingError);
  EXPECT_THROW(party.client.encrypt(std::vector<double>{2.5}, {.bound = {1, 2}}), EncodingError);
  EXPECT_THROW(party.client.encrypt(Values{1.5}, {.bound = {1, 2}}), EncodingError);
  EXPECT_THROW(
      party.client.encrypt(std::vector<double>{1.5}, {.bound = {1, 2}}, Packing::coefficients),
      EncodingError);
}

TEST(CkksNoise, KeysOfBootstrappingHaveSpecialPrimesOfTheirOwn) {
  const Parameters p = Parameters::named("cheddar/40");
  const NoiseModel model(p);
  const double N = p.N(), sigma = p.literal().sigma;
  const auto of = [&](SwitchKind kind, double log2_Q, double rounding) {
    double log2_P = 0;
    layout_of(p.literal(), kind).special.for_each([&](unsigned i) {
      log2_P += std::log2(static_cast<double>(p.literal().special[i - p.limbs()]));
    });
    EXPECT_LT(log2_P, p.log2_P());
    return 0.5 * std::log2(std::pow(N * sigma * std::exp2(log2_Q - log2_P), 2) / 12 + rounding);
  };
  const double q = p.log2_Q(0), dense = N / 12 * (1 + 2.0 / 3.0 * N);
  EXPECT_NEAR(model.low_key_switch(), of(slots_to_coeffs_kind(p.literal()), q, dense), 1e-6);
  EXPECT_NEAR(model.to_sparse_key_switch(), of({SwitchRole::to_sparse}, q, N / 12 * 33), 1e-6);
  EXPECT_NEAR(model.key_switch(0), 0.5 * std::log2(dense), 1e-6);  // P is much larger
  EXPECT_EQ(model.key_switch(0, slots_to_coeffs_kind(p.literal())), model.low_key_switch());
}

TEST(Ckks, BatchesInTheHostsMemory) {
  const Party party(test::ckks_insecure());
  const Values x = random_values(12, 8);
  const Ciphertexts c = party.client.encrypt(x, {.length = 4});
  const std::vector<std::uint32_t> some{2, 0};
  const Ciphertexts taken = take(c, some);
  EXPECT_EQ(taken.seed, c.seed);
  const Values got = party.client.decrypt_raw(taken);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::abs(got[i] - x[8 + i]), 0, 1e-8);
  const std::vector<const Ciphertexts*> both{&taken, &c};
  EXPECT_EQ(concatenate(both).info.count, 5u);
  const Array joined = party.server.concatenate(std::vector<Array>{
      party.server.upload(c), party.server.multiply_integer(party.server.upload(taken), 2)});
  const Values all = party.values(joined);
  ASSERT_EQ(all.size(), 20u);
  EXPECT_NEAR(std::abs(all[12] - 2.0 * x[8]), 0, 1e-8);

  // Vectors 2 and 0, and twice 0 and 2, in turn.
  const Array first = party.server.take(party.server.upload(c), some),
              second = party.server.multiply_integer(
                  party.server.take(party.server.upload(c), std::vector<std::uint32_t>{0, 2}), 2);
  const Values in_turn = party.values(party.server.interleave(std::vector<Array>{first, second}));
  ASSERT_EQ(in_turn.size(), 16u);
  const std::size_t vectors[] = {2, 0, 0, 2};
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(std::abs(in_turn[i] - (1.0 + (i / 4) % 2) * x[4 * vectors[i / 4] + i % 4]), 0,
                1e-8);
  EXPECT_THROW(party.server.interleave(std::vector<Array>{first, joined}), ShapeError);
  EXPECT_THROW(party.server.interleave(std::vector<Array>{}), ShapeError);
}

TEST(Ckks, ClientsTakeVectorsOverSeveralCiphertexts) {
  const Client client(test::ckks_insecure());
  const std::size_t slots = client.parameters().slots(), length = 2 * slots + 6;
  const Values x = random_values(2 * length, 11);
  for (const Ciphertexts& c : {client.encrypt(x, {.length = length}),
                               encrypt(client.public_key(), x, {.length = length})}) {
    EXPECT_EQ(c.info.count, 6u);
    EXPECT_EQ(c.info.length, slots);
    EXPECT_EQ(c.info.vector, length);
    const Values got = client.decrypt_raw(c);
    ASSERT_EQ(got.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(std::abs(got[i] - x[i]), 0, 1e-7) << i;
    EXPECT_EQ(client.release(c, {.queries = 16}).size(), x.size());
    // Behind the end come the vector's first values.
    Ciphertexts apart = c;
    apart.info.vector = 0;
    const Values all = client.decrypt_raw(apart);
    ASSERT_EQ(all.size(), 6 * slots);
    for (std::size_t v = 0; v < 2; ++v)
      for (std::size_t i = 0; i < 3 * slots; ++i)
        EXPECT_NEAR(std::abs(all[v * 3 * slots + i] - x[v * length + i % length]), 0, 1e-7) << i;
  }
  const std::vector<double> reals(client.parameters().N() + 1, 0.5);
  EXPECT_EQ(client.encrypt(reals).info.vector, reals.size());
  test::expect_message<ShapeError>(
      [&] { static_cast<void>(client.encrypt(reals, {}, Packing::coefficients)); },
      {std::to_string(reals.size()), "N = " + std::to_string(client.parameters().N()), "slots"});
}

TEST(Ckks, VectorsOverSeveralCiphertextsStayWhole) {
  const Party party(test::ckks_insecure());
  const Server& s = party.server;
  const std::size_t slots = s.parameters().slots();
  const Values x = random_values(slots + 6, 9), y = random_values(2 * slots, 10);
  const Array a = party.upload(x);
  const Ciphertexts host = s.download(a);
  using Indices = std::vector<std::uint32_t>;
  for (const Indices& part : {Indices{}, {1, 0}, {0}, {0, 1, 1}, {0, 0}}) {
    EXPECT_THROW(static_cast<void>(s.take(a, part)), ShapeError);
    EXPECT_THROW(static_cast<void>(take(host, part)), ShapeError);
  }
  const Indices twice{0, 1, 0, 1}, first{0, 0};
  for (const CiphertextInfo& info : {s.take(a, twice).info(), take(host, twice).info}) {
    EXPECT_EQ(info.count, 4u);
    EXPECT_EQ(info.vector, slots + 6);
  }

  const auto scaled = [&](Complex by) {
    return map(x, x, [&](Complex u, Complex) { return u * by; });
  };
  const Array one = party.upload({0.5}, 1), two = party.upload({0.5, 0.25}, 1);
  party.expect(s.multiply(one, a), scaled(0.5), "times one value");
  for (const auto& meet : std::vector<std::function<Array(const Array&)>>{
           [&](const Array& b) { return s.add(a, b); }, [&](const Array& b) { return s.sub(b, a); },
           [&](const Array& b) { return s.multiply(a, b); }}) {
    test::expect_message<ShapeError>([&] { static_cast<void>(meet(two)); }, {"2 single values"});
  }
  const Array same = s.as_vectors(s.repeat(s.take(two, first), slots), slots + 6);
  party.expect(s.multiply(same, a), scaled(0.5), "times a value as a vector");

  const Values products = map(x, y, [](Complex u, Complex v) { return u * v; });
  party.expect(s.multiply_plain(a, y, slots), products, "multiply_plain");
  party.expect(s.multiply_plain(a, Values(2, 0.5), 1), scaled(0.5), "times one number");
  const Values row(slots, 0.5), numbers{0.5, 0.25};
  for (const auto& [values, length] : {std::pair(row, slots), std::pair(numbers, std::size_t{1})}) {
    EXPECT_THROW(static_cast<void>(s.multiply_plain(a, values, length)), ShapeError);
    EXPECT_THROW(static_cast<void>(s.add_plain(a, values, length)), ShapeError);
    EXPECT_THROW(static_cast<void>(s.sub_plain(a, values, length)), ShapeError);
  }
}

TEST(Ckks, BatchesThatAreNotCut) {
  const Party party(test::ckks_insecure());
  const std::size_t best = party.server.best_batch();
  if (std::string(test::tested_device) == "cpu")
    EXPECT_EQ(best, 512u);
  else
    EXPECT_GE(best, 128u);  // of a small ring
}

TEST(CkksParameters, LevelsAreNearWhatWasAskedFor) {
  for (const test::CkksShape& shape : test::ckks_shapes) {
    const Parameters p = test::ckks_insecure({shape.scale_bits, shape.word_bits, 10});
    EXPECT_NEAR(std::log2(p.scale(0)), shape.scale_bits, 0.01);
    for (unsigned l = 1; l <= p.depth(); ++l) {
      EXPECT_NEAR(std::log2(p.scale(l)), shape.scale_bits, 1.5) << l;
      EXPECT_NEAR(p.scale(l) * p.scale(l) / p.ratio(l) / p.scale(l - 1), 1, 1e-14) << l;
    }
  }
}

}  // namespace
}  // namespace whorl::ckks
