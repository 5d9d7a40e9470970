// Keys between FHEW/TFHE and CKKS, which take both secret keys, and keys of compression.
#include "common/calls.h"
#include "parts.h"
#include "whorl/bridges/client.h"

namespace whorl::python {

void bind_bridges_client(nb::module_& module) {
  module
      .def(
          "lwe_input_keys",
          [](const ckks::Client& to, const binfhe::Client& from, unsigned threads,
             const Report& report) {
            return without_gil(
                [&] { return bridges::lwe_input_keys(to, from, threads, reporting(report)); });
          },
          "to"_a, "lwe"_a, "threads"_a, "progress"_a.none())
      .def(
          "lwe_output_keys",
          [](const ckks::Client& from, const binfhe::Client& to, unsigned threads,
             const Report& report) {
            return without_gil(
                [&] { return bridges::lwe_output_keys(from, to, threads, reporting(report)); });
          },
          "source"_a, "lwe"_a, "threads"_a, "progress"_a.none())
      .def(
          "compression_keys",
          [](const binfhe::Client& client, unsigned threads, const Report& report) {
            return without_gil(
                [&] { return bridges::compression_keys(client, threads, reporting(report)); });
          },
          "client"_a, "threads"_a, "progress"_a.none())
      .def(
          "product_keys",
          [](const binfhe::Client& client, unsigned threads, const Report& report) {
            return without_gil(
                [&] { return bridges::product_keys(client, threads, reporting(report)); });
          },
          "client"_a, "threads"_a, "progress"_a.none())
      .def("lwe_input_key_bytes", &bridges::lwe_input_key_bytes, "to"_a, "lwe"_a);
}

}  // namespace whorl::python
