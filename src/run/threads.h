// Threads of a call, while the thread that made it asks whether to stop.
#pragma once

#include <cstddef>
#include <functional>

namespace whorl::run {

/// Calls body(0) … body(count - 1), each in a thread of its own, and returns when all are done. The
/// bodies must not throw. Meanwhile this thread asks `interrupt`: its exceptions are thrown, and
/// InterruptedError if it returns true. guarded() tells the other threads to stop.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& body,
                const std::function<bool()>& interrupt);

}  // namespace whorl::run
