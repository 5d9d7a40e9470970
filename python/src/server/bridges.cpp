// From FHEW/TFHE to lanes of CKKS and back, and compression of results: keys, and what a server
// does with them.
#include "whorl/bridges/lanes.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "common/calls.h"
#include "common/files.h"
#include "parts.h"
#include "whorl/bridges/compression.h"
#include "whorl/bridges/lwe_output.h"
#include "whorl/bridges/products.h"

namespace whorl::python {

using bridges::CompressionKeys;
using bridges::Compressor;
using bridges::LweInput;
using bridges::LweInputKeys;
using bridges::LweOutput;
using bridges::LweOutputKeys;
using bridges::Multiplier;
using bridges::ProductKeys;

namespace {

/// Keys of a class, which say whose LWE ciphertexts they are for.
template <class Keys>
void bind_lwe_keys(nb::module_& module, const char* name) {
  nb::class_<Keys> keys(module, name);
  bind_origin(keys);
  keys.def_prop_ro("nbytes", &Keys::bytes)
      .def_prop_ro("security_bits", &Keys::security_bits)
      .def_prop_ro("lwe_parameters", [](const Keys& k) { return k.lwe_parameters; })
      .def_prop_ro("lwe_key_id", [](const Keys& k) { return as_bytes(k.lwe_key_id); });
  bind_files(keys);
}

}  // namespace

void bind_bridges(nb::module_& module) {
  nb::class_<CompressionKeys> compression(module, "CompressionKeys");
  bind_origin(compression);
  compression.def_prop_ro("nbytes", &CompressionKeys::bytes);
  bind_files(compression);
  nb::class_<Compressor>(module, "Compressor")
      .def_static(
          "create",
          [](const binfhe::Server& server, const CompressionKeys& with, const Report& report) {
            return without_gil([&] { return Compressor(server, with, reporting(report)); });
          },
          "server"_a, "keys"_a, "progress"_a.none())
      .def_prop_ro("nbytes", &Compressor::bytes)
      .def("compress", calling(&Compressor::compress), "array"_a, "failure_log2"_a);

  nb::class_<ProductKeys> products(module, "ProductKeys");
  bind_origin(products);
  products.def_prop_ro("nbytes", &ProductKeys::bytes);
  bind_files(products);
  nb::class_<Multiplier>(module, "Multiplier")
      .def_static(
          "create",
          [](const binfhe::Server& server, const ProductKeys& with, const Report& report) {
            return without_gil([&] { return Multiplier(server, with, reporting(report)); });
          },
          "server"_a, "keys"_a, "progress"_a.none())
      .def_static(
          "dry",
          [](const binfhe::Server& server) {
            return without_gil([&] { return Multiplier(server); });
          },
          "server"_a)
      .def_prop_ro("nbytes", &Multiplier::bytes)
      .def("failure_log2", &Multiplier::failure_log2, "noise"_a, "first"_a, "digits"_a)
      .def(
          "multiply",
          [](const Multiplier& multiplier, const binfhe::Array& x,
             const std::vector<std::int32_t>& x_lows, const binfhe::Array& y,
             const std::vector<std::int32_t>& y_lows, std::size_t integers, std::uint32_t digits) {
            return without_gil([&] {
              return multiplier.multiply({x, x_lows}, {y, y_lows}, integers, digits);
            });
          },
          "x"_a, "x_lows"_a, "y"_a, "y_lows"_a, "integers"_a, "digits"_a)
      .def(
          "multiply_known",
          [](const Multiplier& multiplier, const binfhe::Array& x,
             const std::vector<std::int32_t>& x_lows, const std::vector<std::uint32_t>& known,
             std::size_t integers, std::uint32_t digits) {
            return without_gil([&] {
              return multiplier.multiply({x, x_lows}, known, integers, digits);
            });
          },
          "x"_a, "x_lows"_a, "known"_a, "integers"_a, "digits"_a);

  bind_lwe_keys<LweInputKeys>(module, "LweInputKeys");
  bind_lwe_keys<LweOutputKeys>(module, "LweOutputKeys");

  nb::class_<LweInput>(module, "LweInput")
      .def_static(
          "create",
          [](const ckks::Lanes& lanes, const LweInputKeys& with, const Report& report) {
            return without_gil([&] { return LweInput(lanes, with, reporting(report)); });
          },
          "lanes"_a, "keys"_a, "progress"_a.none())
      .def_prop_ro("nbytes", &LweInput::bytes)
      .def(
          "take_in",
          // Python changes no data of ciphertexts.
          [](const LweInput& input, const binfhe::Ciphertexts& c, std::optional<unsigned> bits) {
            return without_gil([&] { return input.take_in(c, bits, bridges::Masks::of_the_seed); });
          },
          "ciphertexts"_a, "bits"_a.none())
      .def("take_in",
           calling(nb::overload_cast<const binfhe::Array&, std::optional<unsigned>>(
               &LweInput::take_in, nb::const_)),
           "array"_a, "bits"_a.none());

  nb::class_<LweOutput>(module, "LweOutput")
      .def_static(
          "create",
          [](const ckks::Lanes& lanes, const LweOutputKeys& with) {
            return without_gil([&] { return LweOutput(lanes, with); });
          },
          "lanes"_a, "keys"_a)
      .def(
          "give_out",
          [](const LweOutput& output, const ckks::LaneArray& lanes, std::uint32_t p, bool padding) {
            return without_gil([&] { return output.give_out(lanes, {p, padding}); });
          },
          "lanes"_a, "p"_a, "padding"_a);
}

}  // namespace whorl::python
