// FHEW/TFHE: the client.
#include "whorl/binfhe/client.h"

#include "common/encodings.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using namespace nb::literals;
using binfhe::Ciphertexts;
using binfhe::Client;
using Values = std::span<const std::uint32_t>;

void bind_binfhe_client(nb::module_& module) {
  bind_keyholder<Client>(module)
      .def("encrypt", calling<Client, Ciphertexts, Values>(&Client::encrypt), "messages"_a,
           "encoding"_a, "allow_failure"_a)
      .def("decrypt", calling(&Client::decrypt), "batch"_a)
      .def("noise",
           calling<Client, std::vector<std::int64_t>, const Ciphertexts&, Values>(&Client::noise),
           "batch"_a, "messages"_a)
      .def(
          "evaluation_keys",
          [](const Client& client, unsigned threads, const std::optional<nb::callable>& report) {
            return without_gil([&] { return client.evaluation_keys(threads, reporting(report)); });
          },
          "threads"_a, "progress"_a.none());
}

}  // namespace whorl::python
