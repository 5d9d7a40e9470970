// BGV: parameters and their literals.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "common/ring.h"
#include "parts.h"

namespace whorl::python {

using bgv::ParameterLiteral;
using bgv::Parameters;

namespace {

Parameters choose(unsigned depth, std::uint64_t plain_modulus, std::uint32_t N, unsigned dnum,
                  unsigned prime_bits, double sums, bool slots, unsigned plain_products,
                  unsigned limbs) {
  const bgv::Requirements needs{depth,      plain_modulus, N,     dnum,
                                prime_bits, sums,          slots, plain_products};
  return without_gil(
      [&] { return limbs == 0 ? Parameters::choose(needs) : Parameters::of_limbs(needs, limbs); });
}

double log2_Q(const Parameters& p, unsigned limbs) {
  if (limbs > p.limbs())
    throw ParameterError("limbs is " + std::to_string(limbs) + "; it must be at most " +
                         std::to_string(p.limbs()));
  return p.log2_Q(limbs);
}

}  // namespace

void bind_bgv_parameters(nb::module_& module) {
  nb::class_<ParameterLiteral> literal(module, "ParameterLiteral");
  literal.def(nb::init<>());
  using L = ParameterLiteral;
  bind_fields(literal, "name", &L::name, "N", &L::N, "t", &L::t, "chain", &L::chain, "special",
              &L::special, "digit_limbs", &L::digit_limbs, "sigma", &L::sigma, "depth", &L::depth,
              "plain_products", &L::plain_products);
  module.def("plain_modulus", &bgv::plain_modulus, "at_least"_a, "N"_a);

  auto type = bind_ring_parameters<Parameters, ParameterLiteral, bgv::KeyRequest>(
      module, "swap_rows", &bgv::KeyRequest::swap_rows);
  type.def_static("choose", &choose, "depth"_a, "plain_modulus"_a, "N"_a, "dnum"_a, "prime_bits"_a,
                  "sums"_a, "slots"_a, "plain_products"_a, "limbs"_a)
      .def_prop_ro("has_slots", &Parameters::has_slots)
      .def("log2_Q", &log2_Q, "limbs"_a);
}

}  // namespace whorl::python
