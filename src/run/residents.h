// Objects in a device's memory that could move to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "whorl/error.h"

namespace whorl::run {

/// Something on a lane that can leave it for a while.
class Resident {
 public:
  virtual ~Resident() = default;
  /// Whether it has device memory. Under the lane's hold.
  virtual bool is_there() const = 0;
  /// Gives its device memory back; false if it has none there, or is in use. Under the lane's hold.
  virtual bool spill() = 0;

 private:
  friend class Residents;
  std::uint64_t used_ = 0;  ///< a clock
};

class Lane;

/// A key that there is no room for, whatever else would leave the device.
class KeyRoomError : public OutOfMemoryError {
 public:
  using OutOfMemoryError::OutOfMemoryError;
};

/// An object that can free memory of a lane at once. A budget of keys is one: it removes keys that
/// no call holds.
class RoomMaker {
 public:
  virtual ~RoomMaker() = default;
  /// Frees `bytes`, or as much as it can; returns how much.
  virtual std::size_t make_room(const Lane& lane, std::size_t bytes) const = 0;
};

/// The residents of one lane. Call its methods under the lane's hold; any thread may destroy a
/// resident.
class Residents {
 public:
  /// Is called once for each resident: it stays known while it is on the host.
  void enroll(const std::shared_ptr<Resident>& resident);
  /// Marks it as used now, so that it leaves last.
  void touch(Resident& resident) { resident.used_ = ++clock_; }
  /// How many residents are listed. Some of them may be destroyed already.
  std::size_t known() const { return all_.size(); }
  /// What the clock of uses says now.
  std::uint64_t now() const { return clock_; }
  /// The half of the residents that is unused for longest leaves, at least one, among those that
  /// are on the device and were not used after `since`. False if none could leave.
  bool spill(std::uint64_t since = ~std::uint64_t{0});
  /// Adds one who is asked to make room where residents that leave do not make enough.
  void know(const std::shared_ptr<const RoomMaker>& maker);
  /// Asks them all to free what they can. False if that is nothing.
  bool ask_room_makers(const Lane& lane);

 private:
  std::vector<std::weak_ptr<Resident>> all_;
  std::vector<std::weak_ptr<const RoomMaker>> makers_;
  std::size_t tidy_at_ = 64;  ///< when so many are known, those gone are forgotten
  std::uint64_t clock_ = 0;
};

}  // namespace whorl::run
