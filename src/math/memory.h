// Turns a failed allocation into an exception of the library.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

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

}  // namespace whorl::math
