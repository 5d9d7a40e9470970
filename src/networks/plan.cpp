#include "whorl/networks/plan.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "math/text.h"
#include "whorl/error.h"

namespace whorl::networks {

namespace {

constexpr std::uint32_t most_slots = 1u << 16;
/// Levels between two bootstraps, at most: more leave no room for the bootstrap.
constexpr std::uint64_t most_depth = 24;
/// Larger rings are taken only by networks that no bootstrap serves.
constexpr std::uint32_t most_plain = 1u << 16;

/// No value if no ring is large enough.
std::optional<ckks::Parameters> chosen(std::uint64_t depth, std::uint32_t slots, bool bootstrap) {
  ckks::Requirements needs;
  needs.depth =
      static_cast<unsigned>(std::min<std::uint64_t>(depth, std::numeric_limits<unsigned>::max()));
  needs.slots = slots;
  needs.bootstrap = bootstrap;
  try {
    return ckks::Parameters::choose(needs);
  } catch (const ParameterError&) {
    return std::nullopt;
  }
}

/// The bootstraps; no value if a step takes more levels than there are, or if these have too many
/// combinations, which `refused` then keeps.
std::optional<std::vector<Refresh>> placed(std::span<const Step> steps,
                                           const ckks::Parameters& parameters,
                                           const Progress& progress, std::exception_ptr& refused) {
  try {
    return place(steps, levels_of(parameters), progress);
  } catch (const NoiseError&) {
  } catch (const ParameterError&) {
    refused = std::current_exception();
  }
  return std::nullopt;
}

Plan planned(std::span<const Step> steps, const ckks::Parameters& parameters,
             const std::vector<Refresh>& refreshes) {
  return {parameters, with_refreshes(steps, refreshes, levels_of(parameters))};
}

/// The plan of the cheapest bootstraps with from `least` to `most` levels between two of them; no
/// value if there is none.
std::optional<Plan> cheapest(std::span<const Step> steps, std::uint32_t slots, std::uint64_t least,
                             std::uint64_t most, const Progress& progress,
                             std::exception_ptr& refused) {
  std::optional<Plan> best;
  double least_cost = std::numeric_limits<double>::infinity();
  for (std::uint64_t depth = least; depth <= most; ++depth) {
    const std::optional<ckks::Parameters> parameters = chosen(depth, slots, true);
    if (!parameters) continue;
    const auto told = [&](std::size_t done, std::size_t each) {
      return !progress || progress((depth - least) * each + done, (most - least + 1) * each);
    };
    const std::optional<std::vector<Refresh>> refreshes = placed(steps, *parameters, told, refused);
    if (!refreshes) continue;
    double count = 0;
    for (const Refresh& each : *refreshes) count += steps[each.operand].parts;
    const double cost = count * (parameters->top() + 1.0) * parameters->N();
    if (cost >= least_cost) continue;
    least_cost = cost;
    best = planned(steps, *parameters, *refreshes);
  }
  return best;
}

}  // namespace

Plan plan(std::span<const Step> steps, std::uint32_t slots, const Progress& progress) {
  if (slots == 0 || slots > most_slots)
    throw ParameterError("slots: " + std::to_string(slots) + " is outside 1 … " +
                         std::to_string(most_slots));
  const std::uint64_t total = total_depth(steps);
  const std::optional<ckks::Parameters> plain = chosen(total, slots, false);
  if (plain && plain->N() <= most_plain) return planned(steps, *plain, {});
  const unsigned deepest = std::ranges::max(steps, {}, &Step::depth).depth;
  std::exception_ptr refused;
  if (std::optional<Plan> found =
          cheapest(steps, slots, deepest, std::min(total, most_depth), progress, refused))
    return *std::move(found);
  if (plain) return planned(steps, *plain, {});
  if (refused) std::rethrow_exception(refused);
  throw ParameterError("the network takes " + math::counted(total, "level") + ", a step of it " +
                       std::to_string(deepest) +
                       ", and no parameters with bootstraps carry it: a larger precision takes "
                       "fewer");
}

Plan plan(std::span<const Step> steps, const ckks::Parameters& parameters,
          const Progress& progress) {
  return planned(steps, parameters, place(steps, levels_of(parameters), progress));
}

}  // namespace whorl::networks
