// CKKS: the client, and those who only encrypt.
#include "whorl/ckks/client.h"

#include <nanobind/stl/pair.h>

#include <complex>
#include <utility>

#include "common/packing.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using namespace nb::literals;
using ckks::Client;
using Complex = std::complex<double>;

void bind_ckks_client(nb::module_& module) {
  bind_ring_keyholder<Client, ckks::KeyRequest>(module)
      .def(
          "encrypt",
          [](const Client& client, const Input<Complex>& values, std::size_t length, double low,
             double high) {
            return without_gil([&] {
              return client.encrypt(as_span(values), {length, {low, high}, polling()});
            });
          },
          "values"_a, "length"_a, "low"_a, "high"_a)
      .def(
          "encrypt_real",
          [](const Client& client, const Input<double>& values, std::size_t length, double low,
             double high, const std::string& packing) {
            const auto how = from_name<ckks::Packing>(packing);
            return without_gil([&] {
              return client.encrypt(as_span(values), {length, {low, high}, polling()}, how);
            });
          },
          "values"_a, "length"_a, "low"_a, "high"_a, "packing"_a)
      .def(
          "decrypt_raw",
          [](const Client& client, const ckks::Ciphertexts& batch, bool allow_spent) {
            return as_numpy(
                without_gil([&] { return client.decrypt_raw(batch, allow_spent, polling()); }));
          },
          "batch"_a, "allow_spent"_a)
      .def(
          "release",
          [](const Client& client, const ckks::Ciphertexts& batch, double queries, double bits) {
            return as_numpy(without_gil([&] {
              return client.release(batch, {queries, bits, polling()});
            }));
          },
          "batch"_a, "queries"_a, "bits"_a)
      .def("released",
           [](const Client& client) {
             const ckks::Released released = client.released();
             return std::pair(released.results, released.spent);
           })
      .def(
          "add_released",
          [](const Client& client, std::uint64_t results, double spent) {
            client.add_released({results, spent});
          },
          "results"_a, "spent"_a);

  module.def(
      "encrypt",
      [](const ckks::PublicKey& key, const Input<Complex>& values, std::size_t length, double low,
         double high) {
        return without_gil([&] {
          return ckks::encrypt(key, as_span(values), {length, {low, high}, polling()});
        });
      },
      "key"_a, "values"_a, "length"_a, "low"_a, "high"_a);
  module.def(
      "encrypt_real",
      [](const ckks::PublicKey& key, const Input<double>& values, std::size_t length, double low,
         double high, const std::string& packing) {
        const auto how = from_name<ckks::Packing>(packing);
        return without_gil([&] {
          return ckks::encrypt(key, as_span(values), {length, {low, high}, polling()}, how);
        });
      },
      "key"_a, "values"_a, "length"_a, "low"_a, "high"_a, "packing"_a);
}

}  // namespace whorl::python
