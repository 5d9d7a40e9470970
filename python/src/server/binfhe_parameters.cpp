// FHEW/TFHE: parameters and their literals.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "binfhe_choices.h"
#include "common/encodings.h"
#include "common/files.h"
#include "parts.h"

namespace whorl::python {

using binfhe::NoiseEstimate;
using binfhe::ParameterLiteral;
using binfhe::Parameters;

namespace {

using RotationTuple = std::tuple<std::string, std::uint32_t, std::uint64_t>;

RotationTuple rotation_tuple(const ParameterLiteral& literal) {
  const auto& rotation = literal.rotation;
  return {to_name(rotation.kind), rotation.group, rotation.raised_by};
}

void set_rotation(ParameterLiteral& literal, const RotationTuple& rotation) {
  const auto& [kind, group, raised_by] = rotation;
  literal.rotation = {from_name<RotationKind>(kind, "rotation"), group, raised_by};
}

void bind_literal(nb::module_& module) {
  nb::class_<ParameterLiteral> type(module, "ParameterLiteral");
  type.def(nb::init<>()).def_prop_rw("rotation", &rotation_tuple, &set_rotation);
  using L = ParameterLiteral;
  bind_fields(type, "name", &L::name, "source", &L::source, "n", &L::n, "q", &L::q, "N", &L::N, "Q",
              &L::Q, "Q_ks", &L::Q_ks, "log_B_ks", &L::log_B_ks, "ks_digits", &L::ks_digits,
              "sigma_lwe", &L::sigma_lwe, "sigma_ring", &L::sigma_ring, "max_p", &L::max_p,
              "padding", &L::padding, "key_switch", &L::key_switch, "lwe_secret", &L::lwe_secret,
              "ring_secret", &L::ring_secret, "transform", &L::transform);
  using Range = binfhe::GadgetRange;
  bind_tuples(type, "gadget", &L::gadget, &Range::count, &Range::log_base, &Range::digits);
  using Small = binfhe::SmallModulusGadget;
  bind_tuples(type, "small_modulus_gadgets", &L::small_modulus_gadgets, &Small::log_modulus,
              &Small::log_base, &Small::digits);
}

constexpr std::pair<const char*, double NoiseEstimate::*> noise_fields[] = {
    {"blind_rotation", &NoiseEstimate::blind_rotation},
    {"switch_to_ks", &NoiseEstimate::switch_to_ks},
    {"key_switch", &NoiseEstimate::key_switch},
    {"switch_to_q", &NoiseEstimate::switch_to_q},
    {"refreshed", &NoiseEstimate::refreshed},
    {"constant", &NoiseEstimate::constant},
    {"fresh", &NoiseEstimate::fresh},
    {"rotation_rounding", &NoiseEstimate::rotation_rounding}};

Record noise_dict(const NoiseEstimate& noise) {
  nb::dict result;
  for (const auto& [name, member] : noise_fields) result[name] = noise.*member;
  result["small_modulus_rotations"] = nb::tuple(nb::cast(noise.small_modulus_rotations));
  return result;
}

}  // namespace

void bind_binfhe_parameters(nb::module_& module) {
  bind_literal(module);
  auto type = bind_parameters<Parameters, ParameterLiteral>(module);
  type.def_static(
          "named",
          [](const std::string& name, bool allow_insecure) {
            return Parameters::named(name, allow_insecure);
          },
          "name"_a, "allow_insecure"_a)
      .def_static("names", &Parameters::names)
      .def_prop_ro("keys_per_coefficient", &Parameters::keys_per_coefficient)
      .def_prop_ro("rotation_key_rows",
                   [](const Parameters& p) {
                     std::size_t rows = 0;
                     for (std::size_t k = 0; k < p.rotation_keys(); ++k)
                       rows += p.rotation_key_rows(k);
                     return rows;
                   })
      .def("rotation_key_bytes", calling(&Parameters::rotation_key_bytes), "transform"_a)
      .def_prop_ro("key_switch_key_bytes", &Parameters::key_switch_key_bytes)
      .def_prop_ro("rotation_transforms", &Parameters::rotation_transforms)
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
            return noise_dict(p.noise(from_name<Transform>(transform)));
          },
          "transform"_a)
      .def("failure_log2", calling<Parameters, double, Transform>(&Parameters::failure_log2),
           "transform"_a)
      .def("gate_failure_log2", calling(&Parameters::gate_failure_log2), "sum_of_squares"_a,
           "margin_sectors"_a, "transform"_a)
      .def("sign_failure_log2", calling(&Parameters::sign_failure_log2), "p"_a, "transform"_a)
      .def("floor_failure_log2", calling(&Parameters::floor_failure_log2), "p"_a, "round_bits"_a,
           "transform"_a)
      .def("fresh_failure_log2", calling(&Parameters::fresh_failure_log2), "encoding"_a)
      .def("lut_failure_log2", calling(&Parameters::lut_failure_log2), "encoding"_a, "arbitrary"_a,
           "transform"_a);
}

}  // namespace whorl::python
