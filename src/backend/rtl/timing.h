// Says in which cycle of a run what happens, and counts it: the counters of rtl/README.md, section
// 6, without any arithmetic. A run of the model and one of the core give the same counters if their
// memories have the same timing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backend/rtl/core.h"
#include "backend/rtl/registers.h"
#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

class Timing {
 public:
  /// The descriptor has passed its checks. `index` has the test vector of each ciphertext, or is
  /// empty where none is used.
  Timing(const Shape& shape, const Descriptor& descriptor, std::span<const std::uint32_t> index,
         const MemoryTiming& memory);
  ~Timing();
  Timing(Timing&&) noexcept;
  Timing& operator=(Timing&&) noexcept;

  /// Lets up to so many cycles pass, and returns whether the run is over.
  bool advance(std::uint64_t cycles);
  bool done() const;
  const Counters& counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Cycles that no run takes: a bound for whoever waits for its end.
std::uint64_t most_cycles(const Shape& shape, const Descriptor& descriptor,
                          const MemoryTiming& memory);

}  // namespace whorl::backend::rtl
