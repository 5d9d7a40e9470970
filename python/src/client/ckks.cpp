// CKKS: the client, and those who only encrypt.
#include "whorl/ckks/client.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <complex>
#include <optional>
#include <tuple>
#include <utility>

#include "common/ring.h"
#include "keyholder.h"
#include "parts.h"

namespace whorl::python {

using ckks::Client;
using Complex = std::complex<double>;

namespace {

/// Packing, parts, level, scale, length, bound and error.
using ExpectedInfo =
    std::tuple<std::string, unsigned, unsigned, double, std::uint64_t, double, double>;

ckks::CiphertextInfo as_info(const ExpectedInfo& given) {
  ckks::CiphertextInfo out;
  std::string packing;
  std::tie(packing, out.parts, out.level, out.scale, out.length, out.bound, out.error) = given;
  out.packing = from_name<ckks::Packing>(packing);
  out.bound = std::log2(out.bound);
  out.error = std::log2(out.error);
  return out;
}

/// `encrypt` of those who have a `Holder`: a client, or a public key, which has no method for it.
/// `Packing`: its name, of real numbers.
template <class Holder, class Number, class... Packing>
auto encrypting() {
  return [](const Holder& holder, const Input<Number>& values, std::size_t length, double low,
            double high, Packing... packing) {
    return without_gil([&] {
      const ckks::EncryptOptions options{length, {low, high}, polling()};
      if constexpr (std::is_same_v<Holder, Client>)
        return holder.encrypt(as_span(values), options, from_name<ckks::Packing>(packing)...);
      else
        return ckks::encrypt(holder, as_span(values), options,
                             from_name<ckks::Packing>(packing)...);
    });
  };
}

}  // namespace

void bind_ckks_client(nb::module_& module) {
  bind_ring_keyholder<Client, ckks::KeyRequest>(module)
      .def("encrypt", encrypting<Client, Complex>(), "values"_a, "length"_a, "low"_a, "high"_a)
      .def("encrypt_real", encrypting<Client, double, const std::string&>(), "values"_a, "length"_a,
           "low"_a, "high"_a, "packing"_a)
      .def(
          "encrypt_bits",
          [](const Client& client, const Input<std::uint8_t>& bits, std::size_t length,
             const Shape& shape) {
            return without_gil([&] {
              ckks::CompactBits out = client.encrypt_bits(as_span(bits), length, polling());
              if (shape != Shape{out.count}) out.shape = shape;
              return out;
            });
          },
          "bits"_a, "length"_a, "shape"_a)
      .def(
          "decrypt_raw",
          [](const Client& client, const ckks::Ciphertexts& batch, bool allow_spent) {
            return as_numpy(
                without_gil([&] { return client.decrypt_raw(batch, allow_spent, polling()); }));
          },
          "batch"_a, "allow_spent"_a)
      .def("serves_lanes",
           [](const Client& client) { return without_gil([&] { return client.serves_lanes(); }); })
      .def(
          "decrypt_bits",
          [](const Client& client, const ckks::Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.decrypt_bits(batch, polling()); }));
          },
          "batch"_a)
      .def(
          "decrypt_integers",
          [](const Client& client, const ckks::Ciphertexts& batch, unsigned p) {
            return as_numpy(
                without_gil([&] { return client.decrypt_integers(batch, p, polling()); }));
          },
          "batch"_a, "p"_a)
      .def(
          "release",
          [](const Client& client, const ckks::Ciphertexts& batch, double queries, double bits,
             const std::optional<ExpectedInfo>& expect) {
            ckks::ReleaseOptions options{queries, bits, {}, polling()};
            if (expect) options.expect = as_info(*expect);
            return as_numpy(without_gil([&] { return client.release(batch, options); }));
          },
          "batch"_a, "queries"_a, "bits"_a, "expect"_a.none())
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

  using Key = ckks::PublicKey;
  module
      .def("encrypt", encrypting<Key, Complex>(), "key"_a, "values"_a, "length"_a, "low"_a,
           "high"_a)
      .def("encrypt_real", encrypting<Key, double, const std::string&>(), "key"_a, "values"_a,
           "length"_a, "low"_a, "high"_a, "packing"_a);
}

}  // namespace whorl::python
