// A device that works on few ciphertexts at once, and fails when it is told to: the CPU otherwise.
#pragma once

#include <atomic>
#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/contract/relay.h"
#include "run/fleet.h"

namespace whorl::test {

struct Strain {
  std::size_t most = 512;  ///< batch_limit
  /// Memory that it hands out, and values that it copies, before each throws DeviceError.
  std::atomic<long> calls_left = LONG_MAX;
  std::atomic<std::size_t> bytes_out = 0;  ///< that were copied to the host
};

class StrainedQueue final : public backend::Relay {
 public:
  StrainedQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> behind,
                std::shared_ptr<Strain> strain)
      : Relay(std::move(device), std::move(behind)), strain_(std::move(strain)) {}
  std::size_t batch_limit(std::size_t, std::size_t) const override { return strain_->most; }

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    call();
    return Relay::allocate_bytes(bytes);
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    call();
    strain_->bytes_out += bytes;
    Relay::copy_out(device, host, bytes);
  }

 private:
  void call() const {
    if (strain_->calls_left.fetch_sub(1) <= 0) throw DeviceError(name() + " was unplugged");
  }
  std::shared_ptr<Strain> strain_;
};

/// It stands for hardware with memory of its own.
class StrainedDevice final : public backend::RelayDevice<StrainedQueue, std::shared_ptr<Strain>> {
 public:
  StrainedDevice(std::string name, std::shared_ptr<Strain> strain)
      : RelayDevice(std::move(name), backend::make_device("cpu", {1, {}}), std::move(strain)) {}
  std::string memory() const override { return name(); }
};
inline std::shared_ptr<const backend::Device> strained_device(std::string name,
                                                              std::shared_ptr<Strain> strain) {
  return std::make_shared<StrainedDevice>(std::move(name), std::move(strain));
}

/// `count` such devices, of one thread each and with `most` ciphertexts at once, and their strains.
struct StrainedDevices {
  explicit StrainedDevices(std::size_t count, std::size_t most = 512,
                           const std::string& name = "strained") {
    for (std::size_t i = 0; i < count; ++i) {
      strains.push_back(std::make_shared<Strain>());
      strains.back()->most = most;
      all.push_back(strained_device(name + ":" + std::to_string(i), strains.back()));
    }
  }
  std::vector<std::shared_ptr<Strain>> strains;
  std::vector<std::shared_ptr<const backend::Device>> all;
};

/// A fleet of them.
struct StrainedFleet : StrainedDevices {
  explicit StrainedFleet(std::size_t devices, std::size_t most = 512)
      : StrainedDevices(devices, most),
        fleet(std::make_shared<const run::Fleet>(all, run::FleetOptions{})) {}
  /// All arrays of a lane leave for the host.
  void spill(std::size_t lane) const {
    const auto held = fleet->lane(lane)->hold();
    while (fleet->lane(lane)->residents().spill()) {
    }
  }
  std::shared_ptr<const run::Fleet> fleet;
};

}  // namespace whorl::test
