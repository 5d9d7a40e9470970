// One device of a fleet: the queue on which arrays live that stay on it, and spare queues for
// batches that pass through.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/contract/device.h"
#include "math/process.h"
#include "run/residents.h"

namespace whorl::run {

/// Waits, and drops errors of the wait, since another error is being thrown already.
void wait_quietly(const backend::Queue& queue);

/// Arrays, keys and calls share it; it lives as long as the last of them. Made by make_shared.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  explicit Lane(std::shared_ptr<const backend::Device> device);

  const std::string& name() const { return name_; }
  const backend::Device& device() const { return *device_; }
  /// The memory of the device, which fleets may share: Device::memory.
  const std::string& hardware() const { return hardware_; }
  /// Buffers of resident arrays belong to this queue. It is to be used under hold() only.
  const backend::Queue& queue() const { return *queue_; }

  /// Calls of several threads wait here for one another; one thread may hold it several times. Who
  /// needs several lanes at once takes them in one order: Fleet::together.
  std::unique_lock<const Lane> hold() const { return std::unique_lock<const Lane>(*this); }
  /// For hold() and Fleet::together.
  void lock() const {
    if (!held()) mutex_.lock();
    enter();
  }
  bool try_lock() const {
    if (!held() && !mutex_.try_lock()) return false;
    enter();
    return true;
  }
  void unlock() const {
    if (--depth_ > 0) return;
    holder_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }
  /// Whether this thread holds it.
  bool held() const {
    return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  /// What could leave the device if memory is short. Under hold() only.
  Residents& residents() const { return residents_; }

  using Queues = std::vector<std::unique_ptr<backend::Queue>>;
  /// Up to `wanted` spare queues for a call, at least `least`; more than Device::queues() only
  /// where calls meet. They are given back after it.
  Queues lease(std::size_t wanted, std::size_t least = 1) const;
  void give_back(Queues queues) const;

 private:
  void enter() const {
    if (depth_++ == 0) holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }

  std::shared_ptr<const backend::Device> device_;
  std::string name_;
  std::unique_ptr<backend::Queue> queue_;
  mutable math::ProcessMutex mutex_;
  mutable std::size_t depth_ = 0;  ///< holds of the thread that has the mutex
  mutable std::atomic<std::thread::id> holder_{};
  mutable Residents residents_;
  mutable math::ProcessMutex spare_mutex_;  ///< of those below
  mutable Queues spare_;
  mutable std::size_t made_ = 0;
  std::string hardware_;
};

}  // namespace whorl::run
