// BGV: what travels: batches of ciphertexts, evaluation keys, public keys.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "batches.h"
#include "common/packing.h"
#include "common/ring.h"
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
  using Info = bgv::CiphertextInfo;
  bind_info(batch, "packing", &Info::packing, "count", &Info::count, "factor", &Info::factor,
            "parts", &Info::parts, "limbs", &Info::limbs, "length", &Info::length);
  batch.def_prop_ro("each", [](const Ciphertexts& c) { return c.info.each(c.parameters.N()); })
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

  bind_ring_keys<PublicKey, EvaluationKeys>(module);
}

}  // namespace whorl::python
