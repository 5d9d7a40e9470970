#include "lattice/security.h"
#include "support/test.h"

namespace whorl::lattice {
namespace {

const std::string kTable = WHORL_SOURCE_DIR "/tools/params/table.jsonl";
const std::string kInclude = WHORL_SOURCE_DIR "/src/lattice/security_table.inc";

struct Measured {
  SecretKind secret;
  double log2q;
  double n;
  double bits;
};

SecretKind kind_of(const std::string& name) {
  return name == "binary" ? SecretKind::binary : SecretKind::ternary;
}

/// The number after "key": in one line of JSON.
double number(const std::string& line, const std::string& key) {
  const auto at = line.find("\"" + key + "\": ");
  if (at == std::string::npos) throw std::runtime_error("no " + key + " in " + line);
  return std::stod(line.substr(at + key.size() + 4));
}

std::vector<Measured> read_table() {
  std::ifstream file(kTable);
  std::vector<Measured> rows;
  for (std::string line; std::getline(file, line);) {
    const auto is = [&](const char* name) { return line.find(name) != std::string::npos; };
    const SecretKind secret = is("\"binary\"")     ? SecretKind::binary
                              : is("\"sparse32\"") ? SecretKind::sparse32
                                                   : SecretKind::ternary;
    rows.push_back({secret, number(line, "log2q"), number(line, "n"), number(line, "min")});
  }
  return rows;
}

/// (secret, log2q, n) of the rows that the generator left out because the estimate had failed.
std::set<std::tuple<SecretKind, double, double>> left_out() {
  std::ifstream file(kInclude);
  std::set<std::tuple<SecretKind, double, double>> rows;
  for (std::string line; std::getline(file, line);) {
    char secret[16];
    double log2q = 0;
    double n = 0;
    if (std::sscanf(line.c_str(), "// left out, dual-hybrid optimum missed: %15s 2^%lf n=%lf",
                    secret, &log2q, &n) == 3) {
      rows.emplace(kind_of(secret), log2q, n);
    }
  }
  return rows;
}

TEST(Security, ReproducesEveryMeasuredRow) {
  const auto rows = read_table();
  const auto omitted = left_out();
  ASSERT_GT(rows.size(), 100U) << kTable;
  ASSERT_LT(omitted.size(), 10U);
  for (const Measured& row : rows) {
    const SecurityBound bound = estimate_security(row.n, row.log2q, 3.19, row.secret);
    if (omitted.count({row.secret, row.log2q, row.n}) == 0) {
      EXPECT_DOUBLE_EQ(bound.bits, row.bits) << "n=" << row.n << " log2q=" << row.log2q;
      EXPECT_FALSE(bound.extrapolated) << bound.explanation;
    } else {
      EXPECT_LT(bound.bits, row.bits) << "n=" << row.n << " log2q=" << row.log2q;
    }
  }
}

/// Linear growth would give twice as much at 2^17, above what guessing 32 coefficients takes.
TEST(Security, SparseSecretsGainNothingBeyondTheMeasuredDimension) {
  for (const double log2q : {112.0, 121.0, 130.0})
    EXPECT_EQ(estimate_security(131072, log2q, 3.19, SecretKind::sparse32).bits,
              estimate_security(65536, log2q, 3.19, SecretKind::sparse32).bits);
}

TEST(Security, OnlyTheRatioOfModulusAndErrorCounts) {
  const auto rows = read_table();
  std::mt19937_64 random(std::random_device{}());
  std::uniform_int_distribution<int> shift(-10, 30);
  for (const Measured& row : rows) {
    const int s = shift(random);
    EXPECT_DOUBLE_EQ(estimate_security(row.n, row.log2q + s, std::ldexp(3.19, s), row.secret).bits,
                     estimate_security(row.n, row.log2q, 3.19, row.secret).bits)
        << "shift " << s;
  }
}

TEST(Security, GrowsWithDimensionAndFallsWithModulus) {
  const auto seed = std::random_device{}();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> log_n(std::log(300.0), std::log(140000.0));
  std::uniform_real_distribution<double> log_q(std::log(8.0), std::log(4000.0));
  std::uniform_real_distribution<double> step(0, 0.1);
  for (int i = 0; i < 20000; ++i) {
    const auto secret = static_cast<SecretKind>(random() % 3);
    const double n = std::exp(log_n(random));
    const double q = std::exp(log_q(random));
    const double bits = estimate_security(n, q, 3.19, secret).bits;
    EXPECT_LE(bits, estimate_security(n * (1 + step(random)), q, 3.19, secret).bits + 1e-9)
        << "seed " << seed << " n=" << n << " log2q=" << q;
    EXPECT_GE(bits + 1e-9, estimate_security(n, q * (1 + step(random)), 3.19, secret).bits)
        << "seed " << seed << " n=" << n << " log2q=" << q;
  }
}

TEST(Security, InterpolationStaysBetweenItsRows) {
  const auto rows = read_table();
  const auto omitted = left_out();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Measured& low = rows[i - 1];
    const Measured& high = rows[i];
    if (low.secret != high.secret || low.log2q != high.log2q || low.n >= high.n) continue;
    if (omitted.count({low.secret, low.log2q, low.n}) != 0) continue;
    if (omitted.count({high.secret, high.log2q, high.n}) != 0) continue;
    const double middle = (low.n + high.n) / 2;
    const double bits = estimate_security(middle, low.log2q, 3.19, low.secret).bits;
    EXPECT_GE(bits, low.bits) << "n=" << middle << " log2q=" << low.log2q;
    EXPECT_LE(bits, (low.bits + high.bits) / 2 + 1e-9) << "n=" << middle << " log2q=" << low.log2q;
  }
}

// Estimates of instances outside the table, made by the same tool: the bound may be lower, never
// higher by more than the rounding of measured figures explains.
TEST(Security, NeverAboveOtherMeasurements) {
  const double torus = std::log2(3.19);
  const Measured others[] = {
      {SecretKind::ternary, 14, 503, 120.9},        {SecretKind::ternary, 14, 512, 122.9},
      {SecretKind::ternary, 14, 538, 128.5},        {SecretKind::ternary, 15, 556, 124.3},
      {SecretKind::ternary, 15, 600, 134.1},        {SecretKind::ternary, 26, 1024, 131.3},
      {SecretKind::ternary, 27, 1024, 126.2},       {SecretKind::ternary, 35, 1305, 124.2},
      {SecretKind::ternary, 35, 1344, 127.9},       {SecretKind::ternary, 36, 1024, 94.4},
      {SecretKind::ternary, 50, 2048, 137.1},       {SecretKind::ternary, 53, 2048, 128.8},
      {SecretKind::ternary, 54, 2048, 126.3},       {SecretKind::ternary, 214, 8192, 128.5},
      {SecretKind::ternary, 218, 8192, 125.7},      {SecretKind::ternary, 881, 32768, 126.3},
      {SecretKind::ternary, 1306, 65536, 174.6},    {SecretKind::ternary, 1624, 65536, 138.2},
      {SecretKind::ternary, 1747, 65536, 128.2},    {SecretKind::binary, 15 + torus, 500, 95.4},
      {SecretKind::binary, 15 + torus, 592, 111.1},
  };
  for (const Measured& row : others) {
    const double bits = estimate_security(row.n, row.log2q, 3.19, row.secret).bits;
    EXPECT_LE(bits, row.bits + 0.5) << "n=" << row.n << " log2q=" << row.log2q;
    EXPECT_GT(bits, 0) << "n=" << row.n << " log2q=" << row.log2q;
  }
}

TEST(Security, GaussianSecretsHaveNoBoundOutsideTheMeasuredWidths) {
  for (const double width : {0.5, 0.8165, 0.99, 8.01, 1e6}) {
    const SecurityBound bound = estimate_security(1024, 25, width, SecretKind::gaussian);
    EXPECT_EQ(bound.bits, 0) << width;
    EXPECT_NE(bound.explanation.find("Gaussian"), std::string::npos) << bound.explanation;
  }
  for (const double width : {1.0, 3.19, 8.0})
    EXPECT_EQ(estimate_security(1024, 25, width, SecretKind::gaussian).bits,
              estimate_security(1024, 25, width, SecretKind::ternary).bits);
}

// The bound never exceeds what was measured for Gaussian secrets, and the widths are those.
TEST(Security, BoundsEveryMeasuredGaussianSecret) {
  std::ifstream file(WHORL_SOURCE_DIR "/tools/params/gaussian.jsonl");
  double narrowest = 1e9;
  double widest = 0;
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const double width = number(line, "sigma");
    const SecurityBound bound =
        estimate_security(number(line, "n"), number(line, "log2q"), width, SecretKind::gaussian);
    EXPECT_GT(bound.bits, 0) << line;
    EXPECT_LE(bound.bits, number(line, "min")) << line;
    narrowest = std::min(narrowest, width);
    widest = std::max(widest, width);
  }
  EXPECT_EQ(rows, 28);
  EXPECT_EQ(narrowest, least_gaussian_width);
  EXPECT_EQ(widest, greatest_gaussian_width);
}

TEST(Security, SaysWhyItHasNoBound) {
  const SecurityBound large = estimate_security(131072, 3531, 3.19, SecretKind::ternary);
  EXPECT_EQ(large.bits, 0);
  EXPECT_NE(large.explanation.find("beyond the largest measured"), std::string::npos);
  const SecurityBound small = estimate_security(16, 50, 3.19, SecretKind::binary);
  EXPECT_EQ(small.bits, 0);
  EXPECT_NE(small.explanation.find("too far below"), std::string::npos);
  EXPECT_TRUE(estimate_security(503, 14, 3.19, SecretKind::ternary).extrapolated);
}

}  // namespace
}  // namespace whorl::lattice
