// The parts of the module _server. It has nothing that makes, loads or uses a secret key.
#pragma once

#include "common/bindings.h"

namespace whorl::python {

void bind_errors();
void bind_devices(nb::module_& module);
void bind_rtl(nb::module_& module);

void bind_binfhe_data(nb::module_& module);
void bind_binfhe_server(nb::module_& module);
void bind_integers(nb::module_& module);
void bind_bgv(nb::module_& module);
void bind_ckks_data(nb::module_& module);
void bind_ckks_circuits(nb::module_& module);
void bind_ckks_server(nb::module_& module);
void bind_ckks_lanes(nb::module_& module);
void bind_bridges(nb::module_& module);
void bind_networks(nb::module_& module);

}  // namespace whorl::python
