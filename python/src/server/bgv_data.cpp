// BGV: batches of ciphertexts on the host and on a server's devices, evaluation keys, public keys.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "batches.h"
#include "common/packing.h"
#include "common/ring.h"
#include "parts.h"
#include "whorl/bgv/server.h"

namespace whorl::python {

using bgv::Array;
using bgv::Ciphertexts;
using bgv::EvaluationKeys;
using bgv::PublicKey;

namespace {

/// What ciphertexts on the host and on devices say of themselves.
template <class T>
void bind_facts(nb::class_<T>& type) {
  using Info = bgv::CiphertextInfo;
  bind_info(type, "packing", &Info::packing, "count", &Info::count, "factor", &Info::factor,
            "parts", &Info::parts, "limbs", &Info::limbs, "length", &Info::length);
}

}  // namespace

void bind_bgv_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  bind_facts(batch);
  batch.def_prop_ro("each", [](const Ciphertexts& c) { return c.info.each(c.parameters.N()); })
      .def_prop_ro(
          "noise_budget",
          [](const Ciphertexts& c) { return c.parameters.log2_Q(c.info.limbs) - 1 - c.info.noise; })
      .def_prop_ro("data", [](nb::handle self) {
        const auto& c = nb::cast<const Ciphertexts&>(self);
        return view(c.data, {c.info.parts, c.info.limbs, c.info.count, c.parameters.N()}, self);
      });
  bind_batch(batch);

  nb::class_<Array> array(module, "Array");
  bind_facts(array);
  array.def_prop_ro("each", &Array::each)
      .def_prop_ro("everywhere", [](const Array& a) { return a.info().rest == bgv::Rest::same; })
      .def_prop_ro("noise_budget", &Array::noise_budget)
      .def_prop_ro("nbytes", &Array::bytes);

  bind_ring_keys<PublicKey, EvaluationKeys>(module);
}

}  // namespace whorl::python
