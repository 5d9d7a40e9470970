// Short memory of the host as an exception of the library's.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

#include "whorl/error.h"

namespace whorl::math {

/// f(), for what users call: where the system gives no memory (std::bad_alloc, or std::length_error
/// of more than there can be), OutOfMemoryError names `what`.
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
