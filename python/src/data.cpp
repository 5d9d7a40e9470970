// What travels: batches of ciphertexts, evaluation keys, look-up tables, and the frames around
// them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>

#include "bindings.h"
#include "calls.h"

namespace whorl::python {

using namespace nb::literals;
using binfhe::Ciphertexts;
using binfhe::EvaluationKeys;
using binfhe::Lut;
using binfhe::LutKind;
using binfhe::Parameters;

namespace {

using Rows = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_rows(const Rows& rows, const Parameters& parameters) {
  if (rows.shape(1) != parameters.n() + 1U)
    throw ShapeError("data: rows of " + std::to_string(rows.shape(1)) + " words, expected " +
                     std::to_string(parameters.n() + 1U) + " (n + 1)");
}

Ciphertexts make_batch(const Parameters& parameters, const nb::bytes& key_id, std::uint32_t p,
                       bool padding, const Rows& rows, const std::optional<nb::bytes>& seed) {
  check_rows(rows, parameters);
  Ciphertexts batch{parameters,  as_array<16>(key_id, "key_id"), {p, padding}, rows.shape(0), {},
                    std::nullopt};
  batch.data.assign(rows.data(), rows.data() + rows.size());
  if (seed) batch.seed = as_array<32>(*seed, "seed");
  return batch;
}

/// The words where they lie; `self` keeps them alive. Read-only, so that the seed stays true.
nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<2>> batch_data(nb::handle self) {
  const auto& batch = nb::cast<const Ciphertexts&>(self);
  return {batch.data.data(), {batch.count, batch.row()}, self};
}

void bind_batch(nb::module_& module) {
  nb::class_<Ciphertexts>(module, "Batch")
      .def_static("create", &make_batch, "parameters"_a, "key_id"_a, "p"_a, "padding"_a, "data"_a,
                  "seed"_a.none())
      .def_prop_ro("parameters", [](const Ciphertexts& b) { return b.parameters; })
      .def_prop_ro("key_id", [](const Ciphertexts& b) { return as_bytes(b.key_id); })
      .def_prop_ro("p", [](const Ciphertexts& b) { return b.encoding.p; })
      .def_prop_ro("padding", [](const Ciphertexts& b) { return b.encoding.padding; })
      .def_prop_ro("data", &batch_data)
      .def_prop_ro("seed",
                   [](const Ciphertexts& b) -> std::optional<nb::bytes> {
                     if (!b.seed) return std::nullopt;
                     return as_bytes(*b.seed);
                   })
      .def("to_bytes",
           [](const Ciphertexts& b) { return as_bytes(without_gil([&] { return io::dump(b); })); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure, std::uint64_t max_bytes) {
            const auto span = as_span(bytes);
            const auto options = load_options(allow_insecure, max_bytes);
            return without_gil([&] { return io::load<binfhe::Ciphertexts>(span, options); });
          },
          "data"_a, "allow_insecure"_a, "max_bytes"_a)
      .def(
          "save",
          [](const Ciphertexts& b, const std::string& path) {
            without_gil([&] { io::save(path, b); });
          },
          "path"_a)
      .def_static(
          "load",
          [](const std::string& path, bool allow_insecure, std::uint64_t max_bytes) {
            return without_gil([&] {
              return io::load<binfhe::Ciphertexts>(std::filesystem::path(path),
                                          load_options(allow_insecure, max_bytes));
            });
          },
          "path"_a, "allow_insecure"_a, "max_bytes"_a);
}

void bind_keys(nb::module_& module) {
  nb::class_<EvaluationKeys>(module, "EvaluationKeys")
      .def_prop_ro("parameters", [](const EvaluationKeys& k) { return k.parameters; })
      .def_prop_ro("key_id", [](const EvaluationKeys& k) { return as_bytes(k.key_id); })
      .def_prop_ro("nbytes", &EvaluationKeys::bytes)
      .def("to_bytes",
           [](const EvaluationKeys& k) {
             return as_bytes(without_gil([&] { return io::dump(k); }));
           })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure, std::uint64_t max_bytes) {
            const auto span = as_span(bytes);
            const auto options = load_options(allow_insecure, max_bytes);
            return without_gil([&] { return io::load<binfhe::EvaluationKeys>(span, options); });
          },
          "data"_a, "allow_insecure"_a, "max_bytes"_a)
      .def(
          "save",
          [](const EvaluationKeys& k, const std::string& path) {
            without_gil([&] { io::save(path, k); });
          },
          "path"_a)
      .def_static(
          "load",
          [](const std::string& path, bool allow_insecure, std::uint64_t max_bytes) {
            return without_gil([&] {
              return io::load<binfhe::EvaluationKeys>(std::filesystem::path(path),
                                              load_options(allow_insecure, max_bytes));
            });
          },
          "path"_a, "allow_insecure"_a, "max_bytes"_a);
}

std::string kind_name(LutKind kind) {
  switch (kind) {
    case LutKind::negacyclic:
      return "negacyclic";
    case LutKind::padded:
      return "padded";
    default:
      return "arbitrary";
  }
}

void bind_lut(nb::module_& module) {
  nb::class_<Lut>(module, "Lut")
      .def_static(
          "create",
          [](const Parameters& parameters, const Input<std::uint32_t>& values, std::uint32_t p,
             bool padding, std::uint32_t p_out, bool padding_out) {
            const auto span = as_span(values);
            return Lut::create(parameters, {span.begin(), span.end()}, {p, padding},
                               {p_out, padding_out});
          },
          "parameters"_a, "values"_a, "p"_a, "padding"_a, "p_out"_a, "padding_out"_a)
      .def_prop_ro("parameters", [](const Lut& lut) { return lut.parameters(); })
      .def_prop_ro("values",
                   [](const Lut& lut) {
                     const auto values = lut.values();
                     return std::vector<std::uint32_t>(values.begin(), values.end());
                   })
      .def_prop_ro("p", [](const Lut& lut) { return lut.input().p; })
      .def_prop_ro("padding", [](const Lut& lut) { return lut.input().padding; })
      .def_prop_ro("p_out", [](const Lut& lut) { return lut.output().p; })
      .def_prop_ro("padding_out", [](const Lut& lut) { return lut.output().padding; })
      .def_prop_ro("kind", [](const Lut& lut) { return kind_name(lut.kind()); })
      .def("to_bytes", [](const Lut& lut) { return as_bytes(io::dump(lut)); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure) {
            return io::load<binfhe::Lut>(as_span(bytes), load_options(allow_insecure, 1U << 30U));
          },
          "data"_a, "allow_insecure"_a)
      .def(
          "save", [](const Lut& lut, const std::string& path) { io::save(path, lut); }, "path"_a)
      .def_static(
          "load",
          [](const std::string& path, bool allow_insecure) {
            return io::load<binfhe::Lut>(std::filesystem::path(path),
                                load_options(allow_insecure, 1U << 30U));
          },
          "path"_a, "allow_insecure"_a);
}

std::string type_name(io::FrameType type) {
  switch (type) {
    case io::FrameType::parameters:
      return "parameters";
    case io::FrameType::secret_key:
      return "secret key";
    case io::FrameType::evaluation_keys:
      return "evaluation keys";
    case io::FrameType::ciphertexts:
      return "ciphertexts";
    case io::FrameType::lut:
      return "look-up table";
    case io::FrameType::bgv_parameters:
      return "BGV parameters";
    case io::FrameType::bgv_secret_key:
      return "BGV secret key";
    case io::FrameType::bgv_evaluation_keys:
      return "BGV evaluation keys";
    case io::FrameType::bgv_ciphertexts:
      return "BGV ciphertexts";
    case io::FrameType::bgv_public_key:
      return "BGV public key";
    case io::FrameType::first_foreign:
      break;
  }
  throw FormatError("type: " + std::to_string(static_cast<unsigned>(type)) + " is unknown");
}

nb::dict info_dict(const io::FrameInfo& info) {
  nb::dict result;
  result["type"] = type_name(info.type);
  result["version"] = info.version;
  result["parameters_digest"] = as_bytes(info.parameters_digest);
  result["key_id"] = as_bytes(info.key_id);
  result["payload_bytes"] = info.payload_bytes;
  return result;
}

}  // namespace

void bind_data(nb::module_& module) {
  bind_batch(module);
  bind_keys(module);
  bind_lut(module);
  module.def(
      "frame_info",
      [](const std::string& path) { return info_dict(io::info(std::filesystem::path(path))); },
      "path"_a);
}

}  // namespace whorl::python
