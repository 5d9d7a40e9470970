// The accelerator as a device: "rtl-model", its model, and "rtl", the simulated core. Blind
// rotation with extraction of coefficient 0, and key switching, run there for keys that a core
// runs; the rest runs on the CPU.
#pragma once

#include "backend/contract/device.h"

namespace whorl::backend::rtl {

DeviceKind model_kind();
DeviceKind simulation_kind();

}  // namespace whorl::backend::rtl
