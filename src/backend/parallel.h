// Fork-join over plain threads: no pool to lose in a fork, nothing shared between calls
// (docs/adr/0001-threads.md).
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace whorl::backend {

struct Workers {
  unsigned threads = 1;
  std::function<bool()> interrupt;  ///< polled by the calling thread between items
};

/// Calls body(i) for i < count, in any order, on up to workers.threads threads including this one.
/// The first exception is rethrown here; InterruptedError if `interrupt` says so. Items must be
/// coarse (tens of microseconds or more); one item or one thread runs inline.
void parallel_for(std::size_t count, const Workers& workers,
                  const std::function<void(std::size_t)>& body);

/// Items of which none may begin before the last of the phase before has ended.
struct Phase {
  std::size_t count;
  std::function<void(std::size_t)> body;
};
/// parallel_for for one phase after another, on threads that are started once.
void parallel_phases(std::span<const Phase> phases, const Workers& workers);

/// Number of cores this process may use.
unsigned available_cores();

}  // namespace whorl::backend
