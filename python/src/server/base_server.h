// What servers of every scheme have.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <variant>

#include "common/calls.h"
#include "whorl/ring_costs.h"
#include "whorl/session.h"

namespace whorl::python {

/// Properties of what works on devices: a session, and a server.
template <class Bound>
void bind_devices_of(nb::class_<Bound>& type) {
  type.def_prop_ro("device", [](const Bound& s) { return s.device(); })
      .def_prop_ro("devices", [](const Bound& s) { return s.devices(); })
      .def_prop_ro("failed_devices",
                   [](const Bound& s) {
                     std::vector<std::pair<std::string, std::string>> result;
                     for (const auto& failed : s.failed_devices())
                       result.emplace_back(failed.name, failed.message);
                     return result;
                   })
      .def_prop_ro("threads", &Bound::threads)
      .def("synchronise", [](const Bound& s) { without_gil([&] { s.synchronise(); }); });
}

/// Properties, and moves between host and devices; a scheme adds `create` and its operations.
/// `Batch`: what upload() takes, where there are several of the name.
template <class Server, class Array, class... Batch>
nb::class_<Server> bind_base_server(nb::module_& module) {
  nb::class_<Server> type(module, "Server");
  bind_origin(type);
  bind_devices_of(type);
  type.def_prop_ro("key_bytes", &Server::key_bytes)
      .def("upload", calling<Server, Array, Batch...>(&Server::upload), "batch"_a)
      .def(
          "download",
          [](const Server& s, const Array& a) {
            return without_gil([&] { return s.download(a); });
          },
          "a"_a)
      .def(
          "check", [](const Server& s, const Array& a) { s.check(a); }, "a"_a)
      .def("take", calling<Server, Array>(&Server::take), "a"_a, "index"_a)
      .def("concatenate", calling<Server, Array>(&Server::concatenate), "arrays"_a);
  return type;
}

/// A dry run of a scheme over RNS rings, which adds `fresh`.
template <class DryRun, class Parameters>
nb::class_<DryRun> bind_dry_run(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<DryRun> type(module, "DryRun");
  type.def(nb::init<const Parameters&>(), "parameters"_a)
      .def_prop_ro("server", &DryRun::server)
      .def("asked", &DryRun::asked)
      .def("costs", [](const DryRun& run) {
        using C = RingCosts;
        return add_members({}, run.costs(), "products", &C::products, "relinearisations",
                           &C::relinearisations, "plain_products", &C::plain_products, "rotations",
                           &C::rotations, "key_switches", &C::key_switches, "bootstraps",
                           &C::bootstraps, "depth", &C::depth, "plain_depth", &C::plain_depth,
                           "sums", &C::sums);
      });
  return type;
}

/// Where a server works: a session, or the options of one of its own.
using Where = std::variant<Session, std::tuple<std::string, unsigned, std::size_t>>;

inline SessionOptions options_of(const std::tuple<std::string, unsigned, std::size_t>& own) {
  const auto& [device, threads, key_bytes] = own;
  return {device, threads, &interrupted, key_bytes};
}

template <class Server, class EvaluationKeys>
Server make_server(const EvaluationKeys& keys, const Where& where) {
  return without_gil([&] {
    const Session* const session = std::get_if<Session>(&where);
    return Server(keys, session ? *session : Session(options_of(std::get<1>(where))));
  });
}

/// A server of a scheme over RNS rings, and the operations that all of them have.
template <class Server, class Array, class EvaluationKeys>
nb::class_<Server> bind_ring_server(nb::module_& module) {
  auto type = bind_base_server<Server, Array>(module);
  type.def_static("create", &make_server<Server, EvaluationKeys>, "keys"_a, "session"_a)
      .def("add", calling(&Server::add), "a"_a, "b"_a)
      .def("sub", calling(&Server::sub), "a"_a, "b"_a)
      .def("negate", calling(&Server::negate), "a"_a)
      .def("relinearise", calling(&Server::relinearise), "a"_a)
      .def("rotate", calling(&Server::rotate), "a"_a, "distance"_a)
      .def("rotate_many", calling(&Server::rotate_many), "a"_a, "distances"_a)
      .def("add_scalar", calling(&Server::add_scalar), "a"_a, "value"_a);
  return type;
}

}  // namespace whorl::python
