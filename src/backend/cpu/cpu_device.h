// The CPU as a device of the contract.
#pragma once

#include <memory>

#include "backend/ops.h"

namespace whorl::backend::cpu {

std::unique_ptr<Device> make_cpu_device(DeviceOptions options);

}  // namespace whorl::backend::cpu
