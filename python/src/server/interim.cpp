// whorl/devices.h, until the library has it.
#include "backend/ops.h"
#include "whorl/devices.h"

namespace whorl {

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> result;
  for (const backend::DeviceInfo& each : backend::list_devices())
    result.push_back(
        {each.name, each.description, each.usable, each.why, each.memory, each.free_memory});
  return result;
}

std::string device_name(const std::string& device) {
  std::string names;
  for (const auto& each : backend::make_devices(device))
    names += (names.empty() ? "" : ", ") + each->name();
  return names;
}

}  // namespace whorl
