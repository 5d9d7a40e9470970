// BGV: parameters, what travels, both halves. Names begin with Bgv: the module is one.
#include "whorl/bgv.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings.h"
#include "calls.h"
#include "whorl/io_secret.h"

namespace whorl::python {

using namespace nb::literals;
using bgv::Array;
using bgv::Ciphertexts;
using bgv::Client;
using bgv::EvaluationKeys;
using bgv::KeyRequest;
using bgv::Packing;
using bgv::ParameterLiteral;
using bgv::Parameters;
using bgv::Plaintexts;
using bgv::PublicKey;
using bgv::Server;

namespace {

constexpr std::uint64_t parameter_bytes = 1U << 20U;

// ---- what several classes have alike

Packing packing_from_name(const std::string& name) {
  if (name == "slots") return Packing::slots;
  if (name == "coefficients") return Packing::coefficients;
  throw EncodingError("packing: '" + name + "' is neither slots nor coefficients");
}

std::string packing_name(Packing packing) {
  return packing == Packing::slots ? "slots" : "coefficients";
}

/// to_bytes, from_bytes, save and load, given the loaders.
template <class T, class FromBytes, class FromFile>
void bind_files(nb::class_<T>& type, FromBytes from_bytes, FromFile from_file) {
  type.def("to_bytes",
           [](const T& value) { return as_bytes(without_gil([&] { return io::dump(value); })); })
      .def_static(
          "from_bytes",
          [from_bytes](const nb::bytes& bytes, bool allow_insecure, std::uint64_t max_bytes) {
            const auto span = as_span(bytes);
            const auto options = load_options(allow_insecure, max_bytes);
            return without_gil([&] { return from_bytes(span, options); });
          },
          "data"_a, "allow_insecure"_a, "max_bytes"_a)
      .def(
          "save",
          [](const T& value, const std::string& path) {
            without_gil([&] { io::save(std::filesystem::path(path), value); });
          },
          "path"_a)
      .def_static(
          "load",
          [from_file](const std::string& path, bool allow_insecure, std::uint64_t max_bytes) {
            const auto options = load_options(allow_insecure, max_bytes);
            return without_gil([&] { return from_file(std::filesystem::path(path), options); });
          },
          "path"_a, "allow_insecure"_a, "max_bytes"_a);
}

// ---- parameters

void bind_bgv_parameters(nb::module_& module) {
  nb::class_<ParameterLiteral>(module, "BgvParameterLiteral")
      .def(nb::init<>())
      .def_rw("name", &ParameterLiteral::name)
      .def_rw("N", &ParameterLiteral::N)
      .def_rw("t", &ParameterLiteral::t)
      .def_rw("chain", &ParameterLiteral::chain)
      .def_rw("special", &ParameterLiteral::special)
      .def_rw("digit_limbs", &ParameterLiteral::digit_limbs)
      .def_rw("sigma", &ParameterLiteral::sigma)
      .def_rw("depth", &ParameterLiteral::depth);

  nb::class_<Parameters> type(module, "BgvParameters");
  type.def_static(
          "create",
          [](const ParameterLiteral& literal, bool allow_insecure) {
            return Parameters::create(literal, allow_insecure);
          },
          "literal"_a, "allow_insecure"_a)
      .def_static(
          "choose",
          [](unsigned depth, std::uint64_t plain_modulus, std::uint32_t N, unsigned dnum,
             unsigned prime_bits, double sums, bool slots) {
            return without_gil([&] {
              return Parameters::choose({depth, plain_modulus, N, dnum, prime_bits, sums, slots});
            });
          },
          "depth"_a, "plain_modulus"_a, "N"_a, "dnum"_a, "prime_bits"_a, "sums"_a, "slots"_a)
      .def_prop_ro("literal", [](const Parameters& p) { return ParameterLiteral(p.literal()); })
      .def_prop_ro("digits", &Parameters::digits)
      .def_prop_ro("word_bytes", &Parameters::word_bytes)
      .def_prop_ro("has_slots", &Parameters::has_slots)
      .def(
          "log2_Q",
          [](const Parameters& p, unsigned limbs) {
            if (limbs > p.limbs())
              throw ParameterError("limbs: " + std::to_string(limbs) + ", at most " +
                                   std::to_string(p.limbs()));
            return p.log2_Q(limbs);
          },
          "limbs"_a)
      .def_prop_ro("log2_P", &Parameters::log2_P)
      .def_prop_ro("security_bits", &Parameters::security_bits)
      .def("describe", &Parameters::describe)
      .def(
          "key_bytes",
          [](const Parameters& p, unsigned relinearise, const std::vector<std::int64_t>& rotations,
             bool swap_rows) {
            return bgv::key_bytes(p, {relinearise, rotations, swap_rows});
          },
          "relinearise"_a, "rotations"_a, "swap_rows"_a)
      .def_prop_ro("digest", [](const Parameters& p) { return as_bytes(p.digest()); })
      .def("to_bytes", [](const Parameters& p) { return as_bytes(io::dump(p)); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure) {
            return io::load<bgv::Parameters>(as_span(bytes),
                                           load_options(allow_insecure, parameter_bytes));
          },
          "data"_a, "allow_insecure"_a)
      .def(
          "save",
          [](const Parameters& p, const std::string& path) {
            io::save(std::filesystem::path(path), p);
          },
          "path"_a)
      .def_static(
          "load",
          [](const std::string& path, bool allow_insecure) {
            return io::load<bgv::Parameters>(std::filesystem::path(path),
                                           load_options(allow_insecure, parameter_bytes));
          },
          "path"_a, "allow_insecure"_a);
}

// ---- what travels

using Residues = nb::ndarray<nb::ro, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

template <class Word>
WordArray copy_residues(const Residues& data) {
  std::vector<Word> words(data.size());
  if (!words.empty()) std::memcpy(words.data(), data.data(), words.size() * sizeof(Word));
  return WordArray(std::move(words));
}

Ciphertexts make_ciphertexts(const Parameters& parameters, const nb::bytes& key_id,
                             const std::string& packing, std::uint64_t factor, double noise,
                             const Residues& data, const std::optional<nb::bytes>& seed) {
  const bool narrow = parameters.word_bytes() == 4;
  if (data.shape(3) != parameters.N() ||
      data.dtype() != (narrow ? nb::dtype<std::uint32_t>() : nb::dtype<std::uint64_t>()))
    throw ShapeError("data: rows of " + std::to_string(data.shape(3)) + " words of " +
                     std::to_string(data.itemsize()) +
                     " bytes, expected N = " + std::to_string(parameters.N()) + " of " +
                     std::to_string(parameters.word_bytes()));
  Ciphertexts out{parameters,
                  as_array<16>(key_id, "key_id"),
                  {packing_from_name(packing), data.shape(2), static_cast<unsigned>(data.shape(0)),
                   static_cast<unsigned>(data.shape(1)), factor, noise},
                  narrow ? copy_residues<std::uint32_t>(data) : copy_residues<std::uint64_t>(data),
                  std::nullopt};
  if (seed) out.seed = as_array<32>(*seed, "seed");
  return out;
}

/// The words where they lie; `self` keeps them alive. Read-only, so that the seed stays true.
nb::object residues(nb::handle self) {
  const auto& c = nb::cast<const Ciphertexts&>(self);
  const std::size_t shape[] = {c.info.parts, c.info.limbs, c.info.count, c.parameters.N()};
  const auto view = [&]<class Word>(Word) {
    return nb::cast(
        nb::ndarray<nb::numpy, const Word, nb::ndim<4>>(c.data.as<Word>().data(), 4, shape, self));
  };
  return c.data.word_bytes() == 4 ? view(std::uint32_t{}) : view(std::uint64_t{});
}

void bind_bgv_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "BgvBatch");
  batch
      .def_static("create", &make_ciphertexts, "parameters"_a, "key_id"_a, "packing"_a, "factor"_a,
                  "noise"_a, "data"_a, "seed"_a.none())
      .def_prop_ro("parameters", [](const Ciphertexts& c) { return c.parameters; })
      .def_prop_ro("key_id", [](const Ciphertexts& c) { return as_bytes(c.key_id); })
      .def_prop_ro("packing", [](const Ciphertexts& c) { return packing_name(c.info.packing); })
      .def_prop_ro("factor", [](const Ciphertexts& c) { return c.info.factor; })
      .def_prop_ro("noise", [](const Ciphertexts& c) { return c.info.noise; })
      .def_prop_ro("data", &residues)
      .def_prop_ro("seed", [](const Ciphertexts& c) -> std::optional<nb::bytes> {
        if (!c.seed) return std::nullopt;
        return as_bytes(*c.seed);
      });
  bind_files(
      batch,
      [](auto bytes, const auto& options) { return io::load<bgv::Ciphertexts>(bytes, options); },
      [](const auto& path, const auto& options) {
        return io::load<bgv::Ciphertexts>(path, options);
      });

  nb::class_<PublicKey> public_key(module, "BgvPublicKey");
  public_key.def_prop_ro("parameters", [](const PublicKey& k) { return k.parameters; })
      .def_prop_ro("key_id", [](const PublicKey& k) { return as_bytes(k.key_id); })
      .def_prop_ro("nbytes", [](const PublicKey& k) { return k.b.bytes() + k.seed.size(); })
      .def(
          "encrypt",
          [](const PublicKey& key, const Input<std::int64_t>& values, const std::string& packing) {
            const Packing how = packing_from_name(packing);
            return without_gil([&] { return bgv::encrypt(key, as_span(values), how); });
          },
          "values"_a, "packing"_a);
  bind_files(
      public_key,
      [](auto bytes, const auto& options) { return io::load<bgv::PublicKey>(bytes, options); },
      [](const auto& path, const auto& options) { return io::load<bgv::PublicKey>(path, options); });

  nb::class_<EvaluationKeys> keys(module, "BgvEvaluationKeys");
  keys.def_prop_ro("parameters", [](const EvaluationKeys& k) { return k.parameters; })
      .def_prop_ro("key_id", [](const EvaluationKeys& k) { return as_bytes(k.key_id); })
      .def_prop_ro("nbytes", &EvaluationKeys::bytes)
      .def_prop_ro("contents", [](const EvaluationKeys& k) {
        nb::list result;
        for (const auto& key : k.keys) result.append(nb::make_tuple(key.g, key.power));
        return result;
      });
  bind_files(
      keys,
      [](auto bytes, const auto& options) { return io::load<bgv::EvaluationKeys>(bytes, options); },
      [](const auto& path, const auto& options) {
        return io::load<bgv::EvaluationKeys>(path, options);
      });
}

// ---- the client's half. Nothing here hands a secret to Python.

EvaluationKeys make_keys(const Client& client, unsigned relinearise,
                         const std::vector<std::int64_t>& rotations, bool swap_rows,
                         unsigned threads, const std::optional<nb::callable>& report) {
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
  const KeyRequest request{relinearise, rotations, swap_rows};
  return without_gil([&] { return client.evaluation_keys(request, threads, progress); });
}

void bind_bgv_client(nb::module_& module) {
  nb::class_<Client>(module, "BgvClient")
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
          [](const Client& client, const Input<std::int64_t>& values, const std::string& packing) {
            const Packing how = packing_from_name(packing);
            return without_gil([&] { return client.encrypt(as_span(values), how); });
          },
          "values"_a, "packing"_a)
      .def(
          "decrypt",
          [](const Client& client, const Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.decrypt(batch); }));
          },
          "batch"_a)
      .def(
          "noise_budget",
          [](const Client& client, const Ciphertexts& batch) {
            return as_numpy(without_gil([&] { return client.noise_budget(batch); }));
          },
          "batch"_a)
      .def("public_key",
           [](const Client& client) { return without_gil([&] { return client.public_key(); }); })
      .def("evaluation_keys", &make_keys, "relinearise"_a, "rotations"_a, "swap_rows"_a,
           "threads"_a, "progress"_a.none())
      .def(
          "save",
          [](const Client& client, const std::string& path, const nb::bytes& passphrase) {
            const std::string_view phrase(passphrase.c_str(), passphrase.size());
            without_gil(
                [&] { io::save(std::filesystem::path(path), client.secret_key(), phrase); });
          },
          "path"_a, "passphrase"_a)
      .def_static(
          "load",
          [](const std::string& path, const nb::bytes& passphrase, bool allow_insecure) {
            const std::string_view phrase(passphrase.c_str(), passphrase.size());
            return without_gil([&] {
              return Client(io::load<bgv::SecretKey>(std::filesystem::path(path), phrase,
                                                    load_options(allow_insecure, 1U << 24U)));
            });
          },
          "path"_a, "passphrase"_a, "allow_insecure"_a)
      .def("__reduce__", [](const Client&) -> nb::object {
        throw nb::type_error("a client holds a secret key and cannot be pickled; use save()");
      });
}

// ---- the server's half

/// A server takes one call at a time; Python's threads queue here, without the GIL.
struct SharedServer {
  SharedServer(const EvaluationKeys& keys, const bgv::ServerOptions& options)
      : server(keys, options) {}
  Server server;
  std::mutex mutex;

  template <class Work>
  auto call(const Work& work) {
    return without_gil([&] {
      const std::lock_guard lock(mutex);
      return work(server);
    });
  }
};

std::unique_ptr<SharedServer> make_server(const EvaluationKeys& keys, const std::string& device,
                                          unsigned threads) {
  const bgv::ServerOptions options{device, threads, &interrupted};
  return without_gil([&] { return std::make_unique<SharedServer>(keys, options); });
}

/// A method of Server of these arguments, whatever they are.
template <class Result, class... Arguments>
auto calling(Result (Server::*method)(Arguments...) const) {
  return [method](SharedServer& self, std::decay_t<Arguments>... arguments) {
    return self.call([&](const Server& server) { return (server.*method)(arguments...); });
  };
}

using WithPlain = Array (Server::*)(const Array&, std::span<const std::int64_t>) const;
auto calling_plain(WithPlain method) {
  return [method](SharedServer& self, const Array& a, const Input<std::int64_t>& values) {
    return self.call([&](const Server& server) { return (server.*method)(a, as_span(values)); });
  };
}
using WithPrepared = Array (Server::*)(const Array&, const Plaintexts&) const;
auto calling_prepared(WithPrepared method) { return calling(method); }
/// Of an Array or Plaintexts.
template <class Values>
Values take(SharedServer& self, const Values& a, const Input<std::uint32_t>& indices) {
  return self.call([&](const Server& server) { return server.take(a, as_span(indices)); });
}

// Python drops arrays and plaintexts from any thread, perhaps while another is inside a call: their
// memory allows it, and asks for neither the server's mutex nor the GIL.
void bind_bgv_server(nb::module_& module) {
  nb::class_<Plaintexts>(module, "BgvPlaintexts")
      .def_prop_ro("packing", [](const Plaintexts& p) { return packing_name(p.packing()); })
      .def_prop_ro("nbytes", &Plaintexts::bytes);

  nb::class_<Array>(module, "BgvArray")
      .def_prop_ro("packing", [](const Array& a) { return packing_name(a.info().packing); })
      .def_prop_ro("count", [](const Array& a) { return a.info().count; })
      .def_prop_ro("parts", [](const Array& a) { return a.info().parts; })
      .def_prop_ro("limbs", [](const Array& a) { return a.info().limbs; })
      .def_prop_ro("factor", [](const Array& a) { return a.info().factor; })
      .def_prop_ro("noise", [](const Array& a) { return a.info().noise; })
      .def_prop_ro("noise_budget", &Array::noise_budget)
      .def_prop_ro("nbytes", &Array::bytes);

  nb::class_<SharedServer>(module, "BgvServer")
      .def_static("create", &make_server, "keys"_a, "device"_a, "threads"_a)
      .def_prop_ro("parameters", [](const SharedServer& s) { return s.server.parameters(); })
      .def_prop_ro("key_id", [](const SharedServer& s) { return as_bytes(s.server.key_id()); })
      .def_prop_ro("device", [](const SharedServer& s) { return s.server.device(); })
      .def_prop_ro("key_bytes", [](const SharedServer& s) { return s.server.key_bytes(); })
      .def("upload", calling(&Server::upload), "batch"_a)
      .def("download", calling(&Server::download), "a"_a)
      .def("add", calling(&Server::add), "a"_a, "b"_a)
      .def("sub", calling(&Server::sub), "a"_a, "b"_a)
      .def("negate", calling(&Server::negate), "a"_a)
      .def("add_plain", calling_plain(&Server::add_plain), "a"_a, "values"_a)
      .def("sub_plain", calling_plain(&Server::sub_plain), "a"_a, "values"_a)
      .def("multiply_plain", calling_plain(&Server::multiply_plain), "a"_a, "values"_a)
      .def("add_plain", calling_prepared(&Server::add_plain), "a"_a, "values"_a)
      .def("sub_plain", calling_prepared(&Server::sub_plain), "a"_a, "values"_a)
      .def("multiply_plain", calling_prepared(&Server::multiply_plain), "a"_a, "values"_a)
      .def(
          "encode",
          [](SharedServer& self, const Input<std::int64_t>& values, const std::string& packing) {
            const Packing how = packing_from_name(packing);
            return self.call(
                [&](const Server& server) { return server.encode(as_span(values), how); });
          },
          "values"_a, "packing"_a)
      .def("take", &take<Array>, "a"_a, "indices"_a)
      .def("take", &take<Plaintexts>, "a"_a, "indices"_a)
      .def(
          "concatenate",
          [](SharedServer& self, const std::vector<Array>& arrays) {
            return self.call([&](const Server& server) { return server.concatenate(arrays); });
          },
          "arrays"_a)
      .def("add_scalar", calling(&Server::add_scalar), "a"_a, "value"_a)
      .def("multiply_scalar", calling(&Server::multiply_scalar), "a"_a, "value"_a)
      .def("multiply", calling(&Server::multiply), "a"_a, "b"_a, "relinearised"_a)
      .def("square", calling(&Server::square), "a"_a, "relinearised"_a)
      .def("relinearise", calling(&Server::relinearise), "a"_a)
      .def("rotate", calling(&Server::rotate), "a"_a, "columns"_a)
      .def(
          "rotate_many",
          [](SharedServer& self, const Array& a, const std::vector<std::int64_t>& columns) {
            return self.call([&](const Server& server) { return server.rotate_many(a, columns); });
          },
          "a"_a, "columns"_a)
      .def("swap_rows", calling(&Server::swap_rows), "a"_a)
      .def("inner_sum", calling(&Server::inner_sum), "a"_a, "columns"_a)
      .def("mod_switch", calling(&Server::mod_switch), "a"_a, "limbs"_a)
      .def("shrink", calling(&Server::shrink), "a"_a, "spare_bits"_a)
      .def("synchronise", calling(&Server::synchronise));
}

}  // namespace

void bind_bgv(nb::module_& module) {
  bind_bgv_parameters(module);
  bind_bgv_data(module);
  bind_bgv_client(module);
  bind_bgv_server(module);
}

}  // namespace whorl::python
