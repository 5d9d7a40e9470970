// CKKS: the server, and polynomials. ckks_circuits.cpp has what else
// the server's methods take.
#include "whorl/ckks/server.h"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "base_server.h"
#include "common/ring.h"
#include "parts.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/circuits/ckks/matrices.h"
#include "whorl/circuits/ckks/polynomials.h"

namespace whorl::python {

using ckks::Array;
using ckks::DryRun;
using ckks::Polynomial;
using ckks::Server;

template <>
inline constexpr Choice<Polynomial::Basis, 2> choice<Polynomial::Basis>{
    "basis",
    {{{"chebyshev", Polynomial::Basis::chebyshev}, {"monomial", Polynomial::Basis::monomial}}}};

namespace {

using Function = nb::typed<nb::callable, double(double)>;

/// A function of Python's. It is called with the GIL, so that what it raises stops the work.
auto called(const Function& f) {
  return [&f](double x) { return nb::cast<double>(f(x)); };
}

void bind_polynomials(nb::module_& module) {
  nb::class_<Polynomial> type(module, "Polynomial");
  type.def_static(
          "create",
          [](const Input<double>& coefficients, const std::string& basis, double low, double high) {
            const auto values = as_span(coefficients);
            return Polynomial{
                {values.begin(), values.end()}, from_name<Polynomial::Basis>(basis), low, high};
          },
          "coefficients"_a, "basis"_a, "low"_a, "high"_a)
      .def_prop_ro(
          "coefficients", [](const Polynomial& p) { return as_numpy(p.coefficients); },
          nb::rv_policy::automatic)
      .def(
          "values",
          [](const Polynomial& p, const Input<double>& x) {
            std::vector<double> out;
            out.reserve(x.size());
            for (const double each : as_span(x)) out.push_back(p(each));
            return as_numpy(std::move(out));
          },
          "x"_a);
  using P = Polynomial;
  bind_properties(type, "basis", &P::basis, "low", &P::low, "high", &P::high, "degree", &P::degree,
                  "depth", &P::depth);
  module.def(
      "approximate",
      [](const Function& f, double low, double high, unsigned degree) {
        return ckks::approximate(called(f), low, high, degree);
      },
      "f"_a, "low"_a, "high"_a, "degree"_a);
  module.def(
      "approximate_within",
      [](const Function& f, double low, double high, double error) {
        return ckks::approximate_within(called(f), low, high, error);
      },
      "f"_a, "low"_a, "high"_a, "error"_a);
}

}  // namespace

// Python drops arrays from any thread, perhaps while another is inside a call: their memory allows
// it, and does not ask for the GIL.
void bind_ckks_server(nb::module_& module) {
  bind_polynomials(module);

  bind_ring_server<Server, Array, ckks::EvaluationKeys>(module)
      .def_prop_ro("best_batch", &Server::best_batch)
      .def(
          "multiply",
          [](const Server& server, const Array& a, const Array& b, bool relinearised,
             bool rescaled) {
            return without_gil([&] { return server.multiply(a, b, {relinearised, rescaled}); });
          },
          "a"_a, "b"_a, "relinearised"_a, "rescaled"_a)
      .def(
          "square",
          [](const Server& server, const Array& a, bool relinearised, bool rescaled) {
            return without_gil([&] { return server.square(a, {relinearised, rescaled}); });
          },
          "a"_a, "relinearised"_a, "rescaled"_a)
      .def("rescale", calling(&Server::rescale), "a"_a)
      .def("lower", calling(&Server::lower), "a"_a, "level"_a)
      .def(
          "with_bound",
          [](const Server& server, const Array& a, double low, double high) {
            return without_gil([&] { return server.with_bound(a, {low, high}); });
          },
          "a"_a, "low"_a, "high"_a)
      .def("as_vectors", calling(&Server::as_vectors), "a"_a, "length"_a)
      .def("parts", calling(&Server::parts), "a"_a)
      .def("with_error", calling(&Server::with_error), "a"_a, "error"_a)
      .def("with_more_error", calling(&Server::with_more_error), "a"_a, "error"_a)
      .def("add_plain", calling(&Server::add_plain), "a"_a, "values"_a, "length"_a)
      .def("sub_plain", calling(&Server::sub_plain), "a"_a, "values"_a, "length"_a)
      .def("multiply_plain", calling(&Server::multiply_plain), "a"_a, "values"_a, "length"_a,
           "rescaled"_a)
      .def("multiply_scalar", calling(&Server::multiply_scalar), "a"_a, "value"_a, "rescaled"_a)
      .def(
          "weighted_sums",
          [](const Server& server, const Array& a, const Input<double>& weights, std::size_t inputs,
             const Input<double>& constants, bool rescaled) {
            const auto numbers = as_span(weights), added = as_span(constants);
            return without_gil(
                [&] { return server.weighted_sums(a, numbers, inputs, added, rescaled); });
          },
          "a"_a, "weights"_a, "inputs"_a, "constants"_a, "rescaled"_a)
      .def("multiply_integer", calling(&Server::multiply_integer), "a"_a, "value"_a)
      .def("multiply_by_i", calling(&Server::multiply_by_i), "a"_a)
      .def("conjugate", calling(&Server::conjugate), "a"_a)
      .def("sum", calling(&Server::sum), "a"_a, "period"_a)
      .def("replicate", calling(&Server::replicate), "a"_a, "first"_a, "count"_a)
      .def("repeat", calling(&Server::repeat), "a"_a, "length"_a)
      .def("evaluate",
           calling_with<Server>(
               nb::overload_cast<const Server&, const Array&, const Polynomial&>(&ckks::evaluate)),
           "a"_a, "polynomial"_a)
      .def(
          "evaluate_each",
          [](const Server& server, const Array& a, const std::vector<const Polynomial*>& each,
             const Input<std::int32_t>& mapping, std::size_t length) {
            check_each(each);
            ckks::PolynomialVector of{{}, {}, length};
            for (const Polynomial* p : each) of.polynomials.push_back(*p);
            const auto indices = as_span(mapping);
            of.mapping.assign(indices.begin(), indices.end());
            return without_gil([&] { return ckks::evaluate(server, a, of); });
          },
          "a"_a, "polynomials"_a, "mapping"_a, "length"_a)
      .def(
          "encode",
          [](const Server& server, const ckks::LinearMap& map, unsigned level, double scale,
             bool low_rotations, bool compact) {
            return without_gil([&] {
              return ckks::encode(server, map, level, {scale, low_rotations, compact});
            });
          },
          "map"_a, "level"_a, "scale"_a, "low_rotations"_a, "compact"_a)
      .def("encode_product",
           calling_with<Server>(
               nb::overload_cast<const Server&, const ckks::MatrixProduct&, unsigned>(
                   &ckks::encode)),
           "product"_a, "level"_a)
      .def("multiply_matrices", calling_with<Server>(&ckks::multiply_matrices), "a"_a, "b"_a,
           "product"_a)
      .def("apply", calling_with<Server>(&ckks::apply), "a"_a, "map"_a)
      .def("check_bootstrap", calling_with<Server>(&ckks::check_bootstrap), "a"_a)
      .def(
          "encode_bootstrap",
          [](const Server& server, std::uint64_t slots, const Report& report, bool all_multiples) {
            return without_gil([&] {
              return ckks::encode_bootstrap(
                  server, slots, reporting(report),
                  all_multiples ? ckks::Multiples::all : ckks::Multiples::likely);
            });
          },
          "slots"_a, "progress"_a.none(), "all_multiples"_a = false)
      .def("bootstrap", calling_with<Server>(&ckks::bootstrap), "a"_a, "maps"_a, "iterations"_a)
      .def("sign", calling_with<Server>(&ckks::sign), "a"_a, "stages"_a)
      .def("absolute", calling_with<Server>(&ckks::absolute), "a"_a, "stages"_a)
      .def("relu", calling_with<Server>(&ckks::relu), "a"_a, "stages"_a)
      .def(
          "inverse",
          [](const Server& server, const Array& a, double low, double high, double error) {
            return without_gil(
                [&] { return ckks::inverse(server, a, ckks::inverse_stages(low, high, error)); });
          },
          "a"_a, "low"_a, "high"_a, "error"_a)
      .def("greater", calling_with<Server>(&ckks::greater), "a"_a, "b"_a, "stages"_a)
      .def("maximum", calling_with<Server>(&ckks::maximum), "a"_a, "b"_a, "stages"_a)
      .def("minimum", calling_with<Server>(&ckks::minimum), "a"_a, "b"_a, "stages"_a);

  bind_dry_run<DryRun, ckks::Parameters>(module).def(
      "fresh",
      [](const DryRun& run, const std::string& packing, std::size_t count, std::uint64_t length,
         double low, double high, bool secret_key) {
        return run.fresh(from_name<ckks::Packing>(packing), count, length, {low, high}, secret_key);
      },
      "packing"_a, "count"_a, "length"_a, "low"_a, "high"_a, "secret_key"_a);
}

}  // namespace whorl::python
