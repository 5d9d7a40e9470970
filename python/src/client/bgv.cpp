// BGV: the client, and those who only encrypt.
#include "whorl/bgv/client.h"

#include "common/packing.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using bgv::Client;

void bind_bgv_client(nb::module_& module) {
  bind_ring_keyholder<Client, bgv::KeyRequest>(module)
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
          [](const Client& client, const bgv::Ciphertexts& batch, bool allow_spent,
             bool all_slots) {
            return as_numpy(without_gil([&] {
              return client.decrypt(batch, {allow_spent, all_slots, polling()});
            }));
          },
          "batch"_a, "allow_spent"_a, "all_slots"_a)
      .def(
          "noise_budget",
          [](const Client& client, const bgv::Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.noise_budget(batch, polling()); }));
          },
          "batch"_a);

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
