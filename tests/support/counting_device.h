// A device that counts what its callers bring in and fetch.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "backend/contract/relay.h"

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

}  // namespace whorl::test
