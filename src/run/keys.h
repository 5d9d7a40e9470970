// Keys as objects that are put on a device when they are used there, and taken off again.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "run/lane.h"

namespace whorl::run {

/// What keys may take of each device's memory. Those used least recently leave a device when another
/// needs the room; one that a call holds stays until the call is done. Shared by the servers of a
/// service, whose keys then take turns on one GPU.
class KeyBudget {
 public:
  static constexpr std::size_t unlimited = ~std::size_t{0};
  explicit KeyBudget(std::size_t bytes_a_device = unlimited) : bytes_(bytes_a_device) {}

  std::size_t bytes() const { return bytes_; }
  /// Bytes of keys on a lane's device.
  std::size_t used(const Lane& lane) const;

 private:
  friend class KeyOnDevices;
  struct Entry {
    const void* key;
    const backend::Device* device;
    std::size_t bytes;
    std::shared_ptr<const void> prepared;
  };
  std::size_t bytes_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  ///< the longest unused first
};

/// One key, prepared on the devices that have used it. `Prepared` has bytes().
class KeyOnDevices {
 public:
  /// `prepare` makes it through a queue of the device, from what the host keeps: called again after
  /// the key had to leave. `bytes`: what it takes of a device, about.
  KeyOnDevices(std::shared_ptr<KeyBudget> budget, std::size_t bytes,
               std::function<std::shared_ptr<const void>(const backend::Queue&)> prepare);
  ~KeyOnDevices();
  KeyOnDevices(const KeyOnDevices&) = delete;
  KeyOnDevices& operator=(const KeyOnDevices&) = delete;

  /// Prepares it if it is not there. OutOfMemoryError if it is larger than the budget or the device.
  /// Hold what is returned until the work that reads it has been enqueued and will not be missed.
  template <class Prepared>
  std::shared_ptr<const Prepared> on(const Lane& lane) const {
    return std::static_pointer_cast<const Prepared>(get(lane));
  }
  bool is_on(const Lane& lane) const;
  /// Frees its memory there; a call that holds it keeps it until it is done.
  void release(const Lane& lane) const;

 private:
  std::shared_ptr<const void> get(const Lane& lane) const;

  std::shared_ptr<KeyBudget> budget_;
  std::size_t bytes_;
  std::function<std::shared_ptr<const void>(const backend::Queue&)> prepare_;
};

}  // namespace whorl::run
