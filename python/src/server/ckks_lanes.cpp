// CKKS: exact bits and integers in slots.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "common/calls.h"
#include "common/files.h"
#include "parts.h"
#include "whorl/circuits/ckks/lanes.h"

namespace whorl::python {

using ckks::CompactBits;
using ckks::LaneArray;
using ckks::Lanes;

void bind_ckks_lanes(nb::module_& module) {
  nb::class_<CompactBits> compact(module, "CompactBits");
  bind_origin(compact);
  compact.def_prop_ro("nbytes", &CompactBits::bytes)
      .def_prop_ro("length", [](const CompactBits& c) { return c.length; })
      .def_prop_ro("shape", [](const CompactBits& c) {
        using Sizes = nb::typed<nb::tuple, std::size_t, nb::ellipsis>;
        return Sizes(nb::tuple(nb::cast(c.shape.value_or(Shape{c.count}))));
      });
  bind_files(compact);

  nb::class_<LaneArray> array(module, "LaneArray");
  array.def_prop_ro("count", [](const LaneArray& a) { return a.info().count; })
      .def_prop_ro("length", [](const LaneArray& a) { return a.info().length; })
      .def_prop_ro("level", [](const LaneArray& a) { return a.info().level; })
      .def_prop_ro("p", [](const LaneArray& a) { return a.messages().p; })
      .def_prop_ro("error", &LaneArray::error)
      .def_prop_ro("nbytes", &LaneArray::bytes);

  nb::class_<Lanes>(module, "Lanes")
      .def_static(
          "create",
          [](const ckks::Server& server, const ckks::EncodedBootstrap& maps,
             double most_log2_failure) {
            return without_gil([&] { return Lanes(server, maps, {most_log2_failure}); });
          },
          "server"_a, "maps"_a, "most_log2_failure"_a)
      .def_prop_ro("limit", [](const Lanes& lanes) { return lanes.limit(); })
      .def_prop_ro("log2_failure", &Lanes::log2_failure)
      .def_prop_ro("counts",
                   [](const Lanes& lanes) {
                     const ckks::LaneCounts counts = lanes.counts();
                     return std::tuple(counts.bootstraps, counts.cleanings, counts.products);
                   })
      .def("take_in", calling<Lanes, LaneArray, const ckks::Array&>(&Lanes::take_in), "messages"_a)
      .def("take_in_compact", calling<Lanes, LaneArray, const CompactBits&>(&Lanes::take_in),
           "bits"_a)
      .def("bit_not", calling(&Lanes::bit_not), "a"_a)
      .def("bit_and", calling(&Lanes::bit_and), "a"_a, "b"_a)
      .def("bit_or", calling(&Lanes::bit_or), "a"_a, "b"_a)
      .def("bit_xor", calling(&Lanes::bit_xor), "a"_a, "b"_a)
      .def("select", calling(&Lanes::select), "choice"_a, "a"_a, "b"_a)
      .def("full_add", calling(&Lanes::full_add), "a"_a, "b"_a, "c"_a)
      .def(
          "lookup",
          [](const Lanes& lanes, const std::vector<LaneArray>& inputs,
             const std::vector<std::vector<std::uint8_t>>& tables) {
            return without_gil([&] { return lanes.lookup(inputs, tables); });
          },
          "inputs"_a, "tables"_a)
      .def(
          "count_ones",
          [](const Lanes& lanes, const std::vector<LaneArray>& arrays) {
            return without_gil([&] { return lanes.count_ones(arrays); });
          },
          "arrays"_a)
      .def(
          "multiply_numbers",
          [](const Lanes& lanes, const std::vector<LaneArray>& a, const std::vector<LaneArray>& b) {
            return without_gil([&] { return lanes.multiply_numbers(a, b); });
          },
          "a"_a, "b"_a)
      .def(
          "sum_numbers",
          [](const Lanes& lanes, const std::vector<std::vector<LaneArray>>& numbers) {
            return without_gil([&] { return lanes.sum_numbers(numbers); });
          },
          "numbers"_a)
      .def("rotate", calling(&Lanes::rotate), "a"_a, "lanes"_a)
      .def("integers", calling(&Lanes::integers), "bits"_a, "p"_a)
      .def("bits", calling(&Lanes::bits), "a"_a)
      .def("add", calling(&Lanes::add), "a"_a, "b"_a)
      .def("subtract", calling(&Lanes::subtract), "a"_a, "b"_a)
      .def("multiply_add", calling(&Lanes::multiply_add), "a"_a, "by"_a, "value"_a)
      .def("modulo", calling(&Lanes::modulo), "a"_a, "p"_a)
      .def("multiply", calling(&Lanes::multiply), "a"_a, "b"_a)
      .def("join", calling(&Lanes::join), "a"_a, "b"_a)
      .def(
          "apply",
          [](const Lanes& lanes, const LaneArray& a, const std::vector<ckks::LaneTable>& tables,
             const std::vector<std::uint32_t>& vectors, const std::vector<std::uint32_t>& which,
             unsigned p) {
            return without_gil([&] {
              std::vector<ckks::LaneLookup> where;
              for (std::size_t i = 0; i < std::min(vectors.size(), which.size()); ++i)
                where.push_back({vectors[i], which[i]});
              return lanes.apply(a, tables, where, p);
            });
          },
          "a"_a, "tables"_a, "vectors"_a, "which"_a, "p"_a)
      .def(
          "apply_rows",
          [](const Lanes& lanes, const LaneArray& a, const std::vector<ckks::LaneTable>& tables,
             const std::vector<std::uint32_t>& which,
             unsigned p) { return without_gil([&] { return lanes.apply(a, tables, which, p); }); },
          "a"_a, "tables"_a, "which"_a, "p"_a)
      .def("less", calling(&Lanes::less), "a"_a, "b"_a)
      .def("equal", calling(&Lanes::equal), "a"_a, "b"_a)
      .def("minimum", calling(&Lanes::minimum), "a"_a, "b"_a)
      .def("maximum", calling(&Lanes::maximum), "a"_a, "b"_a)
      .def("constant", calling(&Lanes::constant), "like"_a, "message"_a)
      .def("known", calling(&Lanes::known), "like"_a, "messages"_a)
      .def("take", calling(&Lanes::take), "a"_a, "index"_a)
      .def("concatenate", calling(&Lanes::concatenate), "arrays"_a)
      .def("clean", calling(&Lanes::clean), "arrays"_a)
      .def("refresh", calling(&Lanes::refresh), "arrays"_a)
      .def("finish", calling(&Lanes::finish), "a"_a)
      .def("store", calling(&Lanes::store), "a"_a, "level"_a.none());
}

}  // namespace whorl::python
