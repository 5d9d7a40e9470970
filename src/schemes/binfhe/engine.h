// One hardware device with its keys: takes a part of a batch through it in pieces.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "schemes/binfhe/pipeline.h"

namespace whorl::binfhe {

/// An operation on a batch: what happens to a piece of it, and where results go.
struct Job {
  std::size_t memory = 0;  ///< bytes of device memory that a ciphertext takes on its way
  std::function<Pipeline::Batch(const Pipeline&, Range)> work;  ///< enqueues, does not wait
  std::size_t row = 0;                                          ///< words of a result
  /// Room for the results of the whole batch; asked for when the first is there, so that a GPU
  /// works while the system provides it. Called from several threads at once.
  std::function<std::span<std::uint32_t>()> out;
};

/// Pieces of a batch of `count` on a device of `queues` that takes `limit` at once: of equal size,
/// and where they stay large enough to fill a GPU, one to four for each queue.
std::vector<Range> pieces_of(Range range, std::size_t limit, unsigned queues);

class Engine {
 public:
  Engine(std::unique_ptr<backend::Device> device, const EvaluationKeys& keys, Transform transform);

  const std::string& name() const { return name_; }
  unsigned threads() const { return threads_; }
  std::size_t key_bytes() const { return keys_.bytes(); }

  /// Does `range` of the batch: piece k on queue k modulo their number, whose result is fetched
  /// when the queue is needed again, so that copies of one piece run beside the kernels of another.
  /// Where memory is short, pieces are halved down to single ciphertexts. Polls `interrupt` between
  /// pieces. May be called from several threads at once: each call has queues of its own.
  void run(const Job& job, Range range, const std::function<bool()>& interrupt) const;

 private:
  using Queues = std::vector<std::unique_ptr<backend::Device>>;
  class Lease;
  /// Up to `wanted` queues, at least one. More than the device's number only where calls meet.
  Queues take(std::size_t wanted) const;
  void give_back(Queues queues) const;

  Parameters parameters_;
  std::string name_;
  unsigned threads_;
  const backend::Device* first_;  ///< lives as long as the engine: makes further queues
  DeviceKeys keys_;               ///< outlive the queues
  mutable std::mutex mutex_;      ///< of those below
  mutable Queues free_;
  mutable std::size_t made_ = 1;
};

}  // namespace whorl::binfhe
