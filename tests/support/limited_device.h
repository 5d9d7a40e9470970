// A device with little memory: the CPU, whose allocations fail above a limit.
#pragma once

#include "support/test.h"

namespace whorl::test {

struct MemoryLimit {
  std::atomic<std::size_t> bytes, used = 0;
  std::atomic<std::size_t> peak = 0;  ///< the most of `used`
};

class LimitedQueue final : public backend::Relay {
 public:
  LimitedQueue(std::shared_ptr<const backend::Device> device, std::unique_ptr<Queue> behind,
               std::shared_ptr<MemoryLimit> limit)
      : Relay(std::move(device), std::move(behind)), limit_(std::move(limit)) {}

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    if (limit_->used + bytes > limit_->bytes)
      throw OutOfMemoryError(name() + ": no " + std::to_string(bytes) + " bytes");
    const std::shared_ptr<void> block = Relay::allocate_bytes(bytes);
    limit_->used += bytes;
    limit_->peak = std::max(limit_->peak.load(), limit_->used.load());
    return {block.get(), [block, bytes, limit = limit_](void*) { limit->used -= bytes; }};
  }
  /// A quarter of the memory, as on a GPU.
  std::size_t batch_limit(std::size_t bytes, std::size_t reserved) const override {
    const std::size_t free =
        limit_->bytes - std::min(limit_->bytes.load(), limit_->used + reserved);
    return std::clamp<std::size_t>(free / 4 / bytes, 1, 512);
  }

 private:
  std::shared_ptr<MemoryLimit> limit_;
};

/// It stands for hardware with memory of its own.
class LimitedDevice final
    : public backend::RelayDevice<LimitedQueue, std::shared_ptr<MemoryLimit>> {
 public:
  LimitedDevice(std::string name, std::string memory, std::shared_ptr<MemoryLimit> limit)
      : RelayDevice(std::move(name), backend::make_device("cpu", {1, {}}), std::move(limit)),
        memory_(std::move(memory)) {}
  std::string memory() const override { return memory_; }

 private:
  std::string memory_;
};

inline std::shared_ptr<const backend::Device> limited_device(std::shared_ptr<MemoryLimit> limit,
                                                             const std::string& name = "limited") {
  return std::make_shared<LimitedDevice>(name, name, std::move(limit));
}

}  // namespace whorl::test
