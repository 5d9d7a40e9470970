// Parameters and their literals.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string_view>
#include <tuple>

#include "bindings.h"
#include "calls.h"

namespace whorl::python {

using namespace nb::literals;
using binfhe::GadgetRange;
using binfhe::NoiseEstimate;
using binfhe::ParameterLiteral;
using binfhe::Parameters;

namespace {

constexpr std::array<std::string_view, 3> distributions = {"binary", "ternary", "gaussian"};
constexpr std::array<std::string_view, 2> transforms = {"ntt", "fft"};
constexpr std::array<std::string_view, 2> key_switches = {"table", "product"};

template <class Enum, std::size_t count>
Enum from_name(const std::array<std::string_view, count>& names, const char* field,
               const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string known;
    for (const auto& each : names) known += (known.empty() ? "" : ", ") + std::string(each);
    throw ParameterError(std::string(field) + ": '" + name + "' is none of " + known);
  }
  return static_cast<Enum>(found - names.begin());
}

template <std::size_t count, class Enum>
std::string to_name(const std::array<std::string_view, count>& names, Enum value) {
  return std::string(names.at(static_cast<std::size_t>(value)));
}

/// A property of the literal that Python sees as one of `names`.
template <class Enum, std::size_t count>
void bind_choice(nb::class_<ParameterLiteral>& type, const char* field,
                 Enum ParameterLiteral::*member, const std::array<std::string_view, count>& names) {
  type.def_prop_rw(
      field,
      [member, &names](const ParameterLiteral& literal) { return to_name(names, literal.*member); },
      [member, &names, field](ParameterLiteral& literal, const std::string& name) {
        literal.*member = from_name<Enum>(names, field, name);
      });
}

using GadgetTuple = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

std::vector<GadgetTuple> gadget_tuples(const ParameterLiteral& literal) {
  std::vector<GadgetTuple> result;
  for (const auto& range : literal.gadget)
    result.emplace_back(range.count, range.log_base, range.digits);
  return result;
}

void set_gadget(ParameterLiteral& literal, const std::vector<GadgetTuple>& ranges) {
  literal.gadget.clear();
  for (const auto& [count, log_base, digits] : ranges)
    literal.gadget.push_back({count, log_base, digits});
}

void bind_literal(nb::module_& module) {
  nb::class_<ParameterLiteral> type(module, "ParameterLiteral");
  type.def(nb::init<>())
      .def_rw("name", &ParameterLiteral::name)
      .def_rw("source", &ParameterLiteral::source)
      .def_rw("n", &ParameterLiteral::n)
      .def_rw("q", &ParameterLiteral::q)
      .def_rw("N", &ParameterLiteral::N)
      .def_rw("Q", &ParameterLiteral::Q)
      .def_rw("Q_ks", &ParameterLiteral::Q_ks)
      .def_rw("log_B_ks", &ParameterLiteral::log_B_ks)
      .def_rw("ks_digits", &ParameterLiteral::ks_digits)
      .def_prop_rw("gadget", &gadget_tuples, &set_gadget)
      .def_rw("sigma_lwe", &ParameterLiteral::sigma_lwe)
      .def_rw("sigma_ring", &ParameterLiteral::sigma_ring)
      .def_rw("max_p", &ParameterLiteral::max_p)
      .def_rw("padding", &ParameterLiteral::padding);
  bind_choice(type, "key_switch", &ParameterLiteral::key_switch, key_switches);
  bind_choice(type, "lwe_secret", &ParameterLiteral::lwe_secret, distributions);
  bind_choice(type, "ring_secret", &ParameterLiteral::ring_secret, distributions);
  bind_choice(type, "transform", &ParameterLiteral::transform, transforms);
}

nb::dict noise_dict(const NoiseEstimate& noise) {
  nb::dict result;
  result["blind_rotation"] = noise.blind_rotation;
  result["switch_to_ks"] = noise.switch_to_ks;
  result["key_switch"] = noise.key_switch;
  result["switch_to_q"] = noise.switch_to_q;
  result["refreshed"] = noise.refreshed;
  result["fresh"] = noise.fresh;
  result["rotation_rounding"] = noise.rotation_rounding;
  return result;
}

}  // namespace

binfhe::Transform transform_from_name(const std::string& name) {
  return from_name<binfhe::Transform>(transforms, "transform", name);
}

std::string transform_name(binfhe::Transform transform) { return to_name(transforms, transform); }

void bind_parameters(nb::module_& module) {
  bind_literal(module);
  nb::class_<Parameters>(module, "Parameters")
      .def_static(
          "create",
          [](const ParameterLiteral& literal, bool allow_insecure) {
            return Parameters::create(literal, allow_insecure);
          },
          "literal"_a, "allow_insecure"_a)
      .def_static(
          "named",
          [](const std::string& name, bool allow_insecure) {
            return Parameters::named(name, allow_insecure);
          },
          "name"_a, "allow_insecure"_a)
      .def_static("names", &Parameters::names)
      .def_prop_ro("literal", [](const Parameters& p) { return ParameterLiteral(p.literal()); })
      .def_prop_ro("keys_per_coefficient", &Parameters::keys_per_coefficient)
      .def_prop_ro("rotation_key_rows", &Parameters::rotation_key_rows)
      .def_prop_ro("key_switch_digits", &Parameters::key_switch_digits)
      .def_prop_ro("key_switch_rows", &Parameters::key_switch_rows)
      .def_prop_ro("security",
                   [](const Parameters& p) {
                     const auto estimate = p.security();
                     return std::tuple(estimate.lwe_bits, estimate.ring_bits);
                   })
      .def(
          "noise",
          [](const Parameters& p, const std::string& transform) {
            return noise_dict(p.noise(transform_from_name(transform)));
          },
          "transform"_a)
      .def(
          "failure_log2",
          [](const Parameters& p, const std::string& transform) {
            return p.failure_log2(transform_from_name(transform));
          },
          "transform"_a)
      .def(
          "gate_failure_log2",
          [](const Parameters& p, double sum_of_squares, double margin_sectors,
             const std::string& transform) {
            return p.gate_failure_log2(sum_of_squares, margin_sectors,
                                       transform_from_name(transform));
          },
          "sum_of_squares"_a, "margin_sectors"_a, "transform"_a)
      .def(
          "lut_failure_log2",
          [](const Parameters& params, std::uint32_t p, bool padding, bool arbitrary,
             const std::string& transform) {
            return params.lut_failure_log2({p, padding}, arbitrary, transform_from_name(transform));
          },
          "p"_a, "padding"_a, "arbitrary"_a, "transform"_a)
      .def_prop_ro("digest", [](const Parameters& p) { return as_bytes(p.digest()); })
      .def("to_bytes", [](const Parameters& p) { return as_bytes(io::dump(p)); })
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, bool allow_insecure) {
            return io::load<binfhe::Parameters>(as_span(bytes), load_options(allow_insecure, 1U << 20U));
          },
          "data"_a, "allow_insecure"_a)
      .def(
          "save", [](const Parameters& p, const std::string& path) { io::save(path, p); }, "path"_a)
      .def_static(
          "load",
          [](const std::string& path, bool allow_insecure) {
            return io::load<binfhe::Parameters>(std::filesystem::path(path),
                                       load_options(allow_insecure, 1U << 20U));
          },
          "path"_a, "allow_insecure"_a);
}

}  // namespace whorl::python
