// Which devices there are, and how they are named.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace whorl {

class KeyCache;
namespace run {
class KeyBudget;
std::shared_ptr<KeyBudget> budget_of(const std::optional<KeyCache>& cache, std::size_t key_budget);
}  // namespace run

/// A device that this machine has or might have.
struct DeviceInfo {
  std::string name;  ///< as ServerOptions takes it: "cpu", "cuda:0"; "cuda" if no GPU is usable
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

/// Room for the keys of several servers, of any scheme, on the devices that they share. When other
/// keys need the room, the keys used least recently leave a device; they come back when they are
/// used. Give the cache to each server as ServerOptions::key_cache. Copies share the room, which
/// exists until the last copy and the last of its servers are gone. Several threads may use it at
/// once.
class KeyCache {
 public:
  /// `bytes_a_device`: bytes that the keys of all servers together may take on each device, at
  /// least 1 (ParameterError). If a single key is larger, the call that uses it throws
  /// OutOfMemoryError.
  explicit KeyCache(std::size_t bytes_a_device);
  std::size_t bytes_a_device() const;

 private:
  friend std::shared_ptr<run::KeyBudget> run::budget_of(const std::optional<KeyCache>& cache,
                                                        std::size_t key_budget);
  std::shared_ptr<run::KeyBudget> budget_;
};

/// All devices, the CPU first. There is always a CUDA entry; if no GPU can be used, it says why.
std::vector<DeviceInfo> list_devices();

/// The hardware that a server on `device` would use, such as "cuda:0 (NVIDIA H200)"; several names
/// are joined by ", ". DeviceError for a device that is not there.
std::string device_name(const std::string& device);

}  // namespace whorl
