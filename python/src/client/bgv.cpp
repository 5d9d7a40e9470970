// BGV: the client, and those who only encrypt.
#include "whorl/bgv/client.h"

#include "common/ring.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using bgv::Client;

namespace {

/// `encrypt` of those who have a `Holder`: a client, or a public key, which has no method for it.
template <class Holder>
auto encrypting() {
  return [](const Holder& holder, const Input<std::int64_t>& values, const std::string& packing,
            std::size_t length) {
    const auto how = from_name<bgv::Packing>(packing);
    return without_gil([&] {
      if constexpr (std::is_same_v<Holder, Client>)
        return holder.encrypt(as_span(values), how, length, polling());
      else
        return bgv::encrypt(holder, as_span(values), how, length, polling());
    });
  };
}

}  // namespace

void bind_bgv_client(nb::module_& module) {
  bind_ring_keyholder<Client, bgv::KeyRequest>(module)
      .def("encrypt", encrypting<Client>(), "values"_a, "packing"_a, "length"_a)
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

  module.def("encrypt", encrypting<bgv::PublicKey>(), "key"_a, "values"_a, "packing"_a, "length"_a);
}

}  // namespace whorl::python
