// The parts of the module _client.
#pragma once

#include "common/bindings.h"

namespace whorl::python {

void bind_binfhe_client(nb::module_& module);
void bind_bgv_client(nb::module_& module);
void bind_ckks_client(nb::module_& module);
void bind_bridges_client(nb::module_& module);

}  // namespace whorl::python
