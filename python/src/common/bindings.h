// Conversions between Python and the library that all parts of both modules share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whorl/error.h"

namespace whorl::python {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// What is returned as a dictionary of names and values of any kind.
using Record = nb::typed<nb::dict, nb::str, nb::any>;

/// Whether NumPy's arrays hold them.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_number<std::complex<T>> = true;

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
    throw ShapeError(std::string(field) + " has " + std::to_string(value.size()) +
                     " bytes; it must have " + std::to_string(size));
  std::array<std::uint8_t, size> result;
  std::copy_n(static_cast<const std::uint8_t*>(value.data()), size, result.begin());
  return result;
}

inline std::span<const std::uint8_t> as_span(const nb::bytes& value) {
  return {static_cast<const std::uint8_t*>(value.data()), value.size()};
}

// ---- enumerations, which Python knows by name

/// What a name stands for, what has such names, and the exception for others.
template <class Enum, std::size_t count, class E = ParameterError>
struct Choice {
  using Error = E;
  const char* field;
  std::array<std::pair<const char*, Enum>, count> names;
};

/// Specialised for each enumeration: its Choice.
template <class Enum>
inline constexpr std::nullptr_t choice = nullptr;

template <class Enum>
concept Named = !std::is_same_v<std::remove_cvref_t<decltype(choice<Enum>)>, std::nullptr_t>;

template <Named Enum>
Enum from_name(const std::string& name, const char* field = choice<Enum>.field) {
  std::string known;
  for (const auto& [each, value] : choice<Enum>.names) {
    if (name == each) return value;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  using Error = typename std::remove_cvref_t<decltype(choice<Enum>)>::Error;
  throw Error(std::string(field) + ": '" + name + "' is not known; the names are " + known);
}

template <Named Enum>
std::string to_name(Enum value) {
  for (const auto& [name, known] : choice<Enum>.names)
    if (value == known) return name;
  throw ParameterError(std::string(choice<Enum>.field) + ": " +
                       std::to_string(static_cast<unsigned>(value)) + " has no name");
}

// ---- properties and dictionaries of plain data

/// What Python gets of a value: the name of an enumeration's.
template <class T>
auto as_python(const T& value) {
  if constexpr (Named<T>)
    return to_name(value);
  else
    return value;
}

/// Read-only properties: name, member, name, member, …; a member may be a method or a function.
template <class T, class Member, class... More>
void bind_properties(nb::class_<T>& type, const char* name, Member member, More... more) {
  type.def_prop_ro(name, [member](const T& of) { return as_python(std::invoke(member, of)); });
  if constexpr (sizeof...(more) > 0) bind_properties(type, more...);
}

/// Adds members: name, member, name, member, …
template <class T, class Member, class... More>
nb::dict add_members(nb::dict to, const T& of, const char* name, Member member, More... more) {
  to[name] = as_python(std::invoke(member, of));
  if constexpr (sizeof...(more) > 0) add_members(to, of, more...);
  return to;
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
