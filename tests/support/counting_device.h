// A device that counts what its callers bring in and fetch.
#pragma once

#include "run/fleet.h"
#include "support/test.h"

namespace whorl::test {

struct Traffic {
  std::atomic<std::size_t> in = 0, out = 0;  ///< bytes
};

class CountingQueue final : public backend::Relay {
 public:
  CountingQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> of,
                std::shared_ptr<Traffic> traffic)
      : Relay(std::move(device), std::move(of)), traffic_(std::move(traffic)) {}

 protected:
  void copy_in(const void* host, void* device, std::size_t bytes) const override {
    traffic_->in += bytes;
    Relay::copy_in(host, device, bytes);
  }
  void copy_out(const void* device, void* host, std::size_t bytes) const override {
    traffic_->out += bytes;
    Relay::copy_out(device, host, bytes);
  }

 private:
  std::shared_ptr<Traffic> traffic_;
};

/// `devices` of one thread each, and the traffic of each.
struct CountingFleet {
  explicit CountingFleet(std::size_t devices) {
    using Device = backend::RelayDevice<CountingQueue, std::shared_ptr<Traffic>>;
    std::vector<std::shared_ptr<const backend::Device>> all;
    for (std::size_t i = 0; i < devices; ++i) {
      traffic.push_back(std::make_shared<Traffic>());
      all.push_back(std::make_shared<Device>("counting:" + std::to_string(i),
                                             backend::make_device("cpu", {1, {}}), traffic.back()));
    }
    fleet = std::make_shared<const run::Fleet>(std::move(all), run::FleetOptions{});
  }
  std::vector<std::shared_ptr<Traffic>> traffic;
  std::shared_ptr<const run::Fleet> fleet;
};

}  // namespace whorl::test
