// Errors that floorings leave, and how often they fail, against the formulas.
#include "noise/schemes/binfhe/measure.h"
#include "schemes/binfhe/account.h"
#include "support/large_sets.h"

namespace whorl {
namespace {

using namespace binfhe;

TEST(Floorings, LeaveTheVarianceOfTheFormula) {
  for (const char* name : {"openfhe_1_6/STD128_LOGQ_29", "openfhe_1_6/STD128_LOGQ_11"}) {
    ParameterLiteral literal = Parameters::named(name, true).literal();
    literal.n = literal.gadget[0].count = 64;
    const Parameters parameters = Parameters::create(literal, true);
    const Encoding encoding{static_cast<std::uint32_t>(parameters.q() / 256), false};
    constexpr unsigned kKeys = 8, kBits = 2;
    constexpr std::size_t kEach = 128;
    noise::Moments moments;
    double formula = 0;
    for (unsigned k = 0; k < kKeys; ++k) {
      const Client client(parameters);
      const Server server(client.evaluation_keys(), {.device = test::tested_device});
      const auto messages = noise::random_messages(kEach, encoding.p);
      const Ciphertexts out = test::floor_of(server, client.encrypt(messages, encoding), kBits);
      formula = out.noise * unit_of_noise(parameters);
      std::vector<std::uint32_t> want;
      for (const std::uint32_t m : messages) want.push_back(m >> kBits);
      ASSERT_EQ(client.decrypt(out), want);
      for (const std::int64_t error : client.noise(out, want))
        moments.add(static_cast<double>(error));
    }
    std::printf("%s: deviation %.3f, %.3f of the formula's variance\n", name,
                std::sqrt(moments.mean_square()), moments.mean_square() / formula);
    // 1,024 errors: their mean square scatters by 4.4 %; by the constants of 8 keys (an eighth of
    // it) and their weights by less than 7 % besides; six times both together.
    EXPECT_NEAR(moments.mean_square() / formula, 1, 0.5);
  }
}

// Rotations by one digit of 27 bits have an error of 58 units at 2^24, of the 128 that a flooring
// bears; all else is negligible. One bit is taken away, so that errors of both signs count.
TEST(Floorings, FailAsOftenAsTheySay) {
  ParameterLiteral literal;
  literal.name = "fails often";
  literal.n = 32;
  literal.q = 1 << 24;
  literal.N = 2048;
  literal.Q = 18014398509404161;
  literal.Q_ks = 1ULL << 35;
  literal.key_switch = KeySwitch::product;
  literal.log_B_ks = 2;
  literal.gadget = {{literal.n, 27, 1}};
  literal.sigma_lwe = 0.5;
  literal.transform = Transform::ntt;
  const Parameters parameters = Parameters::create(literal, true);
  const Encoding encoding{1U << 16, false};
  const double expected =
      std::exp2(errors_of(parameters, parameters.noise(Transform::ntt),
                          floor_steps(parameters, encoding, 1), parameters.noise().fresh)
                    .failure_log2);
  constexpr std::size_t kRuns = 2048;
  const Client client(parameters);
  const Server server(client.evaluation_keys(), {test::tested_device}, {.allow_failure = 1});
  const auto messages = noise::random_messages(kRuns, encoding.p);
  const auto got = client.decrypt(test::floor_of(server, client.encrypt(messages, encoding), 1));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kRuns; ++i) wrong += got[i] != messages[i] >> 1;
  std::printf("%zu of %zu fail, expected %.1f\n", wrong, kRuns, expected * kRuns);
  ASSERT_GT(expected * kRuns, 20);
  // Six standard deviations of the count, and a tenth for a variance that is 1 % off.
  const double scatter = std::sqrt(expected * kRuns);
  EXPECT_NEAR(static_cast<double>(wrong), expected * kRuns, 6 * scatter + 0.1 * expected * kRuns);
}

}  // namespace
}  // namespace whorl
