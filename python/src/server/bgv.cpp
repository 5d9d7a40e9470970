// BGV: plaintexts on a server's devices, and the server.
#include "whorl/bgv/server.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "base_server.h"
#include "common/packing.h"
#include "common/ring.h"
#include "parts.h"
#include "whorl/circuits/bgv/slots.h"

namespace whorl::python {

using bgv::Array;
using bgv::EvaluationKeys;
using bgv::Plaintexts;
using bgv::Server;
using bgv::SlotMap;
using Values = std::span<const std::int64_t>;

namespace {

/// Rotations, and whether rows are exchanged.
using Rotations = std::pair<std::vector<std::int64_t>, bool>;
Rotations rotations_of(const bgv::KeyRequest& request) {
  return {request.rotations, request.swap_rows};
}

/// An operation with plaintexts, given as values or encoded.
void bind_plain(nb::class_<Server>& server, const char* name,
                Array (Server::*of_values)(const Array&, Values, std::size_t) const,
                Array (Server::*of_encoded)(const Array&, const Plaintexts&) const) {
  server.def(name, calling(of_values), "a"_a, "values"_a, "length"_a)
      .def(name, calling(of_encoded), "a"_a, "values"_a);
}

}  // namespace

// Python drops arrays and plaintexts from any thread, perhaps while another is inside a call: their
// memory allows it, and does not ask for the GIL.
void bind_bgv_server(nb::module_& module) {
  nb::class_<Plaintexts>(module, "Plaintexts")
      .def_prop_ro("packing", [](const Plaintexts& p) { return to_name(p.packing()); })
      .def_prop_ro("length", &Plaintexts::length)
      .def_prop_ro("each", &Plaintexts::each)
      .def_prop_ro("nbytes", &Plaintexts::bytes);

  nb::class_<SlotMap>(module, "SlotMap")
      .def_prop_ro("rows", &SlotMap::rows)
      .def_prop_ro("columns", &SlotMap::columns)
      .def_prop_ro("maps", &SlotMap::maps)
      .def_prop_ro("nbytes", &SlotMap::bytes);
  module.def(
      "rotations_for_matrix",
      [](const bgv::Parameters& parameters, std::size_t rows, std::size_t columns) {
        bgv::KeyRequest request;
        bgv::request_matrix(request, parameters, rows, columns);
        return rotations_of(request);
      },
      "parameters"_a, "rows"_a, "columns"_a);
  module.def(
      "rotations_for_diagonals",
      [](std::size_t count, std::int64_t step) {
        bgv::KeyRequest request;
        bgv::request_diagonals(request, count, step);
        return rotations_of(request);
      },
      "count"_a, "step"_a);
  module.def(
      "rotations_for_sum",
      [](const bgv::Parameters& parameters) {
        bgv::KeyRequest request;
        bgv::request_sum(request, parameters);
        return rotations_of(request);
      },
      "parameters"_a);

  auto server = bind_base_server<Server, Array>(module);
  server.def_static("create", &make_server<Server, EvaluationKeys>, "keys"_a, "session"_a)
      .def("add", calling(&Server::add), "a"_a, "b"_a)
      .def("sub", calling(&Server::sub), "a"_a, "b"_a)
      .def("negate", calling(&Server::negate), "a"_a)
      .def("encode",
           calling<Server, Plaintexts, Values, bgv::Packing, std::size_t>(&Server::encode),
           "values"_a, "packing"_a, "length"_a)
      .def("encode_matrix",
           calling_with<Server, Values, std::size_t, std::size_t>(&bgv::encode_matrix), "values"_a,
           "rows"_a, "columns"_a)
      .def("encode_diagonals",
           calling_with<Server, Values, std::size_t, std::int64_t>(&bgv::encode_diagonals),
           "values"_a, "count"_a, "step"_a)
      .def("multiply_matrix", calling_with<Server, const Array&, const SlotMap&>(&bgv::multiply),
           "a"_a, "matrix"_a)
      .def("multiply_maps", calling_with<Server, const Array&, const SlotMap&>(&bgv::multiply_maps),
           "a"_a, "diagonals"_a)
      .def("parts", calling_with<Server, const Array&>(&bgv::parts), "a"_a)
      .def("sum", calling_with<Server, const Array&>(&bgv::sum), "a"_a)
      .def("dot", calling_with<Server, const Array&, const Array&>(&bgv::dot), "a"_a, "b"_a)
      .def("dot", calling_with<Server, const Array&, const Plaintexts&>(&bgv::dot), "a"_a, "b"_a)
      .def("take", calling<Server, Plaintexts>(&Server::take), "a"_a, "index"_a)
      .def("add_scalar", calling(&Server::add_scalar), "a"_a, "value"_a)
      .def("multiply_scalar", calling(&Server::multiply_scalar), "a"_a, "value"_a)
      .def("multiply", calling(&Server::multiply), "a"_a, "b"_a, "relinearised"_a)
      .def("square", calling(&Server::square), "a"_a, "relinearised"_a)
      .def("relinearise", calling(&Server::relinearise), "a"_a)
      .def("rotate", calling(&Server::rotate), "a"_a, "columns"_a)
      .def("rotate_many", calling(&Server::rotate_many), "a"_a, "columns"_a)
      .def("swap_rows", calling(&Server::swap_rows), "a"_a)
      .def("inner_sum", calling(&Server::inner_sum), "a"_a, "columns"_a)
      .def("mod_switch", calling(&Server::mod_switch), "a"_a, "limbs"_a)
      .def("shrink", calling(&Server::shrink), "a"_a, "spare_bits"_a);
  bind_plain(server, "add_plain", &Server::add_plain, &Server::add_plain);
  bind_plain(server, "sub_plain", &Server::sub_plain, &Server::sub_plain);
  bind_plain(server, "multiply_plain", &Server::multiply_plain, &Server::multiply_plain);

  bind_dry_run<bgv::DryRun, bgv::Parameters>(module).def(
      "fresh", calling(&bgv::DryRun::fresh), "packing"_a, "values"_a, "length"_a, "secret_key"_a);
}

}  // namespace whorl::python
