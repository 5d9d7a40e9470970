#include "whorl/networks/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "math/text.h"
#include "whorl/error.h"

namespace whorl::networks {

namespace {

constexpr unsigned most_level = 127;
/// Levels that are compared at a step.
constexpr std::size_t most_compared = std::size_t{1} << 23;
constexpr std::size_t most_links = std::size_t{1} << 20;

void check_amount(const Step& step, const char* what, double value) {
  if (!(value >= 0 && std::isfinite(value)))
    throw ParameterError(step.name + ": " + what + " = " + math::text_of(value) +
                         " is negative or not finite");
}

void check(std::span<const Step> steps) {
  if (steps.empty()) throw ShapeError("a network has no steps; the first one is its input");
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const Step& step = steps[number];
    if (step.inputs.empty() != (number == 0))
      throw ShapeError(step.name + ": step " + std::to_string(number) + " has " +
                       math::counted(step.inputs.size(), "input") +
                       "; the first step has none, and every other one has some");
    for (const std::size_t i : step.inputs)
      if (i >= number)
        throw ShapeError(step.name + ": step " + std::to_string(number) + " takes step " +
                         std::to_string(i) + ", which does not come before it");
    check_amount(step, "work", step.work);
    check_amount(step, "bound", step.bound);
    if (step.parts == 0) throw ParameterError(step.name + ": its result takes 0 ciphertexts");
  }
}

void check(const Levels& levels) {
  if (levels.fresh > most_level || levels.refreshed > most_level)
    throw ParameterError("levels: inputs have " + std::to_string(levels.fresh) +
                         ", results of bootstraps " + std::to_string(levels.refreshed) +
                         "; at most " + std::to_string(most_level) + " are planned with");
  if (levels.least > levels.refreshed)
    throw ParameterError("levels: bootstraps begin at " + std::to_string(levels.least) +
                         ", above their results at " + std::to_string(levels.refreshed));
}

[[noreturn]] void refuse_depth(const Step& step, const Levels& levels) {
  if (levels.refreshed == 0)
    throw NoiseError(step.name + ": the network takes more than the " +
                     std::to_string(levels.fresh) +
                     " levels of its parameters, which have no bootstraps");
  throw NoiseError(step.name + ": it takes " + std::to_string(step.depth) +
                   " levels, and there are " + std::to_string(levels.refreshed) +
                   " between two bootstraps, of which " + std::to_string(levels.least) +
                   " are theirs");
}

bool can_refresh(const Step& operand, unsigned level, const Levels& levels) {
  return operand.bound <= 1 && levels.least <= level && level < levels.refreshed;
}

/// The last step that takes each result. The last result, and one that nobody takes, stay needed.
std::vector<std::size_t> last_uses(std::span<const Step> steps) {
  std::vector<std::size_t> last(steps.size(), steps.size());
  for (std::size_t number = 0; number < steps.size(); ++number)
    for (const std::size_t i : steps[number].inputs) last[i] = number;
  return last;
}

/// The shortest ways to all combinations of levels, step by step.
class Search {
 public:
  Search(std::span<const Step> steps, const Levels& levels)
      : steps_(steps), levels_(levels), last_(last_uses(steps)) {
    states_.push_back({0, {static_cast<char>(levels.fresh)}, {}});
  }

  std::vector<Refresh> cheapest(const Progress& progress) {
    for (std::size_t number = 1; number < steps_.size(); ++number) {
      if (progress && !progress(number - 1, steps_.size() - 1))
        throw InterruptedError("stopped before bootstraps of " + steps_[number].name);
      take(number);
      if (states_.empty()) refuse_depth(steps_[number], levels_);
    }
    const auto best = std::ranges::min_element(states_, {}, &State::cost);
    std::vector<Refresh> out;
    for (std::optional<std::size_t> at = best->last; at; at = links_[*at].before)
      out.push_back(links_[*at].refresh);
    std::ranges::reverse(out);
    return out;
  }

 private:
  /// A level in each char: of each live result, by the order of their numbers.
  using Combination = std::string;
  struct State {
    double cost = 0;
    Combination levels;
    std::optional<std::size_t> last;  ///< the link with its last bootstrap
  };
  /// Bootstraps of a way, from the last one to the first; ways share their beginnings.
  struct Link {
    Refresh refresh;
    std::optional<std::size_t> before;
  };

  std::size_t place_of(std::size_t number) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(live_, number) - live_.begin());
  }

  /// The states behind a step. Of those with one combination the first of the cheapest ones stays.
  void take(std::size_t number) {
    operands_ = steps_[number].inputs;
    std::ranges::sort(operands_);
    operands_.erase(std::unique(operands_.begin(), operands_.end()), operands_.end());
    live_.push_back(number);
    const std::vector<State> before = std::exchange(states_, {});
    found_.clear();
    compared_ = 0;
    for (const State& state : before) continue_from(state, number);
    std::erase_if(live_, [&](std::size_t i) { return last_[i] <= number; });
    if (links_.size() > most_links) drop_links();
  }

  /// Each operand stays as it is, or is refreshed first.
  void continue_from(const State& state, std::size_t number) {
    std::vector<std::size_t> free;
    for (const std::size_t i : operands_)
      if (can_refresh(steps_[i], static_cast<unsigned>(state.levels[place_of(i)]), levels_))
        free.push_back(i);
    spend(number, free.size());
    for (std::size_t choice = 0; choice < std::size_t{1} << free.size(); ++choice) {
      State next = state;
      std::vector<std::size_t> refreshed;
      for (std::size_t bit = 0; bit < free.size(); ++bit)
        if (choice >> bit & 1) refreshed.push_back(free[bit]);
      for (const std::size_t i : refreshed) {
        next.levels[place_of(i)] = static_cast<char>(levels_.refreshed);
        next.cost += work_of_refresh * steps_[i].parts * (levels_.refreshed + 1);
      }
      add(std::move(next), number, refreshed);
    }
  }

  void add(State next, std::size_t number, const std::vector<std::size_t>& refreshed) {
    const Step& step = steps_[number];
    unsigned start = most_level;
    for (const std::size_t i : operands_)
      start = std::min(start, static_cast<unsigned>(next.levels[place_of(i)]));
    if (start < step.depth) return;
    next.cost += step.work * (start + 1 - step.depth / 2.0);
    next.levels.push_back(static_cast<char>(start - step.depth));
    Combination kept;
    for (std::size_t place = 0; place < live_.size(); ++place)
      if (last_[live_[place]] > number) kept.push_back(next.levels[place]);
    const auto [known, is_new] = found_.try_emplace(kept, states_.size());
    if (!is_new && next.cost >= states_[known->second].cost) return;
    for (const std::size_t i : refreshed) {
      links_.push_back({{number, i}, next.last});
      next.last = links_.size() - 1;
    }
    next.levels = std::move(kept);
    if (is_new)
      states_.push_back(std::move(next));
    else
      states_[known->second] = std::move(next);
  }

  /// Counts what is compared: levels of live results, for each choice of refreshed operands.
  void spend(std::size_t number, std::size_t free) {
    const std::size_t now = free < 32 ? live_.size() << free : most_compared + 1;
    if (now > most_compared - compared_)
      throw ParameterError(
          steps_[number].name + ": of " + math::counted(live_.size(), "result") +
          " that are needed here or later the levels have too many combinations to find the best "
          "places of bootstraps; parameters with fewer levels, or fewer branches, have fewer");
    compared_ += now;
  }

  /// Drops links that no state leads to.
  void drop_links() {
    std::vector<bool> used(links_.size());
    for (const State& state : states_)
      for (auto at = state.last; at && !used[*at]; at = links_[*at].before) used[*at] = true;
    std::vector<std::size_t> place(links_.size());
    std::size_t count = 0;
    const auto move = [&](std::optional<std::size_t>& to) {
      if (to) to = place[*to];
    };
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!used[i]) continue;
      move(links_[i].before);
      links_[count] = links_[i];
      place[i] = count++;
    }
    links_.resize(count);
    for (State& state : states_) move(state.last);
  }

  std::span<const Step> steps_;
  Levels levels_;
  std::vector<std::size_t> last_, live_{0}, operands_;
  std::vector<State> states_;
  std::unordered_map<Combination, std::size_t> found_;  ///< where each one is in states_
  std::vector<Link> links_;
  std::size_t compared_ = 0;
};

}  // namespace

Levels levels_of(const ckks::Parameters& p) {
  if (!p.literal().bootstrap) return {p.depth(), 0, 0};
  return {p.depth(), p.depth(), p.least_bootstrap_level()};
}

std::uint64_t total_depth(std::span<const Step> steps) {
  check(steps);
  std::vector<std::uint64_t> depths;
  for (const Step& step : steps) {
    std::uint64_t before = 0;
    for (const std::size_t i : step.inputs) before = std::max(before, depths[i]);
    depths.push_back(before + step.depth);
  }
  return std::ranges::max(depths);
}

std::vector<Refresh> place(std::span<const Step> steps, const Levels& levels,
                           const Progress& progress) {
  check(steps);
  check(levels);
  return Search(steps, levels).cheapest(progress);
}

std::vector<PlacedStep> with_refreshes(std::span<const Step> steps,
                                       std::span<const Refresh> refreshes, const Levels& levels) {
  check(steps);
  check(levels);
  std::vector<PlacedStep> out{{0, false, {}, levels.fresh}};
  std::vector<std::size_t> place{0};  // of each result: that of its last bootstrap, if there is one
  auto next = refreshes.begin();
  for (std::size_t number = 1; number < steps.size(); ++number) {
    const Step& step = steps[number];
    for (; next != refreshes.end() && next->step == number; ++next) {
      const std::size_t operand = next->operand;
      const bool taken = std::ranges::find(step.inputs, operand) != step.inputs.end();
      if (!taken || !can_refresh(steps[operand], out[place[operand]].level, levels))
        throw ParameterError(step.name + ": a bootstrap of step " + std::to_string(operand) +
                             " cannot come before it");
      out.push_back({number, true, {place[operand]}, levels.refreshed});
      place[operand] = out.size() - 1;
    }
    PlacedStep made{number, false, {}, most_level};
    for (const std::size_t i : step.inputs) {
      made.inputs.push_back(place[i]);
      made.level = std::min(made.level, out[place[i]].level);
    }
    if (made.level < step.depth) refuse_depth(step, levels);
    made.level -= step.depth;
    out.push_back(std::move(made));
    place.push_back(out.size() - 1);
  }
  if (next != refreshes.end())
    throw ParameterError("bootstraps: one before step " + std::to_string(next->step) +
                         " is out of order, or no step has that number");
  return out;
}

}  // namespace whorl::networks
