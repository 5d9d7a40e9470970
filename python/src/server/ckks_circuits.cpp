// CKKS: linear maps of the slots, and functions that are made of polynomials.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>

#include "common/calls.h"
#include "parts.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/matrices.h"

namespace whorl::python {

using ckks::EncodedBootstrap;
using ckks::EncodedMap;
using ckks::EncodedMatrixProduct;
using ckks::LinearMap;
using ckks::MatrixProduct;
using ckks::Polynomial;
using ckks::SignStages;
using Complex = std::complex<double>;

namespace {

/// Diagonals of `period` values each, one after the other; of the matrix that `length` and
/// `columns` are of, if it is one.
LinearMap diagonal_map(const Input<std::int64_t>& indices, const Input<Complex>& values,
                       std::uint64_t period, std::uint64_t length, std::uint64_t columns,
                       bool few_rotations) {
  LinearMap map{period, length, columns, {}, few_rotations};
  const auto all = as_span(values);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto diagonal = all.subspan(i * period, period);
    map.diagonals.emplace(indices.data()[i],
                          std::vector<Complex>(diagonal.begin(), diagonal.end()));
  }
  return map;
}

void bind_linear_maps(nb::module_& module) {
  nb::class_<LinearMap> linear(module, "LinearMap");
  linear
      .def_static(
          "of_matrix",
          [](const Input<Complex>& values, std::size_t rows, std::size_t columns) {
            return without_gil([&] { return ckks::matrix_map(as_span(values), rows, columns); });
          },
          "values"_a, "rows"_a, "columns"_a)
      .def_static("of_diagonals", &diagonal_map, "indices"_a, "values"_a, "period"_a, "length"_a,
                  "columns"_a, "few_rotations"_a)
      .def_prop_ro("indices",
                   [](const LinearMap& map) {
                     std::vector<std::int64_t> out;
                     for (const auto& [k, values] : map.diagonals) out.push_back(k);
                     return out;
                   })
      .def(
          "diagonal",
          [](const LinearMap& map, std::int64_t index) {
            return as_numpy(map.diagonals.at(index));
          },
          "index"_a)
      .def("rotations",
           [](const LinearMap& map) { return without_gil([&] { return rotations_of(map); }); });
  bind_properties(linear, "period", &LinearMap::period, "length", &LinearMap::length, "columns",
                  &LinearMap::columns, "few_rotations", &LinearMap::few_rotations);

  nb::class_<EncodedMap> encoded(module, "EncodedMap");
  using E = EncodedMap;
  bind_properties(encoded, "level", &E::level, "period", &E::period, "diagonals", &E::diagonals,
                  "key_switches", &E::key_switches, "nbytes", &E::bytes);

  nb::class_<MatrixProduct> product(module, "MatrixProduct");
  product
      .def_static(
          "create",
          [](std::uint64_t side, std::uint64_t rows, std::uint64_t matrices) {
            return MatrixProduct{side, rows, matrices};
          },
          "side"_a, "rows"_a, "matrices"_a)
      .def_prop_ro("depth", [](const MatrixProduct&) { return MatrixProduct::depth; })
      .def("rotations", [](const MatrixProduct& shape) {
        return without_gil([&] { return rotations_of(shape); });
      });
  bind_properties(product, "side", &MatrixProduct::side, "rows", &MatrixProduct::rows, "matrices",
                  &MatrixProduct::matrices);
  nb::class_<EncodedMatrixProduct> encoded_product(module, "EncodedMatrixProduct");
  bind_properties(encoded_product, "level", &EncodedMatrixProduct::level, "nbytes",
                  &EncodedMatrixProduct::bytes);

  nb::class_<EncodedBootstrap>(module, "EncodedBootstrap")
      .def_prop_ro("slots", &EncodedBootstrap::slots)
      .def_prop_ro("nbytes", &EncodedBootstrap::bytes);
}

/// A function that makes a polynomial for an interval and an error.
void bind_polynomial(nb::module_& module, const char* name,
                     Polynomial (*make)(double, double, double)) {
  module.def(
      name,
      [make](double low, double high, double error) {
        return without_gil([&] { return make(low, high, error); });
      },
      "low"_a, "high"_a, "error"_a);
}

void bind_functions(nb::module_& module) {
  nb::class_<SignStages> type(module, "SignStages");
  type.def_static(
      "create",
      [](const std::vector<const Polynomial*>& stages, double epsilon, double error) {
        check_each(stages);
        SignStages out{{}, epsilon, error};
        for (const Polynomial* each : stages) out.stages.push_back(*each);
        return out;
      },
      "stages"_a, "epsilon"_a, "error"_a);
  using S = SignStages;
  bind_properties(type, "stages", &S::stages, "epsilon", &S::epsilon, "error", &S::error, "depth",
                  &S::depth);
  module.def(
      "minimax_sign",
      [](double epsilon, double error) {
        return without_gil([&] { return ckks::minimax_sign(epsilon, error); });
      },
      "epsilon"_a, "error"_a);

  bind_polynomial(module, "inverse_of", &ckks::inverse_of);
  bind_polynomial(module, "sqrt_of", &ckks::sqrt_of);
  bind_polynomial(module, "inverse_sqrt_of", &ckks::inverse_sqrt_of);
  bind_polynomial(module, "logistic_of", &ckks::logistic_of);
  bind_polynomial(module, "tanh_of", &ckks::tanh_of);
  bind_polynomial(module, "exp_of", &ckks::exp_of);
  bind_polynomial(module, "sine_of", &ckks::sine_of);
}

}  // namespace

void bind_ckks_circuits(nb::module_& module) {
  bind_linear_maps(module);
  bind_functions(module);
}

}  // namespace whorl::python
