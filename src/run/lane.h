// One device of a fleet: the queue on which arrays live that stay on it, and spare queues for batches
// that pass through.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/contract/device.h"

namespace whorl::run {

/// Arrays, keys and calls share it; it lives as long as the last of them.
class Lane {
 public:
  explicit Lane(std::shared_ptr<const backend::Device> device);

  const std::string& name() const { return name_; }
  const backend::Device& device() const { return *device_; }
  /// Of resident arrays: their buffers belong to it. To be used under hold() only.
  const backend::Queue& queue() const { return *queue_; }
  /// Calls of several threads wait here for one another; one thread may hold it several times.
  std::unique_lock<std::recursive_mutex> hold() const {
    return std::unique_lock<std::recursive_mutex>(mutex_);
  }

  using Queues = std::vector<std::unique_ptr<backend::Queue>>;
  /// Up to `wanted` spare queues for a call, at least one; more than Device::queues() only where
  /// calls meet. They are given back after it.
  Queues lease(std::size_t wanted) const;
  void give_back(Queues queues) const;

 private:
  std::shared_ptr<const backend::Device> device_;
  std::string name_;
  std::unique_ptr<backend::Queue> queue_;
  mutable std::recursive_mutex mutex_;
  mutable std::mutex spare_mutex_;  ///< of those below
  mutable Queues spare_;
  mutable std::size_t made_ = 0;
};

}  // namespace whorl::run
