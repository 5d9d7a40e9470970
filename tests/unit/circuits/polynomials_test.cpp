#include "whorl/circuits/polynomials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/ckks_sets.h"
#include "support/targets.h"
#include "whorl/ckks/client.h"
#include "whorl/error.h"

namespace whorl::ckks {
namespace {

struct Party {
  explicit Party(unsigned depth, unsigned scale_bits = 40)
      : client(test::ckks_insecure({.scale_bits = scale_bits, .depth = depth})),
        server(client.evaluation_keys({}), {.device = test::tested_device, .threads = 1}) {}

  Array encrypt(const std::vector<double>& x, double bound) const {
    return server.upload(client.encrypt(x, {.bound = bound}));
  }
  std::vector<double> decrypt(const Array& a) const {
    std::vector<double> out;
    for (const auto& z : client.decrypt_raw(server.download(a))) out.push_back(z.real());
    return out;
  }
  /// Within the error that the account states.
  void expect(const std::vector<double>& x, double bound, const Polynomial& p) const {
    SCOPED_TRACE(testing::Message() << "degree " << p.degree());
    const Array a = encrypt(x, bound), y = evaluate(server, a, p);
    EXPECT_EQ(y.info().level, a.info().level - p.depth());
    EXPECT_EQ(y.info().scale, server.parameters().scale(y.info().level));
    const std::vector<double> got = decrypt(y);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(got[i] - p(x[i])));
    EXPECT_LT(worst, 8 * std::exp2(y.info().error));
    EXPECT_LT(worst, 1e-4) << "account: 2^" << y.info().error;
  }

  Client client;
  Server server;
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
  party.expect(points(1, 3), 3, approximate([](double x) { return 1 / x; }, 1, 3, 15));
  party.expect(points(-1, 1), 1, {{0.5, 0.15012, 0, -0.0015930}, Polynomial::Basis::monomial});
  party.expect(points(-1, 1), 1, {{0, 0, 0, 0, 0, 0, 0, 1}, Polynomial::Basis::monomial});
  party.expect(points(-1, 1), 1, {{0.25}});
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

TEST(CkksPolynomials, WhatCannotBeRightIsRefused) {
  const Party party(3);
  const Polynomial p = approximate([](double x) { return x * x; }, -1, 1, 7);
  EXPECT_THROW(static_cast<void>(evaluate(party.server, party.encrypt({0.5}, 2), p)),
               EncodingError);
  const Array known = party.server.with_bound(party.encrypt({0.5}, 2), 1);
  EXPECT_NEAR(party.decrypt(evaluate(party.server, known, p))[0], 0.25, 1e-6);
  const Polynomial deep = approximate([](double x) { return x; }, -1, 1, 15);
  EXPECT_THROW(static_cast<void>(evaluate(party.server, known, deep)), NoiseError);
  EXPECT_THROW(approximate([](double x) { return std::sqrt(x); }, -1, 1, 2), ParameterError);
  EXPECT_THROW(approximate([](double x) { return x; }, 1, 1, 2), ParameterError);
  EXPECT_THROW(approximate([](double x) { return x; }, 0, 1, 5000), ParameterError);
}

}  // namespace
}  // namespace whorl::ckks
