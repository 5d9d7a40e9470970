// Vectors of every length: the slots behind the values hold copies of the first ones,
// after every operation, so that all slots are where the account says that values
// are.
#include "support/ckks_party.h"
#include "support/test.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/circuits/ckks/linear_maps.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using Reals = std::vector<double>;

struct Party : test::CkksParty {
  using CkksParty::CkksParty;

  /// All slots: values, and behind them the first ones again.
  void expect(const std::string& what, const Array& y, const Reals& want, double error = 0) const {
    SCOPED_TRACE(what);
    ASSERT_EQ(y.info().length, want.size());
    Ciphertexts whole = server.download(y);
    whole.info.length = y.info().slots();
    const auto got = client.decrypt_raw(whole);
    const double most = error + 18 * std::exp2(y.info().error);
    EXPECT_LT(most, 0.1);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double value = want[i < want.size() ? i : i - want.size()];
      ASSERT_NEAR(got[i].real(), value, most) << "slot " << i;
    }
    const Bounds known = y.info().bounds();
    for (const double value : want) {
      EXPECT_GE(value, known.low - error - 1e-9);
      EXPECT_LE(value, known.high + error + 1e-9);
    }
  }
};

std::vector<std::size_t> lengths(const Parameters& p) { return {1, 2, 3, 5, p.slots() - 1}; }

/// `length` values from low to high.
Reals values(std::size_t length, double low, double high) {
  Reals out;
  for (std::size_t i = 0; i < length; ++i)
    out.push_back(length == 1 ? high
                              : low + (high - low) * static_cast<double>(i) /
                                          static_cast<double>(length - 1));
  return out;
}
Reals each(const Reals& x, const std::function<double(double)>& f) {
  Reals out;
  for (const double v : x) out.push_back(f(v));
  return out;
}

TEST(CkksLengths, Functions) {
  const SignStages stages = minimax_sign(0x1p-3, 0x1p-4);
  const Party party(test::ckks_insecure({45, 32, stages.depth() + 3}));
  const Server& s = party.server;
  for (const std::size_t n : lengths(s.parameters())) {
    SCOPED_TRACE(n);
    // Far from 0, where zeros behind them would leave every interval.
    const Reals x = values(n, 150, 200), t = values(n, 18, 90);
    const Array a = party.encrypt(x, {150, 200});
    const Polynomial p = approximate([](double v) { return std::tanh((v - 50) / 20); }, 18, 90, 31);
    party.expect("polynomial", evaluate(s, party.encrypt(t, {18, 90}), p),
                 each(t, [&](double v) { return p(v); }));
    const Array u = s.multiply_scalar(s.add_scalar(a, -175), 0.04);
    const Reals of = each(x, [](double v) { return (v - 175) * 0.04; });
    EXPECT_LE(u.info().bounds().most(), 1 + 1e-9);
    party.expect("sign", sign(s, u, stages), each(of, [&](double v) { return stages(v); }));
    party.expect("absolute", absolute(s, u, stages),
                 each(of, [&](double v) { return v * stages(v); }));
    party.expect("relu", relu(s, u, stages),
                 each(of, [&](double v) { return v * (stages(v) + 1) / 2; }));
    const Array one = s.upload(party.client.encrypt(Reals{0.125}));
    party.expect("greater than one number", greater(s, s.with_bound(u, {-1, 1}), one, stages),
                 each(of, [&](double v) { return 0.5 + stages((v - 0.125) / 2) / 2; }));
    const InverseStages inverse_of = inverse_stages(150, 200, 1e-6);
    party.expect("inverse", inverse(s, a, inverse_of), each(x, [](double v) { return 1 / v; }),
                 inverse_of.error);
    const PolynomialVector many{{p, approximate([](double v) { return v / 100; }, 18, 90, 3)},
                                std::vector<std::int32_t>(n, 1)};
    party.expect("several polynomials", evaluate(s, party.encrypt(t, {18, 90}), many),
                 each(t, [](double v) { return v / 100; }));
  }
}

TEST(CkksLengths, Arithmetic) {
  const Parameters parameters = test::ckks_insecure({45, 32, 3});
  KeyRequest request;
  request.conjugate = true;
  request_sum(request, parameters.slots());
  for (std::int64_t k = 1; k < 8; ++k) request.rotations.push_back(k);
  const Party party(parameters, request);
  const Server& s = party.server;
  for (const std::size_t n : lengths(parameters)) {
    SCOPED_TRACE(n);
    const Reals x = values(n, 1, 2);
    const Array a = party.encrypt(x, {1, 2}), one = party.encrypt({3}, {3, 3});
    std::vector<Complex> plain;
    for (const double v : values(n, -1, 1)) plain.emplace_back(v);
    const auto with_plain = [&](const auto& f) {
      Reals out;
      for (std::size_t i = 0; i < n; ++i) out.push_back(f(x[i], plain[i].real()));
      return out;
    };
    party.expect("add a number", s.add_scalar(a, 5), each(x, [](double v) { return v + 5; }));
    party.expect("add one value", s.add(a, one), each(x, [](double v) { return v + 3; }));
    party.expect("times one value", s.multiply(a, one), each(x, [](double v) { return v * 3; }));
    party.expect("add_plain", s.add_plain(a, plain),
                 with_plain([](double v, double p) { return v + p; }));
    party.expect("one value and numbers", s.sub_plain(one, plain),
                 with_plain([](double, double p) { return 3 - p; }));
    party.expect("multiply_plain", s.multiply_plain(a, plain),
                 with_plain([](double v, double p) { return v * p; }));
    party.expect("conjugate", s.conjugate(a), x);
    double sum = 0;
    for (const double v : x) sum += v - 1.5;
    const Array centred = s.add_scalar(a, -1.5);
    party.expect("sum", s.sum(centred), {sum});
    EXPECT_LE(s.sum(centred).info().bounds().high, 0.5 * static_cast<double>(n) + 1e-6);
    // Of values above 0 the sum is as far above it.
    EXPECT_NEAR(s.sum(a).info().bounds().low, static_cast<double>(n), 1e-6);
    EXPECT_NEAR(s.sum(a).info().bounds().high, 2 * static_cast<double>(n), 1e-6);
    party.expect("replicate", s.replicate(centred, n / 2), {x[n / 2] - 1.5});
    if (n >= 4) {
      party.expect("replicate two", s.replicate(a, 2, 2), {x[2], x[3]});
      Reals sums(2);
      for (std::size_t i = 0; i < n; ++i) sums[i % 2] += x[i] - 1.5;
      party.expect("sums of every other value", s.sum(centred, 2), sums);
    }
    party.expect("one value repeated", s.add(s.repeat(one, n), a),
                 each(x, [](double v) { return v + 3; }));
    if (n > 8) continue;
    for (const std::size_t rows : {1, 3, 4, 5, 8}) {
      std::vector<Complex> matrix(rows * n);
      Reals want(rows);
      for (std::size_t i = 0; i < matrix.size(); ++i) {
        // Some zeros, so that not all diagonals are there.
        matrix[i] = i % 3 == 1 ? 0 : std::sin(static_cast<double>(i));
        want[i / n] += matrix[i].real() * x[i % n];
      }
      const Array y = apply(s, a, encode(s, matrix_map(matrix, rows, n), a.info().level));
      party.expect("matrix", y, want);
      party.expect("matrix, and a number", s.add_scalar(y, 1),
                   each(want, [](double v) { return v + 1; }));
    }
    if (n != 3 && n != 5) continue;
    EXPECT_THROW(static_cast<void>(s.rotate(a, 1)), ShapeError);
  }
  // Diagonals whose result has a length of its own.
  LinearMap map{8, 5, 0, {}};
  for (const std::int64_t k : {0, 1, 6}) map.diagonals[k] = std::vector<Complex>(8, 1.0 + 0.5 * k);
  const Reals x = values(8, -1, 1);
  Reals want(5);
  for (std::size_t j = 0; j < 5; ++j)
    for (const auto& [k, row] : map.diagonals)
      want[j] += row[j].real() * x[(j + static_cast<std::size_t>(k)) % 8];
  const Array a = party.encrypt(x, 1);
  party.expect("diagonals", apply(s, a, encode(s, map, a.info().level)), want);
}

TEST(CkksLengths, Bootstraps) {
  Requirements needs;
  needs.depth = 3;
  needs.bootstrap = true;
  ParameterLiteral literal = Parameters::choose(needs).literal();
  literal.N = 1024;
  const Parameters parameters = Parameters::create(literal, true);
  KeyRequest request;
  for (const std::size_t n : lengths(parameters))
    request_bootstrap(request, parameters, CiphertextInfo{.length = n}.slots());
  const Party party(parameters, request);
  for (const std::size_t n : lengths(parameters)) {
    SCOPED_TRACE(n);
    const Reals x = values(n, 0.5, 1);
    const Array a = party.encrypt(x, {0.5, 1});
    const Array y = bootstrap(party.server, a, encode_bootstrap(party.server, a.info().slots()));
    EXPECT_EQ(y.info().low, 0.5);
    party.expect("bootstrap", y, x);
    party.expect("and a polynomial",
                 evaluate(party.server, y, approximate([](double v) { return v; }, 0.5, 1, 3)), x);
  }
}

}  // namespace
}  // namespace whorl::ckks
