#include "whorl/ckks/parameters.h"

#include <cmath>

#include "schemes/ckks/named_sets.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

Parameters with(BootstrapLiteral shape) {
  Requirements needs{.depth = 2, .bootstrap = true};
  needs.coefficients_last = shape.coefficients_last != 0;
  needs.arcsine = shape.arcsine;
  ParameterLiteral literal = Parameters::choose(needs).literal();
  shape.log2_ratio = literal.bootstrap->log2_ratio;
  literal.bootstrap = shape;
  literal.N = 1024;
  return Parameters::create(literal, true);
}

void expect_said(const Parameters& p, const std::string& part) {
  const std::string text = p.describe();
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(CkksParameters, DescriptionsSayHowBootstrapsWork) {
  const Parameters first = with({});
  EXPECT_EQ(first.least_bootstrap_level(), 3u);
  expect_said(first,
              "bootstrapping from level 3 and above, slots to coefficients first: 3 levels to "
              "coefficients, 8 for the sine, 4 to slots; values are 2^-13.5 of the modulus\n");
  expect_said(first,
              "\nsine: fitted polynomial of degree 31 for multiples of the modulus below 16, 3 "
              "doublings, no arcsine\n");

  const Parameters last = with({.coefficients_last = 1});
  EXPECT_EQ(last.least_bootstrap_level(), 0u);
  expect_said(last, "bootstrapping from level 0 and above, slots to coefficients last: 3 levels");
  expect_said(last, "; values are 2^-11 of the modulus\n");

  expect_said(with({.arcsine = 7}), ", 3 doublings, arcsine of degree 7\n");
  expect_said(with({.range = 5, .series = 1}),
              "\nsine: Taylor's series of degree 31 for multiples of the modulus below 5, ");
  // Without bootstraps nothing is said of them.
  const Parameters none = Parameters::choose({.depth = 2});
  EXPECT_EQ(none.describe().find("bootstrap"), std::string::npos);
  EXPECT_EQ(none.describe().find("sine"), std::string::npos);
}

TEST(CkksParameters, BootstrapsOfBits) {
  const ParameterLiteral literal = for_bits({.bits = 4, .levels = 6});
  const Parameters p = Parameters::create(literal, true);
  EXPECT_EQ(p.depth() - p.least_bootstrap_level(), 6u);
  expect_said(p,
              "3 levels to coefficients, 14 for the exponential, 4 to slots; values are 4 bits of "
              "the modulus\nexponential: fitted polynomial of degree 31");
  expect_said(p, "polynomials of degree 15 for bits\n");
  expect_said(p, "no multiple of the modulus is beyond the range\n");
  EXPECT_TRUE(std::isinf(p.log2_failure()));
  // Scales are those that were asked for, but for what primes leave.
  for (unsigned level = p.least_bootstrap_level(); level <= p.depth(); ++level)
    EXPECT_NEAR(std::log2(p.scale(level)), 40, 2);
  // Each of these belongs to real numbers.
  const auto refused = [&](const auto& change) {
    ParameterLiteral other = literal;
    change(*other.bootstrap);
    EXPECT_THROW(static_cast<void>(Parameters::create(other, true)), ParameterError);
  };
  refused([](BootstrapLiteral& b) { b.bits = 6; });
  refused([](BootstrapLiteral& b) { b.log2_ratio = 8; });
  refused([](BootstrapLiteral& b) { b.series = 1; });
  refused([](BootstrapLiteral& b) { b.arcsine = 3; });
  refused([](BootstrapLiteral& b) { b.coefficients_last = 1; });
  refused([](BootstrapLiteral& b) { b.bits = 0; });
  ParameterLiteral other = literal;
  other.bootstrap->bits = 3;
  EXPECT_NE(Parameters::create(other, true).digest(), p.digest());
}

}  // namespace
}  // namespace whorl::ckks
