// Batches that pass through a fleet: from the host, and back to it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>

#include "run/fleet.h"
#include "run/threads.h"
#include "whorl/error.h"

namespace whorl::run {

namespace {

using clock = std::chrono::steady_clock;

/// Weight of the latest call in the average of speeds.
constexpr double latest = 0.5;

/// LWE ciphertexts below which a GPU's multiprocessors are not kept busy: a batch is not cut finer
/// for the sake of its queues.
constexpr std::size_t large_piece = 1024;
/// Pieces for each queue of a large batch: nothing runs beside the copies of the first and of the
/// last one.
constexpr std::size_t pieces_a_queue = 6;

/// Queues for the time of a call.
class Lease {
 public:
  explicit Lease(const Lane& lane) : lane_(lane), queues_(lane.lease(1)) {}
  ~Lease() { lane_.give_back(std::move(queues_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  std::size_t size() const { return queues_.size(); }
  const backend::Queue& operator[](std::size_t k) const { return *queues_[k]; }
  /// Leases more queues, up to `wanted` in all.
  void extend(std::size_t wanted) {
    if (wanted <= size()) return;
    queues_.reserve(wanted);
    for (auto& queue : lane_.lease(wanted - size(), 0)) queues_.push_back(std::move(queue));
  }

 private:
  const Lane& lane_;
  Lane::Queues queues_;
};

}  // namespace

std::vector<Range> pieces_of(Range range, std::size_t limit, unsigned queues) {
  limit = std::max<std::size_t>(1, limit);
  std::size_t count = (range.count + limit - 1) / limit;
  if (range.count >= queues * large_piece)
    count = std::max(count, std::min(range.count / large_piece, queues * pieces_a_queue));
  std::vector<Range> out;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t begin = range.count * k / count, end = range.count * (k + 1) / count;
    out.push_back({range.begin + begin, end - begin});
  }
  return out;
}

/// How a device's share went.
struct Fleet::Outcome {
  double seconds = 0;
  std::exception_ptr error;
};

/// Piece k goes to queue k modulo their number; its result is fetched when the queue is needed
/// again.
void Fleet::run_on(std::size_t lane, const Job& job, Range range) const {
  if (range.count == 0) return;
  const Lane& on = *lanes_[lane];
  const unsigned usual = std::max(1u, on.device().queues());
  Lease queues(on);
  std::size_t limit = std::max<std::size_t>(1, queues[0].batch_limit(job.memory, 0));
  const std::vector<Range> pieces = pieces_of(range, limit, usual);
  std::deque<Range> todo(pieces.begin(), pieces.end());
  queues.extend(std::min<std::size_t>(usual, todo.size()));

  struct Pending {
    Job::Fetch fetch;
    Range range;
  };
  std::vector<Pending> pending(queues.size());
  // What pieces hold, keys among it, must not go while a queue still works with it.
  struct Drain {
    const Lease& queues;
    ~Drain() {
      if (std::uncaught_exceptions() == before) return;
      for (std::size_t k = 0; k < queues.size(); ++k) wait_quietly(queues[k]);
    }
    int before = std::uncaught_exceptions();
  } const drain{queues};
  bool asked = false;  // a key that this call needs may leave, and comes back: once
  /// Is called where OutOfMemoryError is handled, and rethrows it if the piece cannot be halved,
  /// and no array and no unused key leaves the device for it. A call that holds the lane is not
  /// waited for: it may wait for keys that this one has.
  const auto halve = [&](Range piece) {
    const std::unique_lock held(on, std::try_to_lock);
    if (held && (on.residents().spill() ||
                 (!std::exchange(asked, true) && on.residents().ask_room_makers(on)))) {
      on.queue().wait();
      todo.push_front(piece);
      return;
    }
    if (piece.count == 1) throw;
    const std::size_t half = piece.count / 2;
    limit = std::min(limit, piece.count - half);
    todo.push_front({piece.begin + half, piece.count - half});
    todo.push_front({piece.begin, half});
  };
  const auto collect = [&](std::size_t k) {
    const Pending done = std::exchange(pending[k], {});
    if (done.range.count == 0) return;
    try {
      done.fetch();
    } catch (const OutOfMemoryError&) {
      wait_quietly(queues[k]);  // it may still work with keys that `done` holds
      halve(done.range);
    } catch (...) {
      wait_quietly(queues[k]);
      throw;
    }
  };

  for (std::size_t turn = 0;; ++turn) {
    if (todo.empty())
      for (std::size_t k = 0; k < queues.size(); ++k) collect((turn + k) % queues.size());
    if (todo.empty()) return;
    if (options_.interrupt && options_.interrupt())
      throw InterruptedError("stopped with " + std::to_string(todo.size()) + " of " +
                             std::to_string(pieces.size()) + " pieces of the batch to do");
    const std::size_t k = turn % queues.size();
    collect(k);
    Range piece = todo.front();
    todo.pop_front();
    if (piece.count > limit) {
      todo.push_front({piece.begin + limit, piece.count - limit});
      piece.count = limit;
    }
    try {
      pending[k] = {job.work(queues[k], lane, piece), piece};
    } catch (const OutOfMemoryError& error) {
      // What other queues hold may be all that is missing.
      bool held = false;
      for (std::size_t other = 0; other < queues.size(); ++other) {
        held = held || pending[other].range.count > 0;
        collect(other);
      }
      if (held)
        todo.push_front(piece);
      else if (dynamic_cast<const KeyRoomError*>(&error))
        throw;  // the budget's: nothing that leaves the device makes room
      else
        halve(piece);
    }
  }
}

std::vector<Fleet::Share> Fleet::split(Range range, const std::vector<bool>& excluded) const {
  const std::scoped_lock lock(shared_->mutex);
  std::vector<std::size_t> chosen;
  for (std::size_t l = 0; l < size(); ++l)
    if (!has_failed(l) && !excluded[l]) chosen.push_back(l);
  // Those that are least in use come first, the fastest of them before others; as many are taken as
  // the batch is worth.
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    const Standing &x = shared_->standing[a], &y = shared_->standing[b];
    return x.calls != y.calls ? x.calls < y.calls : x.speed > y.speed;
  });
  const std::size_t worth =
      std::max<std::size_t>(1, range.count / std::max<std::size_t>(1, options_.least_share));
  if (chosen.size() > worth) chosen.resize(worth);
  std::sort(chosen.begin(), chosen.end());

  double total = 0;
  for (const std::size_t l : chosen) total += shared_->standing[l].speed;
  std::vector<Share> out;
  double before = 0;
  std::size_t begin = 0;
  for (const std::size_t l : chosen) {
    before += shared_->standing[l].speed;
    const auto upto =
        static_cast<std::size_t>(std::llround(static_cast<double>(range.count) * before / total));
    const std::size_t end = l == chosen.back() ? range.count : std::min(range.count, upto);
    out.push_back({l, {range.begin + begin, end - begin}});
    begin = end;
  }
  return out;
}

std::vector<Fleet::Outcome> Fleet::work(const Job& job, const std::vector<Share>& shares) const {
  std::vector<Outcome> outcomes(shares.size());
  const auto one = [&](std::size_t s) {
    const auto started = clock::now();
    try {
      run_on(shares[s].lane, job, shares[s].range);
    } catch (...) {
      outcomes[s].error = std::current_exception();
    }
    outcomes[s].seconds = std::chrono::duration<double>(clock::now() - started).count();
  };
  /// While it lives, others know that these devices are in use.
  struct Busy {
    Busy(const Fleet& of, const std::vector<Share>& these) : fleet(of), shares(these) {
      const std::scoped_lock lock(fleet.shared_->mutex);
      for (const Share& share : shares) ++fleet.shared_->standing[share.lane].calls;
    }
    ~Busy() {
      if (fleet.shared_->mutex.abandoned()) return;
      const std::scoped_lock lock(fleet.shared_->mutex);
      for (const Share& share : shares) --fleet.shared_->standing[share.lane].calls;
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    const Fleet& fleet;
    const std::vector<Share>& shares;
  };
  const Busy busy(*this, shares);
  if (shares.size() == 1)
    one(0);
  else
    in_threads(shares.size(), one, options_.interrupt);
  return outcomes;
}

void Fleet::learn(const std::vector<Share>& shares, const std::vector<Outcome>& outcomes) const {
  if (shares.size() < 2) return;  // nothing to compare with
  const std::scoped_lock lock(shared_->mutex);
  double believed = 0, measured = 0;
  const auto rate = [&](std::size_t s) {
    return static_cast<double>(shares[s].range.count) / outcomes[s].seconds;
  };
  const auto counts = [&](std::size_t s) {
    return !outcomes[s].error && shares[s].range.count > 0 && outcomes[s].seconds > 0;
  };
  for (std::size_t s = 0; s < shares.size(); ++s) {
    if (!counts(s)) continue;
    believed += shared_->standing[shares[s].lane].speed;
    measured += rate(s);
  }
  // Operations differ in cost, so only speeds relative to the others of the same call are kept.
  for (std::size_t s = 0; s < shares.size(); ++s) {
    if (!counts(s)) continue;
    double& speed = shared_->standing[shares[s].lane].speed;
    speed = (1 - latest) * speed + latest * rate(s) * believed / measured;
  }
}

void Fleet::stream(const Job& job, std::size_t count) const {
  if (count == 0) return;
  if (size() == 1) {
    run_on(0, job, {0, count});
    return;
  }
  std::vector<bool> out_of_memory(size(), false);
  std::exception_ptr short_of_memory;
  std::vector<Range> todo{{0, count}};
  while (!todo.empty()) {
    const Range range = todo.back();
    todo.pop_back();
    const std::vector<Share> shares = split(range, out_of_memory);
    if (shares.empty()) {
      if (short_of_memory) std::rethrow_exception(short_of_memory);
      refuse_all_failed();
    }
    const std::vector<Outcome> outcomes = work(job, shares);
    std::exception_ptr other;  // that no other device does better
    for (std::size_t s = 0; s < shares.size(); ++s) {
      if (!outcomes[s].error) continue;
      try {
        std::rethrow_exception(outcomes[s].error);
      } catch (const backend::RefusedError&) {
        other = std::current_exception();
      } catch (const DeviceError& error) {
        mark_failed(shares[s].lane, error.what());
      } catch (const OutOfMemoryError&) {
        // This holds for this call only: memory may be free later.
        out_of_memory[shares[s].lane] = true;
        short_of_memory = std::current_exception();
      } catch (...) {
        other = std::current_exception();
      }
      todo.push_back(shares[s].range);
    }
    if (other) std::rethrow_exception(other);
    learn(shares, outcomes);
  }
}

}  // namespace whorl::run
