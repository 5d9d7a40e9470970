// Fork-join, over threads that stay with their owner or are made for the call
// (docs/adr/0001-threads.md).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "backend/crew.h"
#include "whorl/common.h"

namespace whorl::backend {

struct Workers {
  unsigned threads = 1;
  std::function<bool()> interrupt;  ///< polled by the calling thread between items
  /// The crew that helps, if it is not at work already. Without a crew, threads are made for the
  /// call and joined at its end.
  std::shared_ptr<Crew> crew = nullptr;
  unsigned fresh = ~0u;  ///< how many threads at most the work is worth, if they must be made
};

/// Calls body(i) for i < count, in any order, on up to workers.threads threads including this one.
/// Rethrows the first exception, and throws InterruptedError if `interrupt` returns true. An item
/// should take some microseconds, or tens of microseconds without a crew. With one item or one
/// thread all work is done in the calling thread.
void parallel_for(std::size_t count, const Workers& workers,
                  const std::function<void(std::size_t)>& body);

/// parallel_for on `threads` threads made for it (threads_or_cores), telling how many items are
/// done.
void parallel_with_progress(std::size_t count, unsigned threads, const Progress& progress,
                            const std::function<void(std::size_t)>& body);

/// A phase of work: its items begin only after all items of the phase before have ended.
struct Phase {
  std::size_t count;
  std::function<void(std::size_t)> body;
  /// Where two phases that follow one another have this, an item of the second waits only for the
  /// items of the first that are in its own group.
  std::function<std::size_t(std::size_t)> group = {};
};
/// parallel_for for one phase after another; `groups`: more than any phase's group(i).
void parallel_phases(std::span<const Phase> phases, const Workers& workers, std::size_t groups = 1);

/// Number of cores this process may use.
unsigned available_cores();

/// The most threads that a caller may ask for. A larger number is a mistake that would use up the
/// process's memory.
inline constexpr unsigned most_threads = 1024;
/// `threads`, or all cores for 0. ParameterError for more than most_threads.
unsigned threads_or_cores(unsigned threads);

}  // namespace whorl::backend
