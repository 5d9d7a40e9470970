// Files and frames of a class, given its loader.
#pragma once

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

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
  options.interrupt = &interrupted;
  std::tie(options.max_bytes, options.max_count, options.max_expanded_bytes) = limits;
  if (expected.first) options.expect_parameters = as_array<16>(*expected.first, "digest");
  if (expected.second) options.expect_key = as_array<16>(*expected.second, "key_id");
  return options;
}

/// A copy in Python's memory, which Ctrl-C stops.
inline nb::bytes copied(const io::Bytes& bytes) {
  constexpr std::size_t piece = std::size_t{1} << 22;
  nb::bytes out(nullptr, bytes.size());  // of any value
  auto* const to = static_cast<std::uint8_t*>(const_cast<void*>(out.data()));
  without_gil([&] {
    for (std::size_t at = 0; at < bytes.size() && !interrupted(); at += piece)
      std::copy_n(bytes.data() + at, std::min(piece, bytes.size() - at), to + at);
  });
  return out;
}

/// to_bytes and save; save(value, write) calls write(what to write, SaveOptions).
template <class T, class Save>
void bind_saving(nb::class_<T>& type, const Save& saved) {
  type.def("to_bytes",
           [saved](const T& value) {
             return copied(without_gil([&] {
               return saved(value, [](const auto& what, const io::SaveOptions& options) {
                 return io::dump(what, options);
               });
             }));
           })
      .def(
          "save",
          [saved](const T& value, const std::filesystem::path& path) {
            without_gil([&] {
              saved(value, [&path](const auto& what, const io::SaveOptions& options) {
                io::save(path, what, options);
              });
            });
          },
          "path"_a);
}

/// to_bytes, from_bytes, save and load.
template <class T>
void bind_files(nb::class_<T>& type) {
  bind_saving(type, [](const T& value, const auto& write) { return write(value, {&interrupted}); });
  type.def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure, const Limits& limits,
             const Expected& expected) {
            const auto span = as_span(bytes);
            const auto options = load_options(allow_insecure, limits, expected);
            return without_gil([&] { return io::load<T>(span, options); });
          },
          "data"_a, "allow_insecure"_a, "limits"_a, "expected"_a)
      .def_static(
          "load",
          [](const std::filesystem::path& path, bool allow_insecure, const Limits& limits,
             const Expected& expected) {
            const auto options = load_options(allow_insecure, limits, expected);
            return without_gil([&] { return io::load<T>(path, options); });
          },
          "path"_a, "allow_insecure"_a, "limits"_a, "expected"_a);
}

/// Fields of plain data that Python reads and writes, enumerations by name: name, member, name,
/// member, …
template <class Literal, class Member, class... More>
void bind_fields(nb::class_<Literal>& type, const char* name, Member Literal::*member,
                 More... more) {
  if constexpr (Named<Member>)
    type.def_prop_rw(
        name, [member](const Literal& literal) { return to_name(literal.*member); },
        [member, name](Literal& literal, const std::string& value) {
          literal.*member = from_name<Member>(value, name);
        });
  else
    type.def_rw(name, member);
  if constexpr (sizeof...(more) > 0) bind_fields(type, more...);
}

/// A list of plain data, which Python sees as tuples of these fields; `Parts` has all fields.
template <class Literal, class Parts, class... Field>
void bind_tuples(nb::class_<Literal>& type, const char* name, std::vector<Parts> Literal::*member,
                 Field Parts::*... fields) {
  using Tuples = std::vector<std::tuple<Field...>>;
  type.def_prop_rw(
      name,
      [=](const Literal& literal) {
        Tuples out;
        for (const Parts& each : literal.*member) out.emplace_back(each.*fields...);
        return out;
      },
      [=](Literal& literal, const Tuples& tuples) {
        (literal.*member).clear();
        for (const auto& each : tuples)
          (literal.*member)
              .push_back(std::apply([](Field... values) { return Parts{values...}; }, each));
      });
}

/// What parameters of every scheme have; a scheme adds its own.
template <class Parameters, class Literal>
nb::class_<Parameters> bind_parameters(nb::module_& module) {
  nb::class_<Parameters> type(module, "Parameters");
  type.def_static(
          "create",
          [](const Literal& literal, bool allow_insecure) {
            return Parameters::create(literal, allow_insecure);
          },
          "literal"_a, "allow_insecure"_a)
      .def_prop_ro("literal", [](const Parameters& p) { return Literal(p.literal()); })
      .def_prop_ro("digest", [](const Parameters& p) { return as_bytes(p.digest()); });
  if constexpr (requires { Parameters::names(); })  // named sets
    type.def_static("names", &Parameters::names)
        .def_static(
            "named",
            [](const std::string& name, bool allow_insecure) {
              return without_gil([&] { return Parameters::named(name, allow_insecure); });
            },
            "name"_a, "allow_insecure"_a);
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
