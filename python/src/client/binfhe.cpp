// FHEW/TFHE: the client.
#include "whorl/binfhe/client.h"

#include "common/encodings.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using binfhe::Ciphertexts;
using binfhe::Client;
using Values = std::span<const std::uint32_t>;

void bind_binfhe_client(nb::module_& module) {
  bind_keyholder<Client>(module)
      .def(
          "encrypt",
          [](const Client& client, const Input<std::uint32_t>& messages, EncodingPair encoding,
             double allow_failure, const std::string& under) {
            const auto key = from_name<binfhe::Under>(under);
            return without_gil([&] {
              return client.encrypt(as_span(messages), Handed<binfhe::Encoding>::open(encoding),
                                    allow_failure, key, polling());
            });
          },
          "messages"_a, "encoding"_a, "allow_failure"_a, "under"_a)
      .def(
          "decrypt",
          [](const Client& client, const binfhe::Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.decrypt(batch, polling()); }));
          },
          "batch"_a)
      .def(
          "noise",
          [](const Client& client, const binfhe::Ciphertexts& batch,
             const Input<std::uint32_t>& messages) {
            return as_numpy(
                without_gil([&] { return client.noise(batch, as_span(messages), polling()); }));
          },
          "batch"_a, "messages"_a)
      .def(
          "decrypt_packed",
          [](const Client& client, const binfhe::PackedCiphertexts& packed) {
            return as_numpy(without_gil([&] { return client.decrypt(packed, polling()); }));
          },
          "packed"_a)
      .def(
          "noise_packed",
          [](const Client& client, const binfhe::PackedCiphertexts& packed,
             const Input<std::uint32_t>& messages) {
            return as_numpy(
                without_gil([&] { return client.noise(packed, as_span(messages), polling()); }));
          },
          "packed"_a, "messages"_a)
      .def("public_key", calling(&Client::public_key))
      .def(
          "evaluation_keys",
          [](const Client& client, unsigned threads, const Report& report) {
            return without_gil([&] { return client.evaluation_keys(threads, reporting(report)); });
          },
          "threads"_a, "progress"_a.none());

  module.def(
      "encrypt",
      [](const binfhe::PublicKey& key, const Input<std::uint32_t>& messages, EncodingPair encoding,
         double allow_failure) {
        return without_gil([&] {
          return binfhe::encrypt(key, as_span(messages), Handed<binfhe::Encoding>::open(encoding),
                                 allow_failure, polling());
        });
      },
      "key"_a, "messages"_a, "encoding"_a, "allow_failure"_a);
}

}  // namespace whorl::python
