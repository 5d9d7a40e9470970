#include "whorl/ckks/parameters.h"
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

}  // namespace
}  // namespace whorl::ckks
