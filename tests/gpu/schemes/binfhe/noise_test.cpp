// Noise of gates as they are used, against its formula: tests/noise measures shortened sets.
#include "noise/schemes/binfhe/measure.h"
#include "support/test.h"
#include "whorl/binfhe.h"

namespace whorl {
namespace {

using namespace binfhe;

class GateNoise : public testing::TestWithParam<std::tuple<const char*, Transform>> {};

TEST_P(GateNoise, OfNandIsItsFormula) {
  const auto& [name, transform] = GetParam();
  const Parameters parameters = Parameters::named(name, true);
  constexpr unsigned kKeys = 8;
  constexpr std::size_t kGates = (1 << 14) / kKeys;
  const noise::Moments moments =
      noise::nand_errors(parameters, {.device = "cuda:0"}, transform, kKeys, kGates);
  const double expected = parameters.noise(transform).refreshed;
  std::printf("%s, %s: deviation %.3f at q, %.3f of the formula's variance\n", name,
              transform == Transform::fft ? "fft" : "ntt", std::sqrt(moments.mean_square()),
              moments.mean_square() / expected);
  // 2^14 errors scatter by 1.1 %; the keys' weights by 1/sqrt(n) each, 1.5 % over eight; means of a
  // key by what noise.md derives. 99.9999 % are 4.9 deviations.
  const double weights = 1 / std::sqrt(8.0 * parameters.n());
  const double constant =
      noise::refreshed_mean_square(parameters, transform) / expected * std::sqrt(2.0 / kKeys);
  const double scatter = std::sqrt(2.0 / moments.count + weights * weights + constant * constant);
  EXPECT_NEAR(moments.mean_square() / expected, 1, 4.9 * scatter);
}
INSTANTIATE_TEST_SUITE_P(Gpu, GateNoise,
                         testing::Combine(testing::Values("W128_P64", "openfhe_1_6/STD128"),
                                          testing::Values(Transform::ntt, Transform::fft)),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param)[0] == 'W' ? "W128_P64"
                                                                             : "STD128") +
                                  (std::get<1>(p.param) == Transform::fft ? "_fft" : "_ntt");
                         });

}  // namespace
}  // namespace whorl
