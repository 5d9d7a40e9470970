// CKKS: batches of ciphertexts on the host and on a server's devices, evaluation keys, public keys.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "batches.h"
#include "common/packing.h"
#include "common/ring.h"
#include "parts.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/ckks/server.h"

namespace whorl::python {

using ckks::Array;
using ckks::Ciphertexts;
using ckks::EvaluationKeys;

namespace {

/// The numbers of slots for which all keys of bootstrapping are there.
std::vector<std::uint64_t> refreshed_slots(const EvaluationKeys& keys) {
  const ckks::Parameters& p = keys.parameters;
  std::vector<std::uint64_t> out;
  if (!p.literal().bootstrap) return out;
  std::set<std::tuple<SwitchRole, std::uint32_t, unsigned>> held;
  for (const RingSwitchKey& key : keys.keys) held.emplace(key.role, key.g, key.power);
  const auto rotates = [&](SwitchRole role, const std::vector<std::int64_t>& rotations) {
    return std::ranges::all_of(rotations, [&](std::int64_t slots) {
      const std::uint32_t g = ckks::rotation_exponent(p.N(), slots);
      return g == 1 || held.contains({role, g, 1});
    });
  };
  for (std::uint64_t slots = 1; slots <= p.slots(); slots *= 2) {
    ckks::KeyRequest request;
    ckks::request_bootstrap(request, p, slots);
    if (held.contains({SwitchRole::to_sparse, 1, 1}) &&
        held.contains({SwitchRole::from_sparse, 1, 1}) &&
        held.contains({SwitchRole::usual, 1, 2}) &&
        held.contains({SwitchRole::usual, 2 * p.N() - 1, 1}) &&
        rotates(SwitchRole::usual, request.rotations) &&
        rotates(SwitchRole::low, request.low_rotations))
      out.push_back(slots);
  }
  return out;
}

/// What ciphertexts on the host and on devices say of themselves.
template <class T>
void bind_facts(nb::class_<T>& type) {
  using Info = ckks::CiphertextInfo;
  bind_info(type, "packing", &Info::packing, "count", &Info::count, "parts", &Info::parts, "level",
            &Info::level, "scale", &Info::scale, "length", &Info::length, "bound", &Info::bound,
            "error", &Info::error, "vector", &Info::vector);
  type.def_prop_ro("bounds", [](const T& batch) {
    const ckks::Bounds bounds = info_of(batch).bounds();
    return std::pair(bounds.low, bounds.high);
  });
}

}  // namespace

void bind_ckks_data(nb::module_& module) {
  nb::class_<Ciphertexts> batch(module, "Ciphertexts");
  bind_facts(batch);
  batch.def_prop_ro("each", [](const Ciphertexts& c) { return c.info.each(c.parameters.N()); });
  batch.def_prop_ro("data", [](nb::handle self) {
    const auto& c = nb::cast<const Ciphertexts&>(self);
    return view(
        c.data,
        {c.info.parts, c.parameters.primes(c.info.level).size(), c.info.count, c.parameters.N()},
        self);
  });
  bind_batch(batch);

  nb::class_<Array> array(module, "Array");
  bind_facts(array);
  array.def_prop_ro("nbytes", &Array::bytes).def_prop_ro("each", [](const Array& a) {
    return a.info().vector == 0 ? 1 : (a.info().vector - 1) / a.info().length + 1;
  });

  bind_ring_keys<ckks::PublicKey, EvaluationKeys>(module).def_prop_ro("bootstrap",
                                                                      &refreshed_slots);
}

}  // namespace whorl::python
