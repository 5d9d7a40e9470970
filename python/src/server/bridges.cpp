// From FHEW/TFHE to lanes of CKKS: keys, and what a server does with them.
#include "whorl/bridges/lanes.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "common/calls.h"
#include "common/files.h"
#include "parts.h"

namespace whorl::python {

using bridges::LweInput;
using bridges::LweInputKeys;

void bind_bridges(nb::module_& module) {
  nb::class_<LweInputKeys> keys(module, "LweInputKeys");
  bind_origin(keys);
  keys.def_prop_ro("nbytes", &LweInputKeys::bytes)
      .def_prop_ro("lwe_parameters", [](const LweInputKeys& k) { return k.lwe_parameters; })
      .def_prop_ro("lwe_key_id", [](const LweInputKeys& k) { return as_bytes(k.lwe_key_id); });
  bind_files(keys);

  nb::class_<LweInput>(module, "LweInput")
      .def_static(
          "create",
          [](const ckks::Lanes& lanes, const LweInputKeys& with, const Report& report) {
            return without_gil([&] { return LweInput(lanes, with, reporting(report)); });
          },
          "lanes"_a, "keys"_a, "progress"_a.none())
      .def_prop_ro("nbytes", &LweInput::bytes)
      .def("take_in", calling(&LweInput::take_in), "ciphertexts"_a, "bits"_a);
}

}  // namespace whorl::python
