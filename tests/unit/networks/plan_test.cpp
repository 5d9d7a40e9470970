// Parameters of networks: without bootstraps where a ring is large enough, and the cheapest with
// them where it is not.
#include "whorl/networks/plan.h"

#include "support/test.h"

namespace whorl::networks {
namespace {

using ckks::Parameters;

/// `count` steps in sequence, of `depth` levels each.
std::vector<Step> chain(std::size_t count, unsigned depth) {
  std::vector<Step> steps{{"input", {}, 0, 0, 1}};
  for (std::size_t i = 0; i < count; ++i)
    steps.push_back({"step" + std::to_string(i + 1), {i}, depth, 20, 1});
  return steps;
}

std::size_t bootstraps(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.steps, &PlacedStep::is_bootstrap));
}

TEST(NetworksPlan, HasNoBootstrapsWhereLevelsSuffice) {
  const Plan made = plan(chain(5, 1), 4096);
  EXPECT_EQ(made.parameters, Parameters::choose({.depth = 5, .slots = 4096}));
  ASSERT_EQ(made.steps.size(), 6u);
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(made.steps[i].step, i);
    EXPECT_EQ(made.steps[i].level, 5 - i);
  }
  EXPECT_EQ(plan(chain(0, 0), 1).steps.size(), 1u);
}

TEST(NetworksPlan, BootstrapsCostLeast) {
  const std::vector<Step> steps = chain(14, 5);
  std::size_t last = 0;
  const Plan made = plan(steps, 32768, [&](std::size_t done, std::size_t total) {
    EXPECT_LE(last, done);
    EXPECT_LT(done, total);
    EXPECT_EQ(total, 14u * 20u);  // depths 5 … 24
    last = done;
    return true;
  });
  EXPECT_GT(last, 14u);
  const auto cost = [](const Plan& plan) {
    return static_cast<double>(bootstraps(plan)) * (plan.parameters.top() + 1) *
           plan.parameters.N();
  };
  double least = std::numeric_limits<double>::infinity();
  for (unsigned depth = 5; depth <= 24; ++depth) try {
      least = std::min(least,
                       cost(plan(steps, Parameters::choose({.depth = depth, .bootstrap = true}))));
    } catch (const Error&) {
      continue;  // there are no such parameters
    }
  EXPECT_GT(bootstraps(made), 0u);
  EXPECT_EQ(cost(made), least);
}

TEST(NetworksPlan, TakesGivenParameters) {
  const Parameters given = Parameters::named("W128_L13_B20");
  const Plan made = plan(chain(20, 2), given);
  EXPECT_EQ(made.parameters, given);
  EXPECT_EQ(made.steps[0].level, given.depth());
  EXPECT_GT(bootstraps(made), 1u);
  EXPECT_THROW(plan(chain(20, 2), Parameters::choose({.depth = 3})), NoiseError);
}

TEST(NetworksPlan, DepthsWithTooManyCombinationsAreLeftOut) {
  std::vector<Step> steps{{.name = "input"}};
  std::vector<std::size_t> ends;
  for (int branch = 0; branch < 6; ++branch)
    for (std::size_t i = 0, last = 0; i < 8; ++i) {
      steps.push_back({.name = "branch", .inputs = {last}, .depth = 1, .work = 1});
      last = steps.size() - 1;
      if (i == 7) ends.push_back(last);
    }
  steps.push_back({.name = "sum", .inputs = ends});
  for (int i = 0; i < 30; ++i)
    steps.push_back({.name = "tail", .inputs = {steps.size() - 1}, .depth = 1, .work = 1});
  EXPECT_NE(test::message_of<ParameterError>([&] {
              plan(steps, Parameters::choose({.depth = 20, .bootstrap = true}));
            }).find("too many combinations"),
            std::string::npos);
  EXPECT_GT(bootstraps(plan(steps, 1 << 14)), 0u);
}

TEST(NetworksPlan, Refusals) {
  for (const std::uint32_t wrong : {0u, 65537u})
    EXPECT_NE(test::message_of<ParameterError>([&] { plan(chain(1, 1), wrong); }).find("slots: "),
              std::string::npos);
  EXPECT_NE(
      test::message_of<ParameterError>([&] { plan(chain(3, 30), 64); }).find("takes 90 levels"),
      std::string::npos);
  EXPECT_THROW(plan({}, 64), ShapeError);
  EXPECT_THROW(plan(chain(14, 5), 64, [](std::size_t, std::size_t) { return false; }),
               InterruptedError);
}

}  // namespace
}  // namespace whorl::networks
