#include "schemes/binfhe/engine.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

/// A batch is cut for the sake of its queues into pieces of at least so many ciphertexts, which
/// keep a GPU's multiprocessors busy, and into no more of them than make the first piece's way in
/// and the last one's way out short beside the work.
constexpr std::size_t large_piece = 2048;
constexpr std::size_t pieces_of_queue = 4;

}  // namespace

std::vector<Range> pieces_of(Range range, std::size_t limit, unsigned queues) {
  limit = std::max<std::size_t>(1, limit);
  std::size_t count = (range.count + limit - 1) / limit;
  if (queues > 1 && range.count >= queues * large_piece)
    count = std::max(count, std::min(queues * pieces_of_queue, range.count / large_piece));
  std::vector<Range> out;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t begin = range.count * k / count, end = range.count * (k + 1) / count;
    out.push_back({range.begin + begin, end - begin});
  }
  return out;
}

/// Queues for the time of a call.
class Engine::Lease {
 public:
  Lease(const Engine& engine, std::size_t wanted) : engine_(engine), queues_(engine.take(wanted)) {}
  ~Lease() { engine_.give_back(std::move(queues_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  std::size_t size() const { return queues_.size(); }
  const backend::Device& operator[](std::size_t k) const { return *queues_[k]; }

 private:
  const Engine& engine_;
  Queues queues_;
};

Engine::Engine(std::unique_ptr<backend::Device> device, const EvaluationKeys& keys,
               Transform transform)
    : parameters_(keys.parameters),
      name_(device->name()),
      threads_(device->threads()),
      first_(device.get()),
      keys_(*device, keys, transform) {
  free_.push_back(std::move(device));
}

Engine::Queues Engine::take(std::size_t wanted) const {
  const std::scoped_lock lock(mutex_);
  const std::size_t usual = std::max(1u, first_->queues());
  // Room first: giving back must not fail.
  free_.reserve(made_ + wanted);
  Queues out;
  while (out.size() < wanted && !free_.empty()) {
    out.push_back(std::move(free_.back()));
    free_.pop_back();
  }
  try {
    while (out.size() < wanted && (out.empty() || made_ < usual)) {
      out.push_back(first_->sibling());
      ++made_;
    }
  } catch (const Error&) {
    if (out.empty()) throw;  // fewer queues do as well
  }
  return out;
}

void Engine::give_back(Queues queues) const {
  const std::scoped_lock lock(mutex_);
  for (auto& queue : queues) free_.push_back(std::move(queue));
}

void Engine::run(const Job& job, Range range, const std::function<bool()>& interrupt) const {
  if (range.count == 0) return;
  const unsigned usual = std::max(1u, first_->queues());
  std::size_t limit = first_->batch_limit(job.memory);
  const std::vector<Range> pieces = pieces_of(range, limit, usual);
  std::deque<Range> todo(pieces.begin(), pieces.end());
  const Lease queues(*this, std::min<std::size_t>(usual, todo.size()));

  struct Pending {
    Pipeline::Batch result;
    Range range;
  };
  std::vector<Pending> pending(queues.size());
  const auto pipeline = [&](std::size_t k) { return Pipeline(queues[k], parameters_, keys_); };
  /// Called where OutOfMemoryError is handled: rethrows it if the piece cannot be halved.
  const auto halve = [&](Range piece) {
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
      pipeline(k).download(
          done.result, job.out().subspan(done.range.begin * job.row, done.range.count * job.row));
    } catch (const OutOfMemoryError&) {
      halve(done.range);
    }
  };

  for (std::size_t turn = 0;; ++turn) {
    if (todo.empty())
      for (std::size_t k = 0; k < queues.size(); ++k) collect((turn + k) % queues.size());
    if (todo.empty()) return;
    if (interrupt && interrupt())
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
      pending[k] = {job.work(pipeline(k), piece), piece};
    } catch (const OutOfMemoryError&) {
      // What other queues hold may be all that is missing.
      bool held = false;
      for (std::size_t other = 0; other < queues.size(); ++other) {
        held = held || pending[other].range.count > 0;
        collect(other);
      }
      if (held)
        todo.push_front(piece);
      else
        halve(piece);
    }
  }
}

}  // namespace whorl::binfhe
