// What schemes over RNS rings share: packings, public facts about ciphertexts, parameters, keys to
// give away.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "files.h"
#include "whorl/bgv/ciphertexts.h"
#include "whorl/ckks/ciphertexts.h"

namespace whorl::python {

template <>
inline constexpr Choice<bgv::Packing, 2, EncodingError> choice<bgv::Packing>{
    "packing", {{{"slots", bgv::Packing::slots}, {"coefficients", bgv::Packing::coefficients}}}};

template <>
inline constexpr Choice<ckks::Packing, 3, EncodingError> choice<ckks::Packing>{
    "packing",
    {{{"complex", ckks::Packing::complex},
      {"real", ckks::Packing::real},
      {"coefficients", ckks::Packing::coefficients}}}};

/// The public facts of a batch, on the host or on a device.
template <class T>
const auto& info_of(const T& batch) {
  if constexpr (requires { batch.info(); })
    return batch.info();
  else
    return batch.info;
}

/// Read-only properties of the public facts of a batch: name, member, name, member, …
template <class T, class Info, class Member, class... More>
void bind_info(nb::class_<T>& type, const char* name, Member Info::*member, More... more) {
  type.def_prop_ro(name, [member](const T& batch) { return as_python(info_of(batch).*member); });
  if constexpr (sizeof...(more) > 0) bind_info(type, more...);
}

/// What parameters have beside `bind_parameters`, and requests for keys. `also` names `other`, the
/// last member of a request that all schemes have.
template <class Parameters, class Literal, class KeyRequest>
nb::class_<Parameters> bind_ring_parameters(nb::module_& module, const char* also,
                                            bool KeyRequest::*other) {
  nb::class_<KeyRequest>(module, "KeyRequest")
      .def(
          "__init__",
          [](KeyRequest* self, unsigned relinearise, const std::vector<std::int64_t>& rotations,
             bool with_other) {
            new (self) KeyRequest{relinearise, rotations, with_other};
          },
          "relinearise"_a, "rotations"_a, nb::arg(also))
      .def_ro("relinearise", &KeyRequest::relinearise)
      .def_ro("rotations", &KeyRequest::rotations)
      .def_ro(also, other);
  auto type = bind_parameters<Parameters, Literal>(module);
  bind_properties(type, "digits", &Parameters::digits, "word_bytes", &Parameters::word_bytes,
                  "log2_P", &Parameters::log2_P, "security_bits", &Parameters::security_bits);
  type.def("describe", &Parameters::describe)
      .def("key_bytes", [](const Parameters& p, const KeyRequest& r) { return key_bytes(p, r); })
      .def("key_count", [](const Parameters& p, const KeyRequest& r) { return key_count(p, r); });
  return type;
}

/// Public keys, and evaluation keys, which are returned.
template <class PublicKey, class EvaluationKeys>
nb::class_<EvaluationKeys> bind_ring_keys(nb::module_& module) {
  nb::class_<PublicKey> public_key(module, "PublicKey");
  bind_origin(public_key);
  public_key.def_prop_ro("nbytes", [](const PublicKey& k) { return k.b.bytes() + k.seed.size(); });
  bind_files(public_key);

  auto keys = bind_evaluation_keys<EvaluationKeys>(module);
  keys.def_prop_ro("contents", [](const EvaluationKeys& k) {
    std::vector<std::pair<std::uint32_t, unsigned>> result;
    for (const auto& key : k.keys)
      if (key.kind.role == SwitchRole::usual) result.emplace_back(key.g, key.power);
    return result;
  });
  return keys;
}

}  // namespace whorl::python
