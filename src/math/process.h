// Which process this is: what threads and secret streams do not take along into a forked child.
#pragma once

#include <cstdint>

namespace whorl::math {

/// Differs between a process and each of its descendants; never 0. OutOfMemoryError if the first
/// call finds no memory for a fork handler.
std::uint64_t process_mark();

}  // namespace whorl::math
