// FHEW/TFHE: parameters and their literals; what travels: batches of ciphertexts, evaluation keys,
// look-up tables.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <variant>

#include "batches.h"
#include "binfhe_choices.h"
#include "common/encodings.h"
#include "common/files.h"
#include "parts.h"

namespace whorl::python {

using binfhe::Ciphertexts;
using binfhe::Encoding;
using binfhe::EvaluationKeys;
using binfhe::Lut;
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

Record noise_dict(const NoiseEstimate& noise) {
  using E = NoiseEstimate;
  nb::dict result = add_members({}, noise, "blind_rotation", &E::blind_rotation, "switch_to_ks",
                                &E::switch_to_ks, "key_switch", &E::key_switch, "switch_to_q",
                                &E::switch_to_q, "refreshed", &E::refreshed, "constant",
                                &E::constant, "rotation_constant", &E::rotation_constant, "fresh",
                                &E::fresh, "rotation_rounding", &E::rotation_rounding);
  result["small_modulus_rotations"] = nb::tuple(nb::cast(noise.small_modulus_rotations));
  return result;
}

void bind_parameter_types(nb::module_& module) {
  bind_literal(module);
  auto type = bind_parameters<Parameters, ParameterLiteral>(module);
  type.def_prop_ro("rotation_key_rows",
                   [](const Parameters& p) {
                     std::size_t rows = 0;
                     for (std::size_t k = 0; k < p.rotation_keys(); ++k)
                       rows += p.rotation_key_rows(k);
                     return rows;
                   })
      .def("rotation_key_bytes", calling(&Parameters::rotation_key_bytes), "transform"_a)
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
           "transform"_a, "tables"_a);
  using P = Parameters;
  bind_properties(type, "keys_per_coefficient", &P::keys_per_coefficient, "key_switch_key_bytes",
                  &P::key_switch_key_bytes, "rotation_transforms", &P::rotation_transforms,
                  "key_switch_digits", &P::key_switch_digits, "key_switch_rows",
                  &P::key_switch_rows);
}

template <class Word>
using WordRows = nb::ndarray<nb::numpy, const Word, nb::ndim<2>>;

/// The words where they lie; `self` keeps them alive. Read-only, so that the seed stays true.
std::variant<WordRows<std::uint32_t>, WordRows<std::uint64_t>> words(nb::handle self) {
  const auto& batch = nb::cast<const Ciphertexts&>(self);
  if (batch.is_wide())
    return WordRows<std::uint64_t>(batch.wide.data(), {batch.count, batch.row()}, self);
  return WordRows<std::uint32_t>(batch.data.data(), {batch.count, batch.row()}, self);
}

void bind_packed(nb::module_& module) {
  using Key = binfhe::PublicKey;
  nb::class_<Key> key(module, "PublicKey");
  bind_origin(key);
  key.def_prop_ro("nbytes", [](const Key& k) { return k.b.bytes() + k.seed.size(); })
      .def_prop_ro("noise", [](const Key& k) { return noise_of(k); });
  bind_files(key);

  using Packed = binfhe::PackedCiphertexts;
  nb::class_<Packed> packed(module, "PackedCiphertexts");
  bind_origin(packed);
  bind_properties(packed, "encoding", &Packed::encoding, "count", &Packed::count, "range",
                  &Packed::range, "log2_modulus", &Packed::log2_modulus, "nbytes", &Packed::bytes);
  packed.def_prop_ro("shape", [](const Packed& c) { return c.shape.value_or(Shape{c.count}); })
      .def(
          "reshaped",
          [](Packed c, const Shape& shape) {
            c.shape.reset();
            if (shape != Shape{c.count}) c.shape = shape;
            return c;
          },
          "shape"_a)
      .def("of_zeros",
           [](Packed c) {
             c.largest = 0;
             return c;
           })
      .def(
          "unpack",
          [](const Packed& c, unsigned threads) {
            return without_gil([&] { return unpack(c, threads); });
          },
          "threads"_a);
  bind_files(packed);
}

void bind_lut(nb::module_& module) {
  nb::class_<Lut> type(module, "Lut");
  type.def_static(
          "create",
          [](const Parameters& parameters, const Input<std::uint32_t>& values, EncodingPair input,
             EncodingPair output, bool exact, bool one_rotation) {
            const auto span = as_span(values);
            return Lut::create(parameters, {span.begin(), span.end()},
                               Handed<Encoding>::open(input), Handed<Encoding>::open(output), exact,
                               one_rotation);
          },
          "parameters"_a, "values"_a, "input"_a, "output"_a, "exact"_a, "one_rotation"_a)
      .def_prop_ro("parameters", [](const Lut& lut) { return lut.parameters(); })
      .def_prop_ro("values",
                   [](const Lut& lut) {
                     const auto values = lut.values();
                     return std::vector<std::uint32_t>(values.begin(), values.end());
                   })
      .def_prop_ro("error_bound", [](const Lut& lut) { return lut.error_bound(); })
      .def_prop_ro("reach", [](const Lut& lut) { return lut.reach(); });
  bind_properties(type, "input", &Lut::input, "output", &Lut::output, "kind", &Lut::kind, "exact",
                  &Lut::exact, "weight", &Lut::weight);
  bind_files(type);
}

}  // namespace

void bind_binfhe_data(nb::module_& module) {
  bind_parameter_types(module);
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  using C = Ciphertexts;
  bind_properties(batch, "encoding", &C::encoding, "count", &C::count, "noise", &C::noise,
                  "largest", &binfhe::largest_message, "range", &C::range, "under", &C::under,
                  "error_bound", &binfhe::error_bound, "failure_log2", &binfhe::failure_log2);
  batch.def_prop_ro("data", &words);
  bind_batch(batch);
  bind_evaluation_keys<EvaluationKeys>(module);
  bind_packed(module);
  bind_lut(module);
}

}  // namespace whorl::python
