// What schemes over RNS rings share: public facts about ciphertexts, parameters, keys to give away.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "files.h"

namespace whorl::python {

/// Read-only properties of the public facts `info` of a batch, on the host or on a device: name,
/// member, name, member, …
template <class T, class Info, class Member, class... More>
void bind_info(nb::class_<T>& type, const char* name, Member Info::*member, More... more) {
  type.def_prop_ro(name, [member](const T& batch) {
    const auto& info = [&]() -> const Info& {
      if constexpr (requires { batch.info(); })
        return batch.info();
      else
        return batch.info;
    }();
    if constexpr (Named<Member>)
      return to_name(info.*member);
    else
      return Member(info.*member);
  });
  if constexpr (sizeof...(more) > 0) bind_info(type, more...);
}

/// What parameters have beside `bind_parameters`. `also` names the last member of a request for
/// keys.
template <class Parameters, class Literal, class KeyRequest>
nb::class_<Parameters> bind_ring_parameters(nb::module_& module, const char* also) {
  using namespace nb::literals;
  auto type = bind_parameters<Parameters, Literal>(module);
  type.def_prop_ro("digits", &Parameters::digits)
      .def_prop_ro("word_bytes", &Parameters::word_bytes)
      .def_prop_ro("log2_P", &Parameters::log2_P)
      .def_prop_ro("security_bits", &Parameters::security_bits)
      .def("describe", &Parameters::describe)
      .def(
          "key_bytes",
          [](const Parameters& p, unsigned relinearise, const std::vector<std::int64_t>& rotations,
             bool other) {
            return key_bytes(p, KeyRequest{relinearise, rotations, other});
          },
          "relinearise"_a, "rotations"_a, nb::arg(also));
  return type;
}

/// Public keys and evaluation keys.
template <class PublicKey, class EvaluationKeys>
void bind_ring_keys(nb::module_& module) {
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
