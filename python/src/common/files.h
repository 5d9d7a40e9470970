// Files and frames of a class, given its loader.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "calls.h"
#include "whorl/io.h"

namespace whorl::python {

/// What Python hands to every loader: allow_insecure, (max_bytes, max_count, max_expanded_bytes),
/// and the digest and key id that are expected, or None.
using Limits = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using Expected = std::pair<std::optional<nb::bytes>, std::optional<nb::bytes>>;

inline io::LoadOptions load_options(bool allow_insecure, const Limits& limits,
                                    const Expected& expected) {
  io::LoadOptions options;
  options.allow_insecure = allow_insecure;
  std::tie(options.max_bytes, options.max_count, options.max_expanded_bytes) = limits;
  if (expected.first) options.expect_parameters = as_array<16>(*expected.first, "digest");
  if (expected.second) options.expect_key = as_array<16>(*expected.second, "key_id");
  return options;
}

/// to_bytes, from_bytes, save and load.
template <class T>
void bind_files(nb::class_<T>& type) {
  using namespace nb::literals;
  type.def("to_bytes",
           [](const T& value) { return as_bytes(without_gil([&] { return io::dump(value); })); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure, const Limits& limits,
             const Expected& expected) {
            const auto span = as_span(bytes);
            const auto options = load_options(allow_insecure, limits, expected);
            return without_gil([&] { return io::load<T>(span, options); });
          },
          "data"_a, "allow_insecure"_a, "limits"_a, "expected"_a)
      .def(
          "save",
          [](const T& value, const std::string& path) {
            without_gil([&] { io::save(std::filesystem::path(path), value); });
          },
          "path"_a)
      .def_static(
          "load",
          [](const std::string& path, bool allow_insecure, const Limits& limits,
             const Expected& expected) {
            const auto options = load_options(allow_insecure, limits, expected);
            return without_gil([&] { return io::load<T>(std::filesystem::path(path), options); });
          },
          "path"_a, "allow_insecure"_a, "limits"_a, "expected"_a);
}

/// Fields of plain data that Python reads and writes: name, member, name, member, …
template <class Literal, class Member, class... More>
void bind_fields(nb::class_<Literal>& type, const char* name, Member Literal::*member,
                 More... more) {
  type.def_rw(name, member);
  if constexpr (sizeof...(more) > 0) bind_fields(type, more...);
}

/// What parameters of every scheme have; a scheme adds its own.
template <class Parameters, class Literal>
nb::class_<Parameters> bind_parameters(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Parameters> type(module, "Parameters");
  type.def_static(
          "create",
          [](const Literal& literal, bool allow_insecure) {
            return Parameters::create(literal, allow_insecure);
          },
          "literal"_a, "allow_insecure"_a)
      .def_prop_ro("literal", [](const Parameters& p) { return Literal(p.literal()); })
      .def_prop_ro("digest", [](const Parameters& p) { return as_bytes(p.digest()); });
  bind_files(type);
  return type;
}

/// What evaluation keys of every scheme have.
template <class Keys>
nb::class_<Keys> bind_evaluation_keys(nb::module_& module) {
  nb::class_<Keys> type(module, "EvaluationKeys");
  bind_origin(type);
  type.def_prop_ro("nbytes", &Keys::bytes);
  bind_files(type);
  return type;
}

}  // namespace whorl::python
