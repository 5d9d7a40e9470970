// CKKS: what travels: batches of ciphertexts, evaluation keys, public keys.
#include "batches.h"
#include "common/packing.h"
#include "common/ring.h"
#include "parts.h"

namespace whorl::python {

using ckks::Ciphertexts;

void bind_ckks_data(nb::module_& module) {
  using Info = ckks::CiphertextInfo;
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  bind_info(batch, "packing", &Info::packing, "count", &Info::count, "parts", &Info::parts, "level",
            &Info::level, "scale", &Info::scale, "length", &Info::length, "bound", &Info::bound,
            "error", &Info::error);
  batch.def_prop_ro("data", [](nb::handle self) {
    const auto& c = nb::cast<const Ciphertexts&>(self);
    return view(
        c.data,
        {c.info.parts, c.parameters.primes(c.info.level).size(), c.info.count, c.parameters.N()},
        self);
  });
  bind_batch(
      batch,
      [](const Ciphertexts& c, std::span<const std::uint32_t> index) {
        return ckks::take(c, index);
      },
      [](const std::vector<const Ciphertexts*>& batches) { return ckks::concatenate(batches); });

  bind_ring_keys<ckks::PublicKey, ckks::EvaluationKeys>(module);
}

}  // namespace whorl::python
