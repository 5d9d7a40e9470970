// Which devices there are, and how they are named.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace whorl {

/// A device that this machine has or might have.
struct DeviceInfo {
  std::string name;  ///< as SessionOptions takes it: "cpu", "cuda:0"; "cuda" if no GPU is usable
  std::string description;  ///< the hardware's own name
  bool usable = false;
  std::string why;                          ///< why it is not usable, or which kernels would run
  std::size_t memory = 0, free_memory = 0;  ///< bytes; 0: unknown
};

/// A device that has failed, and that the server does not use any more. Only a server of several
/// devices leaves one out.
struct FailedDevice {
  std::string name;
  std::string message;  ///< of the DeviceError
};

/// All devices, the CPU first. There is always a CUDA entry; if no GPU can be used, it says why.
std::vector<DeviceInfo> list_devices();

/// The hardware that a server on `device` would use, such as "cuda:0 (NVIDIA H200)"; several names
/// are joined by ", ". DeviceError for a device that is not there.
std::string device_name(const std::string& device);

}  // namespace whorl
