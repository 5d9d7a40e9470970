#include "circuits/ckks/polynomials.h"

#include "support/ckks_party.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

struct Party : test::CkksParty {
  explicit Party(unsigned depth, unsigned scale_bits = 40)
      : CkksParty(test::ckks_insecure({.scale_bits = scale_bits, .depth = depth})) {}

  /// Within the error that the account states.
  void expect(const std::vector<double>& x, const Bounds& bound, const Polynomial& p) const {
    SCOPED_TRACE(testing::Message() << "degree " << p.degree());
    const Array a = encrypt(x, bound), y = evaluate(server, a, p);
    EXPECT_EQ(y.info().level, a.info().level - p.depth());
    EXPECT_EQ(y.info().scale, server.parameters().scale(y.info().level));
    std::vector<double> want;
    for (const double v : x) want.push_back(p(v));
    const double error = test::worst(decrypt(y), want);
    EXPECT_LT(error, test::largest_error(y));
    EXPECT_LT(error, 1e-4) << "account: 2^" << y.info().error;
  }
};

std::vector<double> points(double low, double high, std::size_t count = 64) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1));
  return out;
}

TEST(CkksPolynomials, EveryDegreeAtTheLeastDepth) {
  const Party party(6);
  for (const unsigned degree : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u, 15u, 16u, 23u, 31u, 45u, 63u}) {
    const Polynomial p = approximate([](double x) { return std::sin(5 * x) / 2; }, -1, 1, degree);
    party.expect(points(-1, 1), 1, p);
  }
}

TEST(CkksPolynomials, OtherIntervalsAndMonomials) {
  const Party party(7);
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Polynomial p = approximate_within(logistic, -8, 8, 1e-6);
  EXPECT_LE(p.degree(), 63u);
  party.expect(points(-8, 8), 8, p);
  party.expect(points(1, 3), {1, 3}, approximate([](double x) { return 1 / x; }, 1, 3, 15));
  // Factors that a plaintext of a number does not hold.
  party.expect(points(2, 2.0001), {2, 2.0001},
               approximate([](double x) { return 1e4 * (x - 2); }, 2, 2.0001, 3));
  party.expect(points(-1, 1), 1, {{0.5, 0.15012, 0, -0.0015930}, Polynomial::Basis::monomial});
  party.expect(points(-1, 1), 1, {{0, 0, 0, 0, 0, 0, 0, 1}, Polynomial::Basis::monomial});
  party.expect(points(-1, 1), 1, {{0.25}});
}

/// f·p(x) with another f in each slot, of polynomials in both bases.
TEST(CkksPolynomials, OddOnesTimesNumbersOfSlots) {
  using Complex = std::complex<double>;
  const Party party(6);
  const std::vector<double> x = points(-1, 1);
  std::vector<Complex> f;
  for (std::size_t i = 0; i < x.size(); ++i) f.push_back(std::polar(1.0, static_cast<double>(i)));
  const Array a = party.encrypt(x, 1);
  for (unsigned degree = 3; degree < 64; degree += 2)
    for (const auto basis : {Polynomial::Basis::chebyshev, Polynomial::Basis::monomial}) {
      SCOPED_TRACE(testing::Message() << "degree " << degree);
      Polynomial p{std::vector<double>(degree + 1), basis};
      for (unsigned k = 1; k <= degree; k += 2) p.coefficients[k] = std::sin(k) / degree;
      std::vector<double> asked;
      const Turned turned = [&](double c) {
        asked.push_back(c);
        std::vector<Complex> row = f;
        for (Complex& z : row) z *= c;
        return party.server.multiply_plain(a, row, row.size(), true);
      };
      const Array y = evaluate_turned(party.server, a, turned, p);
      EXPECT_EQ(y.info().level, a.info().level - p.depth());
      EXPECT_EQ(asked, turned_factors(p));
      const auto got = party.client.decrypt_raw(party.server.download(y));
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_LT(std::abs(got[i] - f[i] * p(x[i])), 1e-4) << x[i];
    }
}

TEST(CkksPolynomials, ProductsOfThreePartsAreRelinearisedFirst) {
  const Party party(6);
  const std::vector<double> x = points(-1, 1);
  const Array a = party.encrypt(x, 1);
  const Array square = party.server.multiply(a, a, {.relinearised = false});
  ASSERT_EQ(square.info().parts, 3u);
  Polynomial power{{0.25, -0.5, 0, 1}};
  power.basis = Polynomial::Basis::monomial;
  for (const Polynomial& p : {approximate([](double t) { return std::cos(t); }, 0, 1, 5), power}) {
    const std::vector<double> got = party.decrypt(evaluate(party.server, square, p));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], p(x[i] * x[i]), 1e-4) << x[i];
  }
}

/// What the mapping says of value `j` of ciphertext `i`, in clear.
double in_clear(const PolynomialVector& v, std::size_t i, std::size_t j, double x) {
  const std::size_t length = v.length == 0 ? v.mapping.size() : v.length;
  const std::size_t row = v.mapping.size() == length ? 0 : i;
  const std::int32_t index = v.mapping[row * length + (length == 1 ? 0 : j)];
  return index == PolynomialVector::none ? 0 : v.polynomials[static_cast<std::size_t>(index)](x);
}

void expect_each(const Party& party, const Array& a, const std::vector<double>& x,
                 const PolynomialVector& v) {
  const Array y = evaluate(party.server, a, v);
  EXPECT_EQ(y.info().level, a.info().level - v.depth());
  EXPECT_EQ(y.info().scale, party.server.parameters().scale(y.info().level));
  const std::size_t given = a.info().length;
  std::vector<double> want;
  for (std::size_t i = 0; i < y.info().count; ++i)
    for (std::size_t j = 0; j < y.info().length; ++j)
      want.push_back(
          in_clear(v, i, j, x[(a.info().count == 1 ? 0 : i * given) + (given == 1 ? 0 : j)]));
  const std::vector<double> got = party.decrypt(y);
  test::expect_as_stated(y, got, want, HUGE_VAL);
  EXPECT_LT(test::worst(got, want), 1e-4) << "account: 2^" << y.info().error;
}

TEST(CkksPolynomials, OneForEachSlotAtTheSameDepth) {
  const Party party(6);
  const std::vector<double> x = points(-1, 1);
  const Array a = party.encrypt(x, 1);
  for (const unsigned degree : {1u, 2u, 3u, 7u, 12u, 15u, 31u, 45u}) {
    SCOPED_TRACE(degree);
    PolynomialVector v;
    v.polynomials = {approximate([](double t) { return std::sin(5 * t) / 2; }, -1, 1, degree),
                     approximate([](double t) { return std::exp(t) / 3; }, -1, 1, (degree + 1) / 2),
                     {{0.25}},
                     {{0, 0.5}}};
    for (std::int32_t j = 0; j < 64; ++j) v.mapping.push_back(j % 5 - 1);  // -1: none
    EXPECT_EQ(v.depth(), v.polynomials[0].depth());
    expect_each(party, a, x, v);
  }
}

TEST(CkksPolynomials, OneForEachCiphertextOrSlotOfABatch) {
  const Party party(6);
  const auto of = [](double low, double high, double by) {
    return approximate([by](double t) { return std::cos(by * t); }, low, high, 15);
  };
  const std::vector<double> x = points(-2, 2, 3 * 16);
  const Array batch = party.server.upload(party.client.encrypt(x, {.length = 16, .bound = 2}));
  PolynomialVector v{{of(-2, 2, 1), of(-2, 2, 2), of(-2, 2, 0.5)}, {2, 0, 1}, 1};
  EXPECT_EQ(v.depth(), 5u);
  expect_each(party, batch, x, v);  // one a ciphertext
  v.mapping.clear();
  v.length = 16;
  for (std::int32_t i = 0; i < 48; ++i) v.mapping.push_back(i % 7 % 4 - 1);
  expect_each(party, batch, x, v);  // one a slot and ciphertext
  v.mapping.resize(16);
  v.length = 0;
  expect_each(party, batch, x, v);  // one a slot, for all
  // One value, or one ciphertext, meets several polynomials.
  const std::vector<double> one{0.75};
  expect_each(party, party.encrypt(one, 2), one, {v.polynomials, {0, 1, 2, -1}});
  expect_each(party, party.encrypt(one, 2), one, {v.polynomials, {0, 1, 2}, 1});
  expect_each(party, party.encrypt(one, 2), one, {{{{0.5}, {}, -2, 2}}, {0, -1, 0}, 1});
  PolynomialVector powers{{{{0.5, -1, 0, 0.25}}, {{0, 0, 0, 0, 0, 0.125}}}, {0, 1}};
  for (Polynomial& p : powers.polynomials) {
    p.basis = Polynomial::Basis::monomial;
    p.low = -2;
    p.high = 2;
  }
  const std::vector<double> two{1.5, -1.25};
  expect_each(party, party.encrypt(two, 2), two, powers);
}

TEST(CkksPolynomials, AsOnePolynomialWhereAllAreTheSame) {
  const Party party(5);
  const std::vector<double> x = points(-1, 1, 5);  // no power of two
  const Array a = party.encrypt(x, 1);
  const Polynomial p = approximate([](double t) { return std::exp(t) / 2; }, -1, 1, 23);
  const Array one = evaluate(party.server, a, p), each = evaluate(party.server, a, {{p}, {0}});
  EXPECT_EQ(one.info().level, each.info().level);
  EXPECT_EQ(one.info().scale, each.info().scale);
  const std::vector<double> first = party.decrypt(one), second = party.decrypt(each);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(first[i], second[i], 1e-7);
}

TEST(CkksPolynomials, VectorsThatCannotBeRightAreRefused) {
  const Party party(3);
  const Array x = party.encrypt({0.5, 0.25}, 1);
  const Polynomial p{{0, 1}}, other{{0, 1}, Polynomial::Basis::monomial}, wide{{0, 1}, {}, -2, 2};
  const auto work = [&](const PolynomialVector& v) {
    static_cast<void>(evaluate(party.server, x, v));
  };
  EXPECT_THROW(work({{}, {0}}), ParameterError);
  EXPECT_THROW(work({{p, other}, {0, 1}}), ParameterError);
  EXPECT_THROW(work({{p, wide}, {0, 1}}), ParameterError);
  EXPECT_THROW(work({{p}, {0, 1}}), ParameterError);
  EXPECT_THROW(work({{p}, {0, -2}}), ParameterError);
  EXPECT_THROW(work({{p}, {}}), ShapeError);
  EXPECT_THROW(work({{p}, {0, 0, 0}}), ShapeError);
  EXPECT_THROW(work({{p}, {0, 0, 0, 0}, 4}), ShapeError);
  EXPECT_THROW(work({{p}, {0, 0, 0}, 2}), ShapeError);
  EXPECT_THROW(work({{{{0, std::nan("")}}}, {0, 0}}), EncodingError);
  EXPECT_THROW(work({{{{0, 0x1p22}}}, {0, 0}}), EncodingError);
  EXPECT_THROW(work({{{{0, 0, 0, 0, 0, 0, 0, 0, 1}}}, {0, 0}}), NoiseError);
  EXPECT_THROW(static_cast<void>(evaluate(party.server, party.encrypt({0.5}, 2), {{p}, {0}})),
               EncodingError);
}

TEST(CkksPolynomials, WhatCannotBeRightIsRefused) {
  const Party party(3);
  const Polynomial p = approximate([](double x) { return x * x; }, -1, 1, 7);
  EXPECT_THROW(static_cast<void>(evaluate(party.server, party.encrypt({0.5}, 2), p)),
               EncodingError);
  // At each end, and not at the other one.
  const Polynomial right = approximate([](double t) { return t; }, 0, 1, 3);
  const std::vector<double> given{0.25, 0.5, 0.75};
  for (const Bounds& bound : {Bounds(-0.001, 0.5), Bounds(0.25, 1.001), Bounds(1)})
    EXPECT_THROW(
        static_cast<void>(evaluate(party.server, party.encrypt({0.25, 0.5}, bound), right)),
        EncodingError);
  for (const Bounds& bound : {Bounds(0, 1), Bounds(0.25, 0.75)}) {
    const std::vector<double> got =
        party.decrypt(evaluate(party.server, party.encrypt(given, bound), right));
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(got[i], given[i], 1e-5);
  }
  // Far from 0 too, where a small part of the ends is a large part of the interval.
  for (const double off : {100.0, 1000.0}) {
    const Polynomial far = approximate([](double t) { return t; }, off, off + 1, 3);
    const Array near = party.encrypt({off, off + 1}, {off, off + 1 + 1e-8});
    EXPECT_THROW(static_cast<void>(evaluate(party.server, near, far)), EncodingError) << off;
  }
  const Array known = party.server.with_bound(party.encrypt({0.5}, 2), 1);
  EXPECT_NEAR(party.decrypt(evaluate(party.server, known, p))[0], 0.25, 1e-6);
  const Polynomial deep = approximate([](double x) { return x; }, -1, 1, 15);
  EXPECT_THROW(static_cast<void>(evaluate(party.server, known, deep)), NoiseError);
  EXPECT_THROW(approximate([](double x) { return std::sqrt(x); }, -1, 1, 2), ParameterError);
  EXPECT_THROW(approximate([](double x) { return x; }, 1, 1, 2), ParameterError);
  EXPECT_THROW(approximate([](double x) { return x; }, 0, 1, 5000), ParameterError);
}

// An error that stays small beside the interval is no reason, however large it is beside the
// result: larger values may be added.
TEST(CkksPolynomials, ResultsAreRefusedForTheErrorsOfTheirArgumentsOnly) {
  const Party party(3);
  const std::vector<double> x{1, -0.5, 0.25, 0.999};
  const Array a = party.encrypt(x, 1);
  const Polynomial small{.coefficients = {0, 1e-8}, .basis = Polynomial::Basis::monomial};
  const Array sum = party.server.add(evaluate(party.server, a, small), a);
  const std::vector<double> added = party.decrypt(sum);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(added[i], x[i] * (1 + 1e-8), 1e-6);

  // Of degree 4,000 it may leave the interval by its own error.
  std::vector<double> highest(4001);
  highest.back() = 1;
  const Party deep(12, 30);
  const Polynomial steep{.coefficients = highest, .basis = Polynomial::Basis::chebyshev};
  test::expect_message<NoiseError>(
      [&] { static_cast<void>(evaluate(deep.server, deep.encrypt(x, 1), steep)); },
      {"state a smaller error of the argument by with_error"});
  for (const Polynomial& line : {small, approximate([](double v) { return v; }, -1, 1, 1)})
    test::expect_message<EncodingError>(
        [&] {
          const Array product = party.server.multiply(a, a, {.rescaled = false});
          static_cast<void>(evaluate(party.server, product, line));
        },
        {"rescale products first"});
}

}  // namespace
}  // namespace whorl::ckks
