// Pieces of arrays that lie on a device, or on the host while the device has no room for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "math/process.h"
#include "run/fleet.h"
#include "run/move.h"
#include "run/residents.h"

namespace whorl::run {

/// The caller's words from which a value was made. They exist as long as their owner. They are rows
/// of `row` words; a row begins `stride` words after the row before.
template <class Word>
struct Origin {
  std::weak_ptr<const void> owner;
  const Word* words = nullptr;
  std::size_t row = 0, stride = 0;
};

/// A value that does not change: a buffer on its lane, or words on the host, or both. Copies share
/// it. Its methods take the lane's hold. Any thread may destroy it.
template <class Word>
class Stored {
 public:
  Stored() = default;
  /// A buffer of the lane's queue. Nobody writes into it from now on.
  Stored(const Lane& lane, backend::Buffer<Word> buffer)
      : value_(std::make_shared<Value>(lane, buffer.size())) {
    const auto held = lane.hold();
    value_->buffer = std::move(buffer);
    lane.residents().enroll(value_);
  }

  explicit operator bool() const { return value_ != nullptr; }
  std::size_t size() const { return value_ ? value_->size : 0; }
  const Lane& lane() const { return *value_->lane; }
  bool on_host() const {
    const auto held = lane().hold();
    return !value_->buffer;
  }

  /// Whether the host has its words, also while it is on its lane: they outlive a device that
  /// fails.
  bool kept() const {
    const auto held = lane().hold();
    return !value_->words.empty() || !value_->origin.owner.expired();
  }
  /// Says from where the words can be had again if the device fails.
  void remember(Origin<Word> origin) const {
    const auto held = lane().hold();
    value_->origin = std::move(origin);
  }

  /// The value on a lane, brought back to its own if it had to leave; on another it is a copy.
  /// OutOfMemoryError if there is no room. To be held while slices of it are used: it does not
  /// leave meanwhile. To be read only.
  backend::Buffer<Word> on(const Lane& lane) const {
    Value& value = *value_;
    if (&lane != value.lane.get()) return place<Word>(lane, words());
    const auto held = lane.hold();
    if (!value.buffer) value.buffer = place<Word>(lane, value.words);
    lane.residents().touch(value);
    return *value.buffer;
  }
  /// The same value where it lies on `lane`: itself, or a replica; an empty one if neither.
  Stored at(const Lane& lane) const {
    if (&lane == value_->lane.get()) return *this;
    const std::scoped_lock lock(value_->mutex);
    for (const Stored& replica : value_->replicas)
      if (&replica.lane() == &lane) return replica;
    return {};
  }
  /// A copy on another lane, which stays as long as the value.
  void add(Stored replica) const {
    const std::scoped_lock lock(value_->mutex);
    value_->replicas.push_back(std::move(replica));
  }

  /// out: its words from word `first` on, from where they are; from the host if it has them.
  void download(std::span<Word> out, std::size_t first = 0) const {
    if (first > size() || out.size() > size() - first)
      throw ShapeError("words " + std::to_string(first) + " … " +
                       std::to_string(first + out.size()) + " do not lie within a value of " +
                       std::to_string(size()));
    const auto held = lane().hold();
    const Origin<Word>& origin = value_->origin;
    if (!value_->words.empty()) {
      std::copy_n(value_->words.begin() + first, out.size(), out.begin());
    } else if (const auto owner = origin.owner.lock()) {
      for (std::size_t done = 0; done < out.size();) {
        const std::size_t row = (first + done) / origin.row, at = (first + done) % origin.row;
        const std::size_t some = std::min(origin.row - at, out.size() - done);
        std::copy_n(origin.words + row * origin.stride + at, some, &out[done]);
        done += some;
      }
    } else {
      lane().queue().template download<Word>(
          std::as_const(*value_->buffer).slice().part(first, out.size()), out);
    }
  }
  std::vector<Word> words() const {
    std::vector<Word> out(size());
    download(out);
    return out;
  }
  /// Moves the value off the device, to the host; false if it is there already, or in use.
  bool spill() const {
    const auto held = lane().hold();
    return value_->spill();
  }

 private:
  struct Value final : Resident {
    Value(const Lane& of, std::size_t count) : lane(of.shared_from_this()), size(count) {}
    bool is_there() const override { return buffer.has_value(); }
    bool spill() override {
      if (!buffer || buffer->shared()) return false;
      if (words.empty()) words = fetch<Word>(*lane, std::as_const(*buffer).slice());
      buffer.reset();
      return true;
    }
    std::shared_ptr<const Lane> lane;
    std::size_t size;
    // The lane's hold guards these; words stay when the buffer is back, and need not be fetched
    // again.
    std::optional<backend::Buffer<Word>> buffer;
    std::vector<Word> words;
    Origin<Word> origin;
    math::ProcessMutex mutex;  // of the replicas
    std::vector<Stored> replicas;
  };
  std::shared_ptr<Value> value_;
};

/// Calls attempt() under the lane's hold. If the device's memory is short, it makes room and tries
/// again. Room is made first by `first()`, which returns whether it made any; then by residents
/// that are unused for longest; and last, once, by keys that no call holds. OutOfMemoryError if
/// nothing is left that could leave.
template <class First, class Attempt>
void with_room(const Lane& lane, const First& first, const Attempt& attempt) {
  const auto held = lane.hold();
  const std::uint64_t since =
      lane.residents().now();  // what an attempt has used stays for the next
  for (bool tried = false, asked = false;; tried = true) {
    try {
      return attempt();
    } catch (const KeyRoomError&) {
      throw;
    } catch (const OutOfMemoryError&) {
      if (!(!tried && first()) && !lane.residents().spill(since)) {
        if (std::exchange(asked, true) || !lane.residents().ask_room_makers(lane)) throw;
      }
    }
    // What has left may be used by work that is still to be done.
    lane.queue().wait();
  }
}

/// Fleet::each for pieces of a result: body(i), a Buffer<Word> on the piece's lane, is called again
/// where memory was short; results of this call that are done leave for the host first.
template <class Word, class Body>
std::vector<Stored<Word>> each_result(const Fleet& fleet, std::span<const Piece> pieces, bool waits,
                                      const Body& body) {
  std::vector<Stored<Word>> out(pieces.size());
  fleet.each(pieces, waits, [&](std::size_t i) {
    const std::size_t number = pieces[i].lane;
    const Lane& lane = *fleet.lane(number);
    const auto spill_done = [&] {
      bool any = false;
      for (std::size_t k = 0; k < pieces.size(); ++k)  // those of this lane's thread
        if (pieces[k].lane == number && out[k]) any = out[k].spill() || any;
      return any;
    };
    with_room(lane, spill_done, [&] { out[i] = Stored<Word>(lane, body(i)); });
  });
  return out;
}

/// Returns a value that was made on lane `lane` of the fleet as it can be had: there, on the host,
/// or as a replica on a lane that works. It is empty if the value is lost.
template <class Word>
Stored<Word> at_hand(const Fleet& fleet, std::size_t lane, const Stored<Word>& value) {
  if (!fleet.has_failed(lane) || value.kept()) return value;
  for (std::size_t other = 0; other < fleet.size(); ++other)
    if (!fleet.has_failed(other))
      if (const Stored<Word> replica = value.at(*fleet.lane(other))) return replica;
  return {};
}

/// Returns the number of a lane of the fleet.
inline std::size_t number_of(const Fleet& fleet, const Lane& lane) {
  std::size_t number = 0;
  while (fleet.lane(number).get() != &lane) ++number;
  return number;
}

/// Replicas of a value on the lanes of `pieces`, all of which meet it. Where one is missing, its
/// words are fetched from find(): see at_hand.
template <class Word, class Find>
void replicate(const Fleet& fleet, const Stored<Word>& single, std::span<const Piece> pieces,
               const Find& find) {
  std::vector<Piece> wanting;
  for (const Piece& piece : pieces)
    if (!single.at(*fleet.lane(piece.lane)) &&
        std::ranges::none_of(wanting, [&](const Piece& w) { return w.lane == piece.lane; }))
      wanting.push_back({piece.lane, {0, 1}});
  if (wanting.empty()) return;
  const Stored<Word> there = find();
  const Piece source{number_of(fleet, there.lane()), {0, 1}};
  std::vector<Word> words;
  fleet.each({&source, 1}, false, [&](std::size_t) { words = there.words(); });
  const auto made = each_result<Word>(fleet, wanting, false, [&](std::size_t i) {
    return place<Word>(*fleet.lane(wanting[i].lane), words);
  });
  for (const Stored<Word>& replica : made) single.add(replica);
}

}  // namespace whorl::run
