// Bootstraps against all ways to place them.
#include "whorl/networks/placement.h"

#include "support/test.h"

namespace whorl::networks {
namespace {

using Steps = std::vector<Step>;
using Refreshes = std::vector<Refresh>;

/// A few steps that take one to three of those before them.
Steps random_steps(test::Random& random) {
  Steps steps{{"input", {}, 0, 0, 1}};
  const std::size_t count = 1 + random.below(7);
  while (steps.size() < count) {
    Step step{"step" + std::to_string(steps.size()),  {},
              static_cast<unsigned>(random.below(4)), static_cast<double>(random.below(400)),
              random.below(5) == 0 ? 1.5 : 1.0,       static_cast<unsigned>(1 + random.below(3))};
    for (std::uint64_t inputs = 1 + random.below(3); inputs > 0; --inputs)
      step.inputs.push_back(random.below(steps.size()));
    steps.push_back(std::move(step));
  }
  return steps;
}

Levels random_levels(test::Random& random) {
  const auto most = static_cast<unsigned>(1 + random.below(7));
  if (random.below(4) == 0) return {most, 0, 0};
  return {static_cast<unsigned>(random.below(most + 1)), most,
          static_cast<unsigned>(random.below(4)) % (most + 1)};
}

/// All ways through the steps, with the least cost of those that come to the end.
class AllWays {
 public:
  AllWays(const Steps& steps, const Levels& levels) : steps_(steps), levels_(levels) {
    go({levels.fresh}, 0);
  }
  double least = std::numeric_limits<double>::infinity();
  std::size_t farthest = 0;  ///< the last step that some way has done

  /// The cost of a way with these bootstraps.
  static double cost_of(const Steps& steps, const Levels& levels, const Refreshes& refreshes) {
    AllWays way(steps, levels, refreshes);
    way.go({levels.fresh}, 0);
    return way.least;
  }

 private:
  AllWays(const Steps& steps, const Levels& levels, const Refreshes& only)
      : steps_(steps), levels_(levels), only_(only) {}

  void go(std::vector<unsigned> at, double cost) {
    farthest = std::max(farthest, at.size() - 1);
    if (at.size() == steps_.size()) {
      least = std::min(least, cost);
      return;
    }
    const Step& step = steps_[at.size()];
    const std::set<std::size_t> inputs(step.inputs.begin(), step.inputs.end());
    refresh(at, cost, inputs.begin(), inputs);
  }

  void refresh(std::vector<unsigned>& at, double cost, std::set<std::size_t>::const_iterator next,
               const std::set<std::size_t>& inputs) {
    if (next == inputs.end()) return take(at, cost);
    const std::size_t i = *next++;
    const bool wanted = !only_ || std::ranges::count(*only_, Refresh{at.size(), i}) == 1;
    if (!only_ || !wanted) refresh(at, cost, next, inputs);
    if (!wanted || steps_[i].bound > 1 || at[i] < levels_.least || at[i] >= levels_.refreshed)
      return;
    const unsigned before = std::exchange(at[i], levels_.refreshed);
    refresh(at, cost + work_of_refresh * steps_[i].parts * (levels_.refreshed + 1), next, inputs);
    at[i] = before;
  }

  void take(std::vector<unsigned> at, double cost) {
    const Step& step = steps_[at.size()];
    unsigned start = 1000;
    for (const std::size_t i : step.inputs) start = std::min(start, at[i]);
    if (start < step.depth) return;
    at.push_back(start - step.depth);
    go(std::move(at), cost + step.work * (start + 1 - step.depth / 2.0));
  }

  Steps steps_;
  Levels levels_;
  std::optional<Refreshes> only_;
};

TEST(NetworksPlacement, IsTheCheapestOfAllWays) {
  test::Random random;
  int refreshed = 0, refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Steps steps = random_steps(random);
    const Levels levels = random_levels(random);
    SCOPED_TRACE("trial " + std::to_string(trial));
    const AllWays all(steps, levels);
    if (std::isinf(all.least)) {
      const std::string why = test::message_of<NoiseError>([&] { place(steps, levels); });
      EXPECT_EQ(why.find(steps[all.farthest + 1].name + ": "), 0u) << why;
      ++refused;
      continue;
    }
    const Refreshes found = place(steps, levels);
    refreshed += found.empty() ? 0 : 1;
    // Costs are added up in another order.
    EXPECT_NEAR(AllWays::cost_of(steps, levels, found), all.least, 1e-9 * all.least);
  }
  EXPECT_GT(refreshed, 100);
  EXPECT_GT(refused, 100);
}

TEST(NetworksPlacement, StepsWithBootstrapsAreTheSameNetwork) {
  test::Random random;
  for (int trial = 0; trial < 1000; ++trial) {
    const Steps steps = random_steps(random);
    const Levels levels = random_levels(random);
    Refreshes found;
    try {
      found = place(steps, levels);
    } catch (const NoiseError&) {
      continue;
    }
    const std::vector<PlacedStep> placed = with_refreshes(steps, found, levels);
    ASSERT_EQ(placed.size(), steps.size() + found.size());
    std::vector<std::size_t> origin;  // the given step whose result each one has
    std::size_t bootstraps = 0;
    for (std::size_t number = 0; number < placed.size(); ++number) {
      const PlacedStep& each = placed[number];
      unsigned start = number == 0 ? levels.fresh : 1000;
      std::vector<std::size_t> operands;
      for (const std::size_t i : each.inputs) {
        ASSERT_LT(i, number);
        operands.push_back(origin[i]);
        start = std::min(start, placed[i].level);
      }
      if (each.is_bootstrap) {
        EXPECT_EQ(found.at(bootstraps++), (Refresh{each.step, operands.at(0)}));
        EXPECT_EQ(each.level, levels.refreshed);
        EXPECT_GE(start, levels.least);
        origin.push_back(operands[0]);
      } else {
        EXPECT_EQ(operands, steps[each.step].inputs);
        EXPECT_EQ(each.level, start - steps[each.step].depth);
        origin.push_back(each.step);
      }
    }
    EXPECT_EQ(origin.back(), steps.size() - 1);
  }
}

TEST(NetworksPlacement, RefreshesWhereFewResultsAre) {
  // One result before the branches, three behind; all have to be refreshed once.
  const Steps steps{{"input", {}, 0, 0, 1}, {"map", {0}, 3, 10, 1},   {"one", {1}, 1, 10, 1},
                    {"two", {1}, 1, 10, 1}, {"three", {1}, 1, 10, 1}, {"sum", {2, 3, 4}, 0, 0, 1},
                    {"last", {5}, 1, 10, 1}};
  EXPECT_EQ(place(steps, {4, 4, 1}), (Refreshes{{2, 1}}));
  EXPECT_EQ(place(steps, {5, 0, 0}), Refreshes{});
  EXPECT_EQ(total_depth(steps), 5u);
  EXPECT_EQ(total_depth(Steps(steps.begin(), steps.begin() + 1)), 0u);
}

TEST(NetworksPlacement, RefusesStepsThatTakeTooManyLevels) {
  const Steps steps{{"input", {}, 0, 0, 1}, {"first", {0}, 2, 1, 1}, {"deep", {1}, 3, 1, 1}};
  EXPECT_EQ(test::message_of<NoiseError>([&] {
              place(steps, {4, 0, 0});
            }),
            "deep: the network takes more than the 4 levels of its parameters, which have no "
            "bootstraps");
  EXPECT_EQ(test::message_of<NoiseError>([&] {
              place(steps, {2, 2, 0});
            }),
            "deep: it takes 3 levels, and there are 2 between two bootstraps, of which 0 are "
            "theirs");
}

TEST(NetworksPlacement, RefusesTooManyCombinations) {
  // Forty results of one level, each of which may be refreshed before their sum.
  Steps wide{{"input", {}, 0, 0, 1}};
  Step sum{"sum", {}, 0, 0, 1};
  for (std::size_t i = 1; i <= 40; ++i) {
    wide.push_back({"map", {0}, 1, 1, 1});
    sum.inputs.push_back(i);
  }
  wide.push_back(sum);
  EXPECT_NE(test::message_of<ParameterError>([&] {
              place(wide, {4, 4, 1});
            }).find("sum: of 41"),
            std::string::npos);
  // Parameters without bootstraps leave one way.
  EXPECT_EQ(place(wide, {4, 0, 0}), Refreshes{});

  // Each step takes two of twelve results that stay needed.
  Steps many{{"input", {}, 0, 0, 1}};
  for (std::size_t i = 0; i < 12; ++i) many.push_back({"branch", {0}, 1, 1, 1});
  for (std::size_t i = 1; i <= 12; ++i)
    for (std::size_t j = 1; j < i; ++j) many.push_back({"product", {j, i}, 1, 1, 1});
  EXPECT_NE(test::message_of<ParameterError>([&] {
              place(many, {9, 9, 1});
            }).find("product: of"),
            std::string::npos);
}

TEST(NetworksPlacement, RefusesWhatIsNoNetwork) {
  const Steps good{{"input", {}, 0, 0, 1}, {"a", {0}, 1, 1, 1}, {"b", {0, 1}, 1, 1, 1}};
  const Levels levels{4, 4, 1};
  const auto refused = [&](const std::function<void(Steps&)>& change) {
    Steps steps = good;
    change(steps);
    std::string why = test::refusal_of([&] { place(steps, levels); });
    EXPECT_EQ(why, test::refusal_of([&] { total_depth(steps); }));
    EXPECT_EQ(why, test::refusal_of([&] { with_refreshes(steps, {}, levels); }));
    return why;
  };
  EXPECT_NE(refused([](Steps& s) { s.clear(); }).find("no steps"), std::string::npos);
  EXPECT_NE(refused([](Steps& s) { s[0].inputs = {0}; }).find("input: step 0 has 1 input;"),
            std::string::npos);
  EXPECT_NE(refused([](Steps& s) { s[1].inputs.clear(); }).find("a: step 1 has 0 inputs"),
            std::string::npos);
  EXPECT_NE(refused([](Steps& s) { s[1].inputs = {1}; }).find("a: step 1 takes step 1, which"),
            std::string::npos);
  EXPECT_NE(refused([](Steps& s) { s[1].inputs = {~std::size_t{0}}; }).find("takes step 184467"),
            std::string::npos);
  for (const double wrong : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_NE(refused([&](Steps& s) { s[2].work = wrong; }).find("b: work = "), std::string::npos);
    EXPECT_NE(refused([&](Steps& s) { s[2].bound = wrong; }).find("b: bound = "),
              std::string::npos);
  }
  EXPECT_NE(refused([](Steps& s) { s[1].parts = 0; }).find("a: its result takes 0 ciphertexts"),
            std::string::npos);
  for (const Levels& wrong : {Levels{128, 0, 0}, {4, 128, 1}, {4, 4, 5}, {4, 0, 1}}) {
    EXPECT_THROW(place(good, wrong), ParameterError);
    EXPECT_THROW(with_refreshes(good, {}, wrong), ParameterError);
  }
}

TEST(NetworksPlacement, RefusesBootstrapsThatCannotBe) {
  const Steps steps{{"input", {}, 0, 0, 1},
                    {"a", {0}, 1, 1, 2},
                    {"b", {0}, 2, 1, 1},
                    {"c", {1, 2}, 1, 1, 1},
                    {"d", {3, 2}, 0, 1, 1}};
  const Levels levels{4, 4, 2};
  EXPECT_EQ(with_refreshes(steps, Refreshes{{3, 2}}, levels).size(), 6u);
  for (const Refreshes& wrong :
       std::initializer_list<Refreshes>{{{3, 2}, {3, 2}},  // twice
                                        {{3, 2}, {4, 2}},  // it is at the highest level
                                        {{3, 0}},          // not an operand
                                        {{3, 9}},          // no step
                                        {{3, 1}},          // above 1
                                        {{1, 0}},          // at the highest level
                                        {{4, 3}},          // below the least level
                                        {{4, 2}, {3, 2}},  // out of order
                                        {{0, 0}},
                                        {{5, 2}}})
    EXPECT_NE(test::message_of<ParameterError>([&] { with_refreshes(steps, wrong, levels); }), "");
  EXPECT_THROW(with_refreshes(steps, {}, {2, 4, 2}), NoiseError);
}

}  // namespace
}  // namespace whorl::networks
