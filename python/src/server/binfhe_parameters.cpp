// FHEW/TFHE: parameters and their literals.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "binfhe_choices.h"
#include "common/files.h"
#include "parts.h"

namespace whorl::python {

using namespace nb::literals;
using binfhe::NoiseEstimate;
using binfhe::ParameterLiteral;
using binfhe::Parameters;

namespace {

/// A property of the literal that Python sees as a name.
template <class Enum>
void bind_choice(nb::class_<ParameterLiteral>& type, const char* field,
                 Enum ParameterLiteral::*member) {
  type.def_prop_rw(
      field, [member](const ParameterLiteral& literal) { return to_name(literal.*member); },
      [member, field](ParameterLiteral& literal, const std::string& name) {
        literal.*member = from_name<Enum>(name, field);
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

std::vector<GadgetTuple> small_modulus_tuples(const ParameterLiteral& literal) {
  std::vector<GadgetTuple> result;
  for (const auto& gadget : literal.small_modulus_gadgets)
    result.emplace_back(gadget.log_modulus, gadget.log_base, gadget.digits);
  return result;
}

void set_small_moduli(ParameterLiteral& literal, const std::vector<GadgetTuple>& gadgets) {
  literal.small_modulus_gadgets.clear();
  for (const auto& [log_modulus, log_base, digits] : gadgets)
    literal.small_modulus_gadgets.push_back({log_modulus, log_base, digits});
}

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
  type.def(nb::init<>())
      .def_prop_rw("gadget", &gadget_tuples, &set_gadget)
      .def_prop_rw("small_modulus_gadgets", &small_modulus_tuples, &set_small_moduli)
      .def_prop_rw("rotation", &rotation_tuple, &set_rotation);
  using L = ParameterLiteral;
  bind_fields(type, "name", &L::name, "source", &L::source, "n", &L::n, "q", &L::q, "N", &L::N, "Q",
              &L::Q, "Q_ks", &L::Q_ks, "log_B_ks", &L::log_B_ks, "ks_digits", &L::ks_digits,
              "sigma_lwe", &L::sigma_lwe, "sigma_ring", &L::sigma_ring, "max_p", &L::max_p,
              "padding", &L::padding);
  bind_choice(type, "key_switch", &ParameterLiteral::key_switch);
  bind_choice(type, "lwe_secret", &ParameterLiteral::lwe_secret);
  bind_choice(type, "ring_secret", &ParameterLiteral::ring_secret);
  bind_choice(type, "transform", &ParameterLiteral::transform);
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

nb::dict noise_dict(const NoiseEstimate& noise) {
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
      .def(
          "rotation_key_bytes",
          [](const Parameters& p, const std::string& transform) {
            return p.rotation_key_bytes(from_name<Transform>(transform));
          },
          "transform"_a)
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
      .def(
          "failure_log2",
          [](const Parameters& p, const std::string& transform) {
            return p.failure_log2(from_name<Transform>(transform));
          },
          "transform"_a)
      .def(
          "gate_failure_log2",
          [](const Parameters& p, double sum_of_squares, double margin_sectors,
             const std::string& transform) {
            return p.gate_failure_log2(sum_of_squares, margin_sectors,
                                       from_name<Transform>(transform));
          },
          "sum_of_squares"_a, "margin_sectors"_a, "transform"_a)
      .def(
          "sign_failure_log2",
          [](const Parameters& params, std::uint32_t p, const std::string& transform) {
            return params.sign_failure_log2(p, from_name<Transform>(transform));
          },
          "p"_a, "transform"_a)
      .def(
          "floor_failure_log2",
          [](const Parameters& params, std::uint32_t p, unsigned bits,
             const std::string& transform) {
            return params.floor_failure_log2(p, bits, from_name<Transform>(transform));
          },
          "p"_a, "round_bits"_a, "transform"_a)
      .def(
          "fresh_failure_log2",
          [](const Parameters& params, std::uint32_t p, bool padding) {
            return params.fresh_failure_log2({p, padding});
          },
          "p"_a, "padding"_a)
      .def(
          "lut_failure_log2",
          [](const Parameters& params, std::uint32_t p, bool padding, bool arbitrary,
             const std::string& transform) {
            return params.lut_failure_log2({p, padding}, arbitrary,
                                           from_name<Transform>(transform));
          },
          "p"_a, "padding"_a, "arbitrary"_a, "transform"_a);
}

}  // namespace whorl::python
