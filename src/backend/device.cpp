// Which devices there are.
#include "backend/cpu/cpu_device.h"
#include "backend/ops.h"

namespace whorl::backend {

std::unique_ptr<Device> make_device(const std::string& name, DeviceOptions options) {
  if (name.empty() || name == "cpu") return cpu::make_cpu_device(std::move(options));
  throw DeviceError("device \"" + name + "\" is not there: this build has \"cpu\"");
}

}  // namespace whorl::backend
