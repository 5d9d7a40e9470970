#include "whorl/circuits/ckks/functions.h"

#include "schemes/ckks/server_state.h"
#include "support/ckks_party.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

/// |x| from epsilon to 1, dense near epsilon, of both signs.
std::vector<double> away_from_0(double epsilon, std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::pow(epsilon, static_cast<double>(i / 2) / static_cast<double>(count / 2));
    out.push_back(i % 2 == 0 ? x : -x);
  }
  return out;
}

TEST(MinimaxSign, IsWithinItsErrorAtTheLeastDepth) {
  // Depths by an independent program (NumPy, double precision): a greedy search with the same
  // degrees.
  struct Case {
    double epsilon, error;
    unsigned depth;
  };
  for (const auto& [epsilon, error, depth] : {Case{0x1p-7, 0x1p-7, 10},
                                              {0x1p-10, 0x1p-8, 13},
                                              {0x1p-10, 0x1p-10, 14},
                                              {0x1p-13, 0x1p-12, 17},
                                              {0x1p-13, 0x1p-13, 18},
                                              {0x1p-20, 0x1p-20, 25}}) {
    SCOPED_TRACE(testing::Message() << epsilon << " " << error);
    const SignStages stages = minimax_sign(epsilon, error);
    EXPECT_EQ(stages.depth(), depth);
    EXPECT_LE(stages.error, error);
    double worst = 0;
    for (const double x : away_from_0(epsilon, 20'000))
      worst = std::max(worst, std::abs(stages(x) - (x > 0 ? 1 : -1)));
    EXPECT_LE(worst, stages.error * 1.01 + 1e-11);
    EXPECT_GE(worst, stages.error / 2);
    for (double x = -epsilon; x <= epsilon; x += epsilon / 50)
      EXPECT_LE(std::abs(stages(x)), 1 + 2 * stages.error + 1e-11);
  }
}

TEST(MinimaxSign, RefusesWhatIsOutOfRange) {
  for (const double wrong : {0.0, -1.0, 1.0, 0x1p-25, std::nan("")})
    EXPECT_THROW(static_cast<void>(minimax_sign(wrong, 0.1)), ParameterError);
  for (const double wrong : {0.0, 1.0, 0x1p-41, std::nan("")})
    EXPECT_THROW(static_cast<void>(minimax_sign(0.1, wrong)), ParameterError);
}

struct Party : test::CkksParty {
  explicit Party(unsigned depth)
      : CkksParty(test::ckks_insecure({.scale_bits = 45, .depth = depth})) {}
  void expect(const Array& y, const std::vector<double>& want, double error) const {
    const std::vector<double> got = decrypt(y);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], error + test::largest_error(y)) << i;
    EXPECT_LT(std::exp2(y.info().error), 1e-4);
  }
};

std::vector<double> each(const std::vector<double>& x, const std::function<double(double)>& f) {
  std::vector<double> out;
  for (const double value : x) out.push_back(f(value));
  return out;
}

TEST(CkksFunctions, SignsAndWhatIsMadeOfThem) {
  const SignStages stages = minimax_sign(0x1p-5, 0x1p-8);
  const Party party(stages.depth() + 2);
  const std::vector<double> x = away_from_0(stages.epsilon, 128);
  const Array a = party.encrypt(x, 1);
  const Array s = sign(party.server, a, stages);
  EXPECT_EQ(s.info().level, a.info().level - stages.depth());
  party.expect(s, each(x, [](double v) { return v > 0 ? 1 : -1; }), stages.error);
  party.expect(absolute(party.server, a, stages), each(x, [](double v) { return std::abs(v); }),
               stages.error);
  const Array r = relu(party.server, a, stages);
  EXPECT_EQ(r.info().level, a.info().level - stages.depth() - 1);
  party.expect(r, each(x, [](double v) { return std::max(v, 0.0); }), stages.error);
}

TEST(CkksFunctions, ComparisonsOfTwo) {
  const SignStages stages = minimax_sign(0x1p-6, 0x1p-8);
  const Party party(stages.depth() + 2);
  std::vector<double> x, y, larger, smaller, is_larger;
  for (int i = 0; i < 64; ++i) {
    x.push_back(std::sin(i) * 2);
    // Differences of at least epsilon times the bound of both, 4.
    y.push_back(x.back() + (i % 2 == 0 ? 1 : -1) * (x.back() > 0 ? 0.125 : 0.7));
    larger.push_back(std::max(x.back(), y.back()));
    smaller.push_back(std::min(x.back(), y.back()));
    is_larger.push_back(x.back() > y.back() ? 1 : 0);
  }
  const Array a = party.encrypt(x, 2), b = party.encrypt(y, 2.8);
  party.expect(greater(party.server, a, b, stages), is_larger, stages.error / 2);
  // Half of the difference, which is at most 0.7, is off by the error of its sign.
  party.expect(maximum(party.server, a, b, stages), larger, 0.35 * stages.error);
  party.expect(minimum(party.server, a, b, stages), smaller, 0.35 * stages.error);
}

// Differences are a part of their bound, however small that is.
TEST(CkksFunctions, SmallOperands) {
  const SignStages stages = minimax_sign(0x1p-4, 0x1p-4);
  const Party party(stages.depth() + 2);
  for (const double size : {1e-4, 0.001, 0.01, 0.25, 0.4, 0.5}) {
    SCOPED_TRACE(size);
    const std::vector<double> x{size, -size, size / 2, 0}, y{-size, size, 0, -size / 2};
    const Array a = party.encrypt(x, size), b = party.encrypt(y, size);
    party.expect(greater(party.server, a, b, stages), {1, 0, 1, 1}, stages.error / 2);
    party.expect(maximum(party.server, a, b, stages), {size, size, size / 2, 0},
                 size * stages.error);
    party.expect(minimum(party.server, a, b, stages), {-size, -size, 0, -size / 2},
                 size * stages.error);
    party.expect(absolute(party.server, a, stages), {size, size, size / 2, 0}, size * stages.error);
    party.expect(relu(party.server, a, stages), {size, 0, size / 2, 0}, size * stages.error / 2);
    EXPECT_LE(maximum(party.server, a, b, stages).info().bounds().high, 1.1 * size);
  }
}

// Of values that drown in their errors no sign is told, and no product hides that.
TEST(CkksFunctions, ValuesBesideTheirErrorsAreRefused) {
  const SignStages stages = minimax_sign(0x1p-4, 0x1p-4);
  const Party party(stages.depth() + 1);
  const double error = std::exp2(party.encrypt({0}, 1).info().error);
  for (const double size : {0.25, 1.0, 12.0}) {
    const Array x = party.encrypt({0, size * error}, size * error);
    EXPECT_THROW(static_cast<void>(relu(party.server, x, stages)), NoiseError) << size;
    EXPECT_THROW(static_cast<void>(absolute(party.server, x, stages)), NoiseError) << size;
    // Nothing is magnified here, and the client sees what is all error.
    EXPECT_THROW(party.decrypt(sign(party.server, x, stages)), NoiseError) << size;
  }
  const double size = 0x1p24 * error;
  const Array x = party.encrypt({size, -size}, size);
  const std::vector<double> got =
      party.decrypt(party.server.add_scalar(relu(party.server, x, stages), 1));
  EXPECT_NEAR(got[0], 1 + size, 0.1 * size);
  EXPECT_NEAR(got[1], 1, 0.1 * size);
}

TEST(CkksFunctions, LevelsThatLackAreNamedFirst) {
  const SignStages stages = minimax_sign(0x1p-4, 0x1p-4);
  const Party party(stages.depth());
  const Array x = party.encrypt({0.5, -0.5}, 1), wide = party.encrypt({1.5, -0.5}, 2);
  const auto said = [](const auto& operation) { return test::message_of<NoiseError>(operation); };
  for (const auto& [more, message] :
       {std::pair(1u, said([&] { return greater(party.server, wide, x, stages); })),
        {2u, said([&] { return maximum(party.server, wide, x, stages); })},
        {1u, said([&] { return relu(party.server, x, stages); })},
        {1u, said([&] { return absolute(party.server, x, stages); })}}) {
    const std::string levels = "takes " + std::to_string(stages.depth() + more) + " levels";
    EXPECT_NE(message.find(levels), std::string::npos) << message;
    EXPECT_NE(message.find("larger depth"), std::string::npos) << message;
  }
}

TEST(CkksFunctions, SmoothFunctions) {
  const Party party(9);
  std::vector<double> x;
  for (int i = 0; i < 64; ++i) x.push_back(0.5 + 3.5 * i / 63);
  const auto expect = [&](const Polynomial& p, const std::function<double(double)>& f) {
    party.expect(evaluate(party.server, party.encrypt(x, {p.low, p.high}), p), each(x, f), 1e-5);
  };
  expect(inverse_of(0.5, 4, 1e-5), [](double v) { return 1 / v; });
  expect(sqrt_of(0.5, 4, 1e-5), [](double v) { return std::sqrt(v); });
  expect(inverse_sqrt_of(0.5, 4, 1e-5), [](double v) { return 1 / std::sqrt(v); });
  expect(logistic_of(-4, 4, 1e-5), [](double v) { return 1 / (1 + std::exp(-v)); });
  expect(tanh_of(-4, 4, 1e-5), [](double v) { return std::tanh(v); });
  expect(exp_of(-4, 4, 1e-5), [](double v) { return std::exp(v); });
  expect(sine_of(-4, 4, 1e-5), [](double v) { return std::sin(v); });
  x.clear();
  for (int i = 0; i < 64; ++i) x.push_back(-0.5 - 3.5 * i / 63);
  expect(inverse_of(-4, -0.5, 1e-5), [](double v) { return 1 / v; });
  EXPECT_THROW(static_cast<void>(inverse_of(0, 1, 1e-3)), ParameterError);
  EXPECT_THROW(static_cast<void>(inverse_of(-1, 1, 1e-3)), ParameterError);
  EXPECT_THROW(static_cast<void>(sqrt_of(-1, 1, 1e-3)), ParameterError);
}

TEST(CkksFunctions, InversesOfIntervalsOfAnyWidth) {
  struct Case {
    double low, high, error;
    unsigned most_depth;
    bool steps;
  };
  // Depths: log2(high/low)/2 + log2(log2(1/(low·error))), and at most 2.
  for (const auto& [low, high, error, most_depth, steps] : {Case{1, 1.5, 1e-3, 4, false},
                                                            {0.125, 1, 1e-5, 8, true},
                                                            {-4, -0.25, 1e-4, 8, true},
                                                            {0x1p-8, 1, 1e-2, 10, true},
                                                            {-1, -0x1p-8, 1e-2, 10, true},
                                                            {0.0625, 1, 0.9, 6, true}}) {
    SCOPED_TRACE(testing::Message() << low << " … " << high);
    const InverseStages stages = inverse_stages(low, high, error);
    EXPECT_LE(stages.error, error);
    EXPECT_LT(stages.residual, 1);
    EXPECT_LE(stages.depth(), most_depth);
    EXPECT_EQ(stages.steps > 0, steps);
    std::vector<double> x;
    for (int i = 0; i < 64; ++i) x.push_back(low * std::pow(high / low, i / 63.0));
    for (const double v : x) EXPECT_NEAR(stages(v), 1 / v, error * 1.01);
    const Party party(stages.depth() + 1);
    const Array a = party.encrypt(x, {low, high});
    // Where the other sign may come nothing is computed.
    const double most = std::max(-low, high);
    EXPECT_THROW(static_cast<void>(inverse(party.server, party.encrypt(x, most), stages)),
                 EncodingError);
    const Array y = inverse(party.server, a, stages);
    EXPECT_EQ(y.info().level, 1u);
    party.expect(y, each(x, [](double v) { return 1 / v; }), error);
    // The error that is stated is that of the ciphertext alone, and not far from it.
    const double noise = test::worst(party.decrypt(y), each(x, stages));
    EXPECT_LT(noise, test::largest_error(y));
    EXPECT_GT(noise, std::exp2(y.info().error - 8));
    EXPECT_THROW(static_cast<void>(inverse(party.server, party.server.lower(a, 2), stages)),
                 NoiseError);
  }
}

TEST(CkksFunctions, InversesOfVeryWideIntervalsInClear) {
  // Wider than a polynomial of degree 4,095 reaches.
  EXPECT_THROW(static_cast<void>(inverse_of(0x1p-24, 1, 1)), ParameterError);
  const InverseStages stages = inverse_stages(0x1p-24, 1, 1);
  EXPECT_LE(stages.depth(), 20u);
  for (const double x : {0x1p-24, 1e-6, 1e-3, 0.3, 1.0}) EXPECT_NEAR(stages(x), 1 / x, 1);
  for (const auto& [low, high] : {std::pair(0.0, 1.0), {-1.0, 1.0}, {-1.0, 0.0}, {2.0, 1.0}})
    EXPECT_THROW(static_cast<void>(inverse_stages(low, high, 0.1)), ParameterError) << low;
  EXPECT_THROW(static_cast<void>(inverse_stages(1, 2, 0)), ParameterError);
  EXPECT_THROW(static_cast<void>(inverse_stages(0x1p-60, 1, 1e-9)), ParameterError);
}

TEST(CkksFunctions, InversesThatCannotBeRightAreRefused) {
  const InverseStages stages = inverse_stages(0.125, 1, 1e-5);
  ASSERT_GT(stages.steps, 0u);
  const Party party(stages.depth());
  const Array a = party.encrypt({0.25, 0.5}, {0.125, 1});
  // The steps would not converge from a polynomial with such an error.
  CiphertextInfo info = a.info();
  info.error = -1;
  const Array bad = Access::State::array(info, Access::State::residues(a));
  EXPECT_THROW(static_cast<void>(inverse(party.server, bad, stages)), NoiseError);
  for (const auto& wrong :
       {+[](InverseStages& s) { s = {}; }, +[](InverseStages& s) { s.steps = 33; },
        +[](InverseStages& s) { s.steps = ~0u; }, +[](InverseStages& s) { s.residual = 1; },
        +[](InverseStages& s) { s.residual = NAN; }, +[](InverseStages& s) { s.start.low = -1; }}) {
    InverseStages other = stages;
    wrong(other);
    EXPECT_THROW(static_cast<void>(inverse(party.server, a, other)), ParameterError);
  }
}

TEST(CkksFunctions, WhatCannotBeRightIsRefused) {
  const SignStages stages = minimax_sign(0x1p-5, 0x1p-5);
  ASSERT_GT(stages.stages.size(), 1u);
  const Party party(stages.depth());
  const std::vector<double> x(8, 0.5);
  EXPECT_THROW(static_cast<void>(sign(party.server, party.encrypt(x, 2), stages)), EncodingError);
  EXPECT_THROW(static_cast<void>(sign(party.server, party.encrypt(x, 1), {})), ParameterError);
  SignStages wild = stages;
  wild.stages.front().coefficients[1] += 1;
  EXPECT_THROW(static_cast<void>(sign(party.server, party.encrypt(x, 1), wild)), ParameterError);
  const Array low = party.server.lower(party.encrypt(x, 1), stages.depth() - 1);
  EXPECT_THROW(static_cast<void>(sign(party.server, low, stages)), NoiseError);
}

}  // namespace
}  // namespace whorl::ckks
