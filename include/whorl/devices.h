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
  std::string name;  ///< as ServerOptions takes it: "cpu", "cuda:0"; "cuda" if none is usable
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

/// Room for the keys of several servers, of any scheme, on the devices that they share: keys used
/// least recently leave a device when others need the room, and come back when they are used. Given
/// to each server as ServerOptions::key_cache. Copies share the room; it lives as long as the last
/// of them and of the servers. Threads may use it at once.
class KeyCache {
 public:
  /// Bytes that the keys of all its servers together may take of each device, 1 or more;
  /// ParameterError for 0. A key alone that is larger is OutOfMemoryError where it is used.
  explicit KeyCache(std::size_t bytes_a_device);
  std::size_t bytes_a_device() const;

 private:
  friend std::shared_ptr<run::KeyBudget> run::budget_of(const std::optional<KeyCache>& cache,
                                                        std::size_t key_budget);
  std::shared_ptr<run::KeyBudget> budget_;
};

/// The CPU first. A CUDA entry is always there, and says why if no GPU can be used.
std::vector<DeviceInfo> list_devices();

/// What a server on `device` would run on, e.g. "cuda:0 (NVIDIA H200)"; several joined by ", ".
/// DeviceError for a device that is not there.
std::string device_name(const std::string& device);

}  // namespace whorl
