// FHEW/TFHE: what travels: batches of ciphertexts, evaluation keys, look-up tables.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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
using binfhe::Parameters;

namespace {

/// The words where they lie; `self` keeps them alive. Read-only, so that the seed stays true.
nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<2>> words(nb::handle self) {
  const auto& batch = nb::cast<const Ciphertexts&>(self);
  return {batch.data.data(), {batch.count, batch.row()}, self};
}

void bind_lut(nb::module_& module) {
  nb::class_<Lut> type(module, "Lut");
  type.def_static(
          "create",
          [](const Parameters& parameters, const Input<std::uint32_t>& values, EncodingPair input,
             EncodingPair output, bool exact) {
            const auto span = as_span(values);
            return Lut::create(parameters, {span.begin(), span.end()},
                               Handed<Encoding>::open(input), Handed<Encoding>::open(output),
                               exact);
          },
          "parameters"_a, "values"_a, "input"_a, "output"_a, "exact"_a)
      .def_prop_ro("parameters", [](const Lut& lut) { return lut.parameters(); })
      .def_prop_ro("values",
                   [](const Lut& lut) {
                     const auto values = lut.values();
                     return std::vector<std::uint32_t>(values.begin(), values.end());
                   })
      .def_prop_ro("input", [](const Lut& lut) { return as_pair(lut.input()); })
      .def_prop_ro("output", [](const Lut& lut) { return as_pair(lut.output()); })
      .def_prop_ro("kind", [](const Lut& lut) { return to_name(lut.kind()); })
      .def_prop_ro("exact", &Lut::exact)
      .def_prop_ro("error_bound", [](const Lut& lut) { return lut.error_bound(); });
  bind_files(type);
}

}  // namespace

void bind_binfhe_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  batch.def_prop_ro("encoding", [](const Ciphertexts& c) { return as_pair(c.encoding); })
      .def_prop_ro("count", [](const Ciphertexts& c) { return c.count; })
      .def_prop_ro("noise", [](const Ciphertexts& c) { return c.noise; })
      .def_prop_ro("largest", &binfhe::largest_message)
      .def_prop_ro("range", [](const Ciphertexts& c) { return as_pair(c.range); })
      .def_prop_ro("data", &words);
  bind_batch(batch);
  bind_evaluation_keys<EvaluationKeys>(module);
  bind_lut(module);
}

}  // namespace whorl::python
