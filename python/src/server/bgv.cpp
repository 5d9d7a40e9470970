// BGV: parameters, batches of ciphertexts, keys, plaintexts on a server's devices, and the server.
#include "whorl/bgv/server.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base_server.h"
#include "batches.h"
#include "common/ring.h"
#include "parts.h"
#include "whorl/circuits/bgv/slots.h"

namespace whorl::python {

using bgv::Array;
using bgv::Ciphertexts;
using bgv::ParameterLiteral;
using bgv::Parameters;
using bgv::Plaintexts;
using bgv::Server;
using bgv::SlotMap;
using Values = std::span<const std::int64_t>;

namespace {

Parameters choose(unsigned depth, std::uint64_t plain_modulus, std::uint32_t N, unsigned dnum,
                  unsigned prime_bits, double sums, bool slots, unsigned plain_products,
                  unsigned limbs) {
  const bgv::Requirements needs{depth,      plain_modulus, N,     dnum,
                                prime_bits, sums,          slots, plain_products};
  return without_gil(
      [&] { return limbs == 0 ? Parameters::choose(needs) : Parameters::of_limbs(needs, limbs); });
}

void bind_parameter_types(nb::module_& module) {
  nb::class_<ParameterLiteral> literal(module, "ParameterLiteral");
  literal.def(nb::init<>());
  using L = ParameterLiteral;
  bind_fields(literal, "name", &L::name, "N", &L::N, "t", &L::t, "chain", &L::chain, "special",
              &L::special, "digit_limbs", &L::digit_limbs, "sigma", &L::sigma, "depth", &L::depth,
              "plain_products", &L::plain_products);
  module.def("plain_modulus", &bgv::plain_modulus, "at_least"_a, "N"_a);

  bind_ring_parameters<Parameters, ParameterLiteral, bgv::KeyRequest>(module, "swap_rows",
                                                                      &bgv::KeyRequest::swap_rows)
      .def_static("choose", &choose, "depth"_a, "plain_modulus"_a, "N"_a, "dnum"_a, "prime_bits"_a,
                  "sums"_a, "slots"_a, "plain_products"_a, "limbs"_a)
      .def_prop_ro("has_slots", &Parameters::has_slots)
      .def_prop_ro("log2_Q", [](const Parameters& p) { return p.log2_Q(p.limbs()); });
}

/// What ciphertexts on the host and on devices say of themselves.
template <class T>
void bind_facts(nb::class_<T>& type) {
  using Info = bgv::CiphertextInfo;
  bind_info(type, "packing", &Info::packing, "count", &Info::count, "factor", &Info::factor,
            "parts", &Info::parts, "limbs", &Info::limbs, "length", &Info::length);
}

void bind_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  bind_facts(batch);
  batch.def_prop_ro("noise_budget", [](const Ciphertexts& c) {
    return c.parameters.log2_Q(c.info.limbs) - 1 - c.info.noise;
  });
  bind_ring_batch(batch, [](const Ciphertexts& c) { return c.info.limbs; });

  nb::class_<Array> array(module, "Array");
  bind_facts(array);
  bind_properties(array, "each", &Array::each, "noise_budget", &Array::noise_budget, "nbytes",
                  &Array::bytes);
  array.def_prop_ro("everywhere", [](const Array& a) { return a.info().rest == bgv::Rest::same; });

  bind_ring_keys<bgv::PublicKey, bgv::EvaluationKeys>(module);
}

/// A function that says for some arguments which rotations are needed, and whether rows are
/// exchanged.
template <class... Arguments>
auto rotations_of(void (*request)(bgv::KeyRequest&, Arguments...)) {
  return [request](Arguments... arguments) {
    bgv::KeyRequest asked;
    request(asked, arguments...);
    return std::pair(asked.rotations, asked.swap_rows);
  };
}

/// An operation with plaintexts, given as values or encoded.
void bind_plain(nb::class_<Server>& server, const char* name,
                Array (Server::*of_values)(const Array&, Values, std::size_t) const,
                Array (Server::*of_encoded)(const Array&, const Plaintexts&) const) {
  server.def(name, calling(of_values), "a"_a, "values"_a, "length"_a)
      .def(name, calling(of_encoded), "a"_a, "values"_a);
}

// Python drops arrays and plaintexts from any thread, perhaps while another is inside a call: their
// memory allows it, and does not ask for the GIL.
void bind_server(nb::module_& module) {
  nb::class_<Plaintexts> plaintexts(module, "Plaintexts");
  bind_properties(plaintexts, "packing", &Plaintexts::packing, "each", &Plaintexts::each, "nbytes",
                  &Plaintexts::bytes);
  nb::class_<SlotMap> map(module, "SlotMap");
  bind_properties(map, "rows", &SlotMap::rows, "nbytes", &SlotMap::bytes);

  module
      .def("rotations_for_matrix", rotations_of(&bgv::request_matrix), "parameters"_a, "rows"_a,
           "columns"_a)
      .def("rotations_for_diagonals", rotations_of(&bgv::request_diagonals), "count"_a, "step"_a)
      .def("rotations_for_sum", rotations_of(&bgv::request_sum), "parameters"_a);

  auto server = bind_ring_server<Server, Array, bgv::EvaluationKeys>(module);
  server
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
      .def("multiply_scalar", calling(&Server::multiply_scalar), "a"_a, "value"_a)
      .def("multiply", calling(&Server::multiply), "a"_a, "b"_a, "relinearised"_a)
      .def("square", calling(&Server::square), "a"_a, "relinearised"_a)
      .def("swap_rows", calling(&Server::swap_rows), "a"_a)
      .def("inner_sum", calling(&Server::inner_sum), "a"_a, "columns"_a)
      .def("mod_switch", calling(&Server::mod_switch), "a"_a, "limbs"_a)
      .def("shrink", calling(&Server::shrink), "a"_a, "spare_bits"_a);
  bind_plain(server, "add_plain", &Server::add_plain, &Server::add_plain);
  bind_plain(server, "sub_plain", &Server::sub_plain, &Server::sub_plain);
  bind_plain(server, "multiply_plain", &Server::multiply_plain, &Server::multiply_plain);

  bind_dry_run<bgv::DryRun, Parameters>(module).def(
      "fresh", calling(&bgv::DryRun::fresh), "packing"_a, "values"_a, "length"_a, "secret_key"_a);
}

}  // namespace

void bind_bgv(nb::module_& module) {
  bind_parameter_types(module);
  bind_data(module);
  bind_server(module);
}

}  // namespace whorl::python
