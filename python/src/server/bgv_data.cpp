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

Layout layout(const Ciphertexts& c) {
  return {std::size_t{c.info.parts} * c.info.limbs, c.parameters.N()};
}

/// The same but for residues, how many there are, and the bound of their noise.
Ciphertexts with(const Ciphertexts& c, WordArray data, double noise) {
  bgv::CiphertextInfo info = c.info;
  const Layout shape = layout(c);
  info.count = data.size() / (shape.outer * shape.inner);
  info.noise = noise;
  return {c.parameters, c.key_id, info, std::move(data), std::nullopt};
}

Ciphertexts take(const Ciphertexts& c, std::span<const std::uint32_t> index) {
  return with(c, take_words(c.data, layout(c), c.info.count, index), c.info.noise);
}

template <class Value>
void check_same(const char* field, const Value& one, const Value& other) {
  if (one == other) return;
  throw ShapeError(std::string(field) + ": " + std::to_string(one) + " beside " +
                   std::to_string(other));
}

Ciphertexts join(const std::vector<const Ciphertexts*>& batches) {
  const Ciphertexts& first = *batches.front();
  double noise = first.info.noise;
  for (const Ciphertexts* batch : batches) {
    if (batch->info.packing != first.info.packing)
      throw ShapeError("packing: " + to_name(batch->info.packing) + " beside " +
                       to_name(first.info.packing));
    check_same("parts", batch->info.parts, first.info.parts);
    check_same("limbs", batch->info.limbs, first.info.limbs);
    check_same("factor", batch->info.factor, first.info.factor);
    noise = std::max(noise, batch->info.noise);
  }
  return with(first, join_words(batches, layout(first)), noise);
}

}  // namespace

void bind_bgv_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  batch.def_prop_ro("packing", [](const Ciphertexts& c) { return to_name(c.info.packing); })
      .def_prop_ro("count", [](const Ciphertexts& c) { return c.info.count; })
      .def_prop_ro("factor", [](const Ciphertexts& c) { return c.info.factor; })
      .def_prop_ro("parts", [](const Ciphertexts& c) { return c.info.parts; })
      .def_prop_ro("limbs", [](const Ciphertexts& c) { return c.info.limbs; })
      .def_prop_ro(
          "noise_budget",
          [](const Ciphertexts& c) { return c.parameters.log2_Q(c.info.limbs) - 1 - c.info.noise; })
      .def_prop_ro("data", &residues);
  bind_batch(batch, &take, &join);

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
