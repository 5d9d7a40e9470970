// Devices of a test, under a name that servers take.
#pragma once

#include "backend/contract/device.h"
#include "support/strained_device.h"
#include "support/test.h"
#include "whorl/devices.h"

namespace whorl::test {

/// What a server gets that asks for "tested"; the last ones that were named so.
constexpr const char* named_devices = "tested";

inline void name_devices(std::vector<std::shared_ptr<const backend::Device>> devices) {
  backend::register_devices(
      {named_devices, named_devices,
       [devices = std::move(devices)](const std::string&, const backend::DeviceOptions&) {
         return devices;
       },
       [] { return std::vector<DeviceInfo>(); }});
}

/// Strained devices under that name.
struct NamedStrains : StrainedDevices {
  explicit NamedStrains(std::size_t count, std::size_t most = 512)
      : StrainedDevices(count, most, named_devices) {
    name_devices(all);
  }
};

}  // namespace whorl::test
