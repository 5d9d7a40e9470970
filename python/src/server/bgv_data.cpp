// BGV: what travels: batches of ciphertexts, evaluation keys, public keys.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "batches.h"
#include "common/files.h"
#include "common/packing.h"
#include "parts.h"

namespace whorl::python {

using namespace nb::literals;
using bgv::Ciphertexts;
using bgv::EvaluationKeys;
using bgv::PublicKey;

namespace {

nb::object residues(nb::handle self) {
  const auto& c = nb::cast<const Ciphertexts&>(self);
  return view(c.data, {c.info.parts, c.info.limbs, c.info.count, c.parameters.N()}, self);
}

}  // namespace

void bind_bgv_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  batch.def_prop_ro("packing", [](const Ciphertexts& c) { return to_name(c.info.packing); })
      .def_prop_ro("count", [](const Ciphertexts& c) { return c.info.count; })
      .def_prop_ro("factor", [](const Ciphertexts& c) { return c.info.factor; })
      .def_prop_ro("parts", [](const Ciphertexts& c) { return c.info.parts; })
      .def_prop_ro("limbs", [](const Ciphertexts& c) { return c.info.limbs; })
      .def_prop_ro("length", [](const Ciphertexts& c) { return c.info.length; })
      .def_prop_ro("each", [](const Ciphertexts& c) { return c.info.each(c.parameters.N()); })
      .def_prop_ro(
          "noise_budget",
          [](const Ciphertexts& c) { return c.parameters.log2_Q(c.info.limbs) - 1 - c.info.noise; })
      .def_prop_ro("data", &residues);
  bind_batch(
      batch,
      [](const Ciphertexts& c, std::span<const std::uint32_t> index) {
        return bgv::take(c, index);
      },
      [](const std::vector<const Ciphertexts*>& batches) { return bgv::concatenate(batches); });

  nb::class_<PublicKey> public_key(module, "PublicKey");
  bind_origin(public_key);
  public_key.def_prop_ro("nbytes", [](const PublicKey& k) { return k.b.bytes() + k.seed.size(); });
  bind_files(public_key);

  bind_evaluation_keys<EvaluationKeys>(module).def_prop_ro("contents", [](const EvaluationKeys& k) {
    nb::list result;
    for (const auto& key : k.keys) result.append(nb::make_tuple(key.g, key.power));
    return result;
  });
}

}  // namespace whorl::python
