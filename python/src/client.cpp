// The client's half. Nothing here hands a secret to Python.
#include "whorl/binfhe/client.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bindings.h"
#include "calls.h"
#include "whorl/io_secret.h"

namespace whorl::python {

using namespace nb::literals;
using binfhe::Ciphertexts;
using binfhe::Client;
using binfhe::Parameters;

namespace {

binfhe::EvaluationKeys make_keys(const Client& client, unsigned threads,
                                 const std::optional<nb::callable>& report) {
  const Progress progress = [&report](std::size_t done, std::size_t total) {
    if (!report) return !interrupted();
    nb::gil_scoped_acquire gil;
    if (on_main_thread && PyErr_CheckSignals() != 0) return false;
    try {
      (*report)(done, total);
    } catch (nb::python_error& error) {
      error.restore();  // raise_pending finds it once the call has wound down
      return false;
    }
    return true;
  };
  return without_gil([&] { return client.evaluation_keys(threads, progress); });
}

}  // namespace

void bind_client(nb::module_& module) {
  nb::class_<Client>(module, "Client")
      .def_static(
          "generate",
          [](const Parameters& parameters) {
            return without_gil([&] { return Client(parameters); });
          },
          "parameters"_a)
      .def_prop_ro("parameters", [](const Client& c) { return c.parameters(); })
      .def_prop_ro("key_id", [](const Client& c) { return as_bytes(c.key_id()); })
      .def(
          "encrypt",
          [](const Client& client, const Input<std::uint32_t>& messages, std::uint32_t p,
             bool padding) {
            return without_gil([&] { return client.encrypt(as_span(messages), {p, padding}); });
          },
          "messages"_a, "p"_a, "padding"_a)
      .def(
          "decrypt",
          [](const Client& client, const Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.decrypt(batch); }));
          },
          "batch"_a)
      .def(
          "noise",
          [](const Client& client, const Ciphertexts& batch, const Input<std::uint32_t>& messages) {
            return as_numpy(without_gil([&] { return client.noise(batch, as_span(messages)); }));
          },
          "batch"_a, "messages"_a)
      .def("evaluation_keys", &make_keys, "threads"_a, "progress"_a.none())
      .def(
          "save",
          [](const Client& client, const std::string& path, const nb::bytes& passphrase) {
            const std::string_view phrase(passphrase.c_str(), passphrase.size());
            without_gil([&] { io::save(path, client.secret_key(), phrase); });
          },
          "path"_a, "passphrase"_a)
      .def_static(
          "load",
          [](const std::string& path, const nb::bytes& passphrase, bool allow_insecure) {
            const std::string_view phrase(passphrase.c_str(), passphrase.size());
            return without_gil([&] {
              return Client(io::load<binfhe::SecretKey>(std::filesystem::path(path), phrase,
                                                load_options(allow_insecure, 1U << 24U)));
            });
          },
          "path"_a, "passphrase"_a, "allow_insecure"_a)
      .def("__reduce__", [](const Client&) -> nb::object {
        throw nb::type_error("a client holds a secret key and cannot be pickled; use save()");
      });
}

}  // namespace whorl::python
