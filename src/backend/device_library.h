// What a library of devices exports, which is loaded at run time.
#pragma once

#include <string>

#include "backend/contract/device.h"

extern "C" {
/// The version of Whorl and a digest of the headers that both sides share: both must be equal,
/// since C++ types go across.
const char* whorl_device_library_version();
/// Sets the kind of devices that the library has.
void whorl_device_library_kind(whorl::backend::DeviceKind* kind);
}

namespace whorl::backend {

/// The kind of devices of the library at `path`, which stays loaded for good. DeviceError if there
/// is none, or if it is of another build.
DeviceKind load_device_library(const std::string& path);

}  // namespace whorl::backend
