// Threads of a call, while the thread that made it asks whether to stop.
#pragma once

#include <cstddef>
#include <functional>

namespace whorl::run {

/// body(0) … body(count - 1), a thread each, which throw nothing; returns when all are done. This
/// thread polls `interrupt` meanwhile: what it throws is thrown, and InterruptedError if it is
/// true. guarded() tells the others to stop.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& body,
                const std::function<bool()>& interrupt);

}  // namespace whorl::run
