// Plans of networks over CKKS: parameters, bootstraps, keys.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "common/calls.h"
#include "parts.h"
#include "whorl/networks/keys.h"
#include "whorl/networks/placement.h"
#include "whorl/networks/plan.h"

namespace whorl::python {

using ckks::Parameters;
using networks::MapRotations;
using networks::PlacedStep;
using networks::Plan;
using networks::Refresh;
using networks::Step;
using Rotations = std::vector<std::int64_t>;

namespace {

void bind_types(nb::module_& module) {
  nb::class_<Step>(module, "Step")
      .def(
          "__init__",
          [](Step* self, const std::string& name, const std::vector<std::size_t>& inputs,
             unsigned depth, double work, double bound,
             unsigned parts) { new (self) Step{name, inputs, depth, work, bound, parts}; },
          "name"_a, "inputs"_a, "depth"_a, "work"_a, "bound"_a, "parts"_a);
  nb::class_<PlacedStep> placed(module, "PlacedStep");
  bind_properties(placed, "step", &PlacedStep::step, "is_bootstrap", &PlacedStep::is_bootstrap,
                  "inputs", &PlacedStep::inputs, "level", &PlacedStep::level);
  nb::class_<Plan> plan(module, "Plan");
  bind_properties(plan, "parameters", &Plan::parameters, "steps", &Plan::steps);
}

std::vector<PlacedStep> with_refreshes(
    const std::vector<Step>& steps,
    const std::vector<std::pair<std::size_t, std::size_t>>& refreshes,
    const Parameters& parameters) {
  std::vector<Refresh> all;
  all.reserve(refreshes.size());
  for (const auto& [step, operand] : refreshes) all.push_back({step, operand});
  return networks::with_refreshes(steps, all, networks::levels_of(parameters));
}

std::pair<Rotations, std::map<unsigned, Rotations>> choose_keys(
    const std::vector<std::pair<unsigned, Rotations>>& maps, const Parameters& parameters,
    const Rotations& held) {
  std::vector<MapRotations> all;
  all.reserve(maps.size());
  for (const auto& [level, rotations] : maps) all.push_back({level, rotations});
  auto keys = without_gil([&] { return networks::choose_keys(all, parameters, held); });
  return {std::move(keys.rotations), std::move(keys.low_rotations)};
}

}  // namespace

void bind_networks(nb::module_& module) {
  bind_types(module);
  module.attr("work_of_refresh") = networks::work_of_refresh;
  module.def(
      "plan",
      [](const std::vector<Step>& steps, std::uint32_t slots) {
        return without_gil([&] { return networks::plan(steps, slots, polling()); });
      },
      "steps"_a, "slots"_a);
  module.def(
      "plan",
      [](const std::vector<Step>& steps, const Parameters& parameters) {
        return without_gil([&] { return networks::plan(steps, parameters, polling()); });
      },
      "steps"_a, "parameters"_a);
  module.def("with_refreshes", &with_refreshes, "steps"_a, "refreshes"_a, "parameters"_a);
  module.def("choose_keys", &choose_keys, "maps"_a, "parameters"_a, "held"_a);
}

}  // namespace whorl::python
