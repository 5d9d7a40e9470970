#include <hwy/targets.h>

#include "math/sampling.h"
#include "support/test.h"
#include "unit/math/test_statistics.h"

namespace whorl::math {
namespace {

// Where the value x is kept in a vector that starts at -reach.
size_t cell(int64_t x, int64_t reach) { return static_cast<size_t>(x + reach); }

// The discrete Gaussian by its definition, for x = -reach .. reach.
std::vector<double> exact_gaussian(double sigma, int reach) {
  std::vector<double> p;
  double total = 0;
  for (int x = -reach; x <= reach; ++x) {
    p.push_back(std::exp(-x * x / (2 * sigma * sigma)));
    total += p.back();
  }
  for (double& value : p) value /= total;
  return p;
}

std::vector<size_t> histogram(const std::vector<int32_t>& samples, int reach) {
  std::vector<size_t> counts(static_cast<size_t>(2 * reach + 1));
  for (const int32_t x : samples) ++counts.at(cell(x, reach));
  return counts;
}

class MathGaussian : public testing::TestWithParam<double> {};

// 2^21 samples: chi-square over all values, mean and variance. Bounds at 6 standard deviations for
// the moments (2 * 10^-9 each); false alarm of the whole test below 10^-8.
void expect_exact_distribution(double sigma) {
  constexpr size_t samples = 1 << 21;
  const GaussianSampler sampler(sigma);
  PrivateStream stream("test");
  std::vector<int32_t> drawn(samples);
  sampler.sample(stream, drawn);
  const int reach = sampler.bound();
  const ChiSquare statistic =
      chi_square(histogram(drawn, reach), exact_gaussian(sigma, reach), samples);
  EXPECT_GE(statistic.degrees, 4U);
  EXPECT_LT(statistic.value, chi_square_bound(statistic.degrees));

  double sum = 0;
  double sum_of_squares = 0;
  for (const int32_t x : drawn) {
    sum += x;
    sum_of_squares += static_cast<double>(x) * x;
  }
  double fourth = 0;
  const std::vector<double> exact = exact_gaussian(sigma, reach);
  for (int x = -reach; x <= reach; ++x) {
    fourth += std::pow(x, 4) * exact[cell(x, reach)];
  }
  const double variance = sampler.variance();
  EXPECT_LT(std::abs(sum / samples), 6 * std::sqrt(variance / samples));
  EXPECT_LT(std::abs(sum_of_squares / samples - variance),
            6 * std::sqrt((fourth - variance * variance) / samples));
}

TEST_P(MathGaussian, follows_the_exact_distribution) { expect_exact_distribution(GetParam()); }

// Sums of parts: of 4 and of 7.
TEST(MathWideGaussian, follows_the_exact_distribution) {
  for (const double sigma : {100.0, 700.0}) {
    SCOPED_TRACE(sigma);
    expect_exact_distribution(sigma);
  }
}

TEST(MathWideGaussian, is_as_wide_as_asked) {
  for (const double sigma : {64.5, 131072.0, GaussianSampler::greatest_sigma}) {
    const GaussianSampler sampler(sigma);
    EXPECT_EQ(sampler.sigma(), sigma);
    EXPECT_NEAR(sampler.variance() / (sigma * sigma), 1, 1e-12);
    PrivateStream stream("test");
    std::vector<int32_t> drawn(1 << 16);
    sampler.sample(stream, drawn);
    double sum_of_squares = 0;
    for (const int32_t x : drawn) {
      EXPECT_LE(std::abs(x), sampler.bound());
      sum_of_squares += static_cast<double>(x) * x;
    }
    // The variance of a square is 2·sigma^4: 6 standard deviations.
    EXPECT_NEAR(sum_of_squares / static_cast<double>(drawn.size()) / (sigma * sigma), 1,
                6 * std::sqrt(2.0 / static_cast<double>(drawn.size())));
  }
}

TEST_P(MathGaussian, table_is_exact) {
  const double sigma = GetParam();
  const GaussianSampler sampler(sigma);
  const int bound = sampler.bound();
  // The cut: what lies beyond has probability below 2^-63, what lies just before has not.
  EXPECT_GE(bound, 8 * sigma);
  EXPECT_LE(bound, 10 * sigma + 1);
  const std::vector<double> exact = exact_gaussian(sigma, bound + 20);
  double tail = 0;
  double variance = 0;
  for (int x = bound + 20; x > 0; --x) {
    tail += 2 * exact[cell(x, bound + 20)];
    variance += 2.0 * x * x * exact[cell(x, bound + 20)];
    if (x <= bound) {
      const auto in_table =
          static_cast<double>(sampler.tails()[static_cast<size_t>(x - 1)]) * std::ldexp(1, -63);
      EXPECT_NEAR(in_table, tail, 1e-14 * tail + std::ldexp(1, -63)) << x;
    }
  }
  EXPECT_NEAR(sampler.variance(), variance, 1e-12 * variance);
  EXPECT_EQ(sampler.sigma(), sigma);
}

// Every instruction set gives what the definition gives, for every length.
TEST_P(MathGaussian, all_targets_match_the_definition) {
  const GaussianSampler sampler(GetParam());
  const Seed seed = random_seed();
  for (const size_t size : {0, 1, 7, 63, 64, 65, 511, 512, 513, 2000}) {
    std::vector<int32_t> expected(size);
    std::vector<uint64_t> words((size + 63) / 64 * 64);
    PrivateStream::reproducible_for_tests(seed).fill(
        {reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(uint64_t)});
    for (size_t i = 0; i < size; ++i) {
      for (const uint64_t tail : sampler.tails()) expected[i] += (words[i] >> 1) < tail ? 1 : 0;
      if ((words[i] & 1) != 0) expected[i] = -expected[i];
    }
    for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
      hwy::SetSupportedTargetsForTest(targets & -targets);
      PrivateStream stream = PrivateStream::reproducible_for_tests(seed);
      std::vector<int32_t> drawn(size);
      sampler.sample(stream, drawn);
      EXPECT_EQ(drawn, expected) << hwy::TargetName(targets & -targets) << ", size " << size;
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sigmas, MathGaussian, testing::Values(0.5, 1.0, 3.19, 3.2, 17.25, 64.0));

TEST(MathSampling, sigma_range_is_enforced) {
  for (const double bad : {0.0, 0.49, 0x1p24 + 1, -3.2, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(GaussianSampler{bad}, ParameterError) << bad;
  }
}

// 3 * 2^20 samples each; chi-square of single values and of pairs of neighbours: false
// alarm below 10^-8 in all.
template <class Sample>
void check_small_uniform(Sample sample, int lowest, size_t values) {
  constexpr size_t samples = 3 << 20;
  PrivateStream stream("test");
  std::vector<int32_t> drawn(samples);
  sample(stream, drawn);
  std::vector<size_t> singles(values);
  std::vector<size_t> pairs(values * values);
  for (size_t i = 0; i < samples; i += 2) {
    const size_t a = static_cast<size_t>(drawn[i] - lowest);
    const size_t b = static_cast<size_t>(drawn[i + 1] - lowest);
    ASSERT_LT(a, values);
    ASSERT_LT(b, values);
    ++singles[a];
    ++singles[b];
    ++pairs[a * values + b];
  }
  const auto check = [](const std::vector<size_t>& counts, size_t total) {
    const std::vector<double> equal(counts.size(), 1.0 / static_cast<double>(counts.size()));
    const ChiSquare statistic = chi_square(counts, equal, total);
    ASSERT_EQ(statistic.degrees, counts.size() - 1);
    // Wilson-Hilferty is loose for 1 and 2 degrees: there 40 is beyond 3 * 10^-9.
    EXPECT_LT(statistic.value, std::max(40.0, chi_square_bound(statistic.degrees)));
  };
  check(singles, samples);
  check(pairs, samples / 2);
}

// Sums of 2^i·x_i: mean, variance and kurtosis at 6 standard deviations, and the shares of values
// within one, two and three sigma. Neighbouring sigmas have different numbers of terms.
TEST(MathSampling, wide_gaussians_have_their_moments_and_shares) {
  constexpr size_t samples = 1 << 18;
  constexpr double n = samples;
  for (const double sigma : {0.5, 12.0, 12.1, 100.0, 12345.6, 0x1p40, 0x1p200}) {
    SCOPED_TRACE(sigma);
    PrivateStream stream("test");
    std::vector<double> x(samples);
    add_gaussian(stream, sigma, x);
    double sum = 0, squares = 0, fourths = 0;
    std::array<double, 3> within{};
    for (double v : x) {
      v /= sigma;
      sum += v;
      squares += v * v;
      fourths += v * v * v * v;
      for (int s = 1; s <= 3; ++s) within.at(s - 1) += std::abs(v) < s;
    }
    EXPECT_LT(std::abs(sum), 6 * std::sqrt(n));
    if (sigma < 1) continue;  // the integers show
    EXPECT_LT(std::abs(squares / n - 1), 6 * std::sqrt(2 / n));
    EXPECT_LT(std::abs(fourths / n - 3), 6 * std::sqrt(96 / n));
    if (sigma < 100) continue;
    for (int s = 1; s <= 3; ++s) {
      const double share = std::erf(s / std::sqrt(2.0));
      const double step = 2 / sigma;  // the mass at the border
      EXPECT_LT(std::abs(within.at(s - 1) / n - share),
                6 * std::sqrt(share * (1 - share) / n) + step);
    }
  }
  std::vector<double> x(1);
  PrivateStream stream("test");
  for (const double bad : {0.49, 0x1p1001, std::nan(""), HUGE_VAL})
    EXPECT_THROW(add_gaussian(stream, bad, x), ParameterError) << bad;
}

TEST(MathSampling, binary_is_uniform) { check_small_uniform(sample_binary, 0, 2); }
TEST(MathSampling, ternary_is_uniform) { check_small_uniform(sample_ternary, -1, 3); }

// Each of the l + 1 blocks as often as the others: chi-square of l degrees over 2^17 blocks is
// below l + 2·sqrt(18·l) + 36 but for e^-18, 10^-8 (Laurent, Massart 2000, Lemma 1).
TEST(MathSampling, block_binary_is_uniform_over_blocks) {
  constexpr size_t blocks = 1 << 17;
  for (const uint32_t length : {1u, 2u, 3u, 4u, 8u}) {
    std::vector<int32_t> out(blocks * length, 77);
    PrivateStream stream("test");
    sample_block_binary(stream, length, out);
    std::vector<size_t> seen(length + 1);
    for (size_t i = 0; i < out.size(); i += length) {
      size_t place = length, ones = 0;
      for (uint32_t t = 0; t < length; ++t) {
        ASSERT_TRUE(out[i + t] == 0 || out[i + t] == 1);
        if (out[i + t] == 1) place = t;
        ones += static_cast<size_t>(out[i + t]);
      }
      ASSERT_LE(ones, 1u);
      ++seen[place];
    }
    const double due = static_cast<double>(blocks) / (length + 1);
    double chi_square = 0;
    for (const size_t count : seen) {
      const double off = static_cast<double>(count) - due;
      chi_square += off * off / due;
    }
    EXPECT_LT(chi_square, length + 2 * std::sqrt(length * 18.0) + 36) << length;
  }
}

TEST(MathSampling, block_binary_has_whole_blocks) {
  PrivateStream stream("test");
  std::vector<int32_t> out(10);
  EXPECT_THROW(sample_block_binary(stream, 3, out), ParameterError);
  EXPECT_THROW(sample_block_binary(stream, 0, out), ParameterError);
  for (const size_t size : {0, 3, 510, 513, 1536, 4095, 10002}) {
    std::vector<int32_t> some(size, 77);
    sample_block_binary(stream, 3, some);
    EXPECT_EQ(std::count(some.begin(), some.end(), 77), 0) << size;
  }
}

TEST(MathSampling, every_length_is_filled) {
  for (const size_t size : {0, 1, 7, 8, 9, 511, 513, 4095, 4096, 4097, 10000}) {
    std::vector<int32_t> binary(size, 77);
    std::vector<int32_t> ternary(size, 77);
    PrivateStream stream("test");
    sample_binary(stream, binary);
    sample_ternary(stream, ternary);
    EXPECT_EQ(std::count(binary.begin(), binary.end(), 77), 0) << size;
    EXPECT_EQ(std::count(ternary.begin(), ternary.end(), 77), 0) << size;
  }
}

}  // namespace
}  // namespace whorl::math
