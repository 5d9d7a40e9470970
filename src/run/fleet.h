// A call spread over devices and queues. Batches that stay on devices are split by one rule, so
// that operands of equal count lie together; batches that pass through from the host are split by
// the devices' measured speed. A device that fails is left out from then on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "math/memory.h"
#include "math/process.h"
#include "run/lane.h"
#include "whorl/devices.h"

namespace whorl::run {

/// Items begin … begin + count - 1 of a batch.
struct Range {
  std::size_t begin = 0, count = 0;
  bool operator==(const Range&) const = default;
};

/// A range of a batch on one device of a fleet.
struct Piece {
  std::size_t lane = 0;  ///< its number in the fleet
  Range range;
  bool operator==(const Piece&) const = default;
};

/// An operation on a batch that comes from the host and goes back to it.
struct Job {
  std::size_t memory = 0;  ///< bytes of device memory that an item takes on its way
  /// Fetches a piece's results, and waits for them.
  using Fetch = std::function<void()>;
  /// Enqueues the work of a piece on a queue of lane `lane` and does not wait. What it returns is
  /// called once, when the queue is needed again, so that copies of one piece run beside the
  /// kernels of the other. Called from several threads at once, and again for a range that did not
  /// succeed.
  std::function<Fetch(const backend::Queue& queue, std::size_t lane, Range range)> work;
};

struct FleetOptions {
  /// Polled from the thread that made the call: true stops it with InterruptedError. For
  /// DeviceOptions::interrupt of the fleet's devices too: see guarded().
  std::function<bool()> interrupt = {};
  /// The least number of items for a device: a batch is spread over so many devices that each gets
  /// as many. A GPU takes about as long for one LWE ciphertext as for a thousand; one ring
  /// ciphertext fills it.
  std::size_t least_share = 1;
};

/// Asks `interrupt`, which must be called from the thread that made the call only; in the fleet's
/// own threads it tells whether that one has said stop.
std::function<bool()> guarded(std::function<bool()> interrupt);

class Fleet {
 public:
  /// There must be at least one device; DeviceError otherwise.
  Fleet(std::vector<std::shared_ptr<const backend::Device>> devices, FleetOptions options);
  /// The devices that a name asks for (backend::make_devices), with `options.interrupt` guarded.
  static std::shared_ptr<const Fleet> open(const std::string& name, backend::DeviceOptions device,
                                           FleetOptions options);
  /// Whether the other has the same devices, opened once for both.
  bool same_devices(const Fleet& other) const { return shared_ == other.shared_; }
  /// The same devices, of which a batch takes fewer or more.
  std::shared_ptr<const Fleet> with_least_share(std::size_t least_share) const;

  std::size_t size() const { return lanes_.size(); }
  const std::shared_ptr<const Lane>& lane(std::size_t number) const { return lanes_[number]; }
  std::vector<std::string> names() const;
  std::string name() const;  ///< all of them, joined by ", "
  /// Devices that have failed and are not used any more, the oldest failure first.
  std::vector<FailedDevice> failed() const;
  bool has_failed(std::size_t lane) const {
    return shared_->out_of_use[lane].load(std::memory_order_relaxed);
  }
  /// Marks a lane of a fleet of several as failed. A device alone stays in use: it may recover.
  void mark_failed(std::size_t lane, const std::string& message) const;

  /// Waits for all work so far on the lanes' queues. A DeviceError of what was enqueued marks its
  /// device as failed, and is thrown once the others are done.
  void wait() const;

  /// Calls f(), and calls it again if a device fails meanwhile. The next attempt finds the failed
  /// device's data elsewhere, or throws an error that names the lost data. DeviceError has the
  /// messages of all attempts; OutOfMemoryError if the host's memory is short.
  template <class F>
  auto again(const F& f) const;

  /// Throws InterruptedError if `done` of the `of` parts of a long call are done, more than none,
  /// and `interrupt` says stop. each() asks for pieces. A loop of the host's own asks for its
  /// parts, since not every device asks in what it is given to do.
  void stop_if_asked(std::size_t done, std::size_t of, const char* what) const {
    if (done > 0 && options_.interrupt && options_.interrupt()) refuse_to_go_on(done, of, what);
  }

  // ---- batches that stay

  /// Calls f(pieces) for a batch, in pieces of at most `most` items. If a device fails, f is called
  /// again with pieces on the devices that are left. If memory is short because others have taken
  /// it meanwhile, f is called again with pieces of half the size.
  template <class F>
  auto in_pieces(std::size_t count, std::size_t most, const F& f) const;

  /// The rule of splitting: contiguous ranges of equal size, over the first working devices, as
  /// many as the batch is large enough for; each range is cut into equal pieces of at most `most`
  /// items. Equal counts give equal pieces, until a device fails. DeviceError if all devices have
  /// failed.
  std::vector<Piece> pieces(std::size_t count, std::size_t most) const;

  /// f(), alone on the lanes, whose operations on each belong together (backend::together). Nests.
  /// A DeviceError of what was kept until the end marks its device as failed, and f is called
  /// again().
  template <class F>
  auto together(const F& f) const;
  /// Its two ends, for backend::together.
  void begin_together() const;
  void end_together() const;

  /// body(number of the piece), each under its lane's hold: one after another in this thread, as
  /// what enqueues may be, or `waits`: devices side by side, a thread each (not inside together(),
  /// where other threads cannot come in). With `waits`, body keeps to its piece's lane.
  /// A DeviceError, except RefusedError, marks the device as failed and ends the work on it. It is
  /// thrown after the other devices have done their pieces. Any other error is thrown at once.
  /// Between pieces `interrupt` is asked whether to stop (InterruptedError).
  template <class Body>
  void each(std::span<const Piece> pieces, bool waits, const Body& body) const;

  // ---- batches that pass through

  /// Does items 0 … count - 1, in pieces that fit memory. Where memory is short idle arrays leave
  /// the device, then, once, keys that no call holds; then a piece is halved, down to single items.
  /// If a device fails, the others do the rest of its work; if no device is left, DeviceError names
  /// all of them. Any other error, such as RefusedError, is thrown after all devices have ended.
  /// Several threads may call this at once.
  void stream(const Job& job, std::size_t count) const;

 private:
  static constexpr const char* pieces_of_a_batch = "pieces of a batch";
  struct Share {
    std::size_t lane = 0;
    Range range;
  };
  struct Outcome;
  struct Standing {
    double speed = 1;       ///< items/s relative to the others'
    std::size_t calls = 0;  ///< in progress
  };

  void run_on(std::size_t lane, const Job& job, Range range) const;
  std::vector<Share> split(Range range, const std::vector<bool>& excluded) const;
  std::vector<Outcome> work(const Job& job, const std::vector<Share>& shares) const;
  void learn(const std::vector<Share>& shares, const std::vector<Outcome>& outcomes) const;
  [[noreturn]] void refuse_all_failed() const;

  /// How many devices have failed.
  std::size_t failures() const;
  [[noreturn]] static void refuse_to_go_on(std::size_t done, std::size_t of, const char* what);
  bool one_lane(std::span<const Piece> pieces) const;
  bool holds_any(std::span<const Piece> pieces) const;
  void side_by_side(std::span<const Piece> pieces,
                    const std::function<void(std::size_t)>& body) const;
  /// Is called where a DeviceError is handled: it marks the lane's device as failed, and keeps the
  /// error in `first` if that is empty.
  void note(std::size_t lane, const std::string& message, std::exception_ptr& first) const;

  /// What is known of the devices, whichever fleet has learnt it.
  struct Shared {
    explicit Shared(std::size_t lanes)
        : out_of_use(std::make_unique<std::atomic<bool>[]>(lanes)), standing(lanes) {}
    std::unique_ptr<std::atomic<bool>[]> out_of_use;  ///< a lane each: it failed
    math::ProcessMutex mutex;                         ///< of those below
    std::vector<Standing> standing;
    std::vector<FailedDevice> failures;
  };

  std::vector<std::shared_ptr<const Lane>> lanes_;
  FleetOptions options_;
  std::shared_ptr<Shared> shared_;
};

/// Pieces of a range on a device of `queues` that takes `limit` at once: of equal size, and one for
/// each queue at least where they stay large enough to fill a GPU. (More of them are slower:
/// docs/performance/copies.md.)
std::vector<Range> pieces_of(Range range, std::size_t limit, unsigned queues);

// ---- in line: calls of 36 us pass here

template <class F>
auto Fleet::together(const F& f) const {
  return again([&] { return backend::together(*this, f); });
}

template <class F>
auto Fleet::again(const F& f) const {
  std::string said;
  while (true) {
    const std::size_t before = failures();
    try {
      return math::with_memory_for("a batch", f);
    } catch (const DeviceError& error) {
      const bool once_more = failures() > before;
      if (!once_more && said.empty()) throw;
      said += (said.empty() ? "" : "; ") + std::string(error.what());
      if (!once_more) throw DeviceError(said);
    }
  }
}

template <class F>
auto Fleet::in_pieces(std::size_t count, std::size_t most, const F& f) const {
  while (true) {
    try {
      return again([&] { return f(pieces(count, most)); });
    } catch (const KeyRoomError&) {
      throw;
    } catch (const OutOfMemoryError&) {
      std::size_t largest = 0;
      for (const Piece& piece : pieces(count, most)) largest = std::max(largest, piece.range.count);
      if (largest <= 1) throw;
      most = (largest + 1) / 2;
    }
  }
}

template <class Body>
void Fleet::each(std::span<const Piece> pieces, bool waits, const Body& body) const {
  if (waits && !one_lane(pieces) && !holds_any(pieces)) {
    side_by_side(pieces, std::cref(body));
    return;
  }
  std::exception_ptr first;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t lane = pieces[i].lane;
    stop_if_asked(i, pieces.size(), pieces_of_a_batch);
    if (first && has_failed(lane)) continue;
    const auto held = lanes_[lane]->hold();
    if (size() == 1) {
      body(i);
      continue;
    }
    try {
      body(i);
    } catch (const backend::RefusedError&) {
      throw;
    } catch (const DeviceError& error) {
      note(lane, error.what(), first);
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace whorl::run
