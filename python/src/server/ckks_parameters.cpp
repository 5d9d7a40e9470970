// CKKS: parameters and their literals.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "common/ring.h"
#include "parts.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/ckks/ciphertexts.h"

namespace whorl::python {

using ckks::BootstrapLiteral;
using ckks::ParameterLiteral;
using ckks::Parameters;

namespace {

Parameters choose(unsigned depth, unsigned scale_bits, unsigned value_bits, std::uint32_t slots,
                  std::uint32_t N, unsigned dnum, unsigned word_bits, bool bootstrap,
                  bool coefficients_last, unsigned arcsine) {
  const ckks::Requirements needs{depth,     scale_bits, value_bits,        slots,  N, dnum,
                                 word_bits, bootstrap,  coefficients_last, arcsine};
  return without_gil([&] { return Parameters::choose(needs); });
}

}  // namespace

void bind_ckks_parameters(nb::module_& module) {
  nb::class_<BootstrapLiteral> shape(module, "BootstrapLiteral");
  shape.def(nb::init<>());
  using B = BootstrapLiteral;
  bind_fields(shape, "weight", &B::weight, "range", &B::range, "to_coefficients",
              &B::to_coefficients, "to_slots", &B::to_slots, "degree", &B::degree, "doublings",
              &B::doublings, "log2_ratio", &B::log2_ratio, "series", &B::series, "arcsine",
              &B::arcsine, "coefficients_last", &B::coefficients_last);

  nb::class_<ParameterLiteral> literal(module, "ParameterLiteral");
  literal.def(nb::init<>());
  using L = ParameterLiteral;
  bind_fields(literal, "name", &L::name, "N", &L::N, "chain", &L::chain, "terminals", &L::terminals,
              "special", &L::special, "digit_limbs", &L::digit_limbs, "sigma", &L::sigma,
              "log2_scale", &L::log2_scale);
  bind_tuples(literal, "levels", &L::levels, &ckks::LevelPrimes::terminals,
              &ckks::LevelPrimes::mains);
  literal.def_prop_rw(
      "bootstrap", [](const L& l) { return l.bootstrap; },
      [](L& l, const std::optional<B>& value) { l.bootstrap = value; },
      nb::for_setter(nb::arg("value").none()));

  auto type = bind_ring_parameters<Parameters, ParameterLiteral, ckks::KeyRequest>(
      module, "conjugate", &ckks::KeyRequest::conjugate);
  type.def_static("choose", &choose, "depth"_a, "scale_bits"_a, "value_bits"_a, "slots"_a, "N"_a,
                  "dnum"_a, "word_bits"_a, "bootstrap"_a, "coefficients_last"_a = false,
                  "arcsine"_a = 0)
      .def_static(
          "named",
          [](const std::string& name, bool allow_insecure) {
            return without_gil([&] { return Parameters::named(name, allow_insecure); });
          },
          "name"_a, "allow_insecure"_a)
      .def_static("names", &Parameters::names)
      .def_prop_ro("depth", &Parameters::depth)
      .def_prop_ro("top", &Parameters::top)
      .def_prop_ro("least_bootstrap_level", &Parameters::least_bootstrap_level)
      .def_prop_ro("sparse_security_bits", &Parameters::sparse_security_bits)
      .def_prop_ro("log2_failure", &Parameters::log2_failure)
      .def_prop_ro("slots", &Parameters::slots)
      .def(
          "primes", [](const Parameters& p, unsigned level) { return p.primes(level); }, "level"_a)
      .def("log2_Q", &Parameters::log2_Q, "level"_a)
      .def("scale", &Parameters::scale, "level"_a)
      .def(
          "with_bootstrap",
          [](const Parameters& p, ckks::KeyRequest request, std::uint64_t slots) {
            ckks::request_bootstrap(request, p, slots);
            return request;
          },
          "request"_a, "slots"_a);
}

}  // namespace whorl::python
