// BGV: the client, and those who only encrypt.
#include "whorl/bgv/client.h"

#include <nanobind/stl/vector.h>

#include "common/packing.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using namespace nb::literals;
using bgv::Client;

namespace {

bgv::EvaluationKeys make_keys(const Client& client, unsigned relinearise,
                              const std::vector<std::int64_t>& rotations, bool swap_rows,
                              unsigned threads, const std::optional<nb::callable>& report) {
  const bgv::KeyRequest request{relinearise, rotations, swap_rows};
  return without_gil([&] { return client.evaluation_keys(request, threads, reporting(report)); });
}

}  // namespace

void bind_bgv_client(nb::module_& module) {
  bind_keyholder<Client>(module)
      .def(
          "encrypt",
          [](const Client& client, const Input<std::int64_t>& values, const std::string& packing,
             std::size_t length) {
            const auto how = from_name<bgv::Packing>(packing);
            return without_gil(
                [&] { return client.encrypt(as_span(values), how, length, polling()); });
          },
          "values"_a, "packing"_a, "length"_a)
      .def(
          "decrypt",
          [](const Client& client, const bgv::Ciphertexts& batch, bool allow_spent) {
            return as_numpy(
                without_gil([&] { return client.decrypt(batch, allow_spent, polling()); }));
          },
          "batch"_a, "allow_spent"_a)
      .def(
          "noise_budget",
          [](const Client& client, const bgv::Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.noise_budget(batch, polling()); }));
          },
          "batch"_a)
      .def("public_key", calling(&Client::public_key))
      .def("evaluation_keys", &make_keys, "relinearise"_a, "rotations"_a, "swap_rows"_a,
           "threads"_a, "progress"_a.none());

  module.def(
      "encrypt",
      [](const bgv::PublicKey& key, const Input<std::int64_t>& values, const std::string& packing,
         std::size_t length) {
        const auto how = from_name<bgv::Packing>(packing);
        return without_gil(
            [&] { return bgv::encrypt(key, as_span(values), how, length, polling()); });
      },
      "key"_a, "values"_a, "packing"_a, "length"_a);
}

}  // namespace whorl::python
