// A library of devices that has those of the CPU, under the names of GPUs.
#include <cstdlib>
#include <string>
#include <utility>

#include "backend/cpu/cpu_device.h"
#include "backend/device_library.h"

#pragma GCC visibility push(default)
const char* whorl_device_library_version() {
  const char* const other = std::getenv("WHORL_TESTS_DEVICE_LIBRARY_VERSION");
  return other ? other : WHORL_DEVICE_LIBRARY_VERSION;
}
void whorl_device_library_kind(whorl::backend::DeviceKind* kind) {
  *kind = whorl::backend::cpu::kind();
  kind->prefix = "cuda";
  kind->accepted = "\"cuda\"";
  kind->best = [] { return std::string("cuda"); };
  kind->make = [make = std::move(kind->make)](const std::string& name,
                                              const whorl::backend::DeviceOptions& options) {
    if (name != "cuda") throw whorl::DeviceError("device \"" + name + "\" does not exist");
    return make("cpu", options);
  };
}
#pragma GCC visibility pop
