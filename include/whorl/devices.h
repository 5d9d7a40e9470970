// Which devices there are, and how they are named.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace whorl {

/// A device that this machine has or might have.
struct DeviceInfo {
  std::string name;         ///< as ServerOptions takes it: "cpu", "cuda:0"; "cuda" if none is usable
  std::string description;  ///< the hardware's own name
  bool usable = false;
  std::string why;                          ///< why not usable, or which kernels would run
  std::size_t memory = 0, free_memory = 0;  ///< bytes; 0: unknown
};

/// One of several devices that has failed and is not used any more.
struct FailedDevice {
  std::string name;
  std::string message;  ///< of the DeviceError
};

/// The CPU first. A CUDA entry is always there, and says why if no GPU can be used.
std::vector<DeviceInfo> list_devices();

/// What a server on `device` would run on, e.g. "cuda:0 (NVIDIA H200)"; several joined by ", ".
/// DeviceError for a device that is not there.
std::string device_name(const std::string& device);

}  // namespace whorl
