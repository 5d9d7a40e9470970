// BGV: what a server will know of its results, for plans of circuits.
#include "whorl/bgv/forecast.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "common/packing.h"
#include "parts.h"
#include "whorl/circuits/bgv/slots.h"

namespace whorl::python {

using namespace nb::literals;
using bgv::Forecast;
using Info = bgv::CiphertextInfo;

void bind_bgv_forecast(nb::module_& module) {
  nb::class_<Info>(module, "Info")
      .def_prop_ro("packing", [](const Info& a) { return to_name(a.packing); })
      .def_ro("count", &Info::count)
      .def_ro("parts", &Info::parts)
      .def_ro("limbs", &Info::limbs)
      .def_ro("factor", &Info::factor)
      .def_ro("length", &Info::length)
      .def_prop_ro("rest", [](const Info& a) { return static_cast<unsigned>(a.rest); });

  module.def(
      "steps_of_matrix",
      [](const bgv::Parameters& parameters, std::size_t rows, std::size_t columns) {
        const bgv::MatrixSteps steps = bgv::steps_of_matrix(parameters, rows, columns);
        return std::vector<std::size_t>{steps.copies, steps.diagonals,   steps.maps,
                                        steps.folds,  steps.needs_zeros, steps.leaves_zeros};
      },
      "parameters"_a, "rows"_a, "columns"_a);

  nb::class_<Forecast>(module, "Forecast")
      .def(nb::init<const bgv::Parameters&>(), "parameters"_a)
      .def(
          "encrypted",
          [](const Forecast& f, const std::string& packing, std::size_t count,
             std::uint64_t length) {
            return f.encrypted(from_name<bgv::Packing>(packing), count, length);
          },
          "packing"_a, "count"_a, "length"_a)
      .def("noise_budget", &Forecast::noise_budget, "a"_a)
      .def(
          "rated_budget",
          [](const Forecast& f, unsigned depth, double sums, unsigned plain_products) {
            bgv::Requirements needs;
            needs.depth = depth;
            needs.sums = sums;
            needs.plain_products = plain_products;
            return f.rated_budget(needs);
          },
          "depth"_a, "sums"_a, "plain_products"_a)
      .def("add", &Forecast::add, "a"_a, "b"_a)
      .def("multiply", &Forecast::multiply, "a"_a, "b"_a)
      .def("relinearise", &Forecast::relinearise, "a"_a)
      .def("automorphism", &Forecast::automorphism, "a"_a)
      .def(
          "concatenate",
          [](const Forecast& f, const std::vector<Info>& arrays) { return f.concatenate(arrays); },
          "arrays"_a)
      .def("has_zeros", &Forecast::has_zeros, "a"_a)
      .def("has_remains", &Forecast::has_remains, "a"_a)
      .def("needs_zeros", &Forecast::needs_zeros, "a"_a, "b"_a)
      .def("take", &Forecast::take, "a"_a, "count"_a)
      .def("mod_switch", &Forecast::mod_switch, "a"_a, "limbs"_a)
      .def("shrink", &Forecast::shrink, "a"_a, "spare_bits"_a)
      .def("multiply_scalar", &Forecast::multiply_scalar, "a"_a, "value"_a)
      .def("add_scalar", &Forecast::add_scalar, "a"_a, "norm"_a)
      .def("add_plain", &Forecast::add_plain, "a"_a, "count"_a, "norm"_a, "length"_a)
      .def("multiply_plain", &Forecast::multiply_plain, "a"_a, "count"_a, "norm"_a, "length"_a)
      .def(
          "with_vectors",
          [](const Forecast&, Info a, std::uint64_t length, unsigned rest) {
            a.length = length;
            a.rest = static_cast<bgv::Rest>(rest);
            return a;
          },
          "a"_a, "length"_a, "rest"_a)
      .def_prop_ro("largest_norm", &Forecast::largest_norm);
}

}  // namespace whorl::python
