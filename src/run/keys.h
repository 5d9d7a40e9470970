// Keys that are put on a device when they are used there, and can leave it again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "math/process.h"
#include "run/lane.h"

namespace whorl::run {

class KeyOnDevices;

/// A bound of the memory that keys take on each device. When another key needs the room, the keys
/// used least recently leave the device; a key that a call holds stays until the call is done.
/// Several servers may share a budget; then their keys take turns on one GPU. Keys are counted for
/// each hardware (Lane::hardware), whichever fleet put them there. Held by shared_ptr.
class KeyBudget final : public RoomMaker, public std::enable_shared_from_this<KeyBudget> {
 public:
  static constexpr std::size_t unlimited = ~std::size_t{0};
  explicit KeyBudget(std::size_t bytes_a_device = unlimited) : bytes_(bytes_a_device) {}

  std::size_t bytes() const { return bytes_; }
  /// Bytes of keys on a lane's hardware.
  std::size_t used(const Lane& lane) const;
  /// Removes keys that no call holds from a lane's hardware, the longest unused first, until
  /// `bytes` are free or no such key is left. It makes room for keys or arrays. Returns the bytes
  /// freed.
  std::size_t make_room(const Lane& lane, std::size_t bytes) const override;

 private:
  friend class KeyOnDevices;
  struct Holder {
    std::thread::id thread;
    std::uint32_t process;  ///< one of a parent's, at a fork, lets nothing go in the child
    bool operator==(const Holder&) const = default;
  };
  static Holder this_thread() {
    return {std::this_thread::get_id(), math::ProcessMutex::process()};
  }
  struct Entry {
    const KeyOnDevices* key;  ///< nullptr: it leaves when nobody holds it
    std::shared_ptr<const Lane> lane;
    std::size_t bytes;
    std::shared_ptr<const void> prepared;  ///< nullptr while it is being prepared
    std::vector<Holder> holders;           ///< threads that asked for it, once for each hold
  };
  using Entries = std::list<Entry>;
  using Lock = std::unique_lock<math::ProcessMutex>;

  std::size_t used_locked(const std::string& hardware) const;
  /// Removes unused keys of at least `bytes` in all, if there are so many, from the list. The
  /// caller destroys them after it has released the lock.
  Entries take_unused(const std::string& hardware, std::size_t bytes) const;
  /// Makes room for `bytes`. If calls in other threads hold keys that must leave, it waits for
  /// them.
  void reserve(Lock& lock, const Lane& lane, std::size_t bytes) const;
  class Waiting;
  /// Is called under the lock, and wakes the waiting threads, which then look for room again.
  void tell() const {
    freed_.fetch_add(1);
    freed_.notify_all();
  }
  /// Whether a call in another thread, which waits for nothing here, holds a key there.
  bool will_free(const std::string& hardware) const;
  std::shared_ptr<const void> hold(Entries::iterator entry) const;
  void let_go(Entries::iterator entry, const Holder& holder) const;

  std::size_t bytes_;
  mutable math::ProcessMutex mutex_;
  mutable std::atomic<std::uint32_t> freed_{0};   ///< how often something was, to be waited for
  mutable Entries entries_;                       ///< the longest unused first
  mutable std::vector<std::thread::id> waiting_;  ///< threads that wait for a lane, or for room
};

/// A key that a device has prepared, and what it takes of the device's memory.
struct SizedKey {
  std::shared_ptr<const void> key;
  std::size_t bytes = 0;
};
/// The same for a key that has the method bytes().
template <class Key>
SizedKey sized(Key key) {
  const std::size_t bytes = key->bytes();
  return {std::move(key), bytes};
}
/// Makes a key through a lane's queue.
using PrepareKey = std::function<SizedKey(const backend::Queue&)>;

/// One key, prepared on the lanes that have used it.
class KeyOnDevices {
 public:
  /// `prepare` makes the key from the host's data; it is called again after the key had to leave.
  /// `bytes` is an estimate of the key's size, for which room is made before it is prepared. Then
  /// the key counts with the size that `prepare` returns, and the next time room is made for that.
  KeyOnDevices(std::shared_ptr<KeyBudget> budget, std::size_t bytes, PrepareKey prepare);
  ~KeyOnDevices();
  KeyOnDevices(const KeyOnDevices&) = delete;
  KeyOnDevices& operator=(const KeyOnDevices&) = delete;

  /// The key on a lane; it is prepared, under the lane's hold, if it is not there. The call waits
  /// for other threads whose calls hold keys that must leave. OutOfMemoryError if the key is larger
  /// than the budget or the device, or if those calls wait for this thread. Keep the returned
  /// object until the work that reads the key has been enqueued on Lane::queue(), or is done on a
  /// leased queue.
  template <class Prepared>
  std::shared_ptr<const Prepared> on(const Lane& lane) const {
    return std::static_pointer_cast<const Prepared>(get(lane));
  }
  bool is_on(const Lane& lane) const;
  /// What it takes of the lane's device, 0 where it is not.
  std::size_t bytes_on(const Lane& lane) const;
  /// Frees its memory there; a call that holds it keeps it until it is done.
  void release(const Lane& lane) const;

 private:
  friend class KeyBudget;
  using Place = KeyBudget::Entries::iterator;
  std::shared_ptr<const void> get(const Lane& lane) const;
  std::shared_ptr<const void> prepare(const Lane& lane, KeyBudget::Lock& lock) const;
  /// Prepares the key. Where memory is short, unused keys leave the device, and then arrays that
  /// are longest unused.
  SizedKey prepare_with_room(const Lane& lane, std::size_t about) const;
  /// Its place on the lane, or the list's end. The budget's lock must be held, as for the one
  /// below.
  Place find(const Lane& lane) const;
  void leave(Place place) const;

  std::shared_ptr<KeyBudget> budget_;
  PrepareKey prepare_;
  mutable std::size_t bytes_;  ///< under the budget's lock, as what follows
  mutable std::vector<Place> places_;
};

}  // namespace whorl::run
