// The parts of the extension module, and the conversions that they share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "whorl/binfhe.h"
#include "whorl/io.h"

namespace whorl::python {

namespace nb = nanobind;

void bind_errors(nb::module_& module);
void bind_parameters(nb::module_& module);
void bind_data(nb::module_& module);
void bind_client(nb::module_& module);
void bind_server(nb::module_& module);
void bind_bgv(nb::module_& module);

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

template <std::size_t size>
nb::bytes as_bytes(const std::array<std::uint8_t, size>& value) {
  return nb::bytes(value.data(), size);
}

inline nb::bytes as_bytes(const io::Bytes& value) { return nb::bytes(value.data(), value.size()); }

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

inline io::LoadOptions load_options(bool allow_insecure, std::uint64_t max_bytes) {
  io::LoadOptions options;
  options.allow_insecure = allow_insecure;
  options.max_bytes = max_bytes;
  return options;
}

/// "ntt" or "fft"; ParameterError otherwise.
binfhe::Transform transform_from_name(const std::string& name);
std::string transform_name(binfhe::Transform transform);

}  // namespace whorl::python
