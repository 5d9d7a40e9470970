// Memory for results: a failed allocation becomes an exception of the library, and large results
// have large pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "whorl/common.h"
#include "whorl/error.h"

namespace whorl::math {

/// Calls f(). If the system gives no memory (std::bad_alloc), or a size is impossible
/// (std::length_error), it throws OutOfMemoryError, which names `what`. For functions that users
/// call.
template <class F>
decltype(auto) with_memory_for(const char* what, const F& f) {
  const auto said = [&] {
    return OutOfMemoryError(std::string(what) + ": the system did not give the memory needed");
  };
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw said();
  } catch (const std::length_error&) {
    throw said();
  }
}

/// Asks the system to give memory that was not yet written in large pages, where it can: first
/// writes to them take less time (docs/performance/copies.md).
void prefer_large_pages(void* memory, std::size_t bytes);

/// Gives a new vector its size, with zeros.
inline void make_room(std::vector<std::uint32_t>& out, std::size_t size) {
  out.reserve(size);
  prefer_large_pages(out.data(), size * sizeof(std::uint32_t));
  out.resize(size);
}

/// The same for results that the host computes. `interrupt` is asked for every few megabytes.
template <class T>
void make_room(std::vector<T>& out, std::size_t size, const Interrupt& interrupt) {
  constexpr std::size_t piece = (std::size_t{1} << 22) / sizeof(T);
  out.reserve(size);
  while (out.size() < size) {
    if (interrupt && interrupt()) throw InterruptedError("stopped before the first ciphertext");
    out.resize(std::min(size, out.size() + piece));
  }
}

/// Room for a result, of any value. The system gives its pages where it is written first, which
/// threads do together, and amid which the caller is asked whether to stop.
template <class T>
std::shared_ptr<T[]> unfilled(std::size_t size) {
  return std::make_shared_for_overwrite<T[]>(size);
}

}  // namespace whorl::math
