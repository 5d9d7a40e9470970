// What servers of every scheme have.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "common/calls.h"
#include "whorl/devices.h"

namespace whorl::python {

/// Properties, and moves between host and devices; a scheme adds `create` and its operations.
/// `Batch`: what upload() takes, where there are several of the name.
template <class Server, class Array, class... Batch>
nb::class_<Server> bind_session(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Server> type(module, "Server");
  bind_origin(type);
  type.def_prop_ro("device", [](const Server& s) { return s.device(); })
      .def_prop_ro("devices", [](const Server& s) { return s.devices(); })
      .def_prop_ro("failed_devices",
                   [](const Server& s) {
                     std::vector<std::pair<std::string, std::string>> result;
                     for (const auto& failed : s.failed_devices())
                       result.emplace_back(failed.name, failed.message);
                     return result;
                   })
      .def_prop_ro("key_bytes", &Server::key_bytes)
      .def("upload", calling<Server, Array, Batch...>(&Server::upload), "batch"_a)
      .def("download", calling(&Server::download), "a"_a)
      .def("take", calling<Server, Array>(&Server::take), "a"_a, "index"_a)
      .def("concatenate", calling<Server, Array>(&Server::concatenate), "arrays"_a)
      .def("synchronise", calling(&Server::synchronise));
  return type;
}

/// The same with `threads` and `create`, of servers whose options are a device, threads, an
/// interrupt, and room for keys.
template <class Server, class Array, class EvaluationKeys, class Options>
nb::class_<Server> bind_budgeted_session(nb::module_& module) {
  using namespace nb::literals;
  auto type = bind_session<Server, Array>(module);
  type.def_prop_ro("threads", &Server::threads)
      .def_static(
          "create",
          [](const EvaluationKeys& keys, const std::string& device, unsigned threads,
             std::size_t key_budget, const std::optional<KeyCache>& key_cache) {
            const Options options{device, threads, &interrupted, key_budget, key_cache};
            return without_gil([&] { return Server(keys, options); });
          },
          "keys"_a, "device"_a, "threads"_a, "key_budget"_a, "key_cache"_a.none());
  return type;
}

}  // namespace whorl::python
