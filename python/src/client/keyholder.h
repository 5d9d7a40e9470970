// What clients of every scheme have. Nothing here hands a secret to Python.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/calls.h"
#include "common/files.h"
#include "whorl/io_secret.h"

namespace whorl::python {

/// Generation and files; a scheme adds `encrypt`, `decrypt` and `evaluation_keys`.
template <class Client>
nb::class_<Client> bind_keyholder(nb::module_& module) {
  using Key = std::remove_cvref_t<decltype(std::declval<Client>().secret_key())>;
  static constexpr std::uint64_t most_bytes = 1U << 24U;
  nb::class_<Client> type(module, "Client");
  bind_origin(type);
  type.def_static(
          "generate",
          [](const std::remove_cvref_t<decltype(std::declval<Client>().parameters())>& parameters) {
            return without_gil([&] { return Client(parameters); });
          },
          "parameters"_a)
      .def(
          "save",
          [](const Client& client, const std::filesystem::path& path, const nb::bytes& passphrase,
             bool overwrite_secret) {
            const std::string_view phrase(passphrase.c_str(), passphrase.size());
            without_gil([&] { io::save(path, client.secret_key(), phrase, overwrite_secret); });
          },
          "path"_a, "passphrase"_a, "overwrite_secret"_a)
      .def_static(
          "load",
          [](const std::filesystem::path& path, const nb::bytes& passphrase, bool allow_insecure,
             const std::pair<std::uint64_t, std::uint64_t>& max_kdf, const Expected& expected,
             bool allow_readable_by_others) {
            const std::string_view phrase(passphrase.c_str(), passphrase.size());
            auto options = load_options(allow_insecure, {most_bytes, 0, 0}, expected);
            options.allow_readable_by_others = allow_readable_by_others;
            const io::KdfCost most{max_kdf.first, max_kdf.second};
            return without_gil([&] { return Client(io::load<Key>(path, phrase, options, most)); });
          },
          "path"_a, "passphrase"_a, "allow_insecure"_a, "max_kdf"_a, "expected"_a,
          "allow_readable_by_others"_a)
      .def("__reduce__", [](const Client&) -> nb::object {
        throw nb::type_error("a client holds a secret key and cannot be pickled; use save()");
      });
  return type;
}

/// The same, public keys and evaluation keys, of clients over RNS rings.
template <class Client, class KeyRequest>
nb::class_<Client> bind_ring_keyholder(nb::module_& module) {
  auto type = bind_keyholder<Client>(module);
  type.def("public_key", calling(&Client::public_key))
      .def(
          "evaluation_keys",
          [](const Client& client, const KeyRequest& request, unsigned threads,
             const Report& report) {
            return without_gil(
                [&] { return client.evaluation_keys(request, threads, reporting(report)); });
          },
          "request"_a, "threads"_a, "progress"_a.none());
  return type;
}

}  // namespace whorl::python
