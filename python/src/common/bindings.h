// Conversions between Python and the library that all parts of both modules share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "whorl/error.h"

namespace whorl::python {

namespace nb = nanobind;

/// One-dimensional input; nanobind has checked type and layout.
template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> as_span(const Input<T>& array) {
  return {array.data(), array.size()};
}

/// A NumPy array that takes over the vector.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_numpy(std::vector<T> values) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {held->data(), {held->size()}, owner};
}

inline nb::bytes as_bytes(std::span<const std::uint8_t> value) {
  return nb::bytes(value.data(), value.size());
}

template <std::size_t size>
std::array<std::uint8_t, size> as_array(const nb::bytes& value, const char* field) {
  if (value.size() != size)
    throw ShapeError(std::string(field) + ": " + std::to_string(value.size()) +
                     " bytes, expected " + std::to_string(size));
  std::array<std::uint8_t, size> result;
  std::copy_n(static_cast<const std::uint8_t*>(value.data()), size, result.begin());
  return result;
}

inline std::span<const std::uint8_t> as_span(const nb::bytes& value) {
  return {static_cast<const std::uint8_t*>(value.data()), value.size()};
}

// ---- enumerations, which Python knows by name

/// Specialised for each: `field` and `names` (pairs of name and value) and the `Error` of others.
template <class Enum>
struct Choice;

template <class Enum>
concept Named = requires { Choice<Enum>::names; };

template <Named Enum>
Enum from_name(const std::string& name, const char* field = Choice<Enum>::field) {
  std::string known;
  for (const auto& [each, value] : Choice<Enum>::names) {
    if (name == each) return value;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  throw typename Choice<Enum>::Error(std::string(field) + ": '" + name + "' is none of " + known);
}

template <Named Enum>
std::string to_name(Enum value) {
  for (const auto& [name, known] : Choice<Enum>::names)
    if (value == known) return name;
  throw ParameterError(std::string(Choice<Enum>::field) + ": " +
                       std::to_string(static_cast<unsigned>(value)) + " has no name");
}

// ---- what everything made under parameters and a key has

/// Properties `parameters` and `key_id` of members of those names.
template <class T>
void bind_origin(nb::class_<T>& type) {
  type.def_prop_ro("parameters", [](const T& value) {
    if constexpr (requires { value.parameters(); })
      return value.parameters();
    else
      return value.parameters;
  });
  type.def_prop_ro("key_id", [](const T& value) {
    if constexpr (requires { value.key_id(); })
      return as_bytes(value.key_id());
    else
      return as_bytes(value.key_id);
  });
}

}  // namespace whorl::python
