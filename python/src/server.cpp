// The server's half.
#include "whorl/binfhe/server.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>

#include "backend/ops.h"
#include "bindings.h"
#include "calls.h"

namespace whorl::python {

using namespace nb::literals;
using binfhe::Ciphertexts;
using binfhe::Encoding;
using binfhe::EvaluationKeys;
using binfhe::Gate;
using binfhe::Lut;
using binfhe::Server;

namespace {

using Batches = std::vector<const Ciphertexts*>;
using Output = std::optional<std::pair<std::uint32_t, bool>>;

constexpr Gate all_gates[] = {Gate::and_, Gate::or_,  Gate::nand,     Gate::nor,
                              Gate::xor_, Gate::xnor, Gate::majority, Gate::and3,
                              Gate::or3,  Gate::and4, Gate::or4};

/// Names as users write them: "and", "xor", ….
std::string plain_name(Gate gate) {
  switch (gate) {
    case Gate::and_:
      return "and";
    case Gate::or_:
      return "or";
    case Gate::nand:
      return "nand";
    case Gate::nor:
      return "nor";
    case Gate::xor_:
      return "xor";
    case Gate::xnor:
      return "xnor";
    case Gate::majority:
      return "majority";
    case Gate::and3:
      return "and3";
    case Gate::or3:
      return "or3";
    case Gate::and4:
      return "and4";
    default:
      return "or4";
  }
}

Gate gate_from_name(const std::string& name) {
  for (const Gate gate : all_gates)
    if (plain_name(gate) == name) return gate;
  throw nb::value_error(("gate: '" + name + "' is not known").c_str());
}

std::optional<Encoding> as_encoding(const Output& output) {
  if (!output) return std::nullopt;
  return Encoding{output->first, output->second};
}

constexpr std::pair<const char*, binfhe::RotationSchedule> rotations[] = {
    {"auto", binfhe::RotationSchedule::automatic},
    {"single", binfhe::RotationSchedule::single},
    {"cluster", binfhe::RotationSchedule::cluster},
    {"shared", binfhe::RotationSchedule::shared}};

binfhe::RotationSchedule rotation_from_name(const std::string& name) {
  for (const auto& [known, rotation] : rotations)
    if (name == known) return rotation;
  throw ParameterError("rotation: '" + name + "' is none of auto, single, cluster, shared");
}
std::string rotation_name(binfhe::RotationSchedule rotation) {
  for (const auto& [name, known] : rotations)
    if (rotation == known) return name;
  throw ParameterError("rotation: a value without a name");
}

Server make_server(const EvaluationKeys& keys, const std::string& device, unsigned threads,
                   const std::optional<std::string>& transform, const std::string& rotation) {
  binfhe::ServerOptions options;
  options.device = device;
  options.threads = threads;
  if (transform) options.transform = transform_from_name(*transform);
  options.interrupt = &interrupted;
  options.rotation = rotation_from_name(rotation);
  return without_gil([&] { return Server(keys, options); });
}

}  // namespace

void bind_server(nb::module_& module) {
  nb::class_<Server>(module, "Server")
      .def_static("create", &make_server, "keys"_a, "device"_a, "threads"_a, "transform"_a.none(),
                  "rotation"_a)
      .def_prop_ro("parameters", [](const Server& s) { return s.parameters(); })
      .def_prop_ro("key_id", [](const Server& s) { return as_bytes(s.key_id()); })
      .def_prop_ro("device", [](const Server& s) { return s.device(); })
      .def_prop_ro("devices", [](const Server& s) { return s.devices(); })
      .def_prop_ro("failed_devices",
                   [](const Server& s) {
                     std::vector<std::pair<std::string, std::string>> result;
                     for (auto& failed : s.failed_devices())
                       result.emplace_back(failed.name, failed.message);
                     return result;
                   })
      .def_prop_ro("rotation", [](const Server& s) { return rotation_name(s.rotation()); })
      .def_prop_ro("transform", [](const Server& s) { return transform_name(s.transform()); })
      .def_prop_ro("threads", &Server::threads)
      .def_prop_ro("key_bytes", &Server::key_bytes)
      .def(
          "gate",
          [](const Server& server, const std::string& name, const Batches& inputs,
             const Output& output) {
            const Gate gate = gate_from_name(name);
            return without_gil([&] { return server.gate(gate, inputs, as_encoding(output)); });
          },
          "name"_a, "inputs"_a, "output"_a.none())
      .def(
          "not_",
          [](const Server& server, const Ciphertexts& a) {
            return without_gil([&] { return server.not_(a); });
          },
          "a"_a)
      .def(
          "mux",
          [](const Server& server, const Ciphertexts& select, const Ciphertexts& a,
             const Ciphertexts& b) {
            return without_gil([&] { return server.mux(select, a, b); });
          },
          "select"_a, "a"_a, "b"_a)
      .def(
          "bootstrap",
          [](const Server& server, const Ciphertexts& a, const Output& output) {
            return without_gil([&] { return server.bootstrap(a, as_encoding(output)); });
          },
          "a"_a, "output"_a.none())
      .def(
          "apply",
          [](const Server& server, const std::vector<const Lut*>& tables,
             const Input<std::uint32_t>& index, const Ciphertexts& a) {
            std::vector<Lut> luts;
            luts.reserve(tables.size());
            for (const Lut* table : tables) luts.push_back(*table);
            return without_gil([&] { return server.apply(luts, as_span(index), a); });
          },
          "luts"_a, "index"_a, "a"_a)
      .def(
          "linear",
          [](const Server& server, const Input<std::int32_t>& weights, const Batches& inputs,
             std::int32_t constant) {
            return without_gil([&] { return server.linear(as_span(weights), inputs, constant); });
          },
          "weights"_a, "inputs"_a, "constant"_a)
      .def(
          "trivial",
          [](const Server& server, const Input<std::uint32_t>& messages, std::uint32_t p,
             bool padding) {
            return without_gil([&] { return server.trivial(as_span(messages), {p, padding}); });
          },
          "messages"_a, "p"_a, "padding"_a);

  module.def("gates", [] {
    std::vector<std::pair<std::string, unsigned>> result;
    for (const Gate gate : all_gates)
      result.emplace_back(plain_name(gate), binfhe::gate_inputs(gate));
    return result;
  });
  module.def(
      "device_name",
      [](const std::string& device) {
        return without_gil([&] {
          std::string names;
          for (const auto& each : backend::make_devices(device))
            names += (names.empty() ? "" : ", ") + each->name();
          return names;
        });
      },
      "device"_a);
  module.def("devices", [] {
    std::vector<nb::dict> result;
    for (const backend::DeviceInfo& device : without_gil([] { return backend::list_devices(); })) {
      nb::dict entry;
      entry["name"] = device.name;
      entry["description"] = device.description;
      entry["usable"] = device.usable;
      entry["why"] = device.why;
      entry["memory"] = device.memory;
      entry["free_memory"] = device.free_memory;
      result.push_back(entry);
    }
    return result;
  });
}

}  // namespace whorl::python
